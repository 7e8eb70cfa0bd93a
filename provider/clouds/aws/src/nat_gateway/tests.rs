use std::time::Duration;

use aws_sdk_ec2::types;
use tf_provider_rs::{Context, Resource};

use super::*;
use crate::common::tests::{known, with_id};
use crate::session::tests::{account, session};
use warren_managed::{Managed, adopt};

fn gateway(state: &str) -> NatGateway {
    NatGateway {
        object: with_id("out", "nat-1"),
        subnet_id: known("subnet-1"),
        connectivity_type: Connectivity::Public.into(),
        owned_allocation_id: known("eipalloc-1"),
        state: known(state),
        ..NatGateway::default()
    }
}

fn change(prior: Option<NatGateway>, planned: NatGateway) -> Change<NatGateway> {
    Change { prior, config: planned.clone(), planned, requires_replace: Vec::new(), deferred: None }
}

async fn planned(
    resource: &Managed<NatGateway>,
    ctx: &Context,
    mut change: Change<NatGateway>,
) -> Change<NatGateway> {
    let mut diagnostics = Diagnostics::default();
    resource.plan(ctx, &mut change, &mut diagnostics).await;
    assert!(diagnostics.is_empty());
    change
}

#[tokio::test]
async fn a_gateway_that_has_ended_is_replaced() {
    let resource = Managed::<NatGateway>::new(&session([]).await);
    for (state, replaced) in [("available", false), ("pending", false), ("failed", true), ("deleted", true)] {
        let change = change(Some(gateway(state)), gateway(state));
        let change = planned(&resource, &Context::default(), change).await;
        assert_eq!(change.requires_replace == [Path::of("state")], replaced, "{state}");
        assert_eq!(change.planned.state.is_unknown(), replaced, "{state}");
    }
}

#[tokio::test]
async fn a_replacement_adopts_neither_gateway_nor_address() {
    let resource = Managed::<NatGateway>::new(&session([]).await);
    let ctx = Context::default();
    planned(&resource, &ctx, change(Some(gateway("available")), gateway("available"))).await;
    planned(&resource, &ctx, change(None, gateway("available"))).await;
    assert_eq!(ctx.private.get(adopt::EXCLUDED_IDS), Some(serde_json::json!(["eipalloc-1", "nat-1"])));
}

/// A gateway as AWS returns it.
fn described() -> types::builders::NatGatewayBuilder {
    let address = types::NatGatewayAddress::builder().allocation_id("eipalloc-9").public_ip("").build();
    types::NatGateway::builder()
        .nat_gateway_id("nat-1")
        .subnet_id("subnet-1")
        .vpc_id("vpc-1")
        .state(types::NatGatewayState::Available)
        .nat_gateway_addresses(address)
}

#[tokio::test]
async fn an_address_of_the_users_is_not_owned() {
    let aws = account([]).await;
    let found = api::live(&aws, described().build(), &NatGateway::default()).unwrap().state;
    assert_eq!(found.public_ip, Attr::Null);
    let state = api::with_owner(found.clone(), false);
    assert_eq!((state.allocation_id, state.owned_allocation_id), (known("eipalloc-9"), Attr::Null));
    let state = api::with_owner(found, true);
    assert_eq!((state.allocation_id, state.owned_allocation_id), (Attr::Null, known("eipalloc-9")));
}

#[tokio::test]
async fn messages() {
    let resource = Managed::<NatGateway>::new(&session([]).await);
    let config = NatGateway {
        connectivity_type: Connectivity::Private.into(),
        allocation_id: known("eipalloc-1"),
        ..NatGateway::default()
    };
    let mut diagnostics = Diagnostics::default();
    resource.validate(&config, &mut diagnostics).await;
    let ended = described()
        .state(types::NatGatewayState::Failed)
        .failure_message("Elastic IP address eipalloc-9 is already associated");
    let unattached = ended
        .clone()
        .failure_code("Gateway.NotAttached")
        .failure_message("Network vpc-1 has no Internet gateway attached");
    let aws = account([]).await;
    let told = [ended, unattached].map(|ended| {
        let found = api::live(&aws, ended.build(), &NatGateway::default()).unwrap();
        failed(&gateway("failed").label(), &found).detail
    });
    insta::assert_snapshot!(format!("{}\n{}", diagnostics.0[0].detail, told.join("\n")));
}

#[tokio::test]
async fn only_a_missing_internet_gateway_counts_as_none() {
    let op: Op<ApiError> = Op::new(&Context::default(), "AWS", "a gateway", Duration::ZERO);
    let denied =
        ApiError { code: "UnauthorizedOperation".to_owned(), ..ApiError::absent("Describe", "vpc-1") };
    assert!(appears(&op, || async { Ok(()) }).await.unwrap());
    assert!(!appears(&op, || async { Err(ApiError::absent("Describe", "vpc-1")) }).await.unwrap());
    assert!(appears(&op, || async { Err(denied.clone()) }).await.is_err());

    let cancelled = Context::default();
    cancelled.cancel.cancel();
    let op: Op<ApiError> = Op::new(&cancelled, "AWS", "a gateway", Duration::from_secs(60));
    assert!(appears(&op, || async { Err(ApiError::absent("Describe", "vpc-1")) }).await.is_err());
}
