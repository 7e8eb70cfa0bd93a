use std::collections::BTreeSet;

use google_cloud_identity_accesscontextmanager_v1::model as sdk;
use tf_provider_rs::{Attr, Diagnostics};
use warren_managed::Common as _;
use warren_managed::sets::{self, Texts};

use super::model::{Config, Egress, IdentityType, Ingress, Operation};
use super::*;
use crate::common::{self, GcpObject, Located as _};
use crate::session::tests::session;

fn texts<const N: usize>(items: [&str; N]) -> Texts {
    sets::of(items.map(str::to_owned))
}

fn call(service_name: &str, methods: Texts) -> Attr<BTreeSet<Operation>> {
    let operation = Operation { service_name: service_name.into(), methods, permissions: Attr::Null };
    Attr::Known(BTreeSet::from([operation]))
}

fn ingress() -> Ingress {
    Ingress {
        identity_type: IdentityType::ServiceAccounts.into(),
        source_resources: texts(["projects/42"]),
        resources: texts(["*"]),
        operations: call("storage.googleapis.com", texts(["*"])),
        ..Ingress::default()
    }
}

fn egress() -> Egress {
    Egress {
        identities: texts(["serviceAccount:trainer@acme-ml.iam.gserviceaccount.com"]),
        external_resources: texts(["s3://acme-datasets"]),
        operations: call("*", Attr::Null),
        ..Egress::default()
    }
}

fn sample() -> Config {
    Config {
        resources: texts([
            "projects/1000000",
            "//compute.googleapis.com/projects/acme-ml/global/networks/hub",
        ]),
        restricted_services: texts(["storage.googleapis.com"]),
        access_levels: texts(["accessPolicies/123/accessLevels/office"]),
        vpc_accessible_services: texts(["RESTRICTED-SERVICES"]),
        ingress_policies: Attr::Known(BTreeSet::from([ingress()])),
        egress_policies: Attr::Known(BTreeSet::from([egress()])),
    }
}

fn perimeter() -> ServicePerimeter {
    ServicePerimeter {
        object: GcpObject { name: "training".into(), id: Attr::Unknown, ..GcpObject::default() },
        access_policy: "123".into(),
        title: "Training".into(),
        status: sample().into(),
        ..ServicePerimeter::default()
    }
}

fn told(perimeter: &ServicePerimeter) -> String {
    let mut diagnostics = Diagnostics::default();
    check::perimeter(perimeter, &mut diagnostics);
    let lines: Vec<String> = diagnostics
        .0
        .into_iter()
        .map(|d| format!("{}: {}: {}", d.path.unwrap_or_default(), d.summary, d.detail))
        .collect();
    lines.join("\n")
}

#[tokio::test]
async fn the_id_is_known_at_plan_and_only_our_own_leftover_is_adopted() {
    let gcp = session().await.get().unwrap();
    let mut perimeter = perimeter();
    common::plan(&mut perimeter, Some(&gcp));
    let id = "accessPolicies/123/servicePerimeters/training";
    assert_eq!(perimeter.object.id, id.into());
    let mine = perimeter.marks(&gcp).unwrap();
    assert_eq!(perimeter.adoptable(&gcp, Some(&mine), || Ok(true)).unwrap(), [id]);
    for (description, same) in
        [("by hand", true), ("[warren:training/research/training]", true), (&*mine, false)]
    {
        perimeter.adoptable(&gcp, Some(description), || Ok(same)).unwrap_err();
    }
}

#[test]
fn an_import_names_a_perimeter() {
    for wrong in [
        "training",
        "accessPolicies/1",
        "accessPolicies//servicePerimeters/a",
        "projects/p/global/networks/n",
    ] {
        model::imported(wrong).unwrap_err();
    }
    let id = "accessPolicies/123/servicePerimeters/training";
    assert_eq!(model::imported(id).unwrap().object.id, id.into());
}

#[test]
fn what_google_refuses_is_told() {
    assert_eq!(told(&perimeter()), "");
    let unknown = Config {
        resources: Attr::Unknown,
        ingress_policies: Attr::Known(BTreeSet::from([Ingress {
            identity_type: Attr::Unknown,
            source_resources: Attr::Known(BTreeSet::from([Attr::Unknown])),
            resources: Attr::Unknown,
            operations: Attr::Unknown,
            ..Ingress::default()
        }])),
        ..Config::default()
    };
    assert_eq!(told(&ServicePerimeter { spec: unknown.into(), ..perimeter() }), "");
    let ingress_of = |ingress: Ingress| Config {
        ingress_policies: Attr::Known(BTreeSet::from([ingress])),
        ..Config::default()
    };
    let egress_of = |egress: Egress| Config {
        egress_policies: Attr::Known(BTreeSet::from([egress])),
        ..Config::default()
    };
    let wrong = [
        Config { resources: texts(["projects/acme-ml", "*"]), ..Config::default() },
        Config { restricted_services: texts(["storage", "RESTRICTED-SERVICES"]), ..Config::default() },
        Config { access_levels: texts(["accessPolicies/7/accessLevels/office"]), ..Config::default() },
        ingress_of(Ingress { identities: texts(["user:a@acme.dev"]), ..ingress() }),
        ingress_of(Ingress { source_resources: Attr::Null, ..ingress() }),
        ingress_of(Ingress { operations: call("storage.googleapis.com", Attr::Null), ..ingress() }),
        egress_of(Egress { identities: Attr::Null, external_resources: Attr::Null, ..egress() }),
        egress_of(Egress { operations: call("*", texts(["*"])), ..egress() }),
        egress_of(Egress { operations: Attr::Null, ..egress() }),
    ];
    let told: Vec<String> =
        wrong.into_iter().map(|spec| told(&ServicePerimeter { spec: spec.into(), ..perimeter() })).collect();
    assert!(told.iter().all(|told| !told.is_empty()));
    insta::assert_snapshot!(told.join("\n---\n"));
}

