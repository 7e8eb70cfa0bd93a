use serde_json::json;
use tf_provider_rs::Attr;

use super::*;

#[test]
fn names_that_runpod_does_not_create_are_refused() {
    let refused = |name: &str| {
        let mut diagnostics = Diagnostics::default();
        model::check_new_name(name, &mut diagnostics);
        !diagnostics.0.is_empty()
    };
    for name in ["1token", "-token", "RUNPOD_TOKEN", "runpod.token"] {
        assert!(refused(name), "{name}");
    }
    for name in ["token", "_token", "hf/token.v2", "my-RUNPOD"] {
        assert!(!refused(name), "{name}");
    }
}

#[test]
fn the_state_has_the_users_description_and_no_value() {
    let before = Secret {
        value_wo: Attr::Known(tf_provider_rs::model::Secret("hunter2".to_owned())),
        value_wo_version: 2.into(),
        ..Secret::default()
    };
    assert!(!format!("{before:?}").contains("hunter2"));
    let found =
        json!({"id": "sec1", "name": "token", "description": "[warren:training/platform] of the pods"});
    let state = api::state(&found, &before).unwrap();
    assert_eq!(state.description, "of the pods".into());
    assert_eq!((state.value_wo, state.value_wo_version), (Attr::Null, Attr::Known(2)));
    assert_eq!(state.reference, "{{ RUNPOD_SECRET_token }}".into());
    let nameless = api::state(&json!({"id": "sec1"}), &before).unwrap_err();
    assert!(nameless.message.contains("`name`"), "{nameless}");
}
