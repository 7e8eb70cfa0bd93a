//! Conditions of policies, after "IAM JSON policy elements: Condition operators" of the IAM User Guide.

use std::collections::BTreeMap;
use std::net::IpAddr;

use anyhow::{Context as _, Result, bail};
use ipnet::IpNet;

use super::policy::like;

/// A key of the request context, and what is asked of it.
#[derive(Clone, Debug)]
pub(super) struct Condition {
    key: String,
    test: Test,
    /// What an absent key means.
    absent: bool,
}

#[derive(Clone, Debug)]
enum Test {
    /// One of the texts, or none of them.
    Equal { is: bool, case: bool, values: Vec<String> },
    /// One of the patterns, or none of them.
    Like { is: bool, values: Vec<String> },
    /// An address in one of the ranges, or in none of them.
    In { is: bool, ranges: Vec<IpNet> },
    /// "true if the key doesn't exist", "false if the key exists".
    Null { absent: bool },
}

impl Condition {
    /// Reads a condition: "If the key that you specify in a policy condition is not present in the request context, the values do
    /// not match and the condition is false. If the policy condition requires that the key is not matched, […] the condition is
    /// true."
    ///
    /// # Errors
    /// The operator is not one that is evaluated here, or a value is not of its type.
    pub(super) fn read(operator: &str, key: &str, values: Vec<String>) -> Result<Condition> {
        // All keys here have one value: "ForAllValues" is then also true without the key, "ForAnyValue" false.
        let (set, name) = operator.split_once(':').map_or((None, operator), |(set, name)| (Some(set), name));
        let (name, if_exists) = name.strip_suffix("IfExists").map_or((name, false), |name| (name, true));
        let negated = name.contains("Not");
        let test = match name {
            "StringEquals" | "StringNotEquals" => Test::Equal { is: !negated, case: true, values },
            "StringEqualsIgnoreCase" | "StringNotEqualsIgnoreCase" | "Bool" => {
                Test::Equal { is: !negated, case: false, values }
            }
            "StringLike" | "StringNotLike" | "ArnLike" | "ArnNotLike" | "ArnEquals" | "ArnNotEquals" => {
                Test::Like { is: !negated, values }
            }
            "IpAddress" | "NotIpAddress" => {
                let range = |text: &String| {
                    let address = || text.parse::<IpAddr>().map(IpNet::from);
                    text.parse::<IpNet>().or_else(|_| address()).with_context(|| text.clone())
                };
                Test::In { is: !negated, ranges: values.iter().map(range).collect::<Result<_>>()? }
            }
            "Null" => Test::Null { absent: values.iter().any(|value| value == "true") },
            other => bail!("the operator {other} is not evaluated here"),
        };
        let absent = match set {
            // "If the condition key is not present, evaluate the condition element as true".
            None => if_exists || negated,
            Some("ForAllValues") => true,
            Some("ForAnyValue") => false,
            Some(other) => bail!("no set operator {other}"),
        };
        Ok(Condition { key: key.to_ascii_lowercase(), test, absent })
    }

    /// Whether it holds in a request context, whose keys are in lower case.
    pub(super) fn holds(&self, keys: &BTreeMap<&'static str, String>) -> bool {
        let value = keys.get(self.key.as_str());
        match (&self.test, value) {
            (Test::Null { absent }, value) => value.is_none() == *absent,
            (_, None) => self.absent,
            (Test::Equal { is, case, values }, Some(value)) => {
                let same = |it: &String| if *case { it == value } else { it.eq_ignore_ascii_case(value) };
                values.iter().any(same) == *is
            }
            (Test::Like { is, values }, Some(value)) => values.iter().any(|it| like(it, value)) == *is,
            (Test::In { is, ranges }, Some(value)) => {
                let address: Option<IpAddr> = value.parse().ok();
                address.is_some_and(|address| ranges.iter().any(|range| range.contains(&address))) == *is
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(operator: &str, values: &[&str], value: Option<&str>) -> bool {
        let values = values.iter().map(|text| (*text).to_owned()).collect();
        let condition = Condition::read(operator, "aws:SourceVpce", values).unwrap();
        condition.holds(&value.map(|value| ("aws:sourcevpce", value.to_owned())).into_iter().collect())
    }

    #[test]
    fn one_of_several_values_suffices_and_a_negation_needs_all_of_them() {
        let two = &["vpce-1", "vpce-2"];
        assert!(holds("StringEquals", two, Some("vpce-2")) && !holds("StringEquals", two, Some("vpce-3")));
        assert!(
            !holds("StringNotEquals", two, Some("vpce-2")) && holds("StringNotEquals", two, Some("vpce-3"))
        );
        assert!(
            holds("StringLike", &["vpce-?"], Some("vpce-2")) && !holds("StringNotLike", &["*"], Some(""))
        );
        assert!(!holds("StringEquals", &["VPCE-1"], Some("vpce-1")));
        assert!(holds("StringEqualsIgnoreCase", &["VPCE-1"], Some("vpce-1")));
    }

    #[test]
    fn an_absent_key_fails_what_is_required_and_passes_what_is_excluded() {
        assert!(!holds("StringEquals", &["vpce-1"], None) && holds("StringNotEquals", &["vpce-1"], None));
        assert!(holds("StringEqualsIfExists", &["vpce-1"], None));
        assert!(!holds("StringEqualsIfExists", &["vpce-1"], Some("vpce-2")));
        assert!(holds("Null", &["true"], None) && !holds("Null", &["true"], Some("vpce-1")));
        assert!(!holds("ForAnyValue:StringEquals", &["vpce-1"], None));
        assert!(holds("ForAllValues:StringEquals", &["vpce-1"], None));
    }

    #[test]
    fn addresses_are_in_ranges() {
        let range = &["10.0.0.0/16", "192.0.2.7"];
        assert!(holds("IpAddress", range, Some("10.0.3.4")) && holds("IpAddress", range, Some("192.0.2.7")));
        assert!(!holds("IpAddress", range, Some("10.1.0.1")) && !holds("IpAddress", range, None));
        assert!(holds("NotIpAddress", range, Some("10.1.0.1")) && holds("NotIpAddress", range, None));
        assert!(Condition::read("IpAddress", "aws:SourceIp", vec!["10.0.0".to_owned()]).is_err());
    }
}
