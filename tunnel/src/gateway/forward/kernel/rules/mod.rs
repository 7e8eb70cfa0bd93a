//! The table of rules, as a script for `nft -f -`. Pure.
//!
//! ```text
//! from a pod --> source is a member's? --> its group's chain: destination, protocol, port --> rates --> counted, accepted
//! to a pod   --> an answer? -----------> the same rules, read backwards ----------------> rates --> counted, accepted
//! pod to pod --> source is a member's? --> its group's chain: set of a group, protocol, port -> rates of both --> as above
//!                                        anything else: rejected
//! ```
//!
//! Protocols are numbers (1 ICMP, 6 TCP, 17 UDP, 58 ICMPv6), since `nft` reads their names from `/etc/protocols`, which a minimal
//! system lacks.
//!
//! Every packet is checked, not only the first of its connection, so a reload or the removal of a member ends connections at
//! once. A group is three chains; a member is an element of a map from its address to its group's chain.
//!
//! | also | |
//! |---|---|
//! | `postrouting` | hosts see the gateway's address, sites the one that it uses towards them |
//! | `errors` | ICMP errors reach pods |
//! | `input` | the gateway's name server gets queries from the tunnel, and from nowhere else; this machine's own addresses are open to a group if one of its rules names them |
//! | `forward`, last rules | no traffic of the pool bypasses the tunnel, even if a killed gateway left only the table |

mod group;
mod name_server;
mod peers;

use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};
use std::net::IpAddr;

use ipnet::IpNet;
use warren_wire::gateway::{Group, Site, SitePeer};
use warren_wire::{Name, reserved};

use self::group::{chains, rates};
pub(super) use self::name_server::NameServerRules;
use crate::runtime::host::InterfaceName;

/// Named counters, in the order of the table.
pub(super) const COUNTERS: [&str; 8] =
    ["bytes-out", "bytes-in", "denied", "failed", "dropped", "new-tcp", "new-udp", "new-echo"];
/// The kernel drops a member's rate state after this idle time.
const FORGOTTEN: &str = "1m";

/// Prefixes of the maps from members to chains: packets from pods, to pods, and from pods to this machine itself; and if a rule is
/// about a group, from pods to pods, and back.
const WAYS: [&str; 5] = ["out", "in", "own", "peer", "back"];

/// The input of a table.
pub(super) struct Table<'a> {
    /// Its name.
    pub(super) name: &'a str,
    /// The tunnel's interface.
    pub(super) interface: &'a InterfaceName,
    /// Addresses of pods.
    pub(super) pool: &'a [IpNet],
    /// Gateways of other networks, beyond the same interface.
    pub(super) site: &'a Site,
    /// The gateway's own name server.
    pub(super) name_server: NameServerRules,
    /// The groups with their rules.
    pub(super) groups: &'a BTreeMap<Name, Group>,
    /// Whether refused packets are recorded.
    pub(super) audited: bool,
    /// Whether the machine did not forward before: then it must not forward other packets now.
    pub(super) newly_forwarded: NewlyForwarded,
    /// Where an error to a pod finds its sender.
    pub(super) error_sender: ErrorSender,
}

/// Where the address is found that the packet of an ICMP error was sent to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum ErrorSender {
    /// In the copy of the packet's header, which every error has.
    #[default]
    Copy,
    /// In the connection, for an `nft` that takes no address from the copy: 1.1 and later check its type. Errors about packets
    /// that no connection was recorded for keep their sender.
    Connection,
}

impl ErrorSender {
    /// The expressions for IPv4 and IPv6.
    fn expressions(self) -> [&'static str; 2] {
        match self {
            Self::Copy => ["@th,192,32", "@th,256,128"],
            Self::Connection => ["ct original ip daddr", "ct original ip6 daddr"],
        }
    }

    /// A table that `nft` accepts if it accepts the expressions.
    pub(super) fn probe(self) -> String {
        let [v4, v6] = self.expressions();
        format!(
            "table inet warren-probe {{ chain errors {{ type filter hook postrouting priority 300; \
             icmp type time-exceeded ip saddr set {v4}; icmpv6 type time-exceeded ip6 saddr set {v6}; }}; }}"
        )
    }
}

/// The families that the machine did not forward before this gateway.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct NewlyForwarded {
    pub(super) v4: bool,
    pub(super) v6: bool,
}

/// How the packets of a member are handled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// The rules of a group apply.
    Group(Name),
    /// The member is being sent to another gateway: connections are reset, and new ones are dropped so that their repetition
    /// reaches the other gateway.
    Leaving,
}

