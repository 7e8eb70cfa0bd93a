//! The AWS resources of the Warren provider: one folder a resource, over a shared base.
//!
//! * [`Session`] is what the resources share: the configured account, and what this run plans.
//! * [`registry`] lists the resources; [`provider_attribute`] is the `aws` block of the provider.
//!
//! Every object carries the tags `warren:fabric`, `warren:owner` and `warren:name` from its create
//! call on, so that an object left behind by a killed apply is found and adopted by the next one.

mod adopt;
mod client;
mod common;
mod config;
mod ecr_repository;
mod error;
mod flow_log;
mod internet_gateway;
mod live;
mod memory;
mod nat_gateway;
mod policy;
mod ranges;
mod route_table;
mod security_group;
mod session;
mod sets;
mod subnet;
mod tags;
mod timeouts;
mod transit_gateway;
mod transit_gateway_attachment;
mod vpc;
mod vpc_endpoint;
mod vpc_peering;
mod wait;

pub use config::{AssumeRole, AwsConfig, provider_attribute};
pub use memory::{PlannedEndpoint, PlannedSecurityGroup, PlannedVpc, RunMemory, Table};
pub use session::{Aws, Scope, Session};
pub use timeouts::Timeouts;

use tf_provider_rs::Registry;

/// Every resource of this cloud.
pub fn registry(session: &Session) -> Registry {
    Registry::new()
        .resource(vpc::VpcResource::new(session))
        .resource(subnet::SubnetResource::new(session))
        .resource(internet_gateway::InternetGatewayResource::new(session))
        .resource(nat_gateway::NatGatewayResource::new(session))
        .resource(route_table::RouteTableResource::new(session))
        .resource(security_group::SecurityGroupResource::new(session))
        .resource(transit_gateway::TransitGatewayResource::new(session))
        .resource(transit_gateway_attachment::AttachmentResource::new(session))
        .resource(flow_log::FlowLogResource::new(session))
        .resource(ecr_repository::RepositoryResource::new(session))
        .resource(vpc_endpoint::EndpointResource::new(session))
        .resource(vpc_peering::PeeringResource::new(session))
}
