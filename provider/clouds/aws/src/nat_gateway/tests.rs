use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use aws_sdk_ec2::types;
use tf_provider_rs::{Context, Resource};

use super::*;
use crate::common::tests::{known, with_id};
use crate::played::{done, played, refused};
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

/// Throttling by account can last for minutes ("Request throttling for the Amazon EC2 API"). It also lasts if the user limits
/// the attempts of a call.
#[tokio::test(start_paused = true)]
async fn a_wait_outlasts_twenty_minutes_of_throttled_polls() {
    let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
    let answer = move |until: Duration, elapsed: Duration, form: &str| {
        assert!(form.contains("Action=DescribeNatGateways"), "{form}");
        if elapsed < until {
            return refused(503, "RequestLimitExceeded", "Request limit exceeded.");
        }
        let state = if elapsed < until + minutes(1) { "pending" } else { "available" };
        let gateway = format!(
            "<natGatewayId>nat-1</natGatewayId><subnetId>subnet-1</subnetId><vpcId>vpc-1</vpcId><state>{state}</state>"
        );
        done("DescribeNatGateways", &format!("<natGatewaySet><item>{gateway}</item></natGatewaySet>"))
    };
    for (region, attempts) in [("eu-central-2", Attr::Null), ("eu-south-2", Attr::Known(3))] {
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        let play = move |elapsed: Duration, form: &str| {
            counted.fetch_add(1, Ordering::Relaxed);
            answer(minutes(21), elapsed, form)
        };
        let settle = async |work: &Work<'_>| gateway("pending").settled(work, "nat-1").await;
        let (found, took) = played((region, attempts), minutes(30), play, settle).await;
        assert_eq!(found.unwrap().state.state, Attr::Known(State::Available));
        assert!(took >= minutes(22) && took < minutes(23), "{took:?}");
        // A poll in five seconds, of up to three attempts.
        let calls = calls.load(Ordering::Relaxed);
        assert!((200..1200).contains(&calls), "{calls} calls");
    }
    // The deadline ends it, with the reason.
    let settle = async |work: &Work<'_>| gateway("pending").settled(work, "nat-1").await;
    let play = move |elapsed: Duration, form: &str| answer(minutes(90), elapsed, form);
    let (failed, took) = played(("ap-south-2", Attr::Null), minutes(30), play, settle).await;
    let told = failed.unwrap_err().0.remove(0);
    assert!(took >= minutes(30) && took < minutes(31), "{took:?}");
    insta::assert_snapshot!(format!("{}\n{}", told.summary, told.detail));
}
