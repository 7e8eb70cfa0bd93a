//! The data plane of the emulated Google Cloud: what its API shows becomes hosts, routers and resolvers.
//!
//! ```text
//! host ─ h0 ┐                            ┌ apis: every Google API, public, private and restricted addresses, bundles
//! host ─ h1 ┼ router of a network ─ edge ┤
//!           │        │ p0                └ internet, with the other clouds
//!           └ ... router of a peer
//! ```
//!
//! Every instance has a link of its own to its network's router, since Google filters and routes at each instance's interface.
//! The node `edge` is Google's own network: what Private Google Access and endpoints carry crosses it, and not the internet.
//!
//! Written from Google's documentation; each rule names the title of its page. Left out: IPv6, dynamic routes, VPN, load
//! balancers, firewall policies, Private NAT, several interfaces of an instance, Shared VPC.

mod filter;
pub mod inventory;
pub mod made;
mod names;
mod places;
mod tables;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use ipnet::{IpNet, Ipv4Net};
use serde_json::Value;

use crate::lab::{Internet, Lab, Link, Names, Node, Script};
use inventory::{Inventory, Path};
pub use names::{Said, look};
pub use places::{Of, Place};
use tables::{Line, To};

/// The metadata server, which is the resolver too.
pub const METADATA: Ipv4Addr = Ipv4Addr::new(169, 254, 169, 254);

/// Public addresses of Google APIs.
pub(crate) const APIS: &str = "142.250.0.0/24";
/// `private.googleapis.com` ("Private Google Access").
pub(crate) const PRIVATE_NAMES: &str = "199.36.153.8/30";
/// `restricted.googleapis.com` ("Private Google Access").
pub(crate) const RESTRICTED_NAMES: &str = "199.36.153.4/30";
/// Where endpoints' traffic arrives at Google, by bundle.
pub(crate) const BUNDLES: &str = "142.250.255.0/24";
/// Where DNS forwarding comes from ("Forwarding zones"): 35.199.192.0/19.
const FORWARDER: Ipv4Addr = Ipv4Addr::new(35, 199, 192, 1);
/// Google's public addresses: of APIs, of instances and of Cloud NAT.
const PUBLIC: [&str; 2] = [APIS, "34.64.0.0/10"];
/// The default gateway of hosts; nothing outside a link sees it.
const GATEWAY: Ipv4Addr = Ipv4Addr::new(169, 254, 1, 1);

/// Google's public names with their addresses.
const NAMES: [(&str, &[&str]); 7] = [
    ("*.googleapis.com", &["142.250.0.10"]),
    ("private.googleapis.com", &["199.36.153.8", "199.36.153.9", "199.36.153.10", "199.36.153.11"]),
    ("restricted.googleapis.com", &["199.36.153.4", "199.36.153.5", "199.36.153.6", "199.36.153.7"]),
    ("gcr.io", &["142.250.0.20"]),
    ("*.gcr.io", &["142.250.0.20"]),
    ("*.pkg.dev", &["142.250.0.20"]),
    ("metadata.google.internal", &["169.254.169.254"]),
];

/// The ports on which hosts and Google APIs say who they are.
#[derive(Clone, Copy, Debug)]
pub struct Ports<'a> {
    /// Of the hosts that stand for subnetworks.
    pub hosts: &'a [u16],
    /// Of instances; none where programs are started on them.
    pub instances: &'a [u16],
    /// Of Google APIs; none where real servers take their place.
    pub apis: &'a [u16],
}

/// A running data plane of Google Cloud.
#[derive(Debug)]
pub struct Plane {
    places: Vec<(Place, Node)>,
    inventory: Arc<Inventory>,
    routers: Arc<BTreeMap<Path, Node>>,
    edge: Node,
    apis: Node,
}

impl Plane {
    /// Builds the data plane of what the API shows, see `Google::objects` of the emulator.
    ///
    /// # Errors
    /// An object cannot be read, or the kernel refuses something.
    pub fn build(
        lab: &Lab,
        internet: &mut Internet,
        objects: &BTreeMap<String, Value>,
        ports: Ports<'_>,
    ) -> Result<Plane> {
        let inventory = Arc::new(Inventory::read(objects)?);
        let places = places::all(&inventory, allocated);
        let nodes = places.iter().map(|place| Ok((place.clone(), lab.node(place.path())?)));
        let places: Vec<(Place, Node)> = nodes.collect::<Result<_>>()?;
        let routers = inventory.networks.keys().map(|path| Ok((path.clone(), lab.node(path)?)));
        let routers: Arc<BTreeMap<Path, Node>> = Arc::new(routers.collect::<Result<_>>()?);
        let plane =
            Plane { places, inventory, routers, edge: lab.node("google")?, apis: lab.node("google-apis")? };
        plane.links(lab)?;
        plane.scripts(lab)?;
        let public = PUBLIC.iter().map(|range| Ok(range.parse::<IpNet>()?)).collect::<Result<Vec<_>>>()?;
        internet.attach(lab, &plane.edge, "internet", &public)?;
        plane.serve(lab, internet, ports)?;
        Ok(plane)
    }

