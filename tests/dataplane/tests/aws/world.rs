//! Accounts written by hand, and what their packets do.

use std::collections::BTreeMap;
use std::time::Duration;

use warren_dataplane::aws::{
    Account, AclEntry, Attachment, Bucket, Destination, Endpoint, EndpointKind, Groups, Interface,
    InternetGateway, NatGateway, Network, NetworkAcl, Options, Peer, Peering, Permission, PrefixList,
    Protocol, Route, RouteTable, SecurityGroup, Subnet, TransitGateway, TransitTable, Vpc,
};
use warren_dataplane::lab::{Internet, Lab, Lookup, Outcome, Probe};

/// Parses what a test writes as text.
pub(crate) fn p<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.parse().unwrap()
}

/// An account that tests add to.
#[derive(Default)]
pub(crate) struct Draft {
    pub(crate) account: Account,
}

impl Draft {
    pub(crate) fn new() -> Draft {
        let account = Account { region: "us-east-1".to_owned(), ..Account::default() };
        let mut draft = Draft { account };
        draft.account.prefix_lists.push(PrefixList {
            id: "pl-s3".to_owned(),
            name: "com.amazonaws.us-east-1.s3".to_owned(),
            entries: vec![p("52.216.0.0/15")],
        });
        draft
    }

    /// A VPC `NAME` with DNS attributes as `CreateVpc` of the console sets them, and its main table.
    pub(crate) fn vpc(mut self, name: &str, cidr: &str) -> Self {
        self.account.vpcs.push(Vpc {
            id: name.to_owned(),
            name: name.to_owned(),
            cidrs: vec![p(cidr)],
            enable_dns_support: true,
            enable_dns_hostnames: true,
        });
        self.account.route_tables.push(RouteTable {
            id: format!("{name}-main"),
            vpc: name.to_owned(),
            main: true,
            subnets: Vec::new(),
            routes: Vec::new(),
        });
        self
    }

    pub(crate) fn subnet(self, vpc: &str, name: &str, cidr: &str) -> Self {
        self.subnet_in(vpc, name, cidr, "us-east-1a")
    }

    pub(crate) fn subnet_in(mut self, vpc: &str, name: &str, cidr: &str, zone: &str) -> Self {
        self.account.subnets.push(Subnet {
            id: name.to_owned(),
            name: name.to_owned(),
            vpc: vpc.to_owned(),
            cidr: p(cidr),
            zone: zone.to_owned(),
            map_public_ip_on_launch: name.contains("public"),
        });
        self
    }

    /// A table of its own for a subnet.
    pub(crate) fn table(mut self, subnet: &str, routes: &[(&str, &str)]) -> Self {
        let vpc = self.account.subnet(subnet).unwrap().vpc.clone();
        let routes = routes.iter().map(|(to, target)| route(to, target)).collect();
        let subnets = vec![subnet.to_owned()];
        self.account.route_tables.push(RouteTable {
            id: format!("{subnet}-table"),
            vpc,
            main: false,
            subnets,
            routes,
        });
        self
    }

    /// A route of a VPC's main table.
    pub(crate) fn route(mut self, vpc: &str, to: &str, target: &str) -> Self {
        let id = format!("{vpc}-main");
        let table = self.account.route_tables.iter_mut().find(|table| table.id == id).unwrap();
        table.routes.push(route(to, target));
        self
    }

    pub(crate) fn internet_gateway(mut self, vpc: &str) -> Self {
        let vpc = vpc.to_owned();
        self.account.internet_gateways.push(InternetGateway { id: format!("igw-{vpc}"), vpc: Some(vpc) });
        self
    }

    pub(crate) fn nat(mut self, subnet: &str, public: &str) -> Self {
        self.account.nat_gateways.push(NatGateway {
            id: format!("nat-{subnet}"),
            subnet: subnet.to_owned(),
            public_address: Some(p(public)),
        });
        self
    }

    pub(crate) fn peering(mut self, one: &str, other: &str) -> Self {
        self.account.peerings.push(Peering {
            id: format!("pcx-{one}-{other}"),
            requester: one.to_owned(),
            accepter: other.to_owned(),
        });
        self
    }

