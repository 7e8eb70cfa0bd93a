use aws_sdk_ec2::types::{
    TransitGatewayAssociationState, TransitGatewayAttachmentResourceType, TransitGatewayPropagationState,
    TransitGatewayRouteTableAssociation, TransitGatewayRouteTablePropagation,
};

use super::relation::Answer;
use super::*;
use crate::common::tests::known;
use crate::session::tests::session;

#[tokio::test]
async fn the_id_of_an_association_is_planned_and_imported() {
    insta::assert_snapshot!(planned_and_imported::<Association>().await);
}

#[tokio::test]
async fn the_id_of_a_propagation_is_planned_and_imported() {
    insta::assert_snapshot!(planned_and_imported::<Propagation>().await);
}

/// Returns the error for a malformed ID.
async fn planned_and_imported<R: Relation>() -> String {
    let session = session([]).await;
    let imported = Link::<R>::import(&session, "tgw-rtb-1_tgw-attach-2").unwrap();
    assert_eq!(imported.part.id(), Ok("tgw-rtb-1_tgw-attach-2"));
    assert_eq!(imported.transit_gateway_attachment_id, known("tgw-attach-2"));

    let planned = Link::<R> {
        transit_gateway_route_table_id: known("tgw-rtb-1"),
        transit_gateway_attachment_id: known("tgw-attach-2"),
        ..Link::default()
    };
    let config = planned.clone();
    let mut change = Change { prior: None, config, planned, requires_replace: Vec::new(), deferred: None };
    Link::plan(&session, &mut change, &mut Diagnostics::default()).await;
    assert_eq!(change.planned.part.id(), Ok("tgw-rtb-1_tgw-attach-2"));

    Link::<R>::import(&session, "tgw-rtb-1").unwrap_err().0[0].detail.clone()
}

#[test]
fn an_association_that_is_found_becomes_state() {
    use TransitGatewayAssociationState::{Associated, Associating, Disassociated, Disassociating};
    let answer = TransitGatewayRouteTableAssociation::builder()
        .transit_gateway_attachment_id("tgw-attach-2")
        .resource_id("vpc-3")
        .resource_type(TransitGatewayAttachmentResourceType::Vpc);
    let phases = [Associating, Associated, Disassociating, Disassociated];
    check::<Association>(
        answer.clone().build().into(),
        phases.map(|state| answer.clone().state(state).build().into()),
    );
}

#[test]
fn a_propagation_that_is_found_becomes_state() {
    use TransitGatewayPropagationState::{Disabled, Disabling, Enabled, Enabling};
    let answer = TransitGatewayRouteTablePropagation::builder()
        .transit_gateway_attachment_id("tgw-attach-2")
        .resource_id("vpc-3")
        .resource_type(TransitGatewayAttachmentResourceType::Vpc);
    let phases = [Enabling, Enabled, Disabling, Disabled];
    check::<Propagation>(
        answer.clone().build().into(),
        phases.map(|state| answer.clone().state(state).build().into()),
    );
}

/// Checks what is made of a response without a state, and of each phase of a life.
fn check<R: Relation>(incomplete: Answer, phases: [Answer; 4]) {
    let before = Link::<R>::of(&"tgw-rtb-1".parse().unwrap(), &"tgw-attach-2".parse().unwrap());
    assert!(api::state(incomplete, &before).unwrap_err().message.contains("State"));
    let life = phases.map(|answer| {
        let ended = answer.is_ended::<R>();
        let found = api::state(answer, &before).unwrap();
        assert_eq!((&found.state.resource_id, &found.state.resource_type), (&"vpc-3".into(), &"vpc".into()));
        (found.is_living(), found.is_begun(), ended)
    });
    let expected = [(true, false, false), (true, true, false), (false, false, false), (false, false, true)];
    assert_eq!(life, expected);
}
