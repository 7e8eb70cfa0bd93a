use serde_json::json;
use tf_provider_rs::Attr;
use tf_provider_rs::model::Secret;
use time::macros::datetime;

use super::*;
use crate::common::RunpodObject;
use crate::session::tests::session;

fn credential() -> RegistryAuth {
    RegistryAuth {
        object: RunpodObject { naming: "images".into(), ..RunpodObject::default() },
        password_wo: Attr::Known(Secret("hunter2".to_owned())),
        password_wo_version: 3.into(),
        expires_at: "2026-11-21T12:00:00Z".into(),
        ..RegistryAuth::default()
    }
}

fn state(name: &str, before: &RegistryAuth) -> RegistryAuth {
    api::state(&json!({"id": "reg1", "name": name}), before).unwrap()
}

#[tokio::test]
async fn each_version_has_a_name_of_its_own_and_an_import_reads_it_back() {
    let runpod = session().await.get().unwrap();
    let name = Common::marks(&credential(), &runpod).unwrap();
    assert_eq!(name, "images v3 [warren:training/platform]");
    let found = state(&name, &RegistryAuth::default());
    assert_eq!((found.object.naming.name, found.password_wo_version), ("images".into(), Attr::Known(3)));
    let by_hand = state("my v", &RegistryAuth::default());
    assert_eq!((by_hand.object.naming.name, by_hand.password_wo_version), ("my v".into(), Attr::Null));
}

#[test]
fn an_expired_credential_is_told() {
    assert_eq!(expired(&credential(), datetime!(2026-11-21 11:59 UTC)), None);
    let warning = expired(&credential(), datetime!(2026-11-21 12:00 UTC)).unwrap();
    insta::assert_snapshot!(format!("{}\n{}", warning.summary, warning.detail));
}

#[test]
fn the_password_is_in_no_state_and_no_debug_output() {
    assert_eq!(state("images", &credential()).password_wo, Attr::Null);
    assert!(!format!("{:?}", credential()).contains("hunter2"));
}
