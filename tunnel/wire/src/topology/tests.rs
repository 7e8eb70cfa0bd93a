use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::gateway::Site;
use crate::key::PrivateKey;

const CLOUDS: &str = r#"
topology = "star"
hub = "aws"

[[sites]]
name = "aws"
key = "zhfKdDHZcX0PG5KWPqvLZyRj8kpBMsCjqvYhAXi7Ugg="
endpoint = "gw.aws.example.com:51820"
addresses = ["10.100.0.1"]
prefixes = ["172.16.0.0/16"]

[[sites]]
name = "gcp"
key = "qRxnQ8jrCu21bfcs2OMAvyPRjqhPMVjbw3CvAD2aXwI="
endpoint = "gw.gcp.example.com:51820"
addresses = ["10.101.0.1"]
prefixes = ["10.0.0.0/16", "10.4.0.0/20"]

[[sites]]
name = "on-prem"
key = "3vVfYQ6oQkNE9TJkRt3XQwlVLTjiZUP3K6wY1bZqpBQ="
addresses = ["10.102.0.1"]
prefixes = ["192.168.0.0/20"]

[[sites]]
name = "lab"
key = "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA="
endpoint = "198.51.100.7:51820"
addresses = ["10.103.0.1"]
"#;

#[test]
fn a_star_a_mesh_and_a_ring_of_the_same_networks() {
    insta::assert_snapshot!("star", Topology::parse(CLOUDS).unwrap());
    let reachable = CLOUDS.replace(
        "addresses = [\"10.102.0.1\"]",
        "endpoint = \"gw.example.com:51820\"\naddresses = [\"10.102.0.1\"]",
    );
    for shape in ["mesh", "ring"] {
        let text = reachable.replace("\"star\"\nhub = \"aws\"", &format!("\"{shape}\""));
        insta::assert_snapshot!(shape, Topology::parse(&text).unwrap());
    }
}

#[test]
fn mistakes_are_told_with_place_and_hint() {
    let mut out = String::new();
    for (from, to) in [
        ("\"star\"", "\"tree\""),
        ("hub = \"aws\"\n", ""),
        ("hub = \"aws\"", "hub = \"azure\""),
        ("\"star\"", "\"mesh\""),
        ("endpoint = \"gw.aws.example.com:51820\"", ""),
        ("name = \"gcp\"", "name = \"aws\""),
        ("10.0.0.0/16", "172.16.8.0/24"),
        ("10.0.0.0/16", "10.0.0.1/16"),
        ("10.0.0.0/16", "fd00::/48"),
        ("10.4.0.0/20", "10.101.0.0/24"),
        ("addresses = [\"10.103.0.1\"]", "addresses = []"),
        ("name = \"lab\"", "name = \"a-name-that-leaves-no-room-for-what-its-group-would-begin-with\""),
    ] {
        assert!(CLOUDS.contains(from), "{from}");
        let error = Topology::parse(&CLOUDS.replacen(from, to, 1));
        let error = if let Err(error) = error { error.to_string() } else { "taken".to_owned() };
        out += &format!("# {}\n{error}\n\n", to.replace('\n', " "));
    }
    insta::assert_snapshot!(out);
}

fn described() -> impl Strategy<Value = Topology> {
    let shapes =
        |count: usize| prop_oneof![(0..count).prop_map(Shape::Star), Just(Shape::Mesh), Just(Shape::Ring)];
    (1_usize..10).prop_flat_map(move |count| {
        let prefixes = proptest::collection::vec(0_u8..4, count);
        (shapes(count), prefixes).prop_map(|(shape, prefixes)| {
            let site = |(index, many): (usize, u8)| Network {
                name: format!("n{index}").parse().unwrap(),
                key: PrivateKey::from_random([index as u8 + 1; 32]).public(),
                endpoint: Some(format!("192.0.2.{index}:51820").parse().unwrap()),
                addresses: vec![format!("10.100.{index}.1").parse().unwrap()],
                prefixes: (0..many).map(|part| format!("10.{index}.{part}.0/24").parse().unwrap()).collect(),
            };
            Topology { shape, sites: prefixes.into_iter().enumerate().map(site).collect() }
        })
    })
}

/// The sites that a packet from one to a prefix passes, without links that are cut. The last is where it ends.
fn travel(sections: &[Section], from: usize, to: IpNet, cut: Option<&Link>) -> Vec<usize> {
    let mut passed = vec![from];
    let mut at = from;
    while passed.len() <= sections.len() + 1 {
        let Some(peer) = sections[at].peers.iter().find(|peer| peer.prefixes.contains(&to)) else { break };
        let ends = (&sections[at].name, &peer.name);
        if cut
            .is_some_and(|link| ends == (&link.ends.0, &link.ends.1) || ends == (&link.ends.1, &link.ends.0))
        {
            break;
        }
        let next = sections.iter().position(|section| section.name == peer.name).unwrap();
        let back = sections[next].peers.iter().find(|other| other.name == sections[at].name).unwrap();
        assert!(sections[next].allow[&back.group].contains(&to), "{to} is not let in at {}", peer.name);
        at = next;
        passed.push(at);
    }
    passed
}

proptest! {
    #[test]
    fn every_prefix_is_reached_from_everywhere_by_one_way(topology in described()) {
        let (sections, count) = (topology.sections(), topology.sites.len());
        for (owner, network) in topology.sites.iter().enumerate() {
            for (from, to) in (0..count).filter(|from| *from != owner).flat_map(|from| network.prefixes.iter().map(move |to| (from, *to))) {
                let passed = travel(&sections, from, to, None);
                prop_assert_eq!(passed.last(), Some(&owner));
                let most = match topology.shape { Shape::Mesh => 1, Shape::Star(_) => 2, Shape::Ring => count / 2 };
                prop_assert!(passed.len() - 1 <= most, "{:?}", passed);
            }
        }
        // What a gateway would refuse in its file is not made: no two peers share a range, no own one is a peer's.
        for section in &sections {
            let site = Site { addresses: section.addresses.clone(), peers: section.peers.clone() };
            prop_assert!(site.check(&[], &[]).is_ok());
        }
    }

    #[test]
    fn with_a_link_is_lost_what_it_carries_and_nothing_else(topology in described()) {
        let sections = topology.sections();
        for link in topology.links() {
            let told: BTreeSet<_> = link.carries.iter().cloned().collect();
            for (owner, network) in topology.sites.iter().enumerate() {
                for from in (0..topology.sites.len()).filter(|from| *from != owner) {
                    for to in &network.prefixes {
                        let arrives = travel(&sections, from, *to, Some(&link)).last() == Some(&owner);
                        let pair = (topology.sites[from].name.clone(), network.name.clone());
                        prop_assert_eq!(arrives, !told.contains(&pair));
                    }
                }
            }
        }
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,200}", cut in 0_usize..600) {
        _ = Topology::parse(&text);
        _ = Topology::parse(CLOUDS.get(..cut.min(CLOUDS.len())).unwrap_or_default());
    }
}