impl Table<'_> {
    /// A script that atomically replaces the table.
    pub(super) fn script(&self, members: &BTreeMap<IpAddr, Place>) -> String {
        let mut out = String::new();
        let name = self.name;
        _ = writeln!(out, "table inet {name}\ndelete table inet {name}\ntable inet {name} {{");
        out += "  comment \"warren-tunnel gateway: replaced when it starts, removed when it ends\"\n";
        for counter in COUNTERS {
            _ = writeln!(out, "  counter {counter} {{ }}");
        }
        for (family, kind) in [(4, "ipv4_addr"), (6, "ipv6_addr")] {
            for way in self.ways() {
                _ = writeln!(out, "  map {way}{family} {{ type {kind} : verdict; }}");
            }
            for set in self.sets(family) {
                _ = writeln!(out, "  set {set} {{ type {kind}; }}");
            }
            self.never(&mut out, family, kind);
        }
        out += PASSED;
        if self.audited {
            out += REFUSED;
        }
        _ = writeln!(
            out,
            "  chain refused {{{}\n    goto denied\n  }}",
            if self.audited { NOTE } else { "" }
        );
        for (group, of) in self.groups {
            rates(&mut out, group, of);
            chains(&mut out, group, of);
        }
        self.between_pods(&mut out);
        self.policy(&mut out);
        out += self.name_server.chain();
        self.hooks(&mut out);
        out += "}\n";
        out += &self.change(&BTreeMap::new(), members);
        out
    }

    /// A script that removes and adds members.
    pub(super) fn change(&self, gone: &BTreeMap<IpAddr, Place>, come: &BTreeMap<IpAddr, Place>) -> String {
        let mut out = String::new();
        for family in [4, 6] {
            let of = |address: &IpAddr| address.is_ipv4() == (family == 4);
            let list = |elements: Vec<String>| elements.join(", ");
            for set in self.sets(family) {
                for (verb, members) in [("delete", gone), ("add", come)] {
                    let some =
                        members.iter().filter(|(at, place)| of(at) && self.in_set(&set, family, place));
                    let some = list(some.map(|(address, _)| address.to_string()).collect());
                    if !some.is_empty() {
                        _ = writeln!(out, "{verb} element inet {} {set} {{ {some} }}", self.name);
                    }
                }
            }
            for way in self.ways() {
                let left = list(gone.keys().filter(|address| of(address)).map(ToString::to_string).collect());
                if !left.is_empty() {
                    _ = writeln!(out, "delete element inet {} {way}{family} {{ {left} }}", self.name);
                }
                let new = come.iter().filter(|(address, place)| of(address) && self.has(place));
                let chain = |place: &Place| match place {
                    Place::Group(group) => format!("{way}-{group}"),
                    Place::Leaving => LEAVING.to_owned(),
                };
                let new =
                    list(new.map(|(address, place)| format!("{address} : jump {}", chain(place))).collect());
                if !new.is_empty() {
                    _ = writeln!(out, "add element inet {} {way}{family} {{ {new} }}", self.name);
                }
            }
        }
        out
    }

    /// Whether the table has rules for such members.
    pub(super) fn has(&self, place: &Place) -> bool {
        match place {
            Place::Group(group) => self.groups.contains_key(group),
            Place::Leaving => true,
        }
    }

    fn never(&self, out: &mut String, family: u8, kind: &str) {
        let own = self.site.addresses.iter().map(|address| IpNet::from(*address));
        let nets = reserved::ranges().iter().chain(self.pool).copied().chain(own);
        let nets: Vec<IpNet> = nets.filter(|net| is_of(net, family)).collect();
        let nets = set(&IpNet::aggregate(&nets));
        _ = writeln!(out, "  set never{family} {{ type {kind}; flags interval; elements = {nets}; }}");
    }

    /// Writes the chains that check traffic of pods and sites.
    fn policy(&self, out: &mut String) {
        let [before, behind] = POLICY;
        *out += before;
        // Two gateways would loop it forever.
        for peer in &self.site.peers {
            for family in [4, 6] {
                let addresses: Vec<IpNet> = peer.addresses.iter().map(|address| (*address).into()).collect();
                let of = |nets: &[IpNet]| -> Vec<IpNet> {
                    nets.iter().filter(|net| is_of(net, family)).copied().collect()
                };
                let (from, to) = (of(&addresses), of(&peer.prefixes));
                if let (Some(first), false) = (from.first(), to.is_empty()) {
                    let ip = keyword(first);
                    _ = writeln!(out, "    {ip} saddr {} {ip} daddr {} goto refused", set(&from), set(&to));
                }
            }
        }
        *out += behind;
    }

    /// The source address towards sites, one of each family.
    fn own(&self) -> impl Iterator<Item = IpAddr> {
        let first = |v4: bool| self.site.addresses.iter().find(move |own| own.is_ipv4() == v4).copied();
        [first(true), first(false)].into_iter().flatten()
    }

    /// Rules for traffic from the tunnel back into it: to sites, and their answers. A connection keeps its route even if a
    /// reload changes routes; otherwise it would continue with the wrong source address.
    fn between(&self, out: &mut String) {
        let tunnel = self.interface;
        for (index, own) in self.own().enumerate() {
            let (ip, from) = (keyword(&own.into()), format!("    iifname \"{tunnel}\""));
            if index == 0 {
                _ = writeln!(out, "{from} oifname \"{tunnel}\" ct direction reply goto to-pods");
            }
            let began = format!("ct state established ct reply {ip} daddr");
            _ = writeln!(out, "{from} oifname != \"{tunnel}\" {began} {own} goto denied");
            _ = writeln!(out, "{from} oifname \"{tunnel}\" {began} != {own} goto denied");
        }
    }

    fn hooks(&self, out: &mut String) {
        let tunnel = self.interface;
        *out += "  chain forward {\n    type filter hook forward priority filter; policy accept;\n";
        for side in ["iifname", "oifname"] {
            // Clamp the MSS, so that both ends learn the path's MTU even where ICMP errors are lost.
            _ = writeln!(
                out,
                "    {side} \"{tunnel}\" tcp flags & (syn|rst) == syn tcp option maxseg size set rt mtu"
            );
        }
        self.to_between_pods(out);
        self.between(out);
        _ = writeln!(out, "    iifname \"{tunnel}\" goto from-pods");
        let beyond: Vec<IpNet> = self.site.peers.iter().flat_map(SitePeer::allowed_ips).collect();
        for net in self.pool.iter().chain(&beyond) {
            _ = writeln!(out, "    {} saddr {net} drop", keyword(net));
        }
        _ = writeln!(out, "    oifname \"{tunnel}\" goto to-pods");
        for net in self.pool.iter().chain(&beyond) {
            _ = writeln!(out, "    {} daddr {net} drop", keyword(net));
        }
        for (newly_forwarded, family) in
            [(self.newly_forwarded.v4, "ipv4"), (self.newly_forwarded.v6, "ipv6")]
        {
            if newly_forwarded {
                _ = writeln!(out, "    meta nfproto {family} drop");
            }
        }
        // Traffic from pods to sites and to pods enters and leaves by the same interface: the kernel must not send redirects for it.
        let no_redirect = if beyond.is_empty() && !self.has_peer_rules() {
            String::new()
        } else {
            format!(
                "    oifname \"{tunnel}\" icmp type redirect drop\n    oifname \"{tunnel}\" icmpv6 type nd-redirect drop\n"
            )
        };
        _ = writeln!(
            out,
            "  }}\n  chain input {{\n    type filter hook input priority filter; policy accept;\n{}    iifname \"{tunnel}\" goto to-gateway\n  }}\n  \
             chain output {{\n    type filter hook output priority filter; policy accept;\n{no_redirect}{}    oifname \"{tunnel}\" ct state new goto denied\n    \
             oifname \"{tunnel}\" ct state related meta l4proto {{ 1, 58 }} goto error\n  }}\n  \
             chain postrouting {{\n    type nat hook postrouting priority srcnat; policy accept;",
            self.name_server.input(tunnel),
            self.name_server.output(tunnel),
        );
        for net in self.pool {
            _ = writeln!(out, "    {} saddr {net} oifname != \"{tunnel}\" masquerade", keyword(net));
        }
        for address in self.site.peers.iter().flat_map(|peer| &peer.addresses) {
            let ip = keyword(&(*address).into());
            _ = writeln!(out, "    {ip} saddr {address} oifname != \"{tunnel}\" masquerade");
        }
        self.keep_source(out);
        for own in self.own() {
            let ip = keyword(&own.into());
            _ = writeln!(out, "    oifname \"{tunnel}\" snat {ip} to {own}");
        }
        // Pods take what comes from where they may send to, and no router nor this gateway may be there. So errors come, as those
        // of the netstack do, from the address that the packet was sent to.
        let [v4, v6] = self.error_sender.expressions();
        _ = writeln!(
            out,
            "  }}\n  chain errors {{\n    type filter hook postrouting priority 300; policy accept;\n    \
             oifname \"{tunnel}\" icmp type {{ destination-unreachable, time-exceeded, parameter-problem }} ip saddr set {v4}\n    \
             oifname \"{tunnel}\" icmpv6 type {{ destination-unreachable, packet-too-big, time-exceeded, parameter-problem }} ip6 saddr set {v6}\n  }}"
        );
    }
}

