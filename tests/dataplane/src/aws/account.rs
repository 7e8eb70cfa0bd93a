//! What an AWS account holds in one region, as plain data: read from the API, or written by a test.
//!
//! Names are those of the EC2, Route 53, Route 53 Resolver and S3 API references.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use ipnet::Ipv4Net;

/// A region of an account.
#[derive(Clone, Debug, Default)]
#[expect(missing_docs, reason = "each field is a list of what its type says")]
pub struct Account {
    pub region: String,
    pub vpcs: Vec<Vpc>,
    pub subnets: Vec<Subnet>,
    pub route_tables: Vec<RouteTable>,
    pub prefix_lists: Vec<PrefixList>,
    pub internet_gateways: Vec<InternetGateway>,
    pub nat_gateways: Vec<NatGateway>,
    pub peerings: Vec<Peering>,
    pub transit_gateways: Vec<TransitGateway>,
    pub network_acls: Vec<NetworkAcl>,
    pub security_groups: Vec<SecurityGroup>,
    pub interfaces: Vec<Interface>,
    pub endpoints: Vec<Endpoint>,
    pub zones: Vec<Zone>,
    pub resolver_endpoints: Vec<ResolverEndpoint>,
    pub resolver_rules: Vec<ResolverRule>,
    pub buckets: Vec<Bucket>,
}

/// A VPC.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names are those of the API")]
pub struct Vpc {
    pub id: String,
    /// The tag `Name`, or the ID.
    pub name: String,
    pub cidrs: Vec<Ipv4Net>,
    pub enable_dns_support: bool,
    pub enable_dns_hostnames: bool,
}

/// A subnet.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names are those of the API")]
pub struct Subnet {
    pub id: String,
    /// The tag `Name`, or the ID.
    pub name: String,
    pub vpc: String,
    pub cidr: Ipv4Net,
    pub zone: String,
    pub map_public_ip_on_launch: bool,
}

/// A route table of a VPC.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names are those of the API")]
pub struct RouteTable {
    pub id: String,
    pub vpc: String,
    /// Whether it serves the subnets without an association.
    pub main: bool,
    pub subnets: Vec<String>,
    /// Without the local routes, which every table has.
    pub routes: Vec<Route>,
}

/// A route of a VPC's route table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the API")]
pub struct Route {
    pub destination: Destination,
    /// The ID of the target, which tells its type: `igw-`, `nat-`, `tgw-`, `pcx-`, `vpce-`, `eni-`, `i-`.
    pub target: String,
    /// Whether its state is `blackhole`: the target does not exist any more.
    pub blackhole: bool,
}

/// What a route is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// A range.
    Range(Ipv4Net),
    /// The ranges of a prefix list, by its ID.
    PrefixList(String),
}

/// A prefix list: of AWS, or customer-managed.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names are those of the API")]
pub struct PrefixList {
    pub id: String,
    pub name: String,
    pub entries: Vec<Ipv4Net>,
}

/// An internet gateway.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names are those of the API")]
pub struct InternetGateway {
    pub id: String,
    pub vpc: Option<String>,
}

/// A NAT gateway.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names are those of the API")]
pub struct NatGateway {
    pub id: String,
    pub subnet: String,
    /// Its Elastic IP address; none is a private NAT gateway.
    pub public_address: Option<Ipv4Addr>,
}

/// A VPC peering connection that is active.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names are those of the API")]
pub struct Peering {
    pub id: String,
    pub requester: String,
    pub accepter: String,
}

/// A transit gateway with its attachments and route tables.
#[derive(Clone, Debug, Default)]
#[expect(missing_docs, reason = "the names are those of the API")]
pub struct TransitGateway {
    pub id: String,
    pub attachments: Vec<Attachment>,
    pub tables: Vec<TransitTable>,
}

/// A VPC's attachment to a transit gateway.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names are those of the API")]
pub struct Attachment {
    pub id: String,
    pub vpc: String,
    pub subnets: Vec<String>,
}

/// A route table of a transit gateway.
#[derive(Clone, Debug, Default)]
pub struct TransitTable {
    /// Its ID.
    pub id: String,
    /// The attachments whose traffic it routes.
    pub associations: Vec<String>,
    /// Its active routes: a range, and an attachment. None is a blackhole.
    pub routes: Vec<(Ipv4Net, Option<String>)>,
}

/// A network ACL.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names are those of the API")]
pub struct NetworkAcl {
    pub id: String,
    pub vpc: String,
    pub default: bool,
    pub subnets: Vec<String>,
    pub entries: Vec<AclEntry>,
}

/// A rule of a network ACL.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names are those of the API")]
pub struct AclEntry {
    pub number: u32,
    pub egress: bool,
    pub allow: bool,
    pub protocol: Protocol,
    pub cidr: Ipv4Net,
    pub ports: Option<(u16, u16)>,
}

/// The protocol of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Protocol {
    All,
    Tcp,
    Udp,
    Icmp,
    Number(u8),
}

/// A security group.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names are those of the API")]
pub struct SecurityGroup {
    pub id: String,
    pub vpc: String,
    pub ingress: Vec<Permission>,
    pub egress: Vec<Permission>,
}

/// A rule of a security group.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names are those of the API")]
pub struct Permission {
    pub protocol: Protocol,
    pub ports: Option<(u16, u16)>,
    pub peers: Vec<Peer>,
}

