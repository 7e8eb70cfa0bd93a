//! The routes and rules that a configuration requires. Pure.

use std::collections::BTreeSet;

use ipnet::IpNet;
use warren_wire::config::{Config, Table};

use super::{Family, Rule};

/// wg-quick's first choice for the table of a default route.
pub const FIRST_TABLE: u32 = 51820;
/// The kernel's main table.
const MAIN_TABLE: u32 = 254;
/// IP header, UDP header and WireGuard's own, the greater of IPv4 and IPv6: 40 + 8 + 32.
const OVERHEAD: u32 = 80;
/// The least MTU that IPv6 permits.
const LEAST_MTU: u32 = 1280;

/// Routes and rules of one interface.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Routing {
    /// Prefixes to the interface and the table each goes into.
    pub routes: BTreeSet<(IpNet, u32)>,
    /// Rules, in the order in which they are added.
    pub rules: Vec<(Family, Rule)>,
    /// The firewall mark of the tunnel's own datagrams, if there are rules.
    pub fwmark: Option<u32>,
}

/// Plans routing as wg-quick does: nothing for `Table = off`; all prefixes into a named table; else each prefix into the main
/// table, except a default route, which goes into its own table behind rules that exempt the tunnel's own datagrams.
/// `free` is an unused table.
pub fn routing(config: &Config, free: u32) -> Routing {
    let interface = &config.interface;
    let prefixes: BTreeSet<IpNet> =
        config.peers.iter().flat_map(|peer| peer.allowed_ips.iter().map(IpNet::trunc)).collect();
    let mut routing = Routing::default();
    match interface.table {
        Table::Off => {}
        Table::Number(table) => routing.routes = prefixes.into_iter().map(|prefix| (prefix, table)).collect(),
        Table::Auto => {
            let table = interface.fwmark.filter(|mark| *mark != 0).unwrap_or(free);
            for prefix in prefixes {
                if prefix.prefix_len() == 0 {
                    let family = Family::of(&prefix);
                    routing.routes.insert((prefix, table));
                    routing.rules.push((family, Rule::UnmarkedTo { table, mark: table }));
                    routing.rules.push((family, Rule::MainWithoutDefault));
                    routing.fwmark = Some(table);
                } else if !connected(&interface.addresses, &prefix) {
                    routing.routes.insert((prefix, MAIN_TABLE));
                }
            }
        }
    }
    routing
}

/// The kernel adds the route to an interface's own network.
fn connected(addresses: &[IpNet], prefix: &IpNet) -> bool {
    addresses.iter().any(|address| address.trunc() == *prefix || address.contains(prefix))
}

/// MTU inside the tunnel for the smallest MTU on the path to the peers.
pub fn tunnel_mtu(outside: Option<u32>) -> u32 {
    // 65,535 less the overhead is what one UDP datagram can carry, whatever the loopback interface claims.
    outside.unwrap_or(1500).min(65_535).saturating_sub(OVERHEAD).max(LEAST_MTU)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Config {
        let key = "xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=";
        Config::parse(&format!("[Interface]\n{text}\n[Peer]\nPublicKey = {key}\nAllowedIPs = 10.1.0.0/16, 10.0.0.2/32, 0.0.0.0/0, ::/0\n"))
            .unwrap()
    }

    #[test]
    fn a_default_route_gets_its_own_table_and_rules() {
        let planned = routing(&config("Address = 10.0.0.1/24"), 51821);
        let routes: Vec<String> = planned.routes.iter().map(|(to, table)| format!("{to} {table}")).collect();
        assert_eq!(routes, ["0.0.0.0/0 51821", "10.1.0.0/16 254", "::/0 51821"]);
        assert_eq!(planned.fwmark, Some(51821));
        assert_eq!(
            planned.rules,
            [
                (Family::V4, Rule::UnmarkedTo { table: 51821, mark: 51821 }),
                (Family::V4, Rule::MainWithoutDefault),
                (Family::V6, Rule::UnmarkedTo { table: 51821, mark: 51821 }),
                (Family::V6, Rule::MainWithoutDefault),
            ]
        );
        assert_eq!(routing(&config("FwMark = 7"), 51820).fwmark, Some(7));
    }

    #[test]
    fn a_table_can_be_named_or_off() {
        assert_eq!(routing(&config("Table = off"), 51820), Routing::default());
        let named = routing(&config("Table = 99\nAddress = 10.0.0.1/24"), 51820);
        assert_eq!(named.routes.len(), 4);
        assert!(named.routes.iter().all(|(_, table)| *table == 99));
        assert!(named.rules.is_empty() && named.fwmark.is_none());
    }

    #[test]
    fn mtu_is_as_wg_quick_has_it() {
        assert_eq!(tunnel_mtu(None), 1420);
        assert_eq!(tunnel_mtu(Some(1460)), 1380);
        assert_eq!(tunnel_mtu(Some(1300)), 1280);
        assert_eq!(tunnel_mtu(Some(65_536)), 65_455);
    }
}
