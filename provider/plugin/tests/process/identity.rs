//! Stored identities of other versions, and values that an older client did not check.

use serde_json::{Value as Json, json};
use tf_provider_rs::proto::tfplugin6 as proto;
use tf_provider_rs::test::Plugin;
use tf_provider_rs::{Value, codec};

use crate::common::example;

fn strict() -> (Plugin, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let plugin = Plugin::launch(&example("strict"), &[]).unwrap();
    let configured = plugin.configure(&json!({ "directory": folder.path(), "region": "east" })).unwrap();
    assert!(configured.is_empty(), "{configured:?}");
    (plugin, folder)
}

fn upgraded(plugin: &Plugin, version: i64, identity: &Json) -> Result<Value, String> {
    let request = proto::upgrade_resource_identity::Request {
        type_name: "strict_site".to_owned(),
        version,
        raw_identity: Some(proto::RawState { json: identity.to_string().into_bytes(), ..Default::default() }),
    };
    let answer = plugin.call(async |mut client| client.upgrade_resource_identity(request).await).unwrap();
    match (answer.upgraded_identity, answer.diagnostics.first()) {
        (Some(identity), None) => {
            let ty = tf_provider_rs::Type::object([
                ("name", tf_provider_rs::Type::String),
                ("region", tf_provider_rs::Type::String),
            ]);
            Ok(codec::msgpack::decode(&identity.identity_data.unwrap().msgpack, &ty).unwrap())
        }
        (_, told) => Err(told.unwrap().summary.clone()),
    }
}

#[test]
fn an_identity_of_an_older_version_is_upgraded_and_a_newer_one_refused() {
    let (plugin, _folder) = strict();
    let expected = Value::object([("name", "a".into()), ("region", "east".into())]);
    assert_eq!(upgraded(&plugin, 2, &json!({ "name": "a", "region": "east" })), Ok(expected.clone()));
    assert_eq!(upgraded(&plugin, 1, &json!({ "name": "a", "zone": "east" })), Ok(expected));
    assert_eq!(upgraded(&plugin, 0, &json!({ "name": "a" })), Err("Unknown version".to_owned()));
    let newer = upgraded(&plugin, 3, &json!({ "name": "a" }));
    assert_eq!(newer, Err("Resource identity of a newer provider version".to_owned()));
}

#[test]
fn the_copy_in_private_state_is_upgraded_too() {
    let (plugin, folder) = strict();
    std::fs::create_dir(folder.path().join("east")).unwrap();
    std::fs::write(folder.path().join("east/a"), "x").unwrap();
    let state = plugin.value("strict_site", &json!({ "name": "a", "id": "site-a" })).unwrap();
    let read = |version: i64, zone: &str| {
        let copy = json!({ "identity": { "version": version, "values": { "name": "a", "zone": zone } } });
        plugin.read("strict_site", &state, copy.to_string().as_bytes()).unwrap()
    };
    assert!(!read(1, "east").state.is_null());
    let refused = read(1, "west").diagnostics;
    assert_eq!(refused.0[0].summary, "Another region");
    assert!(read(3, "east").diagnostics.has_error());
}

#[test]
fn a_required_value_is_checked_before_the_provider_is_called() {
    let (plugin, folder) = strict();
    let planned = plugin.value("strict_site", &json!({ "name": "a" })).unwrap();
    let config = plugin.value("strict_site", &json!({ "name": null })).unwrap();
    let applied = plugin.apply("strict_site", &Value::Null, &planned, &config, &[]).unwrap();
    assert_eq!(applied.diagnostics.0[0].summary, "Missing Configuration for Required Attribute");
    assert!(applied.state.is_null());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
