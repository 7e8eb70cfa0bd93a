use std::time::Duration;

use proptest::prelude::*;
use warren_wire::gateway::{Allow, PortRange};
use warren_wire::{PrivateKey, UnixTime};

use super::*;

fn rule(to: &str, ports: Option<&[&str]>, protocols: Option<&[Protocol]>) -> Allow {
    Allow::new(
        to.split(' ').map(|to| to.parse().unwrap()),
        ports.map(|ports| ports.iter().map(|range| range.parse().unwrap()).collect()),
        protocols.map(<[Protocol]>::to_vec),
    )
}

fn policy(allow: Vec<Allow>) -> (Policy, Option<GroupId>) {
    let name: Name = "gpu".parse().unwrap();
    let policy = Policy::compile([(&name, &Group { allow, ..Group::default() })]);
    let group = policy.group(&name);
    (policy, group)
}

const OWN: [IpAddr; 1] = [IpAddr::V4(std::net::Ipv4Addr::new(10, 100, 0, 2))];

fn flow(destination: &str, protocol: Protocol, port: u16) -> Flow {
    Flow { source: OWN[0], destination: destination.parse().unwrap(), protocol, port }
}

#[test]
fn what_is_not_allowed_is_denied() {
    let (policy, group) = policy(vec![
        rule("10.0.0.0/16", Some(&["443", "8000-8100"]), Some(&[Protocol::Tcp])),
        rule("10.0.7.0/24", Some(&["53"]), Some(&[Protocol::Udp, Protocol::Tcp])),
        rule("fd00:1::/64", None, None),
    ]);
    let check = |flow: Flow| policy.check(group, &OWN, &flow);
    for allowed in [
        flow("10.0.0.1", Protocol::Tcp, 443),
        flow("10.0.255.255", Protocol::Tcp, 8100),
        // The longer prefix adds to the shorter one's ports, it does not hide them.
        flow("10.0.7.1", Protocol::Tcp, 443),
        flow("10.0.7.1", Protocol::Tcp, 53),
        flow("10.0.7.1", Protocol::Udp, 53),
        flow("fd00:1::9", Protocol::Icmp, 0),
        flow("fd00:1::9", Protocol::Udp, 1),
    ] {
        assert_eq!(check(allowed), Ok(()), "{allowed:?}");
    }
    for denied in [
        flow("10.0.0.1", Protocol::Tcp, 442),
        flow("10.0.0.1", Protocol::Tcp, 8101),
        flow("10.0.0.1", Protocol::Udp, 443),
        flow("10.0.0.1", Protocol::Icmp, 0),
        flow("10.0.6.1", Protocol::Tcp, 53),
        flow("10.1.0.1", Protocol::Tcp, 443),
        // Not even other peers, nor the peer itself.
        flow("10.100.0.2", Protocol::Tcp, 443),
        flow("fd00:2::9", Protocol::Icmp, 0),
    ] {
        assert_eq!(check(denied), Err(Denial::Destination), "{denied:?}");
    }
    let forged = Flow { source: "10.100.0.3".parse().unwrap(), ..flow("10.0.0.1", Protocol::Tcp, 443) };
    assert_eq!(check(forged), Err(Denial::Source));
    assert_eq!(policy.check(None, &OWN, &flow("10.0.0.1", Protocol::Tcp, 443)), Err(Denial::Group));
    assert_eq!(policy.check(group, &[], &flow("10.0.0.1", Protocol::Tcp, 443)), Err(Denial::Source));
    let (empty, group) = super::tests::policy(Vec::new());
    assert_eq!(empty.check(group, &OWN, &flow("10.0.0.1", Protocol::Tcp, 443)), Err(Denial::Destination));
}

#[test]
fn peers_are_reached_by_their_group_alone() {
    let (policy, group) = policy(vec![
        rule("group:trainers 10.0.0.0/16", Some(&["29500", "29400-29410"]), Some(&[Protocol::Tcp])),
        rule("group:trainers", Some(&["53"]), Some(&[Protocol::Udp, Protocol::Icmp])),
        rule("group:workers", None, None),
    ]);
    let check = |to: &str, protocol, port| {
        policy.check_peer(group, &OWN, &to.parse().unwrap(), &flow("10.100.0.9", protocol, port))
    };
    for (to, protocol, port, expected) in [
        ("trainers", Protocol::Tcp, 29500, Ok(())),
        ("trainers", Protocol::Tcp, 29405, Ok(())),
        ("trainers", Protocol::Tcp, 53, Err(Denial::Destination)),
        ("trainers", Protocol::Udp, 53, Ok(())),
        ("trainers", Protocol::Udp, 29500, Err(Denial::Destination)),
        ("trainers", Protocol::Icmp, 0, Ok(())),
        ("workers", Protocol::Tcp, 1, Ok(())),
        ("workers", Protocol::Icmp, 0, Ok(())),
        ("gpu", Protocol::Tcp, 29500, Err(Denial::Destination)),
    ] {
        assert_eq!(check(to, protocol, port), expected, "{to} {protocol:?} {port}");
    }
    // A prefix opens no peer, and a group no address.
    assert_eq!(
        policy.check(group, &OWN, &flow("10.100.0.9", Protocol::Tcp, 29500)),
        Err(Denial::Destination)
    );
    let trainers = "trainers".parse().unwrap();
    let to = flow("10.100.0.9", Protocol::Tcp, 29500);
    assert_eq!(policy.check_peer(group, &[], &trainers, &to), Err(Denial::Source));
    assert_eq!(policy.check_peer(None, &OWN, &trainers, &to), Err(Denial::Group));
}

