use tf_provider_rs::{Attr, Context, Resource};
use warren_managed::{Managed, listed, sets};

use super::*;
use crate::secret::{Secret, Version};
use crate::session::tests::session;

/// A key of which these versions are noted; the last of `versions` is the present one.
fn stored(versions: &[(i64, Option<&str>)]) -> Stored {
    let note = |(number, rotation): &(i64, Option<&str>)| {
        let note = Note { rotation: rotation.map(str::to_owned), public: format!("public-{number}") };
        (format!("warren-version-{number}"), note.to_string())
    };
    let last = versions.last().map(|(number, _)| Version { number: *number, enabled: true });
    let secret = Secret { annotations: versions.iter().map(note).collect(), ..Secret::default() };
    Stored { secret, last }
}

fn state(stored: Stored) -> Key<Wireguard> {
    schema::state(stored, &Key::default())
}

async fn planned(prior: Key<Wireguard>, rotation: Attr<String>) -> Key<Wireguard> {
    let mut next = prior.clone();
    next.rotation = rotation;
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

#[test]
fn attributes() {
    insta::assert_snapshot!(listed(&Key::<Wireguard>::schema()));
    assert_ne!(listed(&Key::<Signing>::schema()), listed(&Key::<Tls>::schema()));
}

#[tokio::test]
async fn several_locations_have_no_key_in_common() {
    let told = async |locations: &[&str], kms_key_name: &str| {
        let mut key = Key::<Wireguard>::default();
        key.replica_locations = sets::of(locations.iter().map(|location| (*location).to_owned()));
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
    assert_eq!((prior.public_key.text(), prior.previous_version), ("public-1", Attr::Null));
    assert_eq!(planned(prior.clone(), Attr::Null).await.public_key, prior.public_key);

    let next = planned(prior, "2026-11".into()).await;
    assert!(next.public_key.is_unknown() && next.version.is_unknown());
    assert_eq!((next.previous_public_key.text(), next.previous_version), ("public-1", 1.into()));

    let rotated = stored(&[(1, None), (2, Some("2026-11"))]);
    assert!(rotated.has(&"2026-11".into()) && !rotated.has(&Attr::Null));
    let state = state(rotated);
    assert_eq!((state.public_key.text(), state.rotation.text()), ("public-2", "2026-11"));
    assert_eq!(state.previous_public_key, next.previous_public_key);
}

#[tokio::test]
async fn a_version_that_was_announced_and_never_came_is_not_there() {
    let mut announced = stored(&[(1, None), (2, Some("2026-11"))]);
    announced.last = Some(Version { number: 1, enabled: true });
    assert!(!announced.has(&"2026-11".into()) && announced.has(&Attr::Null));
    assert_eq!(state(announced).public_key.text(), "public-1");
}

#[tokio::test]
async fn a_version_added_by_hand_or_disabled_is_put_right() {
    let mut foreign = stored(&[(2, None)]);
    foreign.last = Some(Version { number: 3, enabled: true });
    let state = state(foreign);
    assert_eq!((&state.public_key, state.previous_public_key.text()), (&Attr::Null, "public-2"));
    assert!(planned(state, Attr::Null).await.public_key.is_unknown());

    let mut disabled = stored(&[(2, None)]);
    disabled.last = Some(Version { number: 2, enabled: false });
    assert!(!disabled.has(&Attr::Null));
}
