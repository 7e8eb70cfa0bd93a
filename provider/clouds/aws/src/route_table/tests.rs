use std::collections::BTreeSet;

use aws_sdk_ec2::types;
use tf_provider_rs::{Attr, Resource};

use super::model::Route;
use super::routes::{Destination, Target};
use super::*;
use crate::common::tests::known;
use crate::session::tests::{account, session};
use warren_managed::Managed;

fn default_route() -> Route {
    Route { destination_cidr_block: known("0.0.0.0/0"), nat_gateway_id: known("nat-1"), ..Route::default() }
}

#[tokio::test]
async fn routes_have_one_destination_and_one_target() {
    let resource = Managed::<RouteTable>::new(&session([]).await);
    let two = Route { gateway_id: known("igw-1"), ..default_route() };
    let none =
        Route { nat_gateway_id: Attr::Null, destination_cidr_block: known("10.0.0.0/8"), ..default_route() };
    let nowhere = Route { destination_cidr_block: Attr::Null, ..default_route() };
    let later =
        Route { destination_cidr_block: Attr::Unknown, nat_gateway_id: Attr::Unknown, ..Route::default() };
    let config = RouteTable {
        routes: BTreeSet::from([default_route(), two, none, nowhere, later]).into(),
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
        Destination::Ipv4("0.0.0.0/0".parse().unwrap()),
        Destination::Ipv6("::/0".parse().unwrap()),
        Destination::PrefixList("pl-1".parse().unwrap()),
    ];
    let targets = [
        Target::Gateway("igw-1".parse().unwrap()),
        Target::NatGateway("nat-1".parse().unwrap()),
        Target::TransitGateway("tgw-1".parse().unwrap()),
        Target::Peering("pcx-1".parse().unwrap()),
        Target::NetworkInterface("eni-1".parse().unwrap()),
        Target::EgressOnlyGateway("eigw-1".parse().unwrap()),
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
    let before = RouteTable { routes: BTreeSet::from([default_route()]).into(), ..RouteTable::default() };
    let found = |state| {
        let route =
            types::Route::builder().destination_cidr_block("0.0.0.0/0").nat_gateway_id("nat-1").state(state);
        let table = types::RouteTable::builder()
            .route_table_id("rtb-1")
            .vpc_id("vpc-1")
            .owner_id("123456789012")
            .routes(route.build());
        api::live(&aws, table.build(), &before).unwrap().state.routes
    };
    assert_eq!(found(types::RouteState::Active), before.routes);
    assert_eq!(found(types::RouteState::Blackhole), Attr::Known(BTreeSet::new()));
}
