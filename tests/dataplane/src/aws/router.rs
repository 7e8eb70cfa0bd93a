//! A VPC's router: route tables, network ACLs, and what may arrive from where.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;

use super::account::{Account, Destination, EndpointKind, RouteTable, Subnet, Vpc};
use super::addresses::{Eni, Role, resolver_addresses};
use super::filter::network_acl;
use crate::lab::{Node, Script};

/// The router's end of every link, and the end of what is not a router.
pub(super) const NEAR: Ipv4Addr = Ipv4Addr::new(169, 254, 255, 1);
pub(super) const FAR: Ipv4Addr = Ipv4Addr::new(169, 254, 255, 2);

/// A VPC's router and its links.
#[derive(Debug)]
pub(super) struct Router {
    pub(super) vpc: Vpc,
    pub(super) node: Node,
    /// Tells the routers apart, where two are linked.
    pub(super) address: Ipv4Addr,
    pub(super) ports: Vec<Port>,
}

/// A link of a router.
#[derive(Clone, Debug)]
pub(super) struct Port {
    pub(super) interface: String,
    /// The next hop on it.
    pub(super) hop: Ipv4Addr,
    pub(super) leads: Leads,
}

/// Where a link leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Leads {
    /// To a network interface, by its place in the list.
    Interface(usize),
    /// To a transit gateway: its ID, and the attachment's subnet.
    Transit(String, String),
    /// To the other VPC of a peering connection, by its ID.
    Peering(String),
    /// To the VPC's internet gateway, by its ID.
    Internet(String),
    /// To a gateway endpoint, by its ID.
    GatewayEndpoint(String),
}

/// Where traffic comes from decides what it may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// A network interface of the VPC.
    Inside,
    /// A transit gateway's interface in a subnet.
    Transit,
}

impl Router {
    /// A port for a link that leads to `leads`; its interface is the number of the port.
    pub(super) fn port(&mut self, hop: Ipv4Addr, leads: Leads) -> String {
        let interface = format!("port{}", self.ports.len());
        self.ports.push(Port { interface: interface.clone(), hop, leads });
        interface
    }

    /// Everything that the router is configured with.
    pub(super) fn script(&self, account: &Account, all: &[Eni]) -> Script {
        let mut script = Script::new().forward();
        for address in [NEAR].iter().chain(&resolver_addresses(&self.vpc.cidrs)) {
            script = script.ip(&format!("address add {address}/32 dev lo"));
        }
        for port in self.ports.iter().filter(|port| matches!(port.leads, Leads::Peering(_))) {
            // The routers' ends have different addresses here: a neighbour that asks with one's own is not answered.
            script = script.ip(&format!("address add {}/32 dev {}", self.address, port.interface));
        }
        // For the resolver's answers, and for what arrives from a peering connection, the internet gateway or a gateway endpoint:
        // it may only go to an address of the VPC.
        for (port, eni) in self.interfaces(all) {
            let (address, hop, interface) = (eni.address, port.hop, &port.interface);
            script = script.ip(&format!("route add {address}/32 via {hop} dev {interface} onlink"));
        }
        let mut tables = BTreeMap::new();
        for port in &self.ports {
            let class = match &port.leads {
                Leads::Interface(index) => (all[*index].subnet.id.clone(), Origin::Inside),
                Leads::Transit(_, subnet) => (subnet.clone(), Origin::Transit),
                _ => continue,
            };
            let Some(subnet) = account.subnet(&class.0) else { continue };
            let next = 100 + tables.len();
            let key = (class.0, class.1 == Origin::Transit);
            let number = *tables.entry(key).or_insert_with(|| {
                let lines = self.table(account, all, subnet, class.1);
                for line in lines {
                    script = std::mem::take(&mut script).ip(&format!("{line} table {next}"));
                }
                next
            });
            script = script.ip(&format!("rule add pref 1000 iif {} lookup {number}", port.interface));
        }
        script.nft(&self.filters(account, all))
    }

    /// The table that traffic from a subnet follows, as lines of `ip`.
    fn table(&self, account: &Account, all: &[Eni], subnet: &Subnet, origin: Origin) -> Vec<String> {
        let mut lines = Vec::new();
        let mut routes: BTreeMap<Ipv4Net, String> = BTreeMap::new();
        for cidr in &self.vpc.cidrs {
            // "Every route table contains a local route for communication within the VPC."
            routes.insert(*cidr, "local".to_owned());
        }
        if let Some(table) = account.table_of(subnet) {
            self.add_routes(account, table, &mut routes);
        }
        for (port, eni) in self.interfaces(all) {
            // "We use the most specific route that matches the traffic": a route more specific than the local one takes a part
            // of the VPC's own range elsewhere.
            let best = routes
                .iter()
                .filter(|(range, _)| range.contains(&eni.address))
                .max_by_key(|(range, _)| range.prefix_len());
            if best.is_some_and(|(_, target)| target == "local") {
                let (address, hop, interface) = (eni.address, port.hop, &port.interface);
                lines.push(format!("route add {address}/32 via {hop} dev {interface} onlink"));
            }
        }
        for (range, target) in &routes {
            lines.push(match self.port_of(account, all, subnet, target, origin) {
                Some(port) => format!("route add {range} via {} dev {} onlink", port.hop, port.interface),
                None => format!("route add blackhole {range}"),
            });
        }
        if !routes.keys().any(|range| range.prefix_len() == 0) {
            lines.push("route add blackhole default".to_owned());
        }
        lines
    }