#[test]
fn what_was_written_stays_where_it_means_what_was_found() {
    let written = Config { resources: texts([]), ..sample() };
    let before = ServicePerimeter { status: written.into(), spec: Config::default().into(), ..perimeter() };
    let found = |status: Option<Config>| {
        let status = status.as_ref().map(|status| config::written(status).unwrap());
        let perimeter = sdk::ServicePerimeter::new()
            .set_name("accessPolicies/123/servicePerimeters/training")
            .set_title("Training")
            .set_description("[warren:training/platform/training] of runs")
            .set_or_clear_status(status);
        api::state(&perimeter, &before).unwrap()
    };
    let same = found(Some(Config { resources: Attr::Null, ..sample() }));
    assert_eq!((&same.status, &same.spec), (&before.status, &before.spec));
    assert_eq!((same.object.name, same.access_policy), ("training".into(), "123".into()));
    assert_eq!(same.object.mark.description, "of runs".into());
    assert!(found(None).status.is_null());
}

#[test]
fn networks_that_may_call_nothing_are_not_networks_that_may_call_everything() {
    let closed = Config { vpc_accessible_services: texts([]), ..Config::default() };
    assert_eq!(config::normal(&closed.clone().into()), Some(closed.clone()));
    assert_eq!(config::read("servicePerimeters.get", &config::written(&closed).unwrap()), Ok(Some(closed)));
    assert_eq!(config::normal(&Config::default().into()), None);
}

/// The fields are those of the reference of Access Context Manager (`EgressFrom`, `IngressTo`, `EgressPolicy`), which the
/// client for Rust does not have either.
#[test]
fn settings_that_the_resource_does_not_have_are_not_erased() {
    let known = serde_json::to_value(config::written(&sample()).unwrap()).unwrap();
    let configured = |config: &serde_json::Value, want: Option<Config>| {
        let config = serde_json::from_value(config.clone()).unwrap();
        let written = api::configured("status", Some(&config), &want.into());
        written.map(|written| serde_json::to_value(written).unwrap()).map_err(|error| error.message)
    };
    assert_eq!(configured(&known, None), Ok(serde_json::Value::Null));
    let mut more = known.clone();
    more["egressPolicies"][0]["egressFrom"]["sources"] = serde_json::json!([{"accessLevel": "office"}]);
    more["egressPolicies"][0]["egressFrom"]["sourceRestriction"] = "SOURCE_RESTRICTION_ENABLED".into();
    more["egressPolicies"][0]["title"] = "training".into();
    more["ingressPolicies"][0]["ingressTo"]["roles"] = serde_json::json!(["roles/storage.objectViewer"]);
    let erased = configured(&more, None).unwrap_err();
    insta::assert_snapshot!(erased);

    // Policies that stay keep them, whatever else changes.
    let resources = texts(["projects/7"]);
    let mut expected = more.clone();
    expected["resources"] = serde_json::json!(["projects/7"]);
    assert_eq!(configured(&more, Some(Config { resources, ..sample() })), Ok(expected));
    let another =
        Egress { identities: texts(["serviceAccount:b@acme-ml.iam.gserviceaccount.com"]), ..egress() };
    let both = Attr::Known(BTreeSet::from([egress(), another.clone()]));
    let added = configured(&more, Some(Config { egress_policies: both, ..sample() })).unwrap();
    let titles = added["egressPolicies"].as_array().unwrap().iter().map(|policy| policy["title"].as_str());
    assert_eq!(titles.flatten().collect::<Vec<_>>(), ["training"]);
    // A policy that was removed is gone. One that was changed could lose them.
    let fewer = Config { egress_policies: Attr::Null, ..sample() };
    assert_eq!(configured(&more, Some(fewer)).unwrap().get("egressPolicies"), None);
    let changed = Config { egress_policies: Attr::Known(BTreeSet::from([another])), ..sample() };
    let refused = configured(&more, Some(changed)).unwrap_err();
    assert!(refused.contains("status.egressPolicies[0].title") && !refused.contains("ingress"), "{refused}");

    let mut unset = known;
    unset["egressPolicies"][0]["egressFrom"]["sourceRestriction"] = "SOURCE_RESTRICTION_UNSPECIFIED".into();
    unset["egressPolicies"][0]["title"] = "".into();
    assert_eq!(configured(&unset, None), Ok(serde_json::Value::Null));
}
