use google_cloud_compute_v1::model as sdk;
use tf_provider_rs::{Context, Resource};
use warren_managed::Managed;

use super::api::Parts;
use super::*;
use crate::common::GcpObject;
use crate::link::SecretRef;
use crate::session::tests::session;

fn secret(name: &str) -> Attr<SecretRef> {
    Attr::Known(format!("projects/acme-ml/secrets/{name}").parse().unwrap())
}

fn gateway() -> GatewayGroup {
    GatewayGroup {
        object: GcpObject {
            name: "gw-a".into(),
            id: "projects/acme-ml/zones/us-central1-a/instanceGroupManagers/gw-a".into(),
            ..GcpObject::default()
        },
        zone: "us-central1-a".into(),
        machine_type: "n2-standard-2".into(),
        image: "projects/debian-cloud/global/images/family/debian-12".into(),
        subnetwork: Attr::Known("projects/acme-ml/regions/us-central1/subnetworks/gw".parse().unwrap()),
        network_ip: Attr::Known([10, 0, 0, 9].into()),
        address: Attr::Known("projects/acme-ml/regions/us-central1/addresses/gw-a".parse().unwrap()),
        service_account: "gw-a@acme-ml.iam.gserviceaccount.com".into(),
        disk_gib: Attr::Known(10),
        config: secret("gw-a-config"),
        wireguard_key: secret("gw-a-wireguard"),
        tls_key: secret("gw-a-tls"),
        cloud_logging: false.into(),
        state: RUNNING.into(),
        ..GatewayGroup::default()
    }
}

async fn planned(prior: Option<GatewayGroup>, next: GatewayGroup) -> (GatewayGroup, Vec<Path>, Diagnostics) {
    let mut change =
        Change { prior, config: next.clone(), planned: next, requires_replace: Vec::new(), deferred: None };
    let mut diagnostics = Diagnostics::default();
    let resource = Managed::<GatewayGroup>::new(&session().await);
    resource.plan(&Context::default(), &mut change, &mut diagnostics).await;
    (change.planned, change.requires_replace, diagnostics)
}

#[tokio::test]
async fn another_image_recreates_the_vm_only() {
    let (first, _, told) = planned(None, gateway()).await;
    assert!(told.is_empty(), "{told:?}");
    let script = first.startup_script.value().unwrap();
    assert!(script.contains("/dev/disk/by-id/google-warren-leases"), "{script}");
    assert!(script.contains("gcp-secret:projects/acme-ml/secrets/gw-a-wireguard"), "{script}");
    let (same, replaced, _) = planned(Some(first.clone()), first.clone()).await;
    assert_eq!((&same.state, replaced), (&first.state, vec![]));

    let other = GatewayGroup { image: "projects/acme-ml/global/images/gw-x86-64-8".into(), ..first.clone() };
    let (next, replaced, _) = planned(Some(first.clone()), other.clone()).await;
    assert!(next.state.is_unknown() && replaced.is_empty(), "{replaced:?}");
    let names = [&first, &other].map(|group| template::name(group).unwrap());
    assert!(template::recreates(&names[0], &names[1]));

    let mut tagged = first.clone();
    tagged.tags = warren_managed::sets::of(["gateway".to_owned()]);
    let tagged = template::name(&tagged).unwrap();
    assert!(tagged != names[0] && !template::recreates(&names[0], &tagged), "{names:?} {tagged}");

    let broken = GatewayGroup { state: model::INCOMPLETE.into(), ..first.clone() };
    assert!(planned(Some(broken), first.clone()).await.0.state.is_unknown());

    // Disks of this series are of another type.
    let series = GatewayGroup { machine_type: "c4-standard-4".into(), ..first.clone() };
    assert_eq!(planned(Some(first.clone()), series).await.1, [Path::of("machine_type")]);
    let arm = GatewayGroup { machine_type: "c4a-standard-4".into(), ..first };
    let told = planned(None, arm).await.2;
    assert!(format!("{told:?}").contains("CPU architectures do not match"), "{told:?}");
}

#[test]
fn names_leave_room_for_those_of_the_parts() {
    let told = |length: usize| {
        let mut group = gateway();
        group.object.name = "g".repeat(length).into();
        let mut diagnostics = Diagnostics::default();
        group.check_name(&mut diagnostics);
        diagnostics
    };
    assert!(told(50).is_empty());
    insta::assert_snapshot!(told(51).0[0].detail);
}

#[tokio::test]
async fn a_missing_or_foreign_part_is_told() {
    let gcp = session().await.get().unwrap();
    let (first, _, _) = planned(None, gateway()).await;
    let template = sdk::InstanceTemplate::new().set_properties(
        sdk::InstanceProperties::new()
            .set_machine_type("n2-standard-2")
            .set_can_ip_forward(true)
            .set_shielded_instance_config(vm::shielded())
            .set_metadata(vm::metadata(&first.startup_script, &first.image, first.cloud_logging).unwrap())
            .set_service_accounts([vm::account(&first.service_account).unwrap()])
            .set_disks([sdk::AttachedDisk::new()
                .set_boot(true)
                .set_initialize_params(sdk::AttachedDiskInitializeParams::new().set_disk_size_gb(10))])
            .set_network_interfaces([
                sdk::NetworkInterface::new().set_subnetwork(first.subnetwork.value().unwrap().id())
            ]),
    );
    let labels = first.object.mark.effective_labels.value().unwrap();
    let labels = labels.iter().map(|(key, value)| (key.clone(), value.value().unwrap().clone()));
    let id = first.object.id().unwrap();
    let whole = Parts {
        disk: Some(sdk::Disk::new().set_labels(labels)),
        group: Some(
            sdk::InstanceGroupManager::new()
                .set_instance_template(template::id(&gcp, &first).unwrap())
                .set_update_policy(group::update_policy(true)),
        ),
        template: Some(template),
        vms: vec![group::tests::vm(&gcp, &first, "RUNNING")],
        internal: Some(sdk::Address::new().set_address("10.0.0.9")),
        external: Some(sdk::Address::new().set_address("192.0.2.1")),
    };
    let state = |parts: &Parts| api::state(&gcp, parts, &first).unwrap();
    let read = state(&whole);
    let address = Attr::Known([192, 0, 2, 1].into());
    assert_eq!(read, GatewayGroup { nat_ip: address, ..first.clone() });
    assert_eq!(read.object.id().unwrap(), id);

    let told = |change: fn(&mut Parts)| {
        let mut parts = whole.clone();
        change(&mut parts);
        state(&parts).state == model::INCOMPLETE.into()
    };
    assert!(told(|parts| parts.disk = None));
    assert!(told(|parts| parts.internal = None));
    assert!(told(|parts| parts.group = None));
    assert!(told(|parts| parts.vms.clear()));
    assert!(told(|parts| parts.vms.push(parts.vms[0].clone())));
    assert!(told(|parts| parts.group.as_mut().unwrap().update_policy = None));
    assert!(told(|parts| {
        let properties = parts.template.as_mut().unwrap().properties.as_mut().unwrap();
        properties.can_ip_forward = Some(false);
    }));
    // A VM that the group is recreating is no drift, and one that it was told to stop is.
    let parts = |doing| Parts { vms: vec![group::tests::vm(&gcp, &first, doing)], ..whole.clone() };
    assert_eq!(state(&parts("RECREATING")).state, RUNNING.into());
    assert_eq!(state(&parts("STOPPED")).state, model::INCOMPLETE.into());
}
