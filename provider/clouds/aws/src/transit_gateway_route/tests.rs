use aws_sdk_ec2::types::{
    TransitGatewayRoute, TransitGatewayRouteAttachment, TransitGatewayRouteState as State,
};

use super::*;
use crate::common::tests::known;
use crate::session::tests::session;

#[tokio::test]
async fn the_id_is_planned_and_imported() {
    let session = session([]).await;
    let imported = TransitRoute::import(&session, "tgw-rtb-1_10.0.0.0/8").unwrap();
    assert_eq!(imported.part.id(), Ok("tgw-rtb-1_10.0.0.0/8"));
    assert_eq!(imported.destination_cidr_block, known("10.0.0.0/8"));
    insta::assert_snapshot!(TransitRoute::import(&session, "tgw-rtb-1_all").unwrap_err().0[0].detail);
}

#[test]
fn a_route_has_one_target() {
    let route = TransitRoute { destination_cidr_block: known("10.0.0.1/8"), ..TransitRoute::default() };
    let to = || known("tgw-attach-1");
    let told = |route: TransitRoute| {
        let mut diagnostics = Diagnostics::default();
        check(&route, &mut diagnostics);
        diagnostics.0.iter().map(|d| format!("{}\n{}\n", d.summary, d.detail)).collect::<String>()
    };
    let both = TransitRoute { blackhole: true.into(), transit_gateway_attachment_id: to(), ..route.clone() };
    insta::assert_snapshot!(told(route.clone()) + &told(both));
    let network = TransitRoute { destination_cidr_block: known("10.0.0.0/8"), ..route };
    for (blackhole, attachment) in [
        (Attr::Known(true), Attr::Null),
        (Attr::Null, to()),
        (Attr::Unknown, Attr::Null),
        (Attr::Known(false), Attr::Unknown),
    ] {
        let route = TransitRoute { blackhole, transit_gateway_attachment_id: attachment, ..network.clone() };
        assert_eq!(told(route), "");
    }
}

#[test]
fn a_route_to_nothing_shows_as_drift() {
    let before = TransitRoute::of(&"tgw-rtb-1".parse().unwrap(), "10.0.0.0/8".parse().unwrap());
    let attachment =
        TransitGatewayRouteAttachment::builder().transit_gateway_attachment_id("tgw-attach-1").build();
    let answer = TransitGatewayRoute::builder().transit_gateway_attachments(attachment);
    let state = |state: State| api::state(answer.clone().state(state).build(), &before).unwrap();
    let active = state(State::Active).unwrap();
    assert_eq!(
        (active.transit_gateway_attachment_id, active.blackhole),
        (known("tgw-attach-1"), false.into())
    );
    let remains = state(State::Blackhole).unwrap();
    assert_eq!((remains.transit_gateway_attachment_id, remains.blackhole), (Attr::Null, true.into()));
    assert_eq!(state(State::Pending), Err(State::Pending));
}
