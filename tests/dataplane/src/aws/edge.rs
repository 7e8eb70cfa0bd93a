//! What translates addresses: internet gateways and NAT gateways.

use std::fmt::Write as _;
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;

use super::addresses::Eni;
use super::router::{FAR, NEAR};
use crate::lab::Script;

/// An internet gateway: "performs a one-to-one network address translation on behalf of the instance" that has a public address,
/// and nothing for others ("Enable internet access for a VPC using an internet gateway").
pub(super) fn internet_gateway(pairs: &[(Ipv4Addr, Ipv4Addr)], cidrs: &[Ipv4Net]) -> Script {
    let mut script = Script::new().forward().ip(&format!("address add {FAR}/32 dev vpc"));
    for cidr in cidrs {
        script = script.ip(&format!("route add {cidr} via {NEAR} dev vpc onlink"));
    }
    let (mut out, mut back, mut known) = (String::new(), String::new(), String::new());
    for (private, public) in pairs {
        let _ = writeln!(out, "oifname \"net\" ip saddr {private} snat to {public}");
        let _ = writeln!(back, "iifname \"net\" ip daddr {public} dnat to {private}");
        let _ = writeln!(
            known,
            "iifname \"vpc\" oifname \"net\" ip saddr {private} accept\niifname \"net\" oifname \"vpc\" ip daddr {private} accept"
        );
    }
    script.nft(&format!(
        "table ip igw {{\n\
         chain out {{\ntype nat hook postrouting priority srcnat;\n{out}}}\n\
         chain back {{\ntype nat hook prerouting priority dstnat;\n{back}}}\n\
         chain forward {{\ntype filter hook forward priority filter; policy drop;\n{known}}}\n}}\n"
    ))
}

/// A NAT gateway: many addresses behind its own; "external services can't initiate a connection" ("NAT gateways"). A public one is
/// itself behind the internet gateway's translation. A reply to a connection that was not opened through it is dropped.
pub(super) fn nat_gateway(eni: &Eni) -> Script {
    let own = eni.address;
    Script::new()
        .forward()
        .ip(&format!("address add {own}/32 dev eth0"))
        .ip(&format!("address add {FAR}/32 dev eth0"))
        .ip(&format!("route add default via {NEAR} dev eth0 onlink src {own}"))
        .nft(&format!(
            "table ip nat {{\n\
             chain out {{\ntype nat hook postrouting priority srcnat;\nip saddr != {own} snat to {own}\n}}\n\
             chain unknown {{\ntype filter hook forward priority filter; policy accept;\nct state invalid drop\n}}\n\
             chain input {{\ntype filter hook input priority filter; policy drop;\nct state established,related accept\n}}\n}}\n"
        ))
}

/// A gateway endpoint: its servers have the addresses of the service's prefix list, for clients of the VPC only.
pub(super) fn gateway_endpoint(cidrs: &[Ipv4Net]) -> Script {
    let ranges: Vec<String> = cidrs.iter().map(ToString::to_string).collect();
    Script::new()
        .ip(&format!("address add {FAR}/32 dev vpc"))
        .ip(&format!("route add default via {NEAR} dev vpc onlink"))
        .nft(&format!(
            "table ip endpoint {{\n\
             chain clients {{\ntype filter hook prerouting priority raw;\niifname \"vpc\" ip saddr != {{ {} }} drop\n}}\n\
             chain services {{\ntype nat hook prerouting priority dstnat;\niifname \"vpc\" meta l4proto {{ tcp, udp }} dnat to {FAR}\n}}\n}}\n",
            ranges.join(", ")
        ))
}

/// The public addresses of AWS's services.
pub(super) fn public_services(own: Ipv4Addr) -> Script {
    Script::new()
        .ip(&format!("address add {own}/32 dev lo"))
        .nft(&format!(
            "table ip services {{\n\
             chain services {{\ntype nat hook prerouting priority dstnat;\niifname \"net\" meta l4proto {{ tcp, udp }} dnat to {own}\n}}\n}}\n"
        ))
}
