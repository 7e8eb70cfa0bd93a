use warren_wire::gateway::{Allow, Group, PortRange, Protocol};

use super::*;

fn group(allow: Vec<Allow>, rates: (Option<u32>, Option<u32>)) -> Group {
    Group { allow, rate_mbit: rates.0, peer_rate_mbit: rates.1 }
}

fn rule(to: &[&str], ports: Option<&[&str]>, protocols: Option<&[Protocol]>) -> Allow {
    let range = |text: &&str| text.parse::<PortRange>().unwrap();
    Allow {
        to: to.iter().map(|net| net.parse().unwrap()).collect(),
        ports: ports.map(|ports| ports.iter().map(range).collect()),
        protocols: protocols.map(<[Protocol]>::to_vec),
    }
}

fn members() -> BTreeMap<IpAddr, Name> {
    [("10.100.0.7", "gpu"), ("fd00:1::7", "gpu"), ("10.100.0.8", "idle"), ("10.100.0.9", "gone")]
        .into_iter()
        .map(|(address, group)| (address.parse().unwrap(), group.parse().unwrap()))
        .collect()
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
        groups: &groups,
        audited: true,
        lonely: Lonely { v4: true, v6: false },
    };
    insta::assert_snapshot!(table.script(&members()));
    let come = members().into_iter().take(1).collect();
    insta::assert_snapshot!(
        table.change(&["10.100.0.6".parse().unwrap(), "fd00:1::6".parse().unwrap()], &come)
    );
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
