//! The data plane of an account.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use ipnet::{IpNet, Ipv4Net};

use super::access::{Access, Door};
use super::account::{Account, EndpointKind, Groups};
use super::addresses::{Eni, Role, gateway, interfaces, resolver_addresses};
use super::edge::{gateway_endpoint, internet_gateway, nat_gateway, public_services};
use super::filter::security_groups;
use super::names::{Directory, Resolver};
use super::router::{FAR, Leads, NEAR, Router};
use super::transit::{Transit, zones};
use crate::lab::{Gate, Internet, Lab, Link, Names, Node, Script};

/// Where the public addresses of services other than S3 are.
const SERVICES: &str = "44.192.0.0/11";
const SERVICE: Ipv4Addr = Ipv4Addr::new(44, 192, 0, 10);
/// The addresses of S3 where no prefix list says otherwise.
const S3: &str = "52.216.0.0/15";

/// How an account becomes a data plane.
#[derive(Clone, Debug)]
pub struct Options {
    /// The ports on which the machines of subnets answer probes.
    pub ports: Vec<u16>,
    /// Gives every machine a public address, also where the subnet assigns none.
    pub public_machines: bool,
    /// Whether interfaces of instances answer probes as well; not where a test starts programs on them.
    pub instances_answer: bool,
    /// Whether endpoints and public addresses of services answer probes, and refuse what policies refuse; not where a test starts real servers there.
    pub services_answer: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { ports: vec![443], public_machines: false, instances_answer: true, services_answer: true }
    }
}

/// Nodes that carry packets as AWS would.
#[derive(Debug)]
pub struct Network {
    places: Vec<Place>,
    servers: Vec<Server>,
    access: Arc<Access>,
    /// The nodes live as long as this.
    _routers: Vec<Node>,
}

/// A machine: the one that stands for a subnet, or one of an instance.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names are those of the API")]
pub struct Place {
    /// The name of the subnet or of the instance.
    pub name: String,
    pub node: Node,
    pub vpc: String,
    pub subnet: String,
    pub address: Ipv4Addr,
    pub public_address: Option<Ipv4Addr>,
    /// The interface and the instance, where it is one's.
    pub interface: Option<String>,
    pub instance: Option<String>,
}

/// A node at which requests to services of AWS arrive.
#[derive(Clone, Debug)]
pub struct Server {
    /// The endpoint's ID; none is the service's public address.
    pub endpoint: Option<String>,
    /// The service's name, such as `com.amazonaws.us-east-1.s3`; empty for all.
    pub service_name: String,
    /// Its node. Everything that arrives there is for `address`.
    pub node: Node,
    /// The address that servers bind.
    pub address: Ipv4Addr,
}

impl Network {
    /// Builds the data plane and attaches it to the internet.
    ///
    /// # Errors
    /// The account names objects that it does not have, or the kernel refuses something.
    pub fn build(
        lab: &Lab,
        internet: &mut Internet,
        account: &Account,
        options: &Options,
    ) -> Result<Network> {
        Builder::new(lab, account, interfaces(account, options)?)?.build(internet, options)
    }

    /// All machines.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// The machine of a subnet or an instance, by its name or its ID.
    ///
    /// # Errors
    /// There is none.
    pub fn place(&self, name: &str) -> Result<&Place> {
        let known = || self.places.iter().map(|place| place.name.as_str()).collect::<Vec<_>>().join(", ");
        let mut named = self.places.iter().filter(|place| {
            place.name == name
                || (place.interface.is_none() && place.subnet == name)
                || place.interface.as_deref() == Some(name)
                || place.instance.as_deref() == Some(name)
        });
        named.next().with_context(|| format!("no machine {name}; there are {}", known()))
    }

    /// Where requests to services arrive: interface endpoints, gateway endpoints, and the public addresses.
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// What decides about requests that arrive at a server: the policies of its endpoint and of buckets.
    pub fn gate(&self, server: &Server) -> Arc<dyn Gate> {
        gate(&self.access, server)
    }
}

fn gate(access: &Arc<Access>, server: &Server) -> Arc<dyn Gate> {
    Arc::new(Door { access: Arc::clone(access), endpoint: server.endpoint.clone() })
}

/// A data plane in the making.
struct Builder<'a> {
    lab: &'a Lab,
    account: &'a Account,
    all: Vec<Eni>,
    routers: BTreeMap<String, Router>,
    transits: Vec<Transit>,
    links: Vec<Link>,
    scripts: Vec<(Node, Script)>,
    places: Vec<Place>,
    servers: Vec<Server>,
    /// The nodes of Resolver endpoints, with their IDs and addresses.
    resolvers: Vec<(String, String, Node, Ipv4Addr)>,
    gateways: Vec<(String, Node)>,
}

