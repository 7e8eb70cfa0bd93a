//! Every text a user can see, and the rules behind it.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use insta::assert_snapshot;
use warren_cidr::{
    Bound, Cloud, Conflict, Family, Growth, Infeasible, IpNet, Label, NetworkRequest, Parent, Range,
    RangeKind, RenumberReason, Request, Severity, SubnetRequest, Want, conflicts, explain, messages,
    parse_cidr, solve, suggest,
};

fn net(text: &str) -> IpNet {
    parse_cidr(text).unwrap()
}

fn range(name: &str, text: &str, owner: &str, kind: RangeKind, parent: Parent) -> Range {
    let path = format!("warren_x.{name}.cidr_block");
    Range {
        net: net(text),
        label: Label { name: name.into(), owner: owner.into(), path, kind, id: name.into(), parent },
    }
}

/// The request of the documentation: three pools, two exclusions, a hub with subnets.
fn documented() -> Request {
    let mut request = Request::default();
    for (pool, block) in [("gcp", "10.0.0.0/12"), ("aws", "172.16.0.0/12"), ("overlay", "10.100.0.0/16")] {
        request.pools.insert(pool.into(), vec![net(block)]);
    }
    request.reserved.insert("on_prem".into(), vec![net("10.8.0.0/16")]);
    request.reserved.insert("docker".into(), vec![net("172.17.0.0/16")]);
    let mut aws = NetworkRequest::new(&[], Want::Pinned(net("172.16.0.0/16")));
    aws.cloud = Some(Cloud::Aws);
    aws.subnets.insert("public".into(), SubnetRequest::new(Want::Prefix(24)));
    aws.subnets.insert("data".into(), SubnetRequest::new(Want::Prefix(24)));
    let ml = SubnetRequest { growth: Growth::new(2.0).unwrap(), ..SubnetRequest::new(Want::Hosts(200)) };
    aws.subnets.insert("ml".into(), ml);
    request.networks.insert("aws".into(), aws);
    let gcp = NetworkRequest { cloud: Some(Cloud::Gcp), ..NetworkRequest::new(&["gcp"], Want::Prefix(16)) };
    request.networks.insert("gcp_hub".into(), gcp);
    request.networks.insert("overlay".into(), NetworkRequest::new(&["overlay"], Want::Prefix(24)));
    request
}

fn refusal(request: &Request) -> String {
    explain(&solve(request, Bound::default()).unwrap_err())
}

#[test]
fn a_range_is_read_strictly() {
    let texts = [
        "10.1.2.3/16",
        "fd00::1/64",
        "10.0.0.0",
        "10.0.0.0/33",
        "10.0.0.0/",
        "10.0.0.0/+8",
        "10.0.0/8",
        " 10.0.0.0/8",
        "",
    ];
    let said: Vec<String> = texts.iter().map(|text| parse_cidr(text).unwrap_err().to_string()).collect();
    assert_snapshot!(said.join("\n"));
    assert_eq!(parse_cidr("0.0.0.0/0").unwrap().to_string(), "0.0.0.0/0");
    assert_eq!(parse_cidr("FD00::/8").unwrap().to_string(), "fd00::/8");
}

#[test]
fn the_documented_request_has_this_plan() {
    let plan = solve(&documented(), Bound::default()).unwrap();
    assert_snapshot!(serde_json::to_string_pretty(&plan).unwrap());
}

#[test]
fn all_contradictions_are_told_at_once() {
    let mut request = documented();
    let pin = |text: &str| NetworkRequest::new(&["aws"], Want::Pinned(net(text)));
    request.networks.insert("clash".into(), pin("172.16.128.0/20"));
    request.networks.insert("docker_too".into(), pin("172.17.4.0/24"));
    request.networks.insert("elsewhere".into(), pin("192.168.0.0/24"));
    request.networks.insert("lost".into(), NetworkRequest::new(&["azure"], Want::Prefix(24)));
    request.networks.insert("nowhere".into(), NetworkRequest::new(&[], Want::Prefix(24)));
    request.networks.insert("bad/name".into(), NetworkRequest::new(&["aws"], Want::Prefix(24)));
    let v6 = NetworkRequest { family: Some(Family::V6), ..NetworkRequest::new(&["aws"], Want::Prefix(64)) };
    request.networks.insert("six".into(), v6);
    let big = NetworkRequest { cloud: Some(Cloud::Aws), ..NetworkRequest::new(&["gcp"], Want::Prefix(12)) };
    request.networks.insert("big".into(), big);
    let many =
        NetworkRequest { cloud: Some(Cloud::Aws), ..NetworkRequest::new(&["gcp"], Want::Hosts(70_000)) };
    request.networks.insert("many".into(), many);
    let local = NetworkRequest {
        cloud: Some(Cloud::Aws),
        ..NetworkRequest::new(&[], Want::Pinned(net("169.254.8.0/24")))
    };
    request.networks.insert("local".into(), local);
    request.pools.insert("odd".into(), vec!["10.9.1.1/16".parse().unwrap()]);
    let aws = request.networks.get_mut("aws").unwrap();
    aws.subnets.insert("away".into(), SubnetRequest::new(Want::Pinned(net("172.18.0.0/24"))));
    assert_snapshot!(refusal(&request));
    let Err(refused) = solve(&request, Bound::default()) else { panic!("it is refused") };
    assert!(
        messages(&refused).iter().all(|message| !message.path.is_empty() || message.summary.contains("name"))
    );
}

