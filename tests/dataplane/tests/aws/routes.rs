//! Route tables, gateways, peering connections and transit gateways.

use crate::world::{Draft, p};
use warren_dataplane::aws::{Account, Destination, Peer, Route};

const OUT: &str = "8.8.8.8";
const S3: &str = "52.216.1.1";

/// A VPC with a public and a private subnet, an internet gateway and a NAT gateway.
fn with_nat() -> Draft {
    Draft::new()
        .vpc("a", "10.0.0.0/16")
        .subnet("a", "public", "10.0.0.0/24")
        .subnet("a", "private", "10.0.1.0/24")
        .internet_gateway("a")
        .nat("public", "3.210.0.1")
        .table("public", &[("0.0.0.0/0", "igw-a")])
        .table("private", &[("0.0.0.0/0", "nat-public")])
}

#[test]
fn subnets_of_a_vpc_reach_each_other_by_the_local_route() {
    let world = Draft::new()
        .vpc("a", "10.0.0.0/16")
        .subnet("a", "one", "10.0.0.0/24")
        .subnet("a", "two", "10.0.1.0/24")
        .vpc("b", "10.1.0.0/16")
        .subnet("b", "other", "10.1.0.0/24")
        .build();
    world.reaches("one", "two", "two");
    world.closed("one", "other");
    world.closed("one", OUT);
}

#[test]
fn the_internet_gateway_serves_public_addresses_and_the_nat_gateway_the_rest() {
    let world = with_nat().build();
    let public = world.network.place("public").unwrap().public_address.unwrap();
    for (from, seen) in [("public", public), ("private", p("3.210.0.1"))] {
        let outcome = world.tcp(from, OUT);
        let warren_dataplane::lab::Outcome::Answered { server, seen: as_seen } = outcome else {
            panic!("{from}: {outcome:?}")
        };
        assert_eq!((server.as_str(), as_seen.ip()), ("internet", seen.into()));
    }
    let outside = |to: &str| {
        let to = std::net::SocketAddr::new(p(to), 443);
        world.lab.probe(&[warren_dataplane::lab::Probe::tcp(world.internet.node(), to)]).remove(0)
    };
    assert_eq!(outside(&public.to_string()).server(), Some("public"));
    assert!(!outside("3.210.0.1").reached());
}

#[test]
fn a_machine_without_a_public_address_cannot_use_the_internet_gateway() {
    let world = Draft::new()
        .vpc("a", "10.0.0.0/16")
        .subnet("a", "one", "10.0.0.0/24")
        .internet_gateway("a")
        .route("a", "0.0.0.0/0", "igw-a")
        .build();
    world.closed("one", OUT);
    assert_eq!(world.internet.seen(), "");
}

#[test]
fn peering_needs_routes_on_both_sides() {
    let pair = || {
        Draft::new()
            .vpc("a", "10.0.0.0/16")
            .subnet("a", "one", "10.0.0.0/24")
            .vpc("b", "10.1.0.0/16")
            .subnet("b", "two", "10.1.0.0/24")
            .peering("a", "b")
            .route("a", "10.1.0.0/16", "pcx-a-b")
    };
    pair().build().closed("one", "two");
    let world = pair().route("b", "10.0.0.0/16", "pcx-a-b").build();
    world.reaches("one", "two", "two");
    world.reaches("two", "one", "one");
}

/// "VPC peering does not support transitive peering relationships"; "edge to edge routing through a gateway" neither
/// ("VPC peering limitations").
#[test]
fn a_nat_gateway_drops_replies_to_what_was_not_opened_through_it() {
    let draft = with_nat().vpc("b", "10.1.0.0/16").subnet("b", "other", "10.1.0.0/24").peering("a", "b");
    let back = |account: &mut Account, table: &str| {
        let table = account.route_tables.iter_mut().find(|it| it.id == table).unwrap();
        table.routes.push(Route {
            destination: Destination::Range(p("10.1.0.0/16")),
            target: "pcx-a-b".to_owned(),
            blackhole: false,
        });
    };
    let draft = draft.table("other", &[("10.0.0.0/16", "pcx-a-b")]);
    let world = draft.change(|account| back(account, "public-table")).build();
    world.reaches("other", "public", "public");
    // Its replies go to the NAT gateway, which could reach the other VPC.
    world.closed("other", "private");
}

