use tf_provider_rs::Attr;

use super::*;
use crate::session::tests::account;
use warren_managed::{listed, sets};

#[test]
fn attributes() {
    insta::assert_snapshot!(listed(&Attachment::schema()));
}

#[tokio::test]
async fn what_is_found_becomes_state() {
    let found = api::Found {
        id: "tgw-attach-1".into(),
        subnets: ["subnet-2".to_owned(), "subnet-1".to_owned()].into(),
        settings: api::Settings { dns: true, ..api::Settings::default() },
        ..api::Found::default()
    };
    let aws = account([]).await;
    let state = schema::state(&aws, found, &Attachment::default());
    assert_eq!(state.id, Attr::from("tgw-attach-1"));
    assert_eq!(sets::known(&state.subnet_ids).len(), 2);
    assert_eq!((state.dns_support, state.ipv6_support), (true.into(), false.into()));
}
