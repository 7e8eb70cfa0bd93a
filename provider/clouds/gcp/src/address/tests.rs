use warren_managed::listed;

use super::*;

#[test]
fn attributes() {
    insta::assert_snapshot!(listed(&Address::schema()));
}
