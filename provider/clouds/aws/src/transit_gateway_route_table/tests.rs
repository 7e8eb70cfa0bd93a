use aws_sdk_ec2::types::TransitGatewayRouteTable;

use super::*;
use crate::session::tests::account;

#[tokio::test]
async fn what_is_found_becomes_state() {
    let aws = account([]).await;
    let answer = TransitGatewayRouteTable::builder()
        .transit_gateway_route_table_id("tgw-rtb-1")
        .transit_gateway_id("tgw-1")
        .default_association_route_table(true)
        .default_propagation_route_table(false);
    let state = api::state(&aws, answer.clone().build(), &TransitTable::default()).unwrap();
    assert_eq!(state.object.id(), Ok("tgw-rtb-1"));
    let defaults = (state.default_association_route_table, state.default_propagation_route_table);
    assert_eq!(defaults, (true.into(), false.into()));

    let nameless = answer.set_transit_gateway_route_table_id(None).build();
    let error = api::state(&aws, nameless, &TransitTable::default()).unwrap_err();
    assert!(error.message.contains("TransitGatewayRouteTableId"), "{error}");
}
