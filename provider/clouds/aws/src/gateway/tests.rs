use aws_sdk_ec2::types::builders::InstanceBuilder;
use aws_sdk_ec2::types::{
    HttpTokensState, Instance, InstanceMetadataOptionsResponse, InstanceState, InstanceStateName,
    InstanceType,
};
use tf_provider_rs::{Context, Resource};

use super::*;
use crate::common::tests::named;
use crate::session::tests::session;
use warren_managed::Managed;

fn gateway() -> Gateway {
    Gateway {
        object: named("gw-a"),
        config: "/warren/gw-a/config".into(),
        wireguard_key: "/warren/gw-a/wireguard".into(),
        tls_key: "/warren/gw-a/tls".into(),
        state: "running".into(),
        public_ip: Attr::Known([192, 0, 2, 1].into()),
        ..Gateway::default()
    }
}

async fn planned(prior: Option<Gateway>, next: Gateway) -> (Gateway, Vec<Path>) {
    let mut change =
        Change { prior, config: next.clone(), planned: next, requires_replace: Vec::new(), deferred: None };
    let mut diagnostics = Diagnostics::default();
    let resource = Managed::<Gateway>::new(&session([]).await);
    resource.plan(&Context::default(), &mut change, &mut diagnostics).await;
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    (change.planned, change.requires_replace)
}

#[tokio::test]
async fn the_script_is_known_at_plan_and_another_one_replaces_the_gateway() {
    let (first, _) = planned(None, gateway()).await;
    let script = first.user_data.value().unwrap();
    assert!(script.starts_with("#cloud-boothook\n"), "{script}");
    assert!(script.contains("aws-ssm:/warren/gw-a/wireguard"));
    let (same, replaced) = planned(Some(first.clone()), first.clone()).await;
    assert_eq!((same.user_data, replaced), (first.user_data.clone(), vec![]));
    let other = Gateway { config: "/warren/gw-a/other".into(), ..first.clone() };
    assert_eq!(planned(Some(first), other).await.1, [Path::of("user_data")]);
    let later = Gateway { tls_key: Attr::Unknown, ..gateway() };
    assert!(planned(None, later).await.0.user_data.is_unknown());
}

#[tokio::test]
async fn a_stopped_gateway_is_to_be_started() {
    let (first, _) = planned(None, gateway()).await;
    let stopped = Gateway { state: "stopped".into(), ..first.clone() };
    let (next, replaced) = planned(Some(stopped), first).await;
    assert!(next.state.is_unknown() && replaced.is_empty());
}

#[tokio::test]
async fn a_check_that_was_switched_on_again_shows_as_drift() {
    let aws = crate::session::tests::account([]).await;
    let metadata = InstanceMetadataOptionsResponse::builder().http_tokens(HttpTokensState::Required).build();
    let answer = Instance::builder()
        .instance_id("i-1")
        .image_id("ami-1")
        .instance_type(InstanceType::C6inLarge)
        .state(InstanceState::builder().name(InstanceStateName::Running).build())
        .metadata_options(metadata);
    let read = |answer: InstanceBuilder| api::found(&aws, answer.build(), None, &gateway());
    let state = |check| read(answer.clone().source_dest_check(check)).unwrap().state.state;
    assert_eq!(state(true), "misconfigured".into());
    assert_eq!(state(false), "running".into());
    let error = read(answer.clone().set_instance_id(None)).unwrap_err();
    assert!(error.message.contains("InstanceId"), "{error}");
}