impl<'a> Builder<'a> {
    fn new(lab: &'a Lab, account: &'a Account, all: Vec<Eni>) -> Result<Builder<'a>> {
        let mut routers = BTreeMap::new();
        for (number, vpc) in (1_u32..).zip(&account.vpcs) {
            // 169.254.0.0/18 is for routers, one address each.
            let address = Ipv4Addr::from(u32::from(Ipv4Addr::new(169, 254, 0, 0)) + number);
            let node = lab.node(&vpc.id)?;
            routers.insert(vpc.id.clone(), Router { vpc: vpc.clone(), node, address, ports: Vec::new() });
        }
        Ok(Builder {
            lab,
            account,
            all,
            routers,
            transits: Vec::new(),
            links: Vec::new(),
            scripts: Vec::new(),
            places: Vec::new(),
            servers: Vec::new(),
            resolvers: Vec::new(),
            gateways: Vec::new(),
        })
    }

    fn build(mut self, internet: &mut Internet, options: &Options) -> Result<Network> {
        for index in 0..self.all.len() {
            self.interface(index)?;
        }
        self.transit_gateways()?;
        self.peerings()?;
        self.internet_gateways()?;
        self.gateway_endpoints()?;
        self.lab.link(&self.links)?;
        for router in self.routers.values() {
            self.scripts.push((router.node.clone(), router.script(self.account, &self.all)));
        }
        for transit in &self.transits {
            self.scripts.push((transit.node.clone(), transit.script()));
        }
        let scripts: Vec<_> = self.scripts.iter().map(|(node, script)| (node, script.clone())).collect();
        self.lab.configure(&scripts)?;
        for (vpc, node) in &self.gateways {
            let public: Vec<IpNet> =
                self.translated(vpc).into_iter().map(|(_, public)| IpNet::V4(public.into())).collect();
            internet.attach(self.lab, node, "net", &public)?;
        }
        let services = self.public(internet)?;
        self.names(internet)?;
        for place in self.places.iter().filter(|place| place.instance.is_none() || options.instances_answer) {
            self.lab.respond(&place.node, &[place.address.into()], &options.ports)?;
        }
        let access = Arc::new(Access::of(self.account)?);
        if options.services_answer {
            for server in &self.servers {
                let (at, gate) = ([server.address.into()], gate(&access, server));
                self.lab.respond_with(&server.node, &at, &[80, 443], Some(&gate))?;
            }
        }
        let routers = self.routers.into_values().map(|router| router.node);
        let others = self.transits.into_iter().map(|transit| transit.node);
        let guards = self.scripts.into_iter().map(|(node, _)| node);
        Ok(Network {
            places: self.places,
            servers: self.servers,
            access,
            _routers: routers.chain(others).chain(guards).chain([services]).collect(),
        })
    }

    /// A network interface, and what is behind it.
    fn interface(&mut self, index: usize) -> Result<()> {
        let eni = self.all[index].clone();
        let node = self.lab.node(&eni.name)?;
        let port = self.port(&eni.subnet.vpc, FAR, Leads::Interface(index))?;
        let router = self.router(&eni.subnet.vpc)?.node.clone();
        let own = eni.address;
        let direct = Script::new()
            .ip(&format!("address add {own}/32 dev eth0"))
            .ip(&format!("address add {FAR}/32 dev eth0"))
            .ip(&format!("route add default via {NEAR} dev eth0 onlink src {own}"));
        match &eni.role {
            Role::Nat(_) => {
                self.links.push(Link::new(&router, &port, &node, "eth0"));
                self.scripts.push((node.clone(), nat_gateway(&eni)));
            }
            role if role.is_machine() && eni.groups != Groups::Open => {
                let guard = self.lab.node(&format!("guard of {}", eni.name))?;
                self.links.push(Link::new(&router, &port, &guard, "vpc"));
                self.links.push(Link::new(&guard, "host", &node, "eth0"));
                let first = gateway(&eni.subnet);
                let filter = security_groups(self.account, &self.all, &eni, true);
                let script = Script::new()
                    .forward()
                    .ip(&format!("address add {FAR}/32 dev vpc"))
                    .ip(&format!("address add {first}/32 dev host"))
                    .ip(&format!("route add {own}/32 dev host"))
                    .ip(&format!("route add default via {NEAR} dev vpc onlink"))
                    .nft(&filter);
                // What an instance without the check receives for others goes to it as well.
                let others = if eni.check {
                    script
                } else {
                    script
                        .ip("rule add pref 1000 iif vpc lookup 100")
                        .ip(&format!("route add default via {own} dev host onlink table 100"))
                };
                self.scripts.push((guard, others));
                let machine = Script::new()
                    .ip(&format!("address add {own}/32 dev eth0"))
                    .ip(&format!("route add default via {first} dev eth0 onlink src {own}"));
                self.scripts.push((node.clone(), machine));
            }
            _ => {
                self.links.push(Link::new(&router, &port, &node, "eth0"));
                let script = match &eni.groups {
                    Groups::Open => direct,
                    Groups::Of(_) => direct.nft(&security_groups(self.account, &self.all, &eni, false)),
                };
                self.scripts.push((node.clone(), script));
            }
        }
        self.note(&eni, node)
    }

    /// Remembers what is at an interface.
    fn note(&mut self, eni: &Eni, node: Node) -> Result<()> {
        match &eni.role {
            Role::Subnet | Role::Instance(..) => {
                let cidrs = &self.router(&eni.subnet.vpc)?.vpc.cidrs;
                let resolver = resolver_addresses(cidrs);
                node.set_resolvers(&resolver.iter().take(1).map(|v4| IpAddr::V4(*v4)).collect::<Vec<_>>())?;
                let (interface, instance) = match &eni.role {
                    Role::Instance(id, instance) => (Some(id.clone()), instance.clone()),
                    _ => (None, None),
                };
                self.places.push(Place {
                    name: eni.name.clone(),
                    node,
                    vpc: eni.subnet.vpc.clone(),
                    subnet: eni.subnet.id.clone(),
                    address: eni.address,
                    public_address: eni.public,
                    interface,
                    instance,
                });
            }
            Role::Endpoint(id) => {
                let endpoint = self.account.endpoints.iter().find(|endpoint| endpoint.id == *id);
                let service_name = endpoint.map(|endpoint| endpoint.service_name.clone()).unwrap_or_default();
                self.servers.push(Server {
                    endpoint: Some(id.clone()),
                    service_name,
                    node,
                    address: eni.address,
                });
            }
            Role::Resolver(id) => {
                self.resolvers.push((id.clone(), eni.subnet.vpc.clone(), node, eni.address));
            }
            Role::Nat(_) => {}
        }
        Ok(())
    }

    fn transit_gateways(&mut self) -> Result<()> {
        for gateway in &self.account.transit_gateways {
            let node = self.lab.node(&gateway.id)?;
            let mut ports = Vec::new();
            for attachment in &gateway.attachments {
                for (subnet, zone) in zones(self.account, &attachment.subnets) {
                    let port = self.port(
                        &attachment.vpc,
                        FAR,
                        Leads::Transit(gateway.id.clone(), subnet.to_owned()),
                    )?;
                    let own = format!("att{}", ports.len());
                    self.links.push(Link::new(&self.router(&attachment.vpc)?.node, &port, &node, &own));
                    ports.push((own, attachment.id.clone(), zone.to_owned()));
                }
            }
            self.scripts.push((node.clone(), Script::new().ip(&format!("address add {FAR}/32 dev lo"))));
            self.transits.push(Transit { node, gateway: gateway.clone(), ports });
        }
        Ok(())
    }

    fn peerings(&mut self) -> Result<()> {
        for peering in &self.account.peerings {
            let (one, other) = (&peering.requester, &peering.accepter);
            let (Ok(first), Ok(second)) = (self.router(one), self.router(other)) else { continue };
            let (first, second) =
                ((first.node.clone(), first.address), (second.node.clone(), second.address));
            let near = self.port(one, second.1, Leads::Peering(peering.id.clone()))?;
            let far = self.port(other, first.1, Leads::Peering(peering.id.clone()))?;
            self.links.push(Link::new(&first.0, &near, &second.0, &far));
        }
        Ok(())
    }

    fn internet_gateways(&mut self) -> Result<()> {
        for gateway in &self.account.internet_gateways {
            let Some(vpc) = &gateway.vpc else { continue };
            let node = self.lab.node(&gateway.id)?;
            let port = self.port(vpc, FAR, Leads::Internet(gateway.id.clone()))?;
            let router = self.router(vpc)?;
            let (link, cidrs) = (Link::new(&router.node, &port, &node, "vpc"), router.vpc.cidrs.clone());
            self.links.push(link);
            self.scripts.push((node.clone(), internet_gateway(&self.translated(vpc), &cidrs)));
            self.gateways.push((vpc.clone(), node));
        }
        Ok(())
    }

    fn gateway_endpoints(&mut self) -> Result<()> {
        for endpoint in &self.account.endpoints {
            if !matches!(endpoint.kind, EndpointKind::Gateway { .. }) {
                continue;
            }
            let node = self.lab.node(&endpoint.id)?;
            let port = self.port(&endpoint.vpc, FAR, Leads::GatewayEndpoint(endpoint.id.clone()))?;
            let router = self.router(&endpoint.vpc)?;
            let (link, cidrs) = (Link::new(&router.node, &port, &node, "vpc"), router.vpc.cidrs.clone());
            self.links.push(link);
            self.scripts.push((node.clone(), gateway_endpoint(&cidrs)));
            self.servers.push(Server {
                endpoint: Some(endpoint.id.clone()),
                service_name: endpoint.service_name.clone(),
                node,
                address: FAR,
            });
        }
        Ok(())
    }

    /// The services' public addresses and names, and those names of endpoints that are public.
    fn public(&mut self, internet: &mut Internet) -> Result<Node> {
        let region = &self.account.region;
        let list =
            self.account.prefix_lists.iter().find(|list| list.name == format!("com.amazonaws.{region}.s3"));
        let s3: Vec<Ipv4Net> = match list {
            Some(list) => list.entries.clone(),
            None => vec![S3.parse()?],
        };
        let names = internet.names();
        if let Some(range) = s3.first() {
            let address = IpAddr::V4(Ipv4Addr::from(u32::from(range.network()) + 10));
            names.add(&format!("s3.{region}.amazonaws.com"), [address]);
            names.add(&format!("*.s3.{region}.amazonaws.com"), [address]);
        }
        names.add(&format!("*.{region}.amazonaws.com"), [SERVICE.into()]);
        for endpoint in &self.account.endpoints {
            if let EndpointKind::Interface { dns_names, .. } = &endpoint.kind {
                for name in dns_names {
                    names.add(name, self.addresses_of(&endpoint.id));
                }
            }
        }
        let node = self.lab.node("public services")?;
        node.configure(&public_services(SERVICE))?;
        let mut prefixes: Vec<IpNet> = s3.into_iter().map(IpNet::V4).collect();
        prefixes.push(SERVICES.parse()?);
        internet.attach(self.lab, &node, "net", &prefixes)?;
        self.servers.push(Server {
            endpoint: None,
            service_name: String::new(),
            node: node.clone(),
            address: SERVICE,
        });
        Ok(node)
    }

    fn names(&self, internet: &Internet) -> Result<()> {
        let mut outbound = BTreeMap::<String, Vec<Node>>::new();
        for (id, _, node, _) in &self.resolvers {
            outbound.entry(id.clone()).or_default().push(node.clone());
        }
        let mut private = BTreeMap::<String, Vec<IpAddr>>::new();
        for eni in &self.all {
            private.entry(eni.subnet.vpc.clone()).or_default().push(eni.address.into());
        }
        let ids = self.account.endpoints.iter().map(|endpoint| &endpoint.id);
        let directory = Arc::new(Directory {
            account: self.account.clone(),
            public: internet.names().clone(),
            endpoints: ids.map(|id| (id.clone(), self.addresses_of(id))).collect(),
            outbound,
            private,
        });
        let resolver = |vpc: &str, inbound: bool| -> Arc<dyn Names> {
            Arc::new(Resolver { directory: Arc::clone(&directory), vpc: vpc.to_owned(), inbound })
        };
        for router in self.routers.values() {
            let addresses: Vec<IpAddr> =
                resolver_addresses(&router.vpc.cidrs).into_iter().map(IpAddr::V4).collect();
            self.lab.serve_names(&router.node, &addresses, &resolver(&router.vpc.id, false))?;
        }
        for (id, vpc, node, address) in &self.resolvers {
            let endpoint = self.account.resolver_endpoints.iter().find(|endpoint| endpoint.id == *id);
            if endpoint.is_some_and(|endpoint| endpoint.inbound) {
                self.lab.serve_names(node, &[(*address).into()], &resolver(vpc, true))?;
            }
        }
        Ok(())
    }

    /// Private and public addresses of a VPC's interfaces.
    fn translated(&self, vpc: &str) -> Vec<(Ipv4Addr, Ipv4Addr)> {
        let inside = self.all.iter().filter(|eni| eni.subnet.vpc == vpc);
        inside.filter_map(|eni| Some((eni.address, eni.public?))).collect()
    }

    fn addresses_of(&self, endpoint: &str) -> Vec<IpAddr> {
        let own = self.all.iter().filter(|eni| eni.role == Role::Endpoint(endpoint.to_owned()));
        own.map(|eni| eni.address.into()).collect()
    }

    fn router(&self, vpc: &str) -> Result<&Router> {
        self.routers.get(vpc).with_context(|| format!("no VPC {vpc}"))
    }

    fn port(&mut self, vpc: &str, hop: Ipv4Addr, leads: Leads) -> Result<String> {
        let router = self.routers.get_mut(vpc).with_context(|| format!("no VPC {vpc}"))?;
        Ok(router.port(hop, leads))
    }
}
