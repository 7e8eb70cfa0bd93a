use tf_provider_rs::Attr;
use warren_managed::{Object as _, listed};

use super::*;

#[test]
fn attributes() {
    insta::assert_snapshot!(listed(&Secret::schema()));
}

#[test]
fn the_state_has_the_users_description_and_no_value() {
    let before = Secret {
        value_wo: Attr::Known(tf_provider_rs::model::Secret("hunter2".to_owned())),
        value_wo_version: 2.into(),
        ..Secret::default()
    };
    assert!(!format!("{before:?}").contains("hunter2"));
    let found = api::Found {
        id: "sec1".into(),
        name: "token".into(),
        description: "[warren:training/platform] of the pods".into(),
    };
    let state = schema::state(&found, &before);
    assert_eq!(state.description.text(), "of the pods");
    assert_eq!((state.value_wo, state.value_wo_version), (Attr::Null, Attr::Known(2)));
    assert_eq!(state.reference.text(), "{{ RUNPOD_SECRET_token }}");
}