#[test]
fn peering_is_not_transitive_and_has_no_edge_to_edge_routing() {
    let world = with_nat()
        .vpc("b", "10.1.0.0/16")
        .subnet("b", "spoke", "10.1.0.0/24")
        .vpc("c", "10.2.0.0/16")
        .subnet("c", "far", "10.2.0.0/24")
        .peering("a", "b")
        .peering("a", "c")
        .route("b", "0.0.0.0/0", "pcx-a-b")
        .route("b", "10.2.0.0/16", "pcx-a-b")
        .route("c", "10.1.0.0/16", "pcx-a-c")
        .route("a", "10.1.0.0/16", "pcx-a-b")
        .route("a", "10.2.0.0/16", "pcx-a-c")
        .change(|account| {
            for table in account.route_tables.iter_mut().filter(|table| table.vpc == "a" && !table.main) {
                for (to, over) in [("10.1.0.0/16", "pcx-a-b"), ("10.2.0.0/16", "pcx-a-c")] {
                    let route = account_route(to, over);
                    table.routes.push(route);
                }
            }
        })
        .gateway_endpoint("a", &["a-main", "private-table", "public-table"])
        .build();
    world.reaches("spoke", "private", "private");
    world.reaches("private", "spoke", "spoke");
    world.closed("spoke", "far");
    world.closed("spoke", OUT);
    world.closed("spoke", S3);
    assert_eq!(world.internet.seen(), "");
}

fn account_route(to: &str, target: &str) -> warren_dataplane::aws::Route {
    let destination = warren_dataplane::aws::Destination::Range(p(to));
    warren_dataplane::aws::Route { destination, target: target.to_owned(), blackhole: false }
}

#[test]
fn a_gateway_endpoint_serves_only_the_tables_that_list_it() {
    let world = with_nat().gateway_endpoint("a", &["private-table"]).build();
    world.reaches("private", S3, "vpce-s3-a");
    assert!(!world.internet.seen().contains(S3), "{}", world.internet.seen());
    // The machine in the public subnet uses that subnet's table: it goes out.
    world.reaches("public", S3, "public services");
    assert!(world.internet.seen().contains(S3));
}

/// "Endpoint connections cannot be extended out of a VPC" ("Gateway endpoints").
#[test]
fn a_gateway_endpoint_does_not_serve_what_arrives_over_a_transit_gateway() {
    let world =
        hub_and_spoke().gateway_endpoint("hub", &["hub-main"]).route("spoke", "pl-s3", "tgw-1").build();
    world.reaches("ml", S3, "vpce-s3-hub");
    world.closed("training", S3);
    let own = hub_and_spoke().gateway_endpoint("spoke", &["spoke-main"]).build();
    own.reaches("training", S3, "vpce-s3-spoke");
}

fn hub_and_spoke() -> Draft {
    Draft::new()
        .vpc("hub", "10.0.0.0/16")
        .subnet("hub", "ml", "10.0.0.0/24")
        .vpc("spoke", "10.1.0.0/16")
        .subnet("spoke", "training", "10.1.0.0/24")
        .route("hub", "10.1.0.0/16", "tgw-1")
        .route("spoke", "10.0.0.0/16", "tgw-1")
        .transit(
            &[("hub", &["ml"]), ("spoke", &["training"])],
            &[(
                &["hub", "spoke"],
                &[
                    ("10.0.0.0/16", Some("hub")),
                    ("10.1.0.0/16", Some("spoke")),
                    ("52.216.0.0/15", Some("hub")),
                ],
            )],
        )
}

