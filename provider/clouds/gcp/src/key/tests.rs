use tf_provider_rs::{Attr, Context, Resource};
use warren_gateways::key::{Note, Wireguard};
use warren_managed::{Managed, sets};

use super::*;
use crate::secret::{Secret, Version};
use crate::session::tests::session;

/// A key of which these versions are noted; the last of `versions` is the present one.
fn stored(versions: &[(i64, Option<&str>)]) -> (Secret, Option<Version>) {
    let note = |(number, rotation): &(i64, Option<&str>)| {
        let note = Note { rotation: rotation.map(str::to_owned), public: format!("public-{number}") };
        (format!("warren-version-{number}"), note.to_string())
    };
    let last = versions.last().map(|(number, _)| Version { number: *number, enabled: true });
    (Secret { annotations: versions.iter().map(note).collect(), ..Secret::default() }, last)
}

fn state((secret, last): (Secret, Option<Version>)) -> Key<Wireguard> {
    api::state(secret, last, &Key::default())
}

/// Whether the key belongs to this rotation.
fn has(key: &Key<Wireguard>, rotation: Attr<String>) -> bool {
    let mut planned = key.clone();
    planned.key.rotation = rotation;
    planned.is_stored(key)
}

async fn planned(prior: Key<Wireguard>, rotation: Attr<String>) -> Key<Wireguard> {
    let mut next = prior.clone();
    next.key.rotation = rotation;
    let mut change = Change {
        prior: Some(prior),
        config: next.clone(),
        planned: next,
        requires_replace: Vec::new(),
        deferred: None,
    };
    let mut diagnostics = Diagnostics::default();
    let resource = Managed::<Key<Wireguard>>::new(&session().await);
    resource.plan(&Context::default(), &mut change, &mut diagnostics).await;
    assert!(diagnostics.is_empty() && change.requires_replace.is_empty());
    change.planned
}

#[tokio::test]
async fn several_locations_have_no_key_in_common() {
    let told = async |locations: &[&str], kms_key_name: &str| {
        let mut key = Key::<Wireguard>::default();
        key.replicas.replica_locations = sets::of(locations.iter().map(|location| (*location).to_owned()));
        key.kms_key_name = kms_key_name.into();
        let mut diagnostics = Diagnostics::default();
        key.validate(&session().await, &mut diagnostics);
        diagnostics
    };
    assert!(
        told(&["us-central1"], "projects/p/locations/us-central1/keyRings/r/cryptoKeys/k").await.is_empty()
    );
    let diagnostics =
        told(&["europe-west4", "us-central1"], "projects/p/locations/us-central1/keyRings/r/cryptoKeys/k")
            .await;
    assert_eq!(diagnostics.0.len(), 1);
    insta::assert_snapshot!(diagnostics.0[0].detail);
}

#[tokio::test]
async fn a_rotation_changes_the_key_in_place_and_keeps_the_one_before() {
    let prior = state(stored(&[(1, None)]));
    assert_eq!((prior.key.public_key.clone(), prior.key.previous_version), ("public-1".into(), Attr::Null));
    assert_eq!(planned(prior.clone(), Attr::Null).await.key.public_key, prior.key.public_key);

    let next = planned(prior, "2026-11".into()).await.key;
    assert!(next.public_key.is_unknown() && next.version.is_unknown());
    assert_eq!((next.previous_public_key.clone(), next.previous_version), ("public-1".into(), 1.into()));

    let rotated = state(stored(&[(1, None), (2, Some("2026-11"))]));
    assert!(has(&rotated, "2026-11".into()) && !has(&rotated, Attr::Null));
    let state = rotated.key;
    assert_eq!((state.public_key, state.rotation), ("public-2".into(), "2026-11".into()));
    assert_eq!(state.previous_public_key, next.previous_public_key);
}

#[tokio::test]
async fn a_version_that_was_announced_and_never_came_is_not_there() {
    let (secret, _) = stored(&[(1, None), (2, Some("2026-11"))]);
    let announced = state((secret, Some(Version { number: 1, enabled: true })));
    assert!(!has(&announced, "2026-11".into()) && has(&announced, Attr::Null));
    assert_eq!(announced.key.public_key, "public-1".into());
}

#[tokio::test]
async fn a_version_added_by_hand_or_disabled_is_put_right() {
    let (secret, _) = stored(&[(2, None)]);
    let foreign = state((secret.clone(), Some(Version { number: 3, enabled: true })));
    assert_eq!(foreign.key.public_key, Attr::Null);
    assert_eq!(foreign.key.previous_public_key, "public-2".into());
    assert!(planned(foreign, Attr::Null).await.key.public_key.is_unknown());

    let disabled = state((secret, Some(Version { number: 2, enabled: false })));
    assert!(!has(&disabled, Attr::Null));
}
