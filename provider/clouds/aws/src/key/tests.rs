use tf_provider_rs::{Attr, Context, Model, Resource, Schema};

use super::*;
use crate::parameter::Version;
use crate::session::tests::{account, session};
use warren_gateways::key::{Note, Signing, Tls, Wireguard};
use warren_managed::Common as _;
use warren_managed::Managed;

fn version(number: i64, rotation: Option<&str>) -> Version {
    let note = Note { rotation: rotation.map(str::to_owned), public: format!("public-{number}") };
    Version { number, description: Some(note.to_string()), kms_key_id: None }
}

async fn stored(versions: Vec<Version>) -> Key<Wireguard> {
    let aws = account([]).await;
    let tags = aws.tags("/warren/gw-a", &Attr::Null);
    let mut before = Key::default();
    before.set_id("/warren/gw-a");
    api::state(&aws, (&versions, &tags), &before).unwrap()
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
    let resource = Managed::<Key<Wireguard>>::new(&session([]).await);
    resource.plan(&Context::default(), &mut change, &mut diagnostics).await;
    assert!(diagnostics.is_empty() && change.requires_replace.is_empty());
    change.planned
}

#[test]
fn each_type_has_its_own_description() {
    let public_key = |schema: Schema| {
        schema.attributes.into_iter().find(|attribute| attribute.name == "public_key").unwrap().description
    };
    let [signing, tls] =
        [public_key(<Key<Signing> as Model>::schema()), public_key(<Key<Tls> as Model>::schema())];
    assert!(signing.contains("PASERK") && tls.contains("Pin of the certificate"), "{signing} {tls}");
}

#[tokio::test]
async fn a_rotation_changes_the_key_in_place_and_keeps_the_one_before() {
    let prior = stored(vec![version(1, None)]).await;
    assert_eq!((prior.key.public_key.clone(), prior.key.previous_version), ("public-1".into(), Attr::Null));
    assert_eq!(planned(prior.clone(), Attr::Null).await.key.public_key, prior.key.public_key);

    let next = planned(prior, "2026-11".into()).await.key;
    assert!(next.public_key.is_unknown() && next.version.is_unknown());
    assert_eq!((next.previous_public_key.clone(), next.previous_version), ("public-1".into(), 1.into()));

    let state = stored(vec![version(1, None), version(2, Some("2026-11"))]).await.key;
    assert_eq!((state.public_key, state.rotation), ("public-2".into(), "2026-11".into()));
    assert_eq!(state.previous_public_key, next.previous_public_key);
}

#[tokio::test]
async fn a_value_put_by_hand_is_put_right() {
    let foreign = Version { number: 3, description: Some("by hand".into()), kms_key_id: None };
    let state = stored(vec![version(2, None), foreign]).await;
    assert_eq!(state.key.public_key, Attr::Null);
    assert!(planned(state, Attr::Null).await.key.public_key.is_unknown());
}
