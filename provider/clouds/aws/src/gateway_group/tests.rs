use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tf_provider_rs::{Context, Resource};

use super::*;
use crate::common::tests::{known, with_id};
use crate::played::{done, played, refused};
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

/// The client tokens of calls of an action.
fn tokens(calls: &[String], action: &str) -> BTreeSet<String> {
    let of_action = calls.iter().filter(|form| form.contains(&format!("Action={action}&")));
    let token =
        |form: &String| form.split('&').find_map(|part| part.strip_prefix("ClientToken=").map(str::to_owned));
    of_action.map(|form| token(form).unwrap_or_default()).collect()
}

/// A server error says nothing of what was done, and the list of volumes may not show it yet (EC2 API reference, "Ensuring
/// idempotency").
#[tokio::test(start_paused = true)]
async fn a_part_whose_answer_was_lost_is_made_once() {
    let calls: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&calls);
    let answer = move |elapsed: Duration, form: &str| {
        seen.lock().unwrap().push(form.to_owned());
        let volume = "<volumeId>vol-1</volumeId><status>available</status>";
        let tags =
            "<tagSet><item><key>warren:part-of</key><value>warren_aws_gateway_group</value></item></tagSet>";
        let late = elapsed > Duration::from_secs(60);
        match form {
            _ if form.contains("Action=CreateTags") => done("CreateTags", "<return>true</return>"),
            _ if form.contains("Action=DescribeVolumes") && late => {
                done("DescribeVolumes", &format!("<volumeSet><item>{volume}{tags}</item></volumeSet>"))
            }
            _ if form.contains("Action=DescribeVolumes") => done("DescribeVolumes", "<volumeSet/>"),
            _ if late => done("CreateVolume", volume),
            _ => refused(500, "InternalError", "An internal error has occurred"),
        }
    };
    // With a limit of attempts, the operation makes further calls, whose tokens the SDK does not remember.
    let place = ("mx-central-1", Attr::Known(3));
    let (made, _) = played(place, Duration::from_secs(600), answer, async |work| {
        let volume = planned_group().volume(work, "us-east-1a", &Tags::new()).await?;
        // The lost call is answered. Another one has another token: EC2 would answer with the first volume, although that
        // was deleted.
        let tags = Tags::new();
        for _ in 0..2 {
            let create = api::create_volume(&work.cloud, "us-east-1a", &tags);
            adopt::part(work, &planned_group(), "volume", create).await?;
        }
        Ok(volume)
    })
    .await;
    assert_eq!(made.unwrap().as_str(), "vol-1");
    let calls = calls.lock().unwrap();
    let tokens = tokens(&calls, "CreateVolume");
    assert!(calls.iter().filter(|form| form.contains("Action=CreateVolume&")).count() > 4, "{calls:?}");
    assert_eq!(tokens.len(), 2, "{tokens:?}");
    assert!(tokens.iter().all(|token| token.starts_with("warren-")), "{tokens:?}");
}
