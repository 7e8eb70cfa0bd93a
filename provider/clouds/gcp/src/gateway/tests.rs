use google_cloud_compute_v1::model as sdk;
use tf_provider_rs::{Context, Resource};
use warren_managed::Managed;

use super::*;
use crate::common::GcpObject;
use crate::link::SecretRef;
use crate::session::tests::session;

fn secret(name: &str) -> Attr<SecretRef> {
    Attr::Known(format!("projects/acme-ml/secrets/{name}").parse().unwrap())
}

fn gateway() -> Gateway {
    Gateway {
        object: GcpObject { name: "gw-a".into(), ..GcpObject::default() },
        zone: "us-central1-a".into(),
        config: secret("gw-a-config"),
        wireguard_key: secret("gw-a-wireguard"),
        tls_key: secret("gw-a-tls"),
        state: RUNNING.into(),
        ..Gateway::default()
    }
}

async fn planned(prior: Option<Gateway>, next: Gateway) -> (Gateway, Vec<Path>) {
    let mut change =
        Change { prior, config: next.clone(), planned: next, requires_replace: Vec::new(), deferred: None };
    let mut diagnostics = Diagnostics::default();
    let resource = Managed::<Gateway>::new(&session().await);
    resource.plan(&Context::default(), &mut change, &mut diagnostics).await;
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    (change.planned, change.requires_replace)
}

#[tokio::test]
async fn the_script_is_known_at_plan_and_another_one_replaces_the_gateway() {
    let mut new = gateway();
    new.object.id = Attr::Unknown;
    let (first, _) = planned(None, new).await;
    assert_eq!(first.object.id, "projects/acme-ml/zones/us-central1-a/instances/gw-a".into());
    let script = first.startup_script.value().unwrap();
    assert!(script.starts_with("#!/bin/sh\n"), "{script}");
    assert!(script.contains("gcp-secret:projects/acme-ml/secrets/gw-a-wireguard"));
    let (same, replaced) = planned(Some(first.clone()), first.clone()).await;
    assert_eq!((same.startup_script, replaced), (first.startup_script.clone(), vec![]));
    let other = Gateway { config: secret("other"), ..first.clone() };
    assert_eq!(planned(Some(first), other).await.1, [Path::of("startup_script")]);
    let later = Gateway { tls_key: Attr::Unknown, ..gateway() };
    assert!(planned(None, later).await.0.startup_script.is_unknown());
}

#[tokio::test]
async fn a_stopped_gateway_is_to_be_started_and_one_that_cannot_forward_replaced() {
    let (first, _) = planned(None, gateway()).await;
    let was = |state: &str| Gateway { state: state.into(), ..first.clone() };
    let (next, replaced) = planned(Some(was("TERMINATED")), first.clone()).await;
    assert!(next.state.is_unknown() && replaced.is_empty());
    let (next, replaced) = planned(Some(was(MISCONFIGURED)), first.clone()).await;
    assert!(next.state.is_unknown());
    assert_eq!(replaced, [Path::of("state")]);

    let found = |forwards: bool| {
        let shielded = sdk::ShieldedInstanceConfig::new().set_enable_secure_boot(true).set_enable_vtpm(true);
        sdk::Instance::new()
            .set_name("gw-a")
            .set_zone("projects/acme-ml/zones/us-central1-a")
            .set_machine_type("projects/acme-ml/zones/us-central1-a/machineTypes/n2-standard-2")
            .set_self_link(
                "https://www.googleapis.com/compute/v1/projects/acme-ml/zones/us-central1-a/instances/gw-a",
            )
            .set_status(RUNNING)
            .set_can_ip_forward(forwards)
            .set_shielded_instance_config(shielded)
            .set_network_interfaces([
                sdk::NetworkInterface::new().set_subnetwork("projects/acme-ml/regions/r/subnetworks/s")
            ])
            .set_disks([sdk::AttachedDisk::new().set_boot(true)])
    };
    let state = |found: &sdk::Instance| api::state(found, &first).unwrap().state;
    assert_eq!(state(&found(true)), RUNNING.into());
    assert_eq!(state(&found(false)), MISCONFIGURED.into());
    let mut nameless = found(true);
    nameless.self_link = None;
    let missing = api::state(&nameless, &first).unwrap_err();
    assert!(missing.message.contains("`selfLink`"), "{missing}");
}
