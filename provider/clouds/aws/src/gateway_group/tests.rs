use std::net::Ipv4Addr;

use tf_provider_rs::{Context, Resource};

use super::*;
use crate::common::tests::{known, with_id};
use crate::session::tests::account;
use warren_guard::Guard;
use warren_managed::{Managed, sets};

fn planned_group() -> GatewayGroup {
    GatewayGroup {
        object: with_id("gw-a", "eni-1"),
        image_id: known("ami-1"),
        instance_type: "c6in.large".into(),
        instance_profile_arn: "arn:profile".into(),
        disk_gib: Attr::Known(8),
        config: "/warren/gw-a/config".into(),
        wireguard_key: "/warren/gw-a/wireguard".into(),
        tls_key: "/warren/gw-a/tls".into(),
        network_interface_id: known("eni-1"),
        volume_id: known("vol-1"),
        public_ip: Attr::Known([192, 0, 2, 1].into()),
        state: RUNNING.into(),
        ..GatewayGroup::default()
    }
}

async fn planned(prior: Option<GatewayGroup>, next: GatewayGroup) -> (GatewayGroup, Vec<Path>, Diagnostics) {
    let mut change =
        Change { prior, config: next.clone(), planned: next, requires_replace: Vec::new(), deferred: None };
    let mut diagnostics = Diagnostics::default();
    // Without an account, no image is looked up.
    let resource = Managed::<GatewayGroup>::new(&Session::new(Guard::default()));
    resource.plan(&Context::default(), &mut change, &mut diagnostics).await;
    (change.planned, change.requires_replace, diagnostics)
}

#[tokio::test]
async fn another_image_replaces_the_instance_only() {
    let (first, _, told) = planned(None, planned_group()).await;
    assert!(told.is_empty(), "{told:?}");
    assert!(first.user_data.value().unwrap().contains("attach-volume vol-1"));
    let (same, replaced, _) = planned(Some(first.clone()), first.clone()).await;
    assert_eq!((&same.state, &same.user_data, replaced), (&first.state, &first.user_data, vec![]));
    let other = GatewayGroup { instance_type: "c7i.large".into(), ..first.clone() };
    let (next, replaced, _) = planned(Some(first.clone()), other).await;
    assert!(next.state.is_unknown() && replaced.is_empty(), "{replaced:?}");
    assert_eq!((&next.volume_id, &next.user_data), (&first.volume_id, &first.user_data));

    let broken = GatewayGroup { state: model::INCOMPLETE.into(), ..first.clone() };
    let (next, replaced, _) = planned(Some(broken), first.clone()).await;
    assert!(next.state.is_unknown() && next.volume_id.is_unknown() && next.user_data.is_unknown());
    assert!(replaced.is_empty(), "{replaced:?}");

    let mut renamed = first.clone();
    renamed.object.naming.name = "gw-b".into();
    assert_eq!(planned(Some(first.clone()), renamed).await.1, [Path::of("name")]);
    let mut unnamed = first.clone();
    unnamed.object.naming.name = "a:b".into();
    let mut told = Diagnostics::default();
    unnamed.check_name(&mut told);
    assert_eq!(told.0.len(), 1);
    let new = GatewayGroup { volume_id: Attr::Unknown, ..planned_group() };
    assert!(planned(None, new).await.0.user_data.is_unknown());
    let arm = GatewayGroup { instance_type: "c7gn.large".into(), ..first.clone() };
    let release = tf_provider_rs::Attr::Known(warren_gateways::boot::ReleaseBlock {
        url: "https://example.com/warren-tunnel".into(),
        sha256: "ab".repeat(32).into(),
        architecture: Attr::Known(warren_gateways::architecture::Architecture::X86),
    });
    let (.., told) = planned(Some(first), GatewayGroup { release, ..arm }).await;
    assert!(told.0.iter().any(|error| error.summary == "CPU architectures do not match"), "{told:?}");
}

#[tokio::test]
async fn what_is_missing_or_out_of_date_shows_as_drift() {
    let aws = account([]).await;
    let (group, ..) = planned(None, planned_group()).await;
    let tags = aws.tags("gw-a", &Attr::Null);
    let template = |version| template::Template { id: "lt-1".into(), version, digest: None, data: None };
    let scaling = |version, instance: Option<i64>| group::Group {
        template: Some(("lt-1".into(), version)),
        instance: instance.map(|version| group::Instance {
            id: "i-1".into(),
            state: "InService".into(),
            version: Some(version),
        }),
        tags: tags.clone(),
    };
    let interface = |check| api::Interface {
        id: known("eni-1"),
        zone: "us-east-1a".into(),
        subnet: "subnet-1".parse().unwrap(),
        private_ip: Attr::Known(Ipv4Addr::new(10, 0, 0, 4)),
        security_group_ids: sets::of([]),
        source_dest_check: check,
        allocation_id: known("eipalloc-1"),
        public_ip: Attr::Known(Ipv4Addr::new(192, 0, 2, 1)),
        tags: tags.clone(),
    };
    let volume = || Some(api::Volume { id: "vol-1".parse().unwrap(), is_ready: true, tags: tags.clone() });
    let state = |check, volume, template, scaling| {
        api::state(&aws, (interface(check), volume, template, scaling), &group).state
    };
    let (running, incomplete) = (Attr::from(RUNNING), Attr::from(model::INCOMPLETE));
    assert_eq!(state(false, volume(), Some(template(2)), Some(scaling(2, Some(2)))), running);
    // AWS is replacing the instance.
    assert_eq!(state(false, volume(), Some(template(2)), Some(scaling(2, None))), running);
    assert_eq!(state(false, volume(), Some(template(2)), Some(scaling(2, Some(1)))), incomplete);
    assert_eq!(state(false, volume(), Some(template(2)), Some(scaling(1, Some(1)))), incomplete);
    assert_eq!(state(false, volume(), Some(template(2)), None), incomplete);
    assert_eq!(state(false, volume(), None, Some(scaling(2, Some(2)))), incomplete);
    assert_eq!(state(false, None, Some(template(2)), Some(scaling(2, Some(2)))), incomplete);
    assert_eq!(state(true, volume(), Some(template(2)), Some(scaling(2, Some(2)))), incomplete);
}
