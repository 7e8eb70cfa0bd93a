//! Security groups and network ACLs.

use warren_dataplane::aws::{Peer, Protocol};
use warren_dataplane::lab::Probe;

use crate::world::{Draft, entry, p};

fn one_vpc() -> Draft {
    Draft::new().vpc("a", "10.0.0.0/16").subnet("a", "one", "10.0.0.0/24").subnet("a", "two", "10.0.1.0/24")
}

#[test]
fn a_group_admits_its_ranges_and_ports_and_answers_pass() {
    let world = one_vpc()
        .group("web", "a", &[Peer::Range(p("10.0.0.0/24"))])
        .machine("server", "two", "10.0.1.9", &["web"])
        .build();
    world.reaches("one", "server", "server");
    world.closed("two", "server");
    // Answers to what the machine starts itself need no rule.
    world.reaches("server", "two", "two");
}

#[test]
fn a_group_without_egress_rules_sends_nothing_of_its_own() {
    let world = one_vpc()
        .group("mute", "a", &[Peer::Range(p("0.0.0.0/0"))])
        .machine("server", "two", "10.0.1.9", &["mute"])
        .change(|account| account.security_groups[0].egress.clear())
        .build();
    world.reaches("one", "server", "server");
    world.closed("server", "one");
    // The resolver is exempt.
    assert_eq!(world.names("server", "s3.us-east-1.amazonaws.com"), ["52.216.0.10"]);
}

#[test]
fn a_group_as_a_source_stands_for_its_members() {
    let world = one_vpc()
        .group("client", "a", &[])
        .group("server", "a", &[Peer::Group("client".to_owned())])
        .machine("c", "one", "10.0.0.9", &["client"])
        .machine("s", "two", "10.0.1.9", &["server"])
        .build();
    world.reaches("c", "s", "s");
    world.closed("one", "s");
}

#[test]
fn a_group_of_a_peered_vpc_can_be_a_source() {
    let pair = |peered: bool| {
        let draft = one_vpc()
            .vpc("b", "10.1.0.0/16")
            .subnet("b", "far", "10.1.0.0/24")
            .group("client", "b", &[])
            .group("server", "a", &[Peer::Group("client".to_owned())])
            .machine("c", "far", "10.1.0.9", &["client"])
            .machine("s", "one", "10.0.0.9", &["server"]);
        let (over, back) = if peered { ("pcx-a-b", "pcx-a-b") } else { ("tgw-1", "tgw-1") };
        draft
            .peering(if peered { "a" } else { "none" }, "b")
            .transit(
                &[("a", &["one"]), ("b", &["far"])],
                &[(&["a", "b"], &[("10.0.0.0/16", Some("a")), ("10.1.0.0/16", Some("b"))])],
            )
            .route("a", "10.1.0.0/16", over)
            .route("b", "10.0.0.0/16", back)
            .build()
    };
    pair(true).reaches("c", "s", "s");
    // Over a transit gateway the reference matches no host.
    pair(false).closed("c", "s");
}

#[test]
fn a_network_acl_remembers_nothing() {
    let (all, tcp) = (Protocol::All, Protocol::Tcp);
    let world = |answers: bool| {
        let mut entries = vec![entry(100, false, true, tcp, Some((443, 443)))];
        if answers {
            entries.push(entry(100, true, true, tcp, Some((1024, 65535))));
        }
        one_vpc().acl("two", &entries).build()
    };
    world(true).reaches("one", "two", "two");
    world(false).closed("one", "two");
    // The lowest number decides, and within a subnet nothing is asked.
    let denied = one_vpc()
        .acl(
            "two",
            &[
                entry(90, false, false, tcp, Some((443, 443))),
                entry(100, false, true, all, None),
                entry(100, true, true, all, None),
            ],
        )
        .machine("near", "two", "10.0.1.9", &[])
        .change(|account| account.interfaces[0].groups = warren_dataplane::aws::Groups::Open)
        .build();
    denied.closed("one", "two");
    denied.reaches("near", "two", "two");
}

#[test]
fn a_network_acl_guards_what_arrives_over_a_transit_gateway() {
    let deny = [entry(100, true, true, Protocol::All, None)];
    let draft = one_vpc()
        .vpc("b", "10.1.0.0/16")
        .subnet("b", "far", "10.1.0.0/24")
        .transit(
            &[("a", &["one"]), ("b", &["far"])],
            &[(&["a", "b"], &[("10.0.0.0/16", Some("a")), ("10.1.0.0/16", Some("b"))])],
        )
        .route("a", "10.1.0.0/16", "tgw-1")
        .route("b", "10.0.0.0/16", "tgw-1");
    let world = draft.acl("two", &deny).build();
    world.closed("far", "two");
    // In the attachment's own subnet no boundary is crossed.
    world.reaches("far", "one", "one");
}

#[test]
fn udp_follows_the_same_rules() {
    let world = one_vpc()
        .group("dns", "a", &[])
        .machine("s", "two", "10.0.1.9", &["dns"])
        .change(|account| {
            let rule = &mut account.security_groups[0].ingress[0];
            rule.protocol = Protocol::Udp;
            rule.peers = vec![Peer::Range(p("10.0.0.0/24"))];
        })
        .build();
    let (one, to) = (&world.network.place("one").unwrap().node, p("10.0.1.9:443"));
    let outcomes = world.lab.probe(&[Probe::udp(one, to), Probe::tcp(one, to)]);
    assert!(outcomes[0].reached() && !outcomes[1].reached(), "{outcomes:?}");
}
