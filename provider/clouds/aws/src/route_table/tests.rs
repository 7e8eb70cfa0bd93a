use tf_provider_rs::{Attr, Resource};

use super::routes::{Destination, Target};
use super::schema::Route;
use super::*;
use crate::session::tests::{account, session};
use warren_managed::{Managed, listed};

fn default_route() -> Route {
    Route { destination_cidr_block: "0.0.0.0/0".into(), nat_gateway_id: "nat-1".into(), ..Route::default() }
}

#[test]
fn attributes() {
    insta::assert_snapshot!(listed(&RouteTable::schema()));
}

#[tokio::test]
async fn routes_have_one_destination_and_one_target() {
    let resource = Managed::<RouteTable>::new(&session([]).await);
    let two = Route { gateway_id: "igw-1".into(), ..default_route() };
    let none =
        Route { nat_gateway_id: Attr::Null, destination_cidr_block: "10.0.0.0/8".into(), ..default_route() };
    let nowhere = Route { destination_cidr_block: Attr::Null, ..default_route() };
    let later =
        Route { destination_cidr_block: Attr::Unknown, nat_gateway_id: Attr::Unknown, ..Route::default() };
    let config = RouteTable {
        routes: vec![default_route(), two, none, nowhere, later].into(),
        ..RouteTable::default()
    };
    let mut diagnostics = Diagnostics::default();
    resource.validate(&config, &mut diagnostics).await;
    let told: Vec<String> = diagnostics.0.iter().map(|d| format!("{}: {}", d.summary, d.detail)).collect();
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn a_route_is_written_as_it_was_read() {
    let ranges = [
        Destination::Ipv4("0.0.0.0/0".into()),
        Destination::Ipv6("::/0".into()),
        Destination::PrefixList("pl-1".into()),
    ];
    let targets = [
        Target::Gateway("igw-1".into()),
        Target::NatGateway("nat-1".into()),
        Target::TransitGateway("tgw-1".into()),
        Target::Peering("pcx-1".into()),
        Target::NetworkInterface("eni-1".into()),
        Target::EgressOnlyGateway("eigw-1".into()),
    ];
    for destination in &ranges {
        for target in &targets {
            let route = Route::of(destination, Some(target));
            assert_eq!(route.destination().as_ref(), Some(destination));
            assert_eq!(route.target().as_ref(), Some(target));
        }
    }
}

#[tokio::test]
async fn a_blackhole_shows_as_missing() {
    let aws = account([]).await;
    let before = RouteTable { routes: vec![default_route()].into(), ..RouteTable::default() };
    let found = |blackhole| {
        let route = api::FoundRoute { target: Some(Target::NatGateway("nat-1".into())), blackhole };
        api::Found {
            routes: [(Destination::Ipv4("0.0.0.0/0".into()), route)].into(),
            ..api::Found::default()
        }
    };
    assert_eq!(schema::state(&aws, found(false), &before).routes, before.routes);
    assert_eq!(schema::state(&aws, found(true), &before).routes, Attr::Known(Vec::new()));
}
