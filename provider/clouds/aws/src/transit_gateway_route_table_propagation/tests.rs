use aws_sdk_ec2::types::{
    TransitGatewayAttachmentResourceType as Kind, TransitGatewayPropagationState as State,
    TransitGatewayRouteTablePropagation,
};

use super::*;
use crate::common::tests::known;
use crate::session::tests::session;

#[tokio::test]
async fn the_id_is_planned_and_imported() {
    let session = session([]).await;
    let imported = Propagation::import(&session, "tgw-rtb-1_tgw-attach-2").unwrap();
    assert_eq!(imported.part.id(), Ok("tgw-rtb-1_tgw-attach-2"));
    assert_eq!(imported.transit_gateway_attachment_id, known("tgw-attach-2"));
    insta::assert_snapshot!(Propagation::import(&session, "tgw-rtb-1").unwrap_err().0[0].detail);

    let planned = Propagation {
        transit_gateway_route_table_id: known("tgw-rtb-1"),
        transit_gateway_attachment_id: known("tgw-attach-2"),
        ..Propagation::default()
    };
    let config = planned.clone();
    let mut change = Change { prior: None, config, planned, requires_replace: Vec::new(), deferred: None };
    Propagation::plan(&session, &mut change, &mut Diagnostics::default()).await;
    assert_eq!(change.planned.part.id(), Ok("tgw-rtb-1_tgw-attach-2"));
}

#[test]
fn what_is_found_becomes_state() {
    let before = Propagation::of(&"tgw-rtb-1".parse().unwrap(), &"tgw-attach-2".parse().unwrap());
    let answer = TransitGatewayRouteTablePropagation::builder()
        .transit_gateway_attachment_id("tgw-attach-2")
        .resource_id("vpc-3")
        .resource_type(Kind::Vpc);
    let found = |state: State| api::state(answer.clone().state(state).build(), &before).unwrap();
    assert_eq!(found(State::Enabling).state.resource_id, "vpc-3".into());
    assert!(found(State::Enabling).is_living() && !found(State::Disabling).is_living());
    assert!(api::state(answer.build(), &before).unwrap_err().message.contains("State"));
}
