use warren_managed::listed;

use super::*;

#[test]
fn attributes() {
    insta::assert_snapshot!(listed(&GatewayConfig::schema()));
}

#[test]
fn a_secret_without_a_text_is_to_be_written() {
    let before =
        GatewayConfig { content: "fabric = \"a\"".into(), version: 1.into(), ..GatewayConfig::default() };
    let state = schema::state(Found::default(), &before);
    assert_eq!((state.content, state.version), (Attr::Null, Attr::Null));
}
