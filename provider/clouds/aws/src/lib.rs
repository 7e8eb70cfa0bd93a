//! The AWS resources of the Warren provider: one folder per resource on a shared base.
//!
//! * [`Session`] is the state that resources share: the configured account and the plan of the run.
//! * [`registry`] lists the resources; the configuration is the `aws` attribute of the provider block.
//!
//! Every object has the tags `warren:fabric`, `warren:owner` and `warren:name` from its creation on, so
//! that an apply finds and adopts an object that an interrupted apply left behind.

mod account;
mod address;
mod call_log;
mod client;
mod common;
mod config;
mod credentials;
mod ecr_repository;
mod elastic_ip;
mod error;
#[cfg(test)]
mod evidence;
mod flow_log;
mod gateway;
mod gateway_config;
mod gateway_group;
mod gateway_role;
mod http;
mod ids;
mod internet_gateway;
mod key;
mod live;
mod memory;
mod nat_gateway;
mod parameter;
mod partition;
#[cfg(test)]
mod played;
mod policy;
mod redact;
mod region;
mod resolved;
mod resolver;
mod resolver_endpoint;
mod resolver_rule;
mod retry;
mod route53;
mod route53_record;
mod route53_zone;
mod route53_zone_association;
mod route_table;
mod security_group;
mod session;
mod settings;
mod subnet;
mod tags;
mod token;
mod transit_gateway;
mod transit_gateway_attachment;
mod transit_gateway_route;
mod transit_gateway_route_table;
mod transit_gateway_route_table_link;
mod vpc;
mod vpc_endpoint;
mod vpc_peering;

pub use config::{AssumeRole, AssumeRoleWithWebIdentity, AwsConfig, IgnoreTags, RoleSession};
pub use error::ApiError;
pub use ids::LiveId;
pub use live::LiveRanges;
pub use memory::{PlannedEndpoint, PlannedSecurityGroup, PlannedVpc, PlannedZone, RunMemory};
pub use region::RegionName;
pub use resolved::Resolved;
pub use session::{Aws, Session, s3_options};

use tf_provider_rs::Registry;
use transit_gateway_route_table_link::{Association, Link, Propagation};
use warren_gateways::key::{Signing, Tls, Wireguard};
use warren_managed::Managed;

/// Every resource of this cloud.
pub fn registry(session: &Session) -> Registry {
    Registry::new()
        .resource(Managed::<vpc::Vpc>::new(session))
        .resource(Managed::<subnet::Subnet>::new(session))
        .resource(Managed::<internet_gateway::InternetGateway>::new(session))
        .resource(Managed::<nat_gateway::NatGateway>::new(session))
        .resource(Managed::<route_table::RouteTable>::new(session))
        .resource(Managed::<security_group::SecurityGroup>::new(session))
        .resource(Managed::<transit_gateway::TransitGateway>::new(session))
        .resource(Managed::<transit_gateway_attachment::Attachment>::new(session))
        .resource(Managed::<transit_gateway_route_table::TransitTable>::new(session))
        .resource(Managed::<Link<Association>>::new(session))
        .resource(Managed::<Link<Propagation>>::new(session))
        .resource(Managed::<transit_gateway_route::TransitRoute>::new(session))
        .resource(Managed::<flow_log::FlowLog>::new(session))
        .resource(Managed::<ecr_repository::Repository>::new(session))
        .resource(Managed::<vpc_endpoint::Endpoint>::new(session))
        .resource(Managed::<vpc_peering::Peering>::new(session))
        .resource(Managed::<route53_zone::Zone>::new(session))
        .resource(Managed::<route53_zone_association::Association>::new(session))
        .resource(Managed::<route53_record::Record>::new(session))
        .resource(Managed::<resolver_endpoint::Endpoint>::new(session))
        .resource(Managed::<resolver_rule::Rule>::new(session))
        .resource(Managed::<elastic_ip::ElasticIp>::new(session))
        .resource(Managed::<key::Key<Wireguard>>::new(session))
        .resource(Managed::<key::Key<Signing>>::new(session))
        .resource(Managed::<key::Key<Tls>>::new(session))
        .resource(Managed::<gateway_config::GatewayConfig>::new(session))
        .resource(Managed::<gateway_role::GatewayRole>::new(session))
        .resource(Managed::<gateway::Gateway>::new(session))
        .resource(Managed::<gateway_group::GatewayGroup>::new(session))
        .ephemeral(key::SigningKeyValue::new(session))
}