/// The chain of [`Place::Leaving`]; no group's chain has such a name.
const LEAVING: &str = "leaving";

/// The final chains.
const PASSED: &str = "  chain leaving {
    ct state established meta l4proto 6 reject with tcp reset
    drop
  }
  chain denied {
    counter name \"denied\"
    ct state established,related meta l4proto 6 reject with tcp reset
    reject with icmpx admin-prohibited
  }
  chain too-fast {
    counter name \"dropped\" drop
  }
  chain error {
    icmp type destination-unreachable icmp code != frag-needed counter name \"failed\"
    icmpv6 type destination-unreachable counter name \"failed\"
    accept
  }
  chain new-tcp {
    counter name \"new-tcp\"
  }
  chain new-udp {
    counter name \"new-udp\"
  }
  chain new-echo {
    counter name \"new-echo\"
  }
  chain passed-out {
    counter name \"bytes-out\"
    ct state new meta l4proto vmap { 6 : jump new-tcp, 17 : jump new-udp, 1 : jump new-echo, 58 : jump new-echo }
    accept
  }
  chain passed-in {
    counter name \"bytes-in\"
    tcp flags & rst == rst ct status & assured != assured counter name \"failed\"
    ct state related goto error
    accept
  }
";

/// Sets of refused packets for [`super::flows`]: with ports, and without for ICMP.
const REFUSED: &str = "  set refused4 { type ipv4_addr . ipv4_addr . inet_proto . inet_service; size 8192; flags dynamic; timeout 1m; }
  set refused6 { type ipv6_addr . ipv6_addr . inet_proto . inet_service; size 8192; flags dynamic; timeout 1m; }
  set refused-echo4 { type ipv4_addr . ipv4_addr; size 8192; flags dynamic; timeout 1m; }
  set refused-echo6 { type ipv6_addr . ipv6_addr; size 8192; flags dynamic; timeout 1m; }
