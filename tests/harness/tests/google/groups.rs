//! Managed instance groups, by raw calls.

use serde_json::{Value, json};
use warren_harness::{Google, GoogleConfig};

use crate::client::{done, get, network, ok, refused, subnet};

const ZONE: &str = "zones/us-central1-a";

fn template(google: &Google, name: &str, image: &str, tag: &str) {
    let body = json!({"name": name, "properties": {
        "machineType": "e2-small",
        "disks": [{"boot": true, "initializeParams": {"sourceImage": image, "diskType": "pd-balanced"}}],
        "networkInterfaces": [{
            "subnetwork": "projects/acme-ml/regions/us-central1/subnetworks/one",
            "accessConfigs": [{"type": "ONE_TO_ONE_NAT", "name": "External NAT"}],
        }],
        "tags": {"items": [tag]},
    }});
    done(google, "POST", "global/instanceTemplates", body);
}

/// A network with reserved addresses, a disk, a template, and a group that has no VM.
fn world(config: GoogleConfig) -> Google {
    let google = Google::start(config).unwrap();
    network(&google, "hub");
    subnet(&google, "hub", "one", "10.0.0.0/28");
    let inside = json!({"name": "inside", "addressType": "INTERNAL", "subnetwork": "regions/us-central1/subnetworks/one"});
    done(&google, "POST", "regions/us-central1/addresses", inside);
    done(&google, "POST", "regions/us-central1/addresses", json!({"name": "outside"}));
    done(&google, "POST", &format!("{ZONE}/disks"), json!({"name": "data", "sizeGb": "10"}));
    template(&google, "one", "projects/p/global/images/one", "a");
    let group = json!({
        "name": "group", "targetSize": 0,
        "instanceTemplate": "projects/acme-ml/global/instanceTemplates/one",
        "updatePolicy": policy(0),
    });
    done(&google, "POST", &format!("{ZONE}/instanceGroupManagers"), group);
    google
}

fn policy(surge: u32) -> Value {
    json!({
        "type": "PROACTIVE", "replacementMethod": "RECREATE", "minimalAction": "REFRESH",
        "maxSurge": {"fixed": surge}, "maxUnavailable": {"fixed": 1},
    })
}

fn start(google: &Google, name: &str) {
    let address = |name: &str| {
        let link = format!("projects/acme-ml/regions/us-central1/addresses/{name}");
        json!({"nic0": {"autoDelete": "NEVER", "ipAddress": {"address": link}}})
    };
    let kept = json!({
        "disks": {"leases": {"source": format!("projects/acme-ml/{ZONE}/disks/data"), "autoDelete": "NEVER"}},
        "internalIPs": address("inside"),
        "externalIPs": address("outside"),
    });
    let body = json!({"instances": [{"name": name, "preservedState": kept}]});
    done(google, "POST", &format!("{ZONE}/instanceGroupManagers/group/createInstances"), body);
}

fn managed(google: &Google) -> Vec<Value> {
    let answer =
        ok(google, "POST", &format!("{ZONE}/instanceGroupManagers/group/listManagedInstances"), Value::Null);
    answer["managedInstances"].as_array().cloned().unwrap_or_default()
}

/// The VM, without what every VM has anew.
fn vm(google: &Google) -> (Value, [Value; 3]) {
    let vm = get(google, &format!("{ZONE}/instances/vm"));
    let interface = &vm["networkInterfaces"][0];
    let kept = [&interface["networkIP"], &interface["accessConfigs"][0]["natIP"], &vm["disks"][1]["source"]];
    (vm["id"].clone(), kept.map(Clone::clone))
}

#[test]
fn a_vm_is_recreated_with_what_its_configuration_preserves() {
    let google = world(GoogleConfig::default());
    assert_eq!(managed(&google), Vec::<Value>::new());
    start(&google, "vm");
    let (first, kept) = vm(&google);
    let inside = get(&google, "regions/us-central1/addresses/inside");
    assert_eq!((&kept[0], &inside["status"]), (&inside["address"], &json!("IN_USE")));
    let one = &managed(&google)[0];
    assert_eq!((&one["currentAction"], &one["instanceStatus"]), (&json!("NONE"), &json!("RUNNING")));
    let held = refused(&google, "DELETE", &format!("{ZONE}/disks/data"), Value::Null);
    assert!(held.contains("instances/vm"), "{held}");

    for lost in [("DELETE", ""), ("POST", "/stop")] {
        let (before, _) = vm(&google);
        done(&google, lost.0, &format!("{ZONE}/instances/vm{}", lost.1), Value::Null);
        let (after, same) = vm(&google);
        assert!(after != before && same == kept, "{lost:?}: {same:?}");
    }
    assert_ne!(vm(&google).0, first);
    let again = json!({"instances": [{"name": "vm"}]});
    let told =
        refused(&google, "POST", &format!("{ZONE}/instanceGroupManagers/group/createInstances"), again);
    assert!(told.contains("is already a member of"), "{told}");

    // The group takes its VM along, and nothing else.
    done(&google, "DELETE", &format!("{ZONE}/instanceGroupManagers/group"), Value::Null);
    assert!(!google.objects().contains_key(&format!("projects/acme-ml/{ZONE}/instances/vm")));
    done(&google, "DELETE", &format!("{ZONE}/disks/data"), Value::Null);
    done(&google, "DELETE", "regions/us-central1/addresses/inside", Value::Null);
    done(&google, "DELETE", "global/instanceTemplates/one", Value::Null);
    google.front().assert_valid();
}