#[test]
fn two_pinned_subnets_that_no_block_of_the_size_holds() {
    let mut request = documented();
    let mut network = NetworkRequest::new(&["aws"], Want::Prefix(24));
    network.subnets.insert("a".into(), SubnetRequest::new(Want::Pinned(net("172.20.0.0/26"))));
    network.subnets.insert("b".into(), SubnetRequest::new(Want::Pinned(net("172.20.1.0/26"))));
    request.networks.insert("torn".into(), network.clone());
    assert_snapshot!(refusal(&request));
    // A number of hosts is a lower bound, so the block grows until it holds both.
    network.want = Want::Hosts(10);
    request.networks.insert("torn".into(), network);
    assert_eq!(solve(&request, Bound::default()).unwrap().networks["torn"], net("172.20.0.0/23"));
}

#[test]
fn what_does_not_fit_is_told_with_a_hint() {
    let mut request = Request::default();
    request.pools.insert("small".into(), vec![net("10.0.0.0/24")]);
    request.reserved.insert("vpn".into(), vec![net("10.0.0.0/26")]);
    request.networks.insert("db".into(), NetworkRequest::new(&["small"], Want::Pinned(net("10.0.0.128/26"))));
    for (name, prefix) in [("web", 26), ("batch", 26), ("tiny", 30)] {
        request.networks.insert(name.into(), NetworkRequest::new(&["small"], Want::Prefix(prefix)));
    }
    request.networks.insert("huge".into(), NetworkRequest::new(&["small"], Want::Prefix(25)));
    assert_snapshot!("no_aligned_block", refusal(&request));
    request.networks.remove("huge");
    assert_snapshot!("one_bit_less", refusal(&request));
}

#[test]
fn subnets_that_do_not_fit_name_their_network() {
    let mut request = documented();
    let mut network = NetworkRequest::new(&["aws"], Want::Prefix(24));
    for name in ["a", "b", "c"] {
        network.subnets.insert(name.into(), SubnetRequest::new(Want::Prefix(25)));
    }
    request.networks.insert("spoke".into(), network);
    assert_snapshot!(refusal(&request));
}

#[test]
fn the_earlier_plan_is_in_the_way() {
    let mut request = Request::default();
    request.pools.insert("p".into(), vec![net("10.0.0.0/24")]);
    for (name, place) in [("a", "10.0.0.0/26"), ("b", "10.0.0.128/26")] {
        request.networks.insert(name.into(), NetworkRequest::new(&["p"], Want::Prefix(26)));
        request.previous.insert(name.into(), net(place));
    }
    request.networks.insert("c".into(), NetworkRequest::new(&["p"], Want::Prefix(25)));
    let Err(Infeasible::NoRoom(story)) = solve(&request, Bound::default()) else {
        panic!("there is no room")
    };
    assert!(story.fits_renumbered && story.minimum);
    assert_snapshot!(explain(&Infeasible::NoRoom(story)));
}

#[test]
fn a_bound_that_is_hit_is_told() {
    let mut request = Request::default();
    request.pools.insert("a".into(), vec![net("10.0.0.0/24")]);
    request.pools.insert("b".into(), vec![net("10.0.1.0/24")]);
    for (name, pools) in [("x", ["a", "b"]), ("y", ["a", "a"]), ("z", ["b", "b"])] {
        request.networks.insert(name.into(), NetworkRequest::new(&pools, Want::Prefix(26)));
    }
    // Without a search, they are placed one by one.
    assert!(solve(&request, Bound { steps: 0, ..Bound::default() }).is_ok());
    for network in request.networks.values_mut() {
        network.want = Want::Prefix(24);
    }
    let hit = solve(&request, Bound { steps: 0, ..Bound::default() }).unwrap_err();
    assert!(matches!(hit, Infeasible::BoundHit(_)));
    assert_snapshot!(explain(&hit));
}