";
const NOTE: &str = "
    meta l4proto { 6, 17 } update @refused4 { ip saddr . ip daddr . meta l4proto . th dport counter }
    meta l4proto { 6, 17 } update @refused6 { ip6 saddr . ip6 daddr . meta l4proto . th dport counter }
    meta l4proto 1 update @refused-echo4 { ip saddr . ip daddr counter }
    meta l4proto 58 update @refused-echo6 { ip6 saddr . ip6 daddr counter }";
/// The names of these sets.
pub(super) const REFUSED_SETS: [&str; 4] = ["refused4", "refused6", "refused-echo4", "refused-echo6"];

/// The chains that select the rules for a packet: the parts before and after the rules for sites.
const POLICY: [&str; 2] = [
    "  chain from-pods {
    ct state invalid drop
    ct state new tcp flags & (fin|syn|rst|ack) != syn reject with tcp reset
    ip daddr @never4 goto refused
    ip6 daddr @never6 goto refused
",
    "    ip saddr vmap @out4
    ip6 saddr vmap @out6
    goto refused
  }
  chain to-gateway {
    ct state invalid drop
    ct state new tcp flags & (fin|syn|rst|ack) != syn reject with tcp reset
    ip daddr @never4 goto refused
    ip6 daddr @never6 goto refused
    ip saddr vmap @own4
    ip6 saddr vmap @own6
    goto refused
  }
  chain to-pods {
    ct state invalid drop
    ct direction original goto denied
    ip daddr vmap @in4
    ip6 daddr vmap @in6
    goto denied
  }
",
];

fn set(elements: &[impl Display]) -> String {
    let elements: Vec<String> = elements.iter().map(ToString::to_string).collect();
    format!("{{ {} }}", elements.join(", "))
}

fn is_of(net: &IpNet, family: u8) -> bool {
    matches!(net, IpNet::V4(_)) == (family == 4)
}

fn keyword(net: &IpNet) -> &'static str {
    match net {
        IpNet::V4(_) => "ip",
        IpNet::V6(_) => "ip6",
    }
}