/// Whom a rule of a security group is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A range.
    Range(Ipv4Net),
    /// The members of a group.
    Group(String),
    /// The ranges of a prefix list.
    PrefixList(String),
}

/// A network interface: of an instance, or one that a test adds.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names are those of the API")]
pub struct Interface {
    pub id: String,
    /// The tag `Name` of the instance, or the ID.
    pub name: String,
    pub instance: Option<String>,
    pub subnet: String,
    pub address: Ipv4Addr,
    pub public_address: Option<Ipv4Addr>,
    pub groups: Groups,
    pub source_dest_check: bool,
}

/// The security groups of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Groups {
    /// Everything is allowed: the network is tested, not the machine.
    Open,
    /// These groups.
    Of(Vec<String>),
}

/// A VPC endpoint.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names are those of the API")]
pub struct Endpoint {
    pub id: String,
    pub vpc: String,
    /// `com.amazonaws.us-east-1.s3`.
    pub service_name: String,
    pub kind: EndpointKind,
    /// The policy document; none allows everything.
    pub policy: Option<String>,
}

/// The type of a VPC endpoint.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names are those of the API")]
pub enum EndpointKind {
    Gateway {
        route_tables: Vec<String>,
    },
    Interface {
        subnets: Vec<String>,
        /// Of its network interfaces, by subnet. Where there is none, any free one is taken.
        addresses: BTreeMap<String, Ipv4Addr>,
        groups: Vec<String>,
        private_dns: bool,
        /// Whether in-VPC clients get the public addresses, because a gateway endpoint serves them.
        private_dns_only_for_inbound: bool,
        dns_names: Vec<String>,
    },
}

/// A bucket of S3.
#[derive(Clone, Debug)]
pub struct Bucket {
    /// Its name.
    pub name: String,
    /// The policy document.
    pub policy: Option<String>,
}

/// A private hosted zone of Route 53.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names are those of the API")]
pub struct Zone {
    pub id: String,
    /// Without the final dot.
    pub name: String,
    pub vpcs: Vec<String>,
    pub records: Vec<RecordSet>,
}

/// A record set of a hosted zone.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names are those of the API")]
pub struct RecordSet {
    /// Without the final dot; `*` is the wildcard.
    pub name: String,
    /// `A`, `AAAA`, `CNAME` and so on.
    pub kind: String,
    pub values: Vec<String>,
    /// The name that an alias record leads to.
    pub alias: Option<String>,
}

/// A Route 53 Resolver endpoint.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names are those of the API")]
pub struct ResolverEndpoint {
    pub id: String,
    pub inbound: bool,
    pub groups: Vec<String>,
    /// Subnets and addresses.
    pub addresses: Vec<(String, Ipv4Addr)>,
}

/// A Route 53 Resolver rule.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names are those of the API")]
pub struct ResolverRule {
    pub id: String,
    /// Without the final dot; empty for all names.
    pub domain: String,
    /// Forwarded through this outbound endpoint; none is a rule of type SYSTEM.
    pub endpoint: Option<String>,
    pub targets: Vec<(IpAddr, u16)>,
    pub vpcs: Vec<String>,
}

impl Account {
    /// The VPC with this ID.
    pub fn vpc(&self, id: &str) -> Option<&Vpc> {
        self.vpcs.iter().find(|vpc| vpc.id == id)
    }

    /// The subnet with this ID.
    pub fn subnet(&self, id: &str) -> Option<&Subnet> {
        self.subnets.iter().find(|subnet| subnet.id == id)
    }

    /// The route table of a subnet: its own, or the main one of its VPC ("Subnet route tables" in the VPC User Guide).
    pub fn table_of(&self, subnet: &Subnet) -> Option<&RouteTable> {
        let own = self.route_tables.iter().find(|table| table.subnets.contains(&subnet.id));
        own.or_else(|| self.route_tables.iter().find(|table| table.main && table.vpc == subnet.vpc))
    }

    /// The network ACL of a subnet: its own, or the default one of its VPC ("Network ACL basics" in the VPC User Guide).
    pub fn acl_of(&self, subnet: &Subnet) -> Option<&NetworkAcl> {
        let own = self.network_acls.iter().find(|acl| acl.subnets.contains(&subnet.id));
        own.or_else(|| self.network_acls.iter().find(|acl| acl.default && acl.vpc == subnet.vpc))
    }

    /// The ranges of a destination. A prefix list that is unknown has none.
    pub fn ranges<'a>(&'a self, destination: &'a Destination) -> &'a [Ipv4Net] {
        match destination {
            Destination::Range(range) => std::slice::from_ref(range),
            Destination::PrefixList(id) => self.prefix_list(id),
        }
    }

    /// The entries of a prefix list.
    pub fn prefix_list(&self, id: &str) -> &[Ipv4Net] {
        self.prefix_lists.iter().find(|list| list.id == id).map_or(&[], |list| &list.entries)
    }

    /// Whether two VPCs have an active peering connection.
    pub fn peered(&self, one: &str, other: &str) -> bool {
        self.peerings.iter().any(|peering| {
            let pair = [peering.requester.as_str(), peering.accepter.as_str()];
            pair == [one, other] || pair == [other, one]
        })
    }
}