fn rules() -> impl Strategy<Value = Vec<Allow>> {
    // Few distinct bits, so that prefixes nest and meet.
    let net = (0..8_u8, 0..4_u8, 8..=32_u8)
        .prop_map(|(a, b, length)| ipnet::IpNet::new([10, a, b, a].into(), length).unwrap());
    let range = (1..40_u16, 0..10_u16).prop_map(|(first, more)| PortRange::new(first, first + more).unwrap());
    let ports = prop::option::of(prop::collection::vec(range, 0..4));
    let protocols = prop::option::of(prop::collection::vec(prop::sample::select(&Protocol::ALL[..]), 0..3));
    let rule = (prop::collection::vec(net, 0..4), ports, protocols).prop_map(|(to, ports, protocols)| {
        Allow { to, to_groups: Vec::new(), ports, protocols, direct: false }
    });
    prop::collection::vec(rule, 0..12)
}

proptest! {
    #[test]
    fn the_tables_say_what_the_rules_say(
        rules in rules(),
        packets in prop::collection::vec((0..8_u8, 0..4_u8, 0..8_u8, 0..60_u16, 0..3_usize), 40),
    ) {
        let (policy, group) = policy(rules.clone());
        for (a, b, c, port, protocol) in packets {
            let protocol = Protocol::ALL[protocol];
            let port = if protocol == Protocol::Icmp { 0 } else { port };
            let destination = IpAddr::from([10, a, b, c]);
            let expected = rules.iter().any(|rule| {
                let ports = rule.ports.as_ref();
                rule.to.iter().any(|net| net.contains(&destination))
                    && rule.protocols.as_ref().is_none_or(|protocols| protocols.contains(&protocol))
                    && (protocol == Protocol::Icmp
                        || ports.is_none_or(|p| p.iter().any(|r| (r.first()..=r.last()).contains(&port))))
            });
            let flow = Flow { source: OWN[0], destination, protocol, port };
            prop_assert_eq!(policy.check(group, &OWN, &flow).is_ok(), expected, "{:?}", flow);
        }
    }

    #[test]
    fn a_bucket_never_gives_more_than_its_rate_and_burst(
        rate in 1_000..10_000_000_u64,
        burst in 1..100_000_u64,
        takes in prop::collection::vec((0..50_u64, 1..20_000_u64), 1..200),
    ) {
        let limit = RateLimit::new(rate, burst);
        let (mut now, mut given) = (Duration::ZERO, 0);
        for (millis, units) in takes {
            now += Duration::from_millis(millis);
            if limit.take(now, units) {
                given += units;
            }
            let most = burst as f64 + rate as f64 * now.as_secs_f64();
            // A unit's price is rounded to picoseconds, up to one in 10^5 at these rates.
            prop_assert!(given as f64 <= most * 1.0001 + 1.0, "{} of {}", given, most);
        }
    }
}

#[test]
fn a_bucket_fills_again_and_a_group_takes_all_or_nothing() {
    let limit = RateLimit::new(1000, 100);
    let at = Duration::from_millis;
    assert!(limit.take(at(0), 100));
    assert!(!limit.take(at(0), 1));
    assert!(limit.take(at(50), 50));
    assert!(!limit.take(at(50), 1));
    assert_eq!((limit.time_until(at(50), 10), limit.time_until(at(60), 10)), (at(10), at(0)));
    assert!(limit.take(at(10_000), 100), "a rest does not save up more than the burst");
    assert!(!limit.take(at(10_000), 1));

    let (peer, group) = (RateLimit::new(1000, 100), RateLimit::new(1000, 10));
    assert!(!RateLimit::take_from_all(&[&peer, &group], at(0), 50));
    assert!(peer.take(at(0), 100), "the peer's bucket got back what the group's refused");
}

#[test]
fn audit_records_are_gathered_bounded_and_flat() {
    let mut audit = Audit::new(2);
    let flow = |port, denied| FlowKey {
        peer: PrivateKey::from_random([1; 32]).public(),
        group: "gpu".parse().unwrap(),
        source: OWN[0],
        destination: "10.0.0.1".parse().unwrap(),
        protocol: Protocol::Tcp,
        port,
        denied,
    };
    let at = |seconds: u64| UnixTime::from_secs(1_800_000_000 + seconds);
    audit.add(at(0), &flow(443, None), 1, 100, 0);
    audit.add(at(5), &flow(443, None), 1, 50, 7000);
    audit.add(at(6), &flow(22, Some(Denial::Destination)), 1, 40, 0);
    audit.add(at(7), &flow(23, Some(Denial::Destination)), 1, 40, 0);
    let (records, lost) = audit.drain();
    assert_eq!(lost, 1);
    let lines: Vec<String> = records.iter().map(AuditRecord::to_json).collect();
    insta::assert_snapshot!(lines.join("\n"));
    assert_eq!(audit.drain(), (Vec::new(), 0));
}
