//! What `warren check --explain` says of every rule.

use warren_check::Rule;

#[test]
fn every_rule_is_explained() {
    let said: Vec<String> =
        Rule::ALL.iter().map(|rule| format!("{rule}: {}\n  {}", rule.short(), rule.long())).collect();
    insta::assert_snapshot!(said.join("\n\n"));
    for rule in Rule::ALL {
        assert_eq!(rule.id().parse::<Rule>().as_ref(), Ok(rule));
    }
}

#[test]
fn an_unknown_rule_is_told_with_the_known_ones() {
    insta::assert_snapshot!("overlaps".parse::<Rule>().err().unwrap_or_default());
}
