use warren_wire::PrivateKey;
use warren_wire::gateway::{Allow, Group, PortRange, Protocol, Site, SitePeer};

use super::*;
use crate::gateway::example::config;

fn group(allow: Vec<Allow>, rates: (Option<u32>, Option<u32>)) -> Group {
    Group { allow, rate_mbit: rates.0, peer_rate_mbit: rates.1, congestion: None, grants: Vec::new() }
}

fn rule(to: &[&str], ports: Option<&[&str]>, protocols: Option<&[Protocol]>) -> Allow {
    let range = |text: &&str| text.parse::<PortRange>().unwrap();
    Allow::new(
        to.iter().map(|to| to.parse().unwrap()),
        ports.map(|ports| ports.iter().map(range).collect()),
        protocols.map(<[Protocol]>::to_vec),
    )
}

fn members() -> BTreeMap<IpAddr, Place> {
    [("10.100.0.7", "gpu"), ("fd00:1::7", "gpu"), ("10.100.0.8", "idle"), ("10.100.0.9", "gone")]
        .into_iter()
        .map(|(address, group)| (address.parse().unwrap(), Place::Group(group.parse().unwrap())))
        .chain([("10.100.0.10".parse().unwrap(), Place::Leaving)])
        .collect()
}

fn sites() -> Site {
    let peer = |name: &str, addresses: &[&str], prefixes: &[&str]| SitePeer {
        name: name.parse().unwrap(),
        key: PrivateKey::from_random([1; 32]).public(),
        endpoint: None,
        addresses: addresses.iter().map(|address| address.parse().unwrap()).collect(),
        prefixes: prefixes.iter().map(|net| net.parse().unwrap()).collect(),
        group: "site".parse().unwrap(),
    };
    Site {
        addresses: ["10.100.0.1", "fd00:2::1"].map(|own| own.parse().unwrap()).to_vec(),
        peers: vec![
            peer("gcp", &["10.101.0.1", "fd00:3::1"], &["10.60.0.0/16", "10.61.0.0/16", "fd00:60::/48"]),
            peer("on-prem", &["10.102.0.1"], &[]),
        ],
    }
}

#[test]
fn the_table_of_rules_with_sites() {
    let groups = BTreeMap::from([(
        "site".parse().unwrap(),
        group(vec![rule(&["10.0.0.0/16"], None, Some(&[Protocol::Tcp]))], (None, None)),
    )]);
    let (pool, site) = (["10.100.0.0/16".parse().unwrap()], sites());
    let table = Table {
        name: "warren-gw-a",
        interface: &interface(&"gw-a".parse().unwrap()).unwrap(),
        pool: &pool,
        site: &site,
        name_server: NameServerRules {
            own: ["10.100.0.1", "fd00:1::1"].map(|own| own.parse().unwrap()).to_vec(),
            credentials: vec!["10.100.0.1".parse().unwrap()],
            direct: vec!["10.100.0.1".parse().unwrap()],
            beyond: vec!["10.101.0.1".parse().unwrap()],
        },
        groups: &groups,
        audited: false,
        newly_forwarded: NewlyForwarded { v4: true, v6: true },
        error_sender: ErrorSender::Copy,
    };
    let script =
        table.script(&[("10.101.0.1".parse().unwrap(), Place::Group("site".parse().unwrap()))].into());
    let (_, particular) = script.split_once("  chain from-pods").unwrap();
    insta::assert_snapshot!(particular);
    assert!(
        script.contains(
            "set never4 { type ipv4_addr; flags interval; elements = { 0.0.0.0/8, 10.100.0.0/16, 100"
        )
    );
    assert!(script.contains("fd00:2::1/128"), "its own address towards sites is no pod's to reach: {script}");
}