    /// All hosts.
    pub fn places(&self) -> &[(Place, Node)] {
        &self.places
    }

    /// The host of a subnetwork or an instance, by its name from `projects/` on.
    pub fn host(&self, path: &str) -> Option<(&Place, &Node)> {
        self.places.iter().find(|(place, _)| place.path() == path).map(|(place, node)| (place, node))
    }

    /// What the plane was built from.
    pub fn inventory(&self) -> &Inventory {
        &self.inventory
    }

    /// The node at which all traffic to Google APIs ends.
    pub fn apis(&self) -> &Node {
        &self.apis
    }

    /// Google's own network, which all traffic crosses that leaves a VPC network.
    pub fn edge(&self) -> &Node {
        &self.edge
    }

    fn links(&self, lab: &Lab) -> Result<()> {
        let mut links = vec![Link::new(&self.edge, "apis", &self.apis, "eth0")];
        for (number, (path, router)) in self.routers.iter().enumerate() {
            let mtu = self.inventory.networks.get(path).map_or(1460, |network| network.mtu);
            links.push(Link::new(router, filter::EDGE, &self.edge, &format!("n{number}")).mtu(mtu));
            for (place, node) in self.places.iter().filter(|(place, _)| place.network == *path) {
                links.push(Link::new(node, "eth0", router, &place.wire).mtu(mtu));
            }
            for (peer, ..) in self.inventory.peers_of(path) {
                let (near, far) = (self.number(peer), number);
                if let Some(other) = self.routers.get(peer).filter(|_| path < peer) {
                    links.push(Link::new(router, &format!("p{near}"), other, &format!("p{far}")).mtu(mtu));
                }
            }
        }
        lab.link(&links)
    }

    fn scripts(&self, lab: &Lab) -> Result<()> {
        let mut scripts: Vec<(&Node, Script)> = Vec::new();
        let all: Vec<Place> = self.places.iter().map(|(place, _)| place.clone()).collect();
        for (place, node) in &self.places {
            scripts.push((node, host(place)));
        }
        let mut edge = Script::new().forward().ip("address add 142.251.255.1/32 dev lo");
        for range in [APIS, PRIVATE_NAMES, RESTRICTED_NAMES, BUNDLES] {
            edge = edge.ip(&format!("route add {range} via 142.251.255.2 dev apis onlink"));
        }
        // "Private Google Access": these ranges are not reached from the internet; bundles are reached by endpoints alone.
        edge = edge.nft(&format!(
            "table ip google {{ chain forward {{ type filter hook forward priority 0; \
             iifname internet ip daddr {{ {PRIVATE_NAMES}, {RESTRICTED_NAMES}, {BUNDLES} }} drop; }}; }}"
        ));
        for (number, (path, router)) in self.routers.iter().enumerate() {
            scripts.push((router, self.router(number, path, &all)));
            let (own, network) = (edge_address(number, 2), edge_address(number, 1));
            edge = edge.ip(&format!("address add {own}/30 dev n{number}"));
            let here = all.iter().filter(|place| place.network == *path);
            let mut public: Vec<Ipv4Addr> = here
                .flat_map(|place| place.external.into_iter().chain(place.nat.iter().map(|(_, out)| *out)))
                .collect();
            public.sort();
            public.dedup();
            for address in public {
                edge = edge.ip(&format!("route add {address}/32 via {network} dev n{number}"));
            }
        }
        scripts.push((&self.edge, edge));
        let mut apis = Script::new().ip("address add 142.251.255.2/32 dev lo");
        for range in [APIS, PRIVATE_NAMES, RESTRICTED_NAMES, BUNDLES] {
            apis = apis.ip(&format!("route add local {range} dev lo"));
        }
        scripts.push((&self.apis, apis.ip("route add default via 142.251.255.1 dev eth0 onlink")));
        lab.configure(&scripts)
    }

