//! A transit gateway: a router with a table for each attachment.

use super::account::{Account, TransitGateway};
use super::router::NEAR;
use crate::lab::{Node, Script};

/// A transit gateway and its links.
#[derive(Debug)]
pub(super) struct Transit {
    pub(super) node: Node,
    pub(super) gateway: TransitGateway,
    /// The interface, the attachment, and the Availability Zone of each link.
    pub(super) ports: Vec<(String, String, String)>,
}

impl Transit {
    /// Everything that the transit gateway is configured with: "The transit gateway routes packets between attachments using
    /// route tables"; the associated table of the attachment that a packet comes from decides ("How AWS Transit Gateway works").
    pub(super) fn script(&self) -> Script {
        let mut script = Script::new().forward();
        for (number, (interface, attachment, zone)) in self.ports.iter().enumerate() {
            let number = number + 100;
            script = script.ip(&format!("rule add pref 1000 iif {interface} lookup {number}"));
            let table = self.gateway.tables.iter().find(|table| table.associations.contains(attachment));
            let routes = table.map(|table| table.routes.as_slice()).unwrap_or_default();
            for (range, target) in routes {
                // The zone that the traffic comes from is kept where the other attachment has it.
                let to = target.as_ref().and_then(|target| {
                    let fitting = || self.ports.iter().filter(|(_, attachment, _)| attachment == target);
                    fitting().find(|(_, _, other)| other == zone).or_else(|| fitting().next())
                });
                script = script.ip(&match to {
                    Some((out, ..)) => {
                        format!("route add {range} via {NEAR} dev {out} onlink table {number}")
                    }
                    None => format!("route add blackhole {range} table {number}"),
                });
            }
            if !routes.iter().any(|(range, _)| range.prefix_len() == 0) {
                script = script.ip(&format!("route add blackhole default table {number}"));
            }
        }
        script
    }
}

/// The subnets of a VPC's attachment, with their zones.
pub(super) fn zones<'a>(
    account: &'a Account,
    subnets: &'a [String],
) -> impl Iterator<Item = (&'a str, &'a str)> {
    subnets.iter().filter_map(|id| {
        let subnet = account.subnet(id)?;
        Some((subnet.id.as_str(), subnet.zone.as_str()))
    })
}
