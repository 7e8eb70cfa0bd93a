use std::collections::BTreeSet;

use tf_provider_rs::Attr;

use super::model::Target;
use super::*;

fn forwarding() -> Zone {
    let target = Target { ipv4_address: std::net::Ipv4Addr::new(10, 8, 0, 53).into(), ..Target::default() };
    Zone { forwarding_targets: Attr::Known(BTreeSet::from([target])), ..Zone::default() }
}

fn told(zone: &Zone) -> Vec<String> {
    let mut diagnostics = Diagnostics::default();
    zone.validate(&Session::new(warren_guard::Guard::default()), &mut diagnostics);
    diagnostics.0.into_iter().map(|d| format!("{}: {}", d.path.unwrap_or_default(), d.summary)).collect()
}

#[test]
fn a_zone_has_one_source_of_answers() {
    let hub = || "projects/acme-ml/global/networks/hub".parse::<crate::link::NetworkRef>().unwrap();
    assert_eq!(told(&Zone::default()), Vec::<String>::new());
    assert_eq!(told(&forwarding()), Vec::<String>::new());
    assert_eq!(
        told(&Zone { peering_network: hub().into(), ..forwarding() }),
        ["peering_network: Zone with forwarding and peering"]
    );
    assert_eq!(
        told(&Zone { forwarding_targets: Attr::Known(BTreeSet::new()), ..Zone::default() }),
        ["forwarding_targets: Forwarding zone without a name server"]
    );
    let types = [
        Zone::default().r#type(),
        forwarding().r#type(),
        Zone { peering_network: hub().into(), ..Zone::default() }.r#type(),
        Zone { peering_network: Attr::Unknown, ..Zone::default() }.r#type(),
    ];
    assert_eq!(types, [Some(Type::Records), Some(Type::Forwarding), Some(Type::Peering), None]);
}

/// `later` stands for what Google's API gets after this provider was built.
#[tokio::test]
async fn a_change_keeps_what_the_resource_does_not_have() {
    let gcp = crate::session::tests::session().await.get().unwrap();
    let network =
        |name: &str| format!("https://www.googleapis.com/compute/v1/projects/p/global/networks/{name}");
    let found = serde_json::json!({
        "dnsName": "corp.example.",
        "privateVisibilityConfig": {
            "networks": [{"networkUrl": network("hub"), "later": 1}],
            "gkeClusters": [{"gkeClusterName": "projects/p/locations/us-central1/clusters/c"}],
        },
        "forwardingConfig": {"targetNameServers": [{"ipv4Address": "10.8.0.53", "later": 2}], "later": 3},
        "later": 4,
    });
    let networks = ["hub", "ml"].map(|name| format!("projects/p/global/networks/{name}").parse().unwrap());
    let mut planned =
        Zone { networks: warren_managed::sets::of(networks), description: "ours".into(), ..forwarding() };
    planned.object.name = "corp".into();
    let before = serde_json::from_value(found.clone()).unwrap();
    let mut written = serde_json::to_value(api::configured(&gcp, &planned, before).unwrap()).unwrap();
    written.as_object_mut().unwrap().remove("labels");
    let mut expected = found;
    expected["description"] = "ours".into();
    let visible = expected["privateVisibilityConfig"]["networks"].as_array_mut().unwrap();
    visible.push(serde_json::json!({"networkUrl": network("ml")}));
    assert_eq!(written, expected);
}