    fn router(&self, number: usize, path: &str, all: &[Place]) -> Script {
        let alias = edge_address(number, 1);
        let mut script = Script::new().forward();
        for address in [METADATA, FORWARDER, GATEWAY] {
            script = script.ip(&format!("address add {address}/32 dev lo"));
        }
        script = script.ip(&format!("address add {alias}/30 dev {}", filter::EDGE));
        let peers: Vec<(&Path, Ipv4Addr)> = self
            .inventory
            .peers_of(path)
            .into_iter()
            .map(|(peer, ..)| (peer, peer_address(number, self.number(peer))))
            .collect();
        for (peer, next) in &peers {
            let wire = format!("p{}", self.number(peer));
            let own = peer_address(self.number(peer), number);
            script = script.ip(&format!("address add {own} peer {next} dev {wire}"));
        }
        let route = |table: usize, line: &Line| -> String {
            let Line { range, metric, to } = line;
            let way = match to {
                To::Host(wire) => {
                    let host = all.iter().find(|place| place.network == path && place.wire == *wire);
                    let own = host.is_some_and(|host| {
                        host.addresses().contains(&range.addr()) && range.prefix_len() == 32
                    });
                    match host.filter(|_| !own) {
                        Some(host) => format!("via {} dev {wire} onlink", host.address),
                        None => format!("dev {wire} src {FORWARDER}"),
                    }
                }
                To::Peer(peer) => {
                    let next =
                        peers.iter().find(|(known, _)| *known == peer).map(|(_, next)| next.to_string());
                    format!("via {} dev p{}", next.unwrap_or_default(), self.number(peer))
                }
                To::Internet => format!("via {} dev {}", edge_address(number, 2), filter::EDGE),
                To::Nowhere => {
                    return format!("route add unreachable {range} table {table} metric {}", metric.max(&1));
                }
            };
            format!("route add {range} {way} table {table} metric {}", metric.max(&1))
        };
        let mut add = |table: usize, rule: &str, lines: &[Line]| {
            let mut text = std::mem::take(&mut script);
            for line in lines {
                text = text.ip(&route(table, line));
            }
            script = text.ip(&format!("rule add pref {table} {rule} lookup {table}"));
        };
        let bundles = Line { range: bundles(), metric: 0, to: To::Internet };
        add(100, "", &[tables::own(&self.inventory, path, all), vec![bundles]].concat());
        let imported = tables::of_peers(&self.inventory, path);
        for (host, place) in all.iter().filter(|place| place.network == path).enumerate() {
            add(1000 + 2 * host, &format!("iif {}", place.wire), &imported);
            add(
                1001 + 2 * host,
                &format!("iif {}", place.wire),
                &tables::custom(&self.inventory, place, all),
            );
        }
        for (peer, own, theirs) in self.inventory.peers_of(path) {
            let table = 20_000 + self.number(peer);
            let lines = tables::exported(&self.inventory, path, (own, theirs), all);
            add(table, &format!("iif p{}", self.number(peer)), &lines);
        }
        // What no table has ends here: the routes of the links are not for hosts.
        script = script.ip("rule add pref 30000 iif lo lookup main").ip("rule add pref 30001 unreachable");
        script.nft(&filter::ruleset(&self.inventory, path, all, alias))
    }

    fn serve(&self, lab: &Lab, internet: &Internet, ports: Ports<'_>) -> Result<()> {
        for (name, addresses) in NAMES {
            let addresses = addresses.iter().map(|address| Ok(address.parse::<IpAddr>()?));
            internet.names().add(name, addresses.collect::<Result<Vec<_>>>()?);
        }
        for (path, router) in self.routers.iter() {
            let resolver: Arc<dyn Names> = Arc::new(names::Resolver {
                inventory: Arc::clone(&self.inventory),
                network: path.clone(),
                routers: Arc::clone(&self.routers),
                public: internet.names().clone(),
            });
            lab.serve_names(router, &[METADATA.into()], &resolver).with_context(|| path.clone())?;
        }
        for (place, node) in &self.places {
            node.set_resolvers(&[METADATA.into()])?;
            let addresses: Vec<IpAddr> = place.addresses().into_iter().map(IpAddr::V4).collect();
            let own = if matches!(place.of, Of::Subnet(_)) { ports.hosts } else { ports.instances };
            lab.respond(node, &addresses, own)?;
        }
        if !ports.apis.is_empty() {
            lab.respond(&self.apis, &[Ipv4Addr::UNSPECIFIED.into()], ports.apis)?;
        }
        Ok(())
    }

    fn number(&self, network: &str) -> usize {
        self.routers.keys().position(|path| path == network).unwrap_or_default()
    }
}

impl Place {
    /// Its name from `projects/` on, which its node has too.
    pub fn path(&self) -> &str {
        match &self.of {
            Of::Subnet(path) | Of::Instance(path) => path,
        }
    }
}

fn host(place: &Place) -> Script {
    let mut script = Script::new();
    for address in place.addresses() {
        script = script.ip(&format!("address add {address}/32 dev eth0"));
    }
    if place.forwards {
        script = script.sysctl("ipv4/ip_forward", "1");
    }
    script.ip(&format!("route add default via {GATEWAY} dev eth0 onlink src {}", place.address))
}

/// The end of the link between a network and Google's own: 1 is the network's, 2 is Google's.
fn edge_address(network: usize, end: u32) -> Ipv4Addr {
    let base = u32::from(Ipv4Addr::new(142, 251, 0, 0));
    Ipv4Addr::from(base + u32::try_from(network).unwrap_or_default() * 4 + end)
}

/// The address of the router of `to` on its link with the router of `from`.
fn peer_address(from: usize, to: usize) -> Ipv4Addr {
    let base = u32::from(Ipv4Addr::new(142, 251, 128, 0));
    Ipv4Addr::from(base + u32::try_from(from * 128 + to).unwrap_or_default())
}

/// The address that Google allocates to a Cloud NAT gateway.
fn allocated(number: usize) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(Ipv4Addr::new(34, 64, 0, 1)) + u32::try_from(number).unwrap_or_default())
}

/// Where the traffic of a bundle's endpoints arrives.
pub(crate) fn bundle_address(bundle: &str) -> Ipv4Addr {
    Ipv4Addr::new(142, 250, 255, if bundle == "vpc-sc" { 2 } else { 1 })
}

fn bundles() -> Ipv4Net {
    BUNDLES.parse().unwrap_or_default()
}
