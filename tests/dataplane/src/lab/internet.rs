//! The internet: what is public, who reaches it, and what it sees.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use ipnet::IpNet;

use hickory_proto::op::ResponseCode;

use super::{Answer, Lab, Link, Names, Node, Question, Script, Watch};

/// Its own address, at which everything ends that no network behind it has.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 88, 99, 1);
/// The other end of its links, whose scope keeps it from being a source.
const HOP: Ipv4Addr = Ipv4Addr::new(192, 88, 99, 2);
/// What it calls itself, and where its links begin.
const NAME: &str = "internet";

/// Public names and their addresses; all clouds add theirs, and their resolvers ask here last. A name that begins with `*.` stands
/// for all below.
#[derive(Clone, Debug, Default)]
pub struct PublicNames {
    all: Arc<Mutex<BTreeMap<String, Vec<IpAddr>>>>,
}

/// A node that forwards between the networks attached to it, answers at every other address, and records what it sees.
#[derive(Debug)]
pub struct Internet {
    node: Node,
    names: PublicNames,
    watch: Watch,
    links: usize,
}

impl PublicNames {
    /// Adds a name, or addresses to a name.
    pub fn add(&self, name: &str, addresses: impl IntoIterator<Item = IpAddr>) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(name.trim_end_matches('.').to_lowercase()).or_default().extend(addresses);
    }

    /// The addresses of a name. There is no such name without the value.
    pub fn find(&self, name: &str) -> Option<Vec<IpAddr>> {
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let name = name.trim_end_matches('.').to_lowercase();
        let above = name.match_indices('.').map(|(dot, _)| format!("*{}", &name[dot..]));
        std::iter::once(name.clone()).chain(above).find_map(|name| all.get(&name).cloned())
    }
}

/// A resolver that knows public names only, such as that of a machine outside the clouds.
#[async_trait::async_trait]
impl Names for PublicNames {
    async fn answer(&self, question: Question) -> Option<Answer> {
        Some(match self.find(&question.name) {
            Some(addresses) => Answer::addresses(&question, addresses),
            None => Answer::code(ResponseCode::NXDomain),
        })
    }
}

impl Internet {
    /// The internet, at first without networks. It answers TCP and UDP on these ports at every address that no network has,
    /// except private ones, which are not routed there (RFC 1918, section 3).
    ///
    /// # Errors
    /// The node cannot be created.
    pub fn new(lab: &Lab, ports: &[u16]) -> Result<Internet> {
        let node = lab.node(NAME)?;
        let script = Script::new().forward().ip(&format!("address add {ADDRESS}/32 dev lo")).nft(
            "table ip internet {
                   set attached { type ipv4_addr; flags interval; auto-merge; }
                   chain private {
                     type filter hook prerouting priority raw;
                     ip daddr { 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 } drop
                   }
                   chain answer {
                     type nat hook prerouting priority dstnat;
                     ip daddr @attached accept
                     meta l4proto { tcp, udp } dnat to 192.88.99.1
                   }
                 }",
        );
        lab.configure(&[(&node, script)])?;
        lab.respond(&node, &[ADDRESS.into()], ports)?;
        let watch = Watch::of(&node)?;
        Ok(Internet { node, names: PublicNames::default(), watch, links: 0 })
    }

    /// Links a node with its default route to the internet, and the internet with routes to these public prefixes of IPv4 behind the
    /// node.
    /// `interface` is the name of the node's interface.
    ///
    /// # Errors
    /// The node has such an interface or a default route already, or a prefix is attached to another.
    pub fn attach(&mut self, lab: &Lab, node: &Node, interface: &str, prefixes: &[IpNet]) -> Result<()> {
        let own = format!("net{}", self.links);
        self.links += 1;
        lab.link(&[Link::new(node, interface, &self.node, &own)])?;
        node.ip(&format!(
            "address add {HOP}/32 dev {interface} scope link\nroute add default via {ADDRESS} dev {interface} onlink"
        ))?;
        let mut script = Script::new();
        for prefix in prefixes.iter().filter(|prefix| prefix.addr().is_ipv4()) {
            script = script
                .ip(&format!("route add {prefix} via {HOP} dev {own} onlink"))
                .nft(&format!("add element ip internet attached {{ {prefix} }}"));
        }
        lab.configure(&[(&self.node, script)])
    }

    /// Its node, such as a place to start probes from: of whoever is out there.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// The table of public names.
    pub fn names(&self) -> &PublicNames {
        &self.names
    }

    /// The record of the packets that it saw.
    pub fn watch(&self) -> &Watch {
        &self.watch
    }

    /// The address that it uses itself.
    pub fn address(&self) -> IpAddr {
        ADDRESS.into()
    }

    /// What it saw since the last [`Watch::clear`], for messages: one line for each pair of addresses and port.
    pub fn seen(&self) -> String {
        let mut lines = BTreeMap::<String, usize>::new();
        for packet in self.watch.packets() {
            let line = format!("{} -> {}:{}", packet.source, packet.destination, packet.destination_port);
            *lines.entry(line).or_default() += 1;
        }
        lines.iter().fold(String::new(), |mut text, (line, count)| {
            let _ = writeln!(text, "{line} ({count} packets)");
            text
        })
    }
}