#[test]
fn what_cannot_stay_is_reported_with_its_reason() {
    let mut request = documented();
    let before = solve(&request, Bound::default()).unwrap().networks;
    request.previous = before.clone();
    request.reserved.insert("lab".into(), vec![before["gcp_hub"]]);
    request.networks.get_mut("overlay").unwrap().want = Want::Prefix(23);
    let aws = request.networks.get_mut("aws").unwrap();
    aws.want = Want::Pinned(net("172.20.0.0/16"));
    let plan = solve(&request, Bound::default()).unwrap();
    assert_snapshot!(serde_json::to_string_pretty(&plan.renumbered).unwrap());
    let grown = plan.renumbered.iter().find(|moved| moved.path == "overlay").unwrap();
    assert_eq!(grown.why, RenumberReason::Resized { in_place: true });
}

#[test]
fn blocks_that_services_use_are_avoided_while_there_is_room() {
    let mut request = Request::default();
    request.pools.insert("aws".into(), vec![net("172.16.0.0/15")]);
    let vpc = |prefix| NetworkRequest {
        cloud: Some(Cloud::Aws),
        ..NetworkRequest::new(&["aws"], Want::Prefix(prefix))
    };
    request.networks.insert("a".into(), vpc(17));
    request.networks.insert("b".into(), vpc(17));
    let plan = solve(&request, Bound::default()).unwrap();
    assert!(
        plan.warnings.is_empty()
            && plan.networks.values().all(|placed| net("172.16.0.0/16").contains(placed))
    );
    request.networks.insert("c".into(), vpc(17));
    let plan = solve(&request, Bound::default()).unwrap();
    assert_eq!(plan.warnings.len(), 1);
    assert_snapshot!(plan.warnings[0].finding.message);
}

#[test]
fn ipv6_networks_are_planned_too() {
    let mut request = Request::default();
    request.pools.insert("ula".into(), vec![net("fd00:1234::/32")]);
    let mut network =
        NetworkRequest { cloud: Some(Cloud::Gcp), ..NetworkRequest::new(&["ula"], Want::Prefix(48)) };
    network.subnets.insert("a".into(), SubnetRequest::new(Want::Prefix(64)));
    network.subnets.insert("b".into(), SubnetRequest::new(Want::Hosts(1 << 40)));
    request.networks.insert("six".into(), network);
    let plan = solve(&request, Bound::default()).unwrap();
    assert_eq!(plan.networks["six"], net("fd00:1234::/48"));
    assert_eq!(plan.networks["six/b"], net("fd00:1234:0:1::/64"));
}

#[test]
fn reservations_reserve_and_occupiers_occupy() {
    use RangeKind::{Occupy, Reserve, Reserved};
    let of = |id: &str| Parent::Of(id.into());
    let ranges = [
        range("plan", "172.16.0.0/16", "platform", Reserve, Parent::Top),
        range("plan/public", "172.16.0.0/24", "platform", Reserve, of("plan")),
        range("vpc", "172.16.0.0/16", "platform", Occupy, Parent::Top),
        range("subnet", "172.16.0.0/24", "platform", Occupy, of("vpc")),
        range("unknown", "172.16.1.0/24", "platform", Occupy, Parent::Unknown),
        range("outside", "172.18.0.0/24", "platform", Occupy, of("vpc")),
        range("foreign", "172.16.2.0/24", "ml", Occupy, Parent::Top),
        range("claim", "172.18.0.0/16", "ml", Reserve, Parent::Top),
        range("second", "172.18.0.0/20", "platform", Reserve, Parent::Top),
        range("wide", "10.0.0.0/15", "platform", Occupy, Parent::Top),
        range("narrow", "10.0.0.0/16", "platform", Reserve, Parent::Top),
        range("docker", "172.17.0.0/16", "", Reserved, Parent::Top),
        range("bridge", "172.17.0.0/24", "platform", Occupy, Parent::Top),
        range("twin", "10.4.0.0/16", "platform", Occupy, Parent::Top),
        range("twin", "10.4.0.0/16", "platform", Occupy, Parent::Top),
    ];
    let found = conflicts(&ranges);
    let said: Vec<String> = found
        .iter()
        .map(|conflict| {
            let free = suggest(&ranges, conflict.movable(&ranges), &[])
                .map_or("none".into(), |free| free.to_string());
            format!("{} -> {free}", conflict.explain(&ranges))
        })
        .collect();
    assert_snapshot!(said.join("\n"));
    // The order of the input shows in nothing but the indices.
    let mut turned = ranges.clone();
    turned.reverse();
    let other: Vec<String> = conflicts(&turned).iter().map(|conflict| conflict.explain(&turned)).collect();
    assert_eq!(other, found.iter().map(|conflict| conflict.explain(&ranges)).collect::<Vec<_>>());
    assert!(matches!(found.last(), Some(Conflict::OutsideParent { child: 5, .. })));
}