/// Three VPCs; the spokes' table knows the hub alone.
#[test]
fn transit_gateway_tables_isolate_spokes() {
    let three = |tables: &[crate::world::Table<'_>]| {
        Draft::new()
            .vpc("hub", "10.0.0.0/16")
            .subnet("hub", "h", "10.0.0.0/24")
            .vpc("x", "10.1.0.0/16")
            .subnet("x", "sx", "10.1.0.0/24")
            .vpc("y", "10.2.0.0/16")
            .subnet("y", "sy", "10.2.0.0/24")
            .route("hub", "10.0.0.0/8", "tgw-1")
            .route("x", "10.0.0.0/8", "tgw-1")
            .route("y", "10.0.0.0/8", "tgw-1")
            .transit(&[("hub", &["h"]), ("x", &["sx"]), ("y", &["sy"])], tables)
            .build()
    };
    let (hub, x, y) = (("10.0.0.0/16", Some("hub")), ("10.1.0.0/16", Some("x")), ("10.2.0.0/16", Some("y")));
    let open = three(&[(&["hub", "x", "y"], &[hub, x, y])]);
    open.reaches("sx", "sy", "sy");
    let isolated = three(&[(&["x", "y"], &[hub]), (&["hub"], &[x, y])]);
    isolated.reaches("sx", "h", "h");
    isolated.reaches("h", "sy", "sy");
    isolated.closed("sx", "sy");
    // An attachment that no table is associated with sends nothing.
    let loose = three(&[(&["hub", "x"], &[hub, x, y])]);
    loose.closed("sy", "h");
    loose.reaches("sx", "h", "h");
    // A blackhole wins by being more specific.
    let hole = three(&[(&["hub", "x", "y"], &[("10.0.0.0/8", Some("hub")), x, ("10.2.0.0/16", None)])]);
    hole.closed("sx", "sy");
}

/// Central egress: the spoke's default route leads to the transit gateway, the attachment's subnet has its own table.
#[test]
fn a_spoke_leaves_through_the_hubs_nat_gateway() {
    let world = with_nat()
        .subnet("a", "attach", "10.0.2.0/24")
        .table("attach", &[("0.0.0.0/0", "nat-public")])
        .vpc("b", "10.1.0.0/16")
        .subnet("b", "spoke", "10.1.0.0/24")
        .route("b", "0.0.0.0/0", "tgw-1")
        .change(|account| {
            let public = account.route_tables.iter_mut().find(|table| table.id == "public-table").unwrap();
            public.routes.push(account_route("10.1.0.0/16", "tgw-1"));
        })
        .transit(
            &[("a", &["attach"]), ("b", &["spoke"])],
            &[(&["b"], &[("0.0.0.0/0", Some("a"))]), (&["a"], &[("10.1.0.0/16", Some("b"))])],
        )
        .build();
    world.reaches("spoke", OUT, "internet");
    assert!(world.internet.seen().contains("3.210.0.1 -> 8.8.8.8:443"), "{}", world.internet.seen());
}

/// "Only resources that reside in Availability Zones where there is a transit gateway attachment can reach the transit gateway."
#[test]
fn a_transit_gateway_is_reached_from_the_zones_of_the_attachment() {
    let world = hub_and_spoke().subnet_in("spoke", "elsewhere", "10.1.1.0/24", "us-east-1b").build();
    world.reaches("training", "ml", "ml");
    world.closed("elsewhere", "ml");
    world.reaches("elsewhere", "training", "training");
}

#[test]
fn a_more_specific_route_takes_a_subnet_elsewhere_if_the_instance_forwards() {
    let draft = |check: bool| {
        Draft::new()
            .vpc("a", "10.0.0.0/16")
            .subnet("a", "one", "10.0.0.0/24")
            .subnet("a", "two", "10.0.1.0/24")
            .subnet("a", "middle", "10.0.2.0/24")
            .group("open", "a", &[Peer::Range(p("0.0.0.0/0"))])
            .machine("box", "middle", "10.0.2.9", &["open"])
            .table("one", &[("10.0.1.0/24", "eni-box")])
            .change(|account| account.interfaces[0].source_dest_check = check)
            .build()
    };
    for (check, expected) in [(true, false), (false, true)] {
        let world = draft(check);
        let middle = world.network.place("box").unwrap();
        middle.node.configure(&warren_dataplane::lab::Script::new().forward()).unwrap();
        assert_eq!(world.tcp("one", "two").reached(), expected, "check {check}");
        world.reaches("one", "middle", "middle");
    }
}