    /// The routes of a table. Of two for the same range, a static one wins over the one of a gateway endpoint ("Route priority").
    fn add_routes(&self, account: &Account, table: &RouteTable, routes: &mut BTreeMap<Ipv4Net, String>) {
        for endpoint in &account.endpoints {
            // "The endpoint's routes are added to the route tables that you select", of its own VPC.
            if let EndpointKind::Gateway { route_tables } = &endpoint.kind
                && route_tables.contains(&table.id)
                && endpoint.vpc == self.vpc.id
            {
                let list = account.prefix_lists.iter().find(|list| list.name == endpoint.service_name);
                for range in list.map(|list| list.entries.as_slice()).unwrap_or_default() {
                    routes.insert(*range, endpoint.id.clone());
                }
            }
        }
        let mut rest: Vec<_> =
            table.routes.iter().filter(|route| !route.target.starts_with("vpce-")).collect();
        rest.sort_by_key(|route| matches!(route.destination, Destination::Range(_)));
        for route in rest {
            let target = if route.blackhole { "blackhole" } else { &route.target };
            for range in account.ranges(&route.destination) {
                routes.insert(*range, target.to_owned());
            }
        }
    }

    /// The link that a route's target is behind. Without one, the packet is dropped.
    fn port_of(
        &self,
        account: &Account,
        all: &[Eni],
        subnet: &Subnet,
        target: &str,
        origin: Origin,
    ) -> Option<&Port> {
        self.ports.iter().find(|port| match &port.leads {
            Leads::Interface(index) => match &all[*index].role {
                Role::Nat(id) => id == target,
                Role::Instance(id, instance) => id == target || instance.as_deref() == Some(target),
                _ => false,
            },
            // "Only resources that reside in Availability Zones where there is a transit gateway attachment can reach the
            // transit gateway" ("Transit gateway attachments to a VPC").
            Leads::Transit(id, at) => {
                id == target && account.subnet(at).is_some_and(|at| at.zone == subnet.zone)
            }
            Leads::Internet(id) => id == target,
            // "Endpoint connections cannot be extended out of a VPC. Resources on the other side of a VPN connection, VPC
            // peering connection, transit gateway, or Direct Connect connection cannot use a gateway endpoint" ("Gateway
            // endpoints"); the same is true of a peering connection ("Unsupported VPC peering configurations").
            Leads::GatewayEndpoint(id) | Leads::Peering(id) => id == target && origin == Origin::Inside,
        })
    }

    /// Network ACLs apply where a packet leaves a subnet and where it enters another; the transit gateway's interface is in its
    /// attachment's subnet ("Network ACLs for transit gateways").
    fn filters(&self, account: &Account, all: &[Eni]) -> String {
        let mut members: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for port in &self.ports {
            let subnet = match &port.leads {
                Leads::Interface(index) => &all[*index].subnet.id,
                Leads::Transit(_, subnet) => subnet,
                _ => continue,
            };
            members.entry(subnet).or_default().push(&port.interface);
        }
        let quoted = |names: &[&str]| {
            let all: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
            format!("{{ {} }}", all.join(", "))
        };
        let (mut chains, mut within, mut jumps) = (String::new(), String::new(), String::new());
        for (number, (id, names)) in members.iter().enumerate() {
            let Some(acl) = account.subnet(id).and_then(|subnet| account.acl_of(subnet)) else { continue };
            let (name, names) = (format!("acl{number}"), quoted(names));
            chains += &network_acl(acl, &name);
            let _ = writeln!(within, "iifname {names} oifname {names} accept");
            let _ = writeln!(jumps, "iifname {names} jump {name}_out\noifname {names} jump {name}_in");
        }
        // The resolver answers the VPC's own interfaces only, and nothing filters what they ask it.
        let inside: Vec<&str> = self.interfaces(all).map(|(port, _)| port.interface.as_str()).collect();
        let asked = if inside.is_empty() {
            String::new()
        } else {
            format!("iifname {} meta l4proto {{ tcp, udp }} th dport 53 accept", quoted(&inside))
        };
        format!(
            "table ip vpc {{\n{chains}chain forward {{\ntype filter hook forward priority filter; policy accept;\n{within}{jumps}}}\n\
             chain input {{\ntype filter hook input priority filter; policy drop;\niifname \"lo\" accept\n{asked}\n}}\n}}\n"
        )
    }

    /// The links to network interfaces.
    fn interfaces<'a>(&'a self, all: &'a [Eni]) -> impl Iterator<Item = (&'a Port, &'a Eni)> {
        self.ports.iter().filter_map(|port| match port.leads {
            Leads::Interface(index) => Some((port, all.get(index)?)),
            _ => None,
        })
    }
}
