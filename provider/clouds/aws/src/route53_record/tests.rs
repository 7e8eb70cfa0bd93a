use aws_sdk_route53::types::{AliasTarget, ResourceRecord, ResourceRecordSet, RrType};

use super::*;
use crate::common::tests::known;
use crate::session::tests::session;
use model::Alias;

fn record(name: &str) -> Record {
    Record {
        zone_id: known("Z1"),
        name: name.into(),
        r#type: Attr::Known(RecordType::A),
        ..Record::default()
    }
}

#[test]
fn an_alias_comes_back_in_the_users_spelling() {
    let alias = Alias {
        dns_name: "*.vpce-1.s3.us-east-1.vpce.amazonaws.com".into(),
        zone_id: "Z7HUB22UULQXV".into(),
        evaluate_target_health: false.into(),
    };
    let before = Record { alias: Attr::Known(alias), ..record("*.s3.us-east-1.amazonaws.com") };
    let target = AliasTarget::builder()
        .dns_name("\\052.vpce-1.s3.us-east-1.vpce.amazonaws.com.")
        .hosted_zone_id("Z7HUB22UULQXV")
        .evaluate_target_health(false)
        .build()
        .unwrap();
    let set = ResourceRecordSet::builder()
        .name("\\052.s3.us-east-1.amazonaws.com.")
        .r#type(RrType::A)
        .alias_target(target)
        .build()
        .unwrap();
    let found = api::state(set, &before).unwrap();
    assert!(api::same(&found, &before));
    assert_eq!((&found.name, &found.alias), (&before.name, &before.alias));
    assert_eq!(found.part.id(), Ok("Z1_*.s3.us-east-1.amazonaws.com_A"));
}

#[test]
fn values_are_compared_without_order() {
    let set = |values: [&str; 2], ttl| {
        let record = |value: &str| ResourceRecord::builder().value(value).build().unwrap();
        ResourceRecordSet::builder()
            .name("db.example.com.")
            .r#type(RrType::A)
            .ttl(ttl)
            .set_resource_records(Some(values.map(record).into()))
            .build()
            .unwrap()
    };
    let before = Record {
        ttl: 60.into(),
        records: sets::of(["10.0.0.1".to_owned(), "10.0.0.2".to_owned()]),
        ..record("db.example.com")
    };
    let found = |set| api::state(set, &before).unwrap();
    assert!(api::same(&found(set(["10.0.0.2", "10.0.0.1"], 60)), &before));
    assert!(!api::same(&found(set(["10.0.0.2", "10.0.0.1"], 61)), &before));
    assert!(!api::same(&found(set(["10.0.0.2", "10.0.0.3"], 60)), &before));
}

#[test]
fn attributes_that_contradict_each_other_are_told() {
    let told = |record: &Record| {
        let mut diagnostics = Diagnostics::default();
        check(record, &mut diagnostics);
        diagnostics.0.iter().map(|d| format!("{}\n  {}\n", d.summary, d.detail)).collect::<String>()
    };
    let texts = |values: &[&str]| sets::of(values.iter().map(|value| (*value).to_owned()));
    let plain = Record { ttl: 60.into(), records: texts(&["10.0.0.1"]), ..record("a.example.com") };
    assert_eq!(told(&plain), "");
    assert_eq!(told(&Record { records: Attr::Unknown, ttl: Attr::Null, ..plain.clone() }), "");
    let wrong = [
        record("a.example.com"),
        Record { alias: Attr::Known(Alias::default()), ..plain.clone() },
        Record { ttl: Attr::Null, ..plain.clone() },
        Record { r#type: Attr::Known(RecordType::Cname), records: texts(&["a.", "b."]), ..plain.clone() },
        Record { r#type: Attr::Known(RecordType::Txt), records: texts(&["plain"]), ..plain },
    ];
    insta::assert_snapshot!(wrong.iter().map(told).collect::<Vec<_>>().join("---\n"));
}

#[tokio::test]
async fn an_id_says_zone_name_and_type() {
    let session = session([]).await;
    let import = |id: &str| <Record as Object>::import(&session, id);
    let found = import("Z1__ldap._tcp.example.com_SRV").unwrap();
    assert_eq!((found.name, found.r#type), ("_ldap._tcp.example.com".into(), Attr::Known(RecordType::Srv)));
    for wrong in ["Z1", "Z1_A", "Z1__A", "Z1_example.com_B", "vpc-1_example.com_A"] {
        assert!(import(wrong).unwrap_err().0[0].detail.contains(FORM), "{wrong}");
    }
}