#[test]
fn the_tunnel_does_not_go_through_itself() {
    let may = |endpoint: &str| {
        let key = PrivateKey::from_random([1; 32]).public();
        check_routes(&config(&format!(
            "[groups.site]\n[site]\naddresses = [\"10.100.0.1\"]\n[[site.peers]]\nname = \"gcp\"\nkey = \"{key}\"\n\
             endpoint = \"{endpoint}\"\naddresses = [\"10.101.0.1\"]\nprefixes = [\"10.60.0.0/16\"]\ngroup = \"site\"\n"
        )))
    };
    assert!(may("198.51.100.7:51820").is_ok() && may("gw.gcp.example.com:51820").is_ok());
    insta::assert_snapshot!(may("10.60.0.1:51820").unwrap_err());
}

#[test]
fn the_table_of_rules() {
    let gpu = vec![
        // Ranges that touch or overlap, prefixes that contain each other: a set takes neither.
        rule(
            &["10.0.0.0/16", "10.0.7.0/24"],
            Some(&["443", "8000-8100", "8100-8200", "442"]),
            Some(&[Protocol::Tcp]),
        ),
        rule(&["10.0.0.2/32", "fd00:5::/64"], None, None),
        rule(&["0.0.0.0/0"], Some(&["53"]), Some(&[Protocol::Udp])),
    ];
    let groups = BTreeMap::from([
        ("gpu".parse().unwrap(), group(gpu, (Some(2000), Some(10)))),
        ("idle".parse().unwrap(), group(Vec::new(), (None, None))),
    ]);
    let pool = ["10.100.0.0/16".parse().unwrap(), "fd00:1::/64".parse().unwrap()];
    let interface = interface(&"gw-a".parse().unwrap()).unwrap();
    let table = Table {
        name: "warren-gw-a",
        interface: &interface,
        pool: &pool,
        site: &Site::default(),
        name_server: NameServerRules::default(),
        groups: &groups,
        audited: true,
        newly_forwarded: NewlyForwarded { v4: true, v6: false },
        error_sender: ErrorSender::Copy,
    };
    insta::assert_snapshot!(table.script(&members()));
    let come = members().into_iter().take(1).collect();
    insta::assert_snapshot!(table.change(&gone(), &come));
}

fn gone() -> BTreeMap<IpAddr, Place> {
    ["10.100.0.6", "fd00:1::6"]
        .map(|address| (address.parse().unwrap(), Place::Group("gpu".parse().unwrap())))
        .into()
}

/// Rules about groups have sets, whose elements change with the members.
#[test]
fn the_table_of_rules_between_pods() {
    let gpu = vec![
        rule(&["group:idle", "10.0.0.0/16"], Some(&["29500"]), Some(&[Protocol::Tcp])),
        rule(&["group:gpu"], None, None),
    ];
    let groups = BTreeMap::from([
        ("gpu".parse().unwrap(), group(gpu, (None, Some(10)))),
        ("idle".parse().unwrap(), group(Vec::new(), (Some(100), None))),
    ]);
    let pool = ["10.100.0.0/16".parse().unwrap(), "fd00:1::/64".parse().unwrap()];
    let (interface, site) = (interface(&"gw-a".parse().unwrap()).unwrap(), sites());
    let table = Table {
        name: "warren-gw-a",
        interface: &interface,
        pool: &pool,
        site: &site,
        name_server: NameServerRules::default(),
        groups: &groups,
        audited: false,
        newly_forwarded: NewlyForwarded { v4: false, v6: false },
        error_sender: ErrorSender::Copy,
    };
    let script = table.script(&members());
    let (_, particular) = script.split_once("  chain peer-gpu").unwrap();
    insta::assert_snapshot!(particular);
    insta::assert_snapshot!(table.change(&gone(), &members()));
}

#[test]
fn interfaces_have_names_that_the_kernel_takes() {
    let of = |name: &str| interface(&name.parse().unwrap()).unwrap().to_string();
    assert_eq!(of("gw-a"), "wg-gw-a");
    assert_eq!(of("gateway-euro"), "wg-gateway-euro");
    let (one, other) = (of("gateway-europe-1"), of("gateway-europe-2"));
    assert!(
        one.len() == InterfaceName::MAX && one.starts_with("wg-gateway") && one != other,
        "{one} {other}"
    );
}