#[test]
fn another_template_recreates_a_vm_or_refreshes_it() {
    let google = world(GoogleConfig::default());
    start(&google, "vm");
    let (first, kept) = vm(&google);
    let group = format!("{ZONE}/instanceGroupManagers/group");
    let change = |template: &str, surge: u32| {
        let link = format!("projects/acme-ml/global/instanceTemplates/{template}");
        json!({"fingerprint": get(&google, &group)["fingerprint"], "instanceTemplate": link, "updatePolicy": policy(surge)})
    };
    template(&google, "tagged", "projects/p/global/images/one", "b");
    done(&google, "PATCH", &group, change("tagged", 0));
    let shown = get(&google, &format!("{ZONE}/instances/vm"));
    assert_eq!((&shown["id"], &shown["tags"]["items"]), (&first, &json!(["b"])));
    template(&google, "newer", "projects/p/global/images/two", "b");
    let held = refused(&google, "DELETE", "global/instanceTemplates/tagged", Value::Null);
    assert!(held.contains("instanceGroupManagers/group"), "{held}");
    done(&google, "PATCH", &group, change("newer", 0));
    let (second, same) = vm(&google);
    assert!(second != first && same == kept, "{same:?}");
    done(&google, "DELETE", "global/instanceTemplates/tagged", Value::Null);

    let surge = refused(&google, "PATCH", &group, change("newer", 1));
    assert!(surge.contains("maxSurge must be 0"), "{surge}");
    let mut stale = change("newer", 0);
    stale["fingerprint"] = json!("AAAA");
    let told = refused(&google, "PATCH", &group, stale);
    assert!(told.contains("fingerprint"), "{told}");
    let delete = json!({"instances": [format!("projects/acme-ml/{ZONE}/instances/vm")]});
    done(&google, "POST", &format!("{group}/deleteInstances"), delete);
    assert_eq!(managed(&google), Vec::<Value>::new());
    assert_eq!(get(&google, &group)["targetSize"], 0);
    google.front().assert_valid();
}

#[test]
fn a_slow_group_shows_what_it_does_and_why_it_fails() {
    let google = world(GoogleConfig { polls: 2, ..GoogleConfig::default() });
    // Somebody else has the address.
    let address = get(&google, "regions/us-central1/addresses/inside")["address"].clone();
    let thief = json!({
        "name": "thief", "machineType": "zones/us-central1-a/machineTypes/e2-small",
        "disks": [{"boot": true, "initializeParams": {"sourceImage": "projects/p/global/images/one"}}],
        "networkInterfaces": [{"subnetwork": "regions/us-central1/subnetworks/one", "networkIP": address}],
    });
    done(&google, "POST", &format!("{ZONE}/instances"), thief);
    start(&google, "vm");
    let failed = (0..5).map(|_| managed(&google)[0].clone()).last().unwrap();
    let error = &failed["lastAttempt"]["errors"]["errors"][0]["message"];
    assert!(error.as_str().is_some_and(|error| error.contains("instances/thief")), "{failed}");
    assert_eq!(failed["currentAction"], "CREATING");
    done(&google, "DELETE", &format!("{ZONE}/instances/thief"), Value::Null);
    let actions = |count: usize| -> Vec<String> {
        (0..count).map(|_| managed(&google)[0]["currentAction"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(actions(2).last().map(String::as_str), Some("NONE"));
    done(&google, "DELETE", &format!("{ZONE}/instances/vm"), Value::Null);
    let seen = actions(5);
    assert!(seen.contains(&"RECREATING".to_owned()) && seen[4] == "NONE", "{seen:?}");
    google.front().assert_valid();
}
