use tf_provider_rs::Attr;
use tf_provider_rs::model::Secret;
use time::macros::datetime;
use warren_managed::{Object as _, listed};

use super::*;
use crate::session::tests::session;

fn credential() -> RegistryAuth {
    RegistryAuth {
        name: "images".into(),
        password_wo: Attr::Known(Secret("hunter2".to_owned())),
        password_wo_version: 3.into(),
        expires_at: "2026-11-21T12:00:00Z".into(),
        ..RegistryAuth::default()
    }
}

#[test]
fn attributes() {
    insta::assert_snapshot!(listed(&RegistryAuth::schema()));
}

#[tokio::test]
async fn each_version_has_a_name_of_its_own_and_an_import_reads_it_back() {
    let runpod = session().await.get().unwrap();
    let name = credential().marks(&runpod).unwrap();
    assert_eq!(name, "images v3 [warren:training/platform]");
    let state = schema::state(&api::Found { id: "reg1".into(), name }, &RegistryAuth::default());
    assert_eq!((state.name.text(), state.password_wo_version), ("images", Attr::Known(3)));
    let by_hand =
        schema::state(&api::Found { id: "reg1".into(), name: "my v".into() }, &RegistryAuth::default());
    assert_eq!((by_hand.name.text(), by_hand.password_wo_version), ("my v", Attr::Null));
}

#[test]
fn an_expired_credential_is_told() {
    assert_eq!(schema::expired(&credential(), datetime!(2026-11-21 11:59 UTC)), None);
    let warning = schema::expired(&credential(), datetime!(2026-11-21 12:00 UTC)).unwrap();
    insta::assert_snapshot!(format!("{}\n{}", warning.summary, warning.detail));
}

#[test]
fn the_password_is_in_no_state_and_no_debug_output() {
    let found = api::Found { id: "reg1".into(), name: "images".into() };
    assert_eq!(schema::state(&found, &credential()).password_wo, Attr::Null);
    assert!(!format!("{:?}", credential()).contains("hunter2"));
}
