use tf_provider_rs::{Attr, Context, Resource};

use super::*;
use crate::parameter::Version;
use crate::session::tests::{account, session};
use warren_managed::{Managed, listed};

fn version(number: i64, rotation: Option<&str>) -> Version {
    let note = Note { rotation: rotation.map(str::to_owned), public: format!("public-{number}") };
    Version { number, description: note.to_string(), kms_key_id: None }
}

async fn stored(versions: Vec<Version>) -> Key<Wireguard> {
    let aws = account([]).await;
    let tags = aws.tags("/warren/gw-a", &Attr::Null);
    schema::state(&aws, Stored { name: "/warren/gw-a".into(), versions, tags }, &Key::default())
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
    let resource = Managed::<Key<Wireguard>>::new(&session([]).await);
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
async fn a_rotation_changes_the_key_in_place_and_keeps_the_one_before() {
    let prior = stored(vec![version(1, None)]).await;
    assert_eq!((prior.public_key.text(), prior.previous_version), ("public-1", Attr::Null));
    assert_eq!(planned(prior.clone(), Attr::Null).await.public_key, prior.public_key);

    let next = planned(prior, "2026-11".into()).await;
    assert!(next.public_key.is_unknown() && next.version.is_unknown());
    assert_eq!((next.previous_public_key.text(), next.previous_version), ("public-1", 1.into()));

    let state = stored(vec![version(1, None), version(2, Some("2026-11"))]).await;
    assert_eq!((state.public_key.text(), state.rotation.text()), ("public-2", "2026-11"));
    assert_eq!(state.previous_public_key, next.previous_public_key);
}

#[tokio::test]
async fn a_value_put_by_hand_is_put_right() {
    let foreign = Version { number: 3, description: "by hand".into(), kms_key_id: None };
    let state = stored(vec![version(2, None), foreign]).await;
    assert_eq!(state.public_key, Attr::Null);
    assert!(planned(state, Attr::Null).await.public_key.is_unknown());
}
