use super::*;
use warren_managed::listed;

#[test]
fn attributes() {
    insta::assert_snapshot!(listed(&GatewayConfig::schema()));
}