    /// A transit gateway `tgw-1`; attachments are named after their VPCs.
    pub(crate) fn transit(mut self, attachments: &[(&str, &[&str])], tables: &[Table<'_>]) -> Self {
        let attachments = attachments.iter().map(|(vpc, subnets)| Attachment {
            id: (*vpc).to_owned(),
            vpc: (*vpc).to_owned(),
            subnets: subnets.iter().map(|id| (*id).to_owned()).collect(),
        });
        let tables = tables.iter().enumerate().map(|(number, (associations, routes))| TransitTable {
            id: format!("tgw-rtb-{number}"),
            associations: associations.iter().map(|id| (*id).to_owned()).collect(),
            routes: routes.iter().map(|(range, to)| (p(range), to.map(str::to_owned))).collect(),
        });
        self.account.transit_gateways.push(TransitGateway {
            id: "tgw-1".to_owned(),
            attachments: attachments.collect(),
            tables: tables.collect(),
        });
        self
    }

    pub(crate) fn gateway_endpoint(mut self, vpc: &str, tables: &[&str]) -> Self {
        self.account.endpoints.push(Endpoint {
            id: format!("vpce-s3-{vpc}"),
            vpc: vpc.to_owned(),
            service_name: "com.amazonaws.us-east-1.s3".to_owned(),
            kind: EndpointKind::Gateway { route_tables: tables.iter().map(|id| (*id).to_owned()).collect() },
            policy: None,
        });
        self
    }

    /// An interface endpoint `vpce-SERVICE` with a regional name of that.
    pub(crate) fn interface_endpoint(
        mut self,
        service: &str,
        subnet: &str,
        groups: &[&str],
        private_dns: bool,
    ) -> Self {
        let vpc = self.account.subnet(subnet).unwrap().vpc.clone();
        self.account.endpoints.push(Endpoint {
            id: format!("vpce-{service}"),
            vpc,
            service_name: format!("com.amazonaws.us-east-1.{service}"),
            kind: EndpointKind::Interface {
                subnets: vec![subnet.to_owned()],
                addresses: BTreeMap::new(),
                groups: groups.iter().map(|id| (*id).to_owned()).collect(),
                private_dns,
                private_dns_only_for_inbound: false,
                dns_names: vec![format!("vpce-{service}.us-east-1.vpce.amazonaws.com")],
            },
            policy: None,
        });
        self
    }

    /// A security group that allows all egress, and ingress of TCP 443 from these.
    pub(crate) fn group(mut self, id: &str, vpc: &str, from: &[Peer]) -> Self {
        let ingress = Permission { protocol: Protocol::Tcp, ports: Some((443, 443)), peers: from.to_vec() };
        let egress =
            Permission { protocol: Protocol::All, ports: None, peers: vec![Peer::Range(p("0.0.0.0/0"))] };
        self.account.security_groups.push(SecurityGroup {
            id: id.to_owned(),
            vpc: vpc.to_owned(),
            ingress: vec![ingress],
            egress: vec![egress],
        });
        self
    }

    pub(crate) fn machine(mut self, name: &str, subnet: &str, address: &str, groups: &[&str]) -> Self {
        self.account.interfaces.push(Interface {
            id: format!("eni-{name}"),
            name: name.to_owned(),
            instance: Some(format!("i-{name}")),
            subnet: subnet.to_owned(),
            address: p(address),
            public_address: None,
            groups: Groups::Of(groups.iter().map(|id| (*id).to_owned()).collect()),
            source_dest_check: true,
        });
        self
    }

    pub(crate) fn acl(mut self, subnet: &str, entries: &[AclEntry]) -> Self {
        let vpc = self.account.subnet(subnet).unwrap().vpc.clone();
        self.account.network_acls.push(NetworkAcl {
            id: format!("acl-{subnet}"),
            vpc,
            default: false,
            subnets: vec![subnet.to_owned()],
            entries: entries.to_vec(),
        });
        self
    }

    /// The policy of an endpoint, as a list of statements.
    pub(crate) fn endpoint_policy(mut self, endpoint: &str, statements: &str) -> Self {
        let all = &mut self.account.endpoints;
        all.iter_mut().find(|it| it.id == endpoint).unwrap().policy = Some(policy(statements));
        self
    }

    pub(crate) fn bucket(mut self, name: &str, statements: Option<&str>) -> Self {
        self.account.buckets.push(Bucket { name: name.to_owned(), policy: statements.map(policy) });
        self
    }

    pub(crate) fn change(mut self, change: impl FnOnce(&mut Account)) -> Self {
        change(&mut self.account);
        self
    }

    pub(crate) fn build(self) -> World {
        World::new(&self.account)
    }
}

fn policy(statements: &str) -> String {
    format!(r#"{{"Version":"2012-10-17","Statement":[{statements}]}}"#)
}

/// Associated attachments, and ranges with attachments or none.
pub(crate) type Table<'a> = (&'a [&'a str], &'a [(&'a str, Option<&'a str>)]);

fn route(to: &str, target: &str) -> Route {
    let destination = match to.strip_prefix("pl-") {
        Some(_) => Destination::PrefixList(to.to_owned()),
        None => Destination::Range(p(to)),
    };
    Route { destination, target: target.to_owned(), blackhole: false }
}

/// An ACL rule for all of a protocol's traffic, or for ports.
pub(crate) fn entry(
    number: u32,
    egress: bool,
    allow: bool,
    protocol: Protocol,
    ports: Option<(u16, u16)>,
) -> AclEntry {
    AclEntry { number, egress, allow, protocol, cidr: p("0.0.0.0/0"), ports }
}

/// A data plane.
pub(crate) struct World {
    pub(crate) lab: Lab,
    pub(crate) internet: Internet,
    pub(crate) network: Network,
}

impl World {
    pub(crate) fn new(account: &Account) -> World {
        let lab = Lab::new().unwrap().quiet(Duration::from_millis(800));
        let mut internet = Internet::new(&lab, &[443]).unwrap();
        let network = Network::build(&lab, &mut internet, account, &Options::default()).unwrap();
        World { lab, internet, network }
    }

    /// Connects from a machine to an address, or to a machine by its name, on port 443.
    pub(crate) fn tcp(&self, from: &str, to: &str) -> Outcome {
        let from = self.network.place(from).unwrap();
        let to = match to.parse() {
            Ok(address) => address,
            Err(_) => self.network.place(to).unwrap().address.into(),
        };
        self.lab.probe(&[Probe::tcp(&from.node, std::net::SocketAddr::new(to, 443))]).remove(0)
    }

    /// The server that a machine reaches at an address or a machine.
    #[track_caller]
    pub(crate) fn reaches(&self, from: &str, to: &str, server: &str) {
        let outcome = self.tcp(from, to);
        assert_eq!(outcome.server(), Some(server), "{from} -> {to}: {outcome:?}");
    }

    #[track_caller]
    pub(crate) fn closed(&self, from: &str, to: &str) {
        let outcome = self.tcp(from, to);
        assert!(!outcome.reached(), "{from} -> {to}: {outcome:?}");
    }

    /// Reads an object of a bucket.
    pub(crate) fn get(&self, from: &str, bucket: &str, headers: &[&str]) -> Outcome {
        self.ask(from, &format!("{bucket}.s3.us-east-1.amazonaws.com"), "/part/0", headers)
    }

    /// A request for a path of a host, where the machine resolves its name.
    pub(crate) fn ask(&self, from: &str, host: &str, path: &str, headers: &[&str]) -> Outcome {
        let node = &self.network.place(from).unwrap().node;
        let at = *self.lab.lookup(node, host).addresses.iter().next().unwrap();
        self.lab.probe(&[Probe::get(node, (at, 443).into(), host, path, headers)]).remove(0)
    }

    pub(crate) fn lookup(&self, from: &str, name: &str) -> Lookup {
        self.lab.lookup(&self.network.place(from).unwrap().node, name)
    }

    /// The addresses of a name, as text.
    pub(crate) fn names(&self, from: &str, name: &str) -> Vec<String> {
        self.lookup(from, name).addresses.iter().map(ToString::to_string).collect()
    }
}
