use ipnet::Ipv4Net;
use tf_provider_rs::{Attr, Context, Resource as _};
use warren_managed::Managed;

use super::*;
use crate::common::GcpObject;
use crate::link::NetworkRef;
use crate::session::tests::session;

fn net(range: &str) -> Attr<Ipv4Net> {
    Attr::Known(range.parse().unwrap())
}

fn subnet(range: &str) -> Subnetwork {
    Subnetwork {
        object: GcpObject { name: "data".into(), id: Attr::Unknown, ..GcpObject::default() },
        network: "projects/acme-ml/global/networks/hub".parse::<NetworkRef>().unwrap().into(),
        region: Attr::Unknown,
        ip_cidr_range: net(range),
        ..Subnetwork::default()
    }
}

fn change(prior: Option<Subnetwork>, planned: Subnetwork) -> Change<Subnetwork> {
    Change { prior, config: planned.clone(), planned, requires_replace: Vec::new(), deferred: None }
}

#[tokio::test]
async fn the_region_is_the_providers_and_the_id_is_known() {
    let resource = Managed::<Subnetwork>::new(&session().await);
    let mut change = change(None, subnet("10.1.0.0/20"));
    resource.plan(&Context::default(), &mut change, &mut Diagnostics::default()).await;
    assert_eq!(change.planned.region, "us-central1".into());
    assert_eq!(change.planned.object.id, "projects/acme-ml/regions/us-central1/subnetworks/data".into());
}

#[tokio::test]
async fn a_range_grows_in_place_and_does_not_shrink() {
    let resource = Managed::<Subnetwork>::new(&session().await);
    for (range, replaced) in [("10.1.0.0/20", false), ("10.1.0.0/19", false), ("10.1.0.0/21", true)] {
        let mut prior = subnet("10.1.0.0/20");
        prior.object.id = "projects/acme-ml/regions/us-central1/subnetworks/data".into();
        let mut planned = prior.clone();
        planned.ip_cidr_range = net(range);
        let mut change = change(Some(prior), planned);
        resource.plan(&Context::default(), &mut change, &mut Diagnostics::default()).await;
        assert_eq!(!change.requires_replace.is_empty(), replaced, "{range}");
    }
}

#[test]
fn ranges_of_one_subnetwork_are_apart() {
    let mut subnet = subnet("10.1.0.0/20");
    subnet.secondary_ip_ranges = Attr::Known(
        [("pods", "10.1.8.0/21"), ("services", "10.2.0.0/24")].map(|(n, r)| (n.to_owned(), net(r))).into(),
    );
    let mut diagnostics = Diagnostics::default();
    ranges::check(&subnet, &mut diagnostics);
    let told: Vec<String> = diagnostics
        .0
        .iter()
        .map(|d| format!("{}: {}", d.path.clone().unwrap_or_default(), d.detail))
        .collect();
    insta::assert_snapshot!(told.join("\n"));
}

/// `later` stands for what Google's API gets after this provider was built.
#[test]
fn a_change_keeps_what_the_resource_does_not_have() {
    let found = serde_json::json!([
        {"rangeName": "pods", "ipCidrRange": "10.1.64.0/18", "reservedInternalRange": "networkconnectivity/r", "later": 1},
        {"rangeName": "jobs", "ipCidrRange": "10.2.0.0/20", "later": 2},
    ]);
    let range = |range: &str| Attr::Known(range.parse::<ipnet::Ipv4Net>().unwrap());
    let ranges = [("jobs".to_owned(), range("10.3.0.0/20")), ("pods".to_owned(), range("10.1.64.0/18"))];
    let planned = Subnetwork { secondary_ip_ranges: Attr::Known(ranges.into()), ..Subnetwork::default() };
    let before: Vec<_> = serde_json::from_value(found.clone()).unwrap();
    let written = serde_json::to_value(api::secondary(&planned, &before).unwrap()).unwrap();
    assert_eq!(written, serde_json::json!([{"rangeName": "jobs", "ipCidrRange": "10.3.0.0/20"}, found[0]]));

    let before = serde_json::from_value(serde_json::json!({"enable": true, "later": 3})).unwrap();
    let written = api::log_config(&Attr::Null, Some(before)).unwrap();
    assert_eq!(serde_json::to_value(written).unwrap(), serde_json::json!({"enable": false, "later": 3}));
}
