use super::*;
use crate::session::tests::account;
use aws_sdk_ec2::types::{
    DnsSupportValue, TransitGatewayAttachmentState, TransitGatewayVpcAttachment,
    TransitGatewayVpcAttachmentOptions,
};
use warren_managed::sets;

#[tokio::test]
async fn what_is_found_becomes_state() {
    let options = TransitGatewayVpcAttachmentOptions::builder().dns_support(DnsSupportValue::Enable);
    let answer = TransitGatewayVpcAttachment::builder()
        .transit_gateway_attachment_id("tgw-attach-1")
        .transit_gateway_id("tgw-1")
        .vpc_id("vpc-1")
        .vpc_owner_id("111111111111")
        .subnet_ids("subnet-2")
        .subnet_ids("subnet-1")
        .state(TransitGatewayAttachmentState::Available)
        .options(options.build());
    let aws = account([]).await;
    let state = api::state(&aws, answer.clone().build(), &Attachment::default()).unwrap();
    assert_eq!(state.object.id(), Ok("tgw-attach-1"));
    assert_eq!(sets::known(&state.subnet_ids).len(), 2);
    assert_eq!((state.dns_support, state.ipv6_support), (true.into(), false.into()));

    let nameless = answer.set_transit_gateway_attachment_id(None).build();
    let error = api::state(&aws, nameless, &Attachment::default()).unwrap_err();
    assert!(error.message.contains("TransitGatewayAttachmentId"), "{error}");
}