#[test]
fn clouds_have_their_limits() {
    let mut said = Vec::new();
    for (cloud, text) in [
        (Cloud::Aws, "10.0.0.0/15"),
        (Cloud::Aws, "10.0.0.0/29"),
        (Cloud::Aws, "172.17.0.0/20"),
        (Cloud::Aws, "198.19.0.0/20"),
        (Cloud::Aws, "127.0.0.0/16"),
        (Cloud::Aws, "169.254.0.0/16"),
        (Cloud::Aws, "224.0.0.0/16"),
        (Cloud::Aws, "0.0.0.0/16"),
        (Cloud::Aws, "2600:1f00::/50"),
        (Cloud::Gcp, "199.36.153.8/30"),
        (Cloud::Gcp, "199.36.153.0/24"),
        (Cloud::Gcp, "10.128.0.0/20"),
        (Cloud::Gcp, "255.255.255.255/32"),
        (Cloud::Overlay, "169.254.1.0/32"),
    ] {
        // The overlay has no rules; its range only has to be read.
        let range: IpNet = text.parse().unwrap();
        for finding in cloud.check_subnet(&range) {
            said.push(format!("{cloud} {:?}: {}", finding.severity, finding.message));
        }
    }
    assert_snapshot!(said.join("\n"));
    assert_eq!(Cloud::Aws.usable_hosts(&net("10.0.0.0/24")), 251);
    assert_eq!(Cloud::Gcp.usable_hosts(&net("10.0.0.0/24")), 252);
    assert_eq!(Cloud::Overlay.usable_hosts(&net("10.0.0.0/24")), 256);
    assert_eq!(Cloud::Aws.usable_hosts(&net("10.0.0.0/28")), 11);
    assert_eq!(Cloud::Aws.usable_hosts(&net("fd00::/64")), (1 << 64) - 5);
    assert_eq!(Cloud::Gcp.usable_hosts(&net("fd20::/64")), (1 << 64) - (2 << 32));
    assert!(Cloud::Aws.check_network(&net("2600:1f00::/56")).is_empty());
    assert!(Cloud::Gcp.check_subnet(&net("240.0.0.0/16")).is_empty());
    assert!("azure".parse::<Cloud>().unwrap_err().to_string().contains("use aws, gcp or overlay"));
}

#[test]
fn aws_takes_some_secondary_ranges_only() {
    let cases = [
        ("10.0.0.0/16", "172.16.0.0/16"),
        ("10.1.0.0/16", "10.0.4.0/24"),
        ("172.16.0.0/16", "172.31.0.0/20"),
        ("100.64.0.0/16", "192.168.0.0/24"),
        ("10.2.0.0/16", "10.2.4.0/24"),
        ("10.2.0.0/16", "198.19.0.0/20"),
        ("100.64.0.0/16", "198.19.0.0/20"),
        ("198.19.0.0/20", "10.0.0.0/16"),
    ];
    let said: Vec<String> = cases
        .iter()
        .flat_map(|(first, second)| Cloud::Aws.check_secondary(&net(first), &net(second)))
        .map(|finding| format!("{:?}: {}", finding.severity, finding.message))
        .collect();
    assert_snapshot!(said.join("\n"));
    for (first, second) in [
        ("10.2.0.0/16", "10.3.0.0/16"),
        ("10.0.0.0/16", "100.64.0.0/16"),
        ("172.16.0.0/16", "172.18.0.0/16"),
        ("198.19.0.0/20", "198.19.16.0/20"),
        ("198.19.0.0/20", "100.64.0.0/16"),
    ] {
        assert!(Cloud::Aws.check_secondary(&net(first), &net(second)).is_empty());
    }
    let peering = Cloud::Aws.check_peering(&[net("10.0.0.0/16"), net("10.5.0.0/16")], &[net("10.0.8.0/24")]);
    assert_eq!(peering.len(), 1);
    assert_snapshot!("peering", peering[0].message);
    assert_eq!(peering[0].severity, Severity::Error);
}

#[test]
fn more_contradictions_than_the_bound_are_one_number() {
    let mut request = Request::default();
    for at in 0..5 {
        let network = NetworkRequest::new(&[], Want::Pinned(net("10.0.0.0/16")));
        request.networks.insert(format!("n{at}"), network);
    }
    let bound = Bound { problems: 2, ..Bound::default() };
    assert_snapshot!(explain(&solve(&request, bound).unwrap_err()));
}

#[test]
fn growth_is_a_factor_of_one_or_more() {
    let said: Vec<String> =
        [0.5, f64::NAN, 1e9].iter().map(|factor| Growth::new(*factor).unwrap_err().to_string()).collect();
    assert_snapshot!(said.join("\n"));
    assert_eq!(Growth::new(1.1).unwrap().apply(10), 11);
    assert_eq!(Growth::new(2.0).unwrap().apply(200), 400);
}
