//! JSON policies: comparison by meaning, and a conservative evaluation.
//!
//! AWS stores policies re-serialised, so the text differs from the configuration although nothing changed.
//! [`equivalent`] compares IAM policies by their meaning, and [`same_lifecycle`] compares ECR lifecycle
//! policies. [`Document`] answers only questions whose answer is certain from the text: conditions may
//! hold, so a conditional `Allow` counts and a conditional `Deny` does not.

use serde_json::{Map, Value};
use tf_provider_rs::{Attr, Diagnostics, Path};

/// Whether two IAM policies mean the same: order of statements, actions, resources and principals,
/// a single value in place of a list of one, the case of actions, and the two spellings of "anybody"
/// and of an account do not matter. Text that is not JSON is compared as text.
pub(crate) fn equivalent(left: &str, right: &str) -> bool {
    same(left, right, canonical_policy)
}

/// Whether two ECR lifecycle policies mean the same (rules are ordered by their priority).
pub(crate) fn same_lifecycle(left: &str, right: &str) -> bool {
    same(left, right, |mut policy| {
        if let Some(rules) = policy.get_mut("rules").and_then(Value::as_array_mut) {
            rules.sort_by_key(|rule| rule.get("rulePriority").and_then(Value::as_i64));
        }
        policy
    })
}

/// The policy text for the state: the text that is in the state if it means the same as the live text,
/// otherwise the live text, which then appears as drift.
pub(crate) fn keep_spelling(
    state: &Attr<String>,
    live: Option<String>,
    same: impl Fn(&str, &str) -> bool,
) -> Attr<String> {
    match (state, live) {
        (Attr::Known(text), Some(live)) if same(text, &live) => Attr::Known(text.clone()),
        (_, live) => live.into(),
    }
}

/// Validates an attribute that contains a JSON object.
pub(crate) fn json_object(value: &tf_provider_rs::Value, path: &Path, diagnostics: &mut Diagnostics) {
    let Some(text) = value.as_str() else { return };
    let problem = match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(_)) => return,
        Ok(_) => "it is JSON, but not an object".to_owned(),
        Err(error) => error.to_string(),
    };
    diagnostics.error_at(
        path.clone(),
        "Invalid JSON policy",
        format!("`{path}` must be a JSON object: {problem}. Write it with `jsonencode({{...}})`."),
    );
}

fn same(left: &str, right: &str, canonical: impl Fn(Value) -> Value) -> bool {
    match (serde_json::from_str(left), serde_json::from_str(right)) {
        (Ok(left), Ok(right)) => canonical(left) == canonical(right),
        _ => left == right,
    }
}

fn canonical_policy(policy: Value) -> Value {
    let Value::Object(mut policy) = policy else { return policy };
    let statements = policy.remove("Statement").map(items).unwrap_or_default();
    let mut statements: Vec<Value> = statements.into_iter().map(canonical_statement).collect();
    statements.sort_by_key(Value::to_string);
    policy.insert("Statement".to_owned(), Value::Array(statements));
    policy.entry("Version").or_insert_with(|| Value::from("2008-10-17"));
    Value::Object(policy)
}

fn canonical_statement(statement: Value) -> Value {
    let Value::Object(statement) = statement else { return statement };
    let canonical = statement.into_iter().map(|(key, value)| {
        let value = match key.as_str() {
            "Action" | "NotAction" => sorted(value, |action| action.to_ascii_lowercase()),
            "Resource" | "NotResource" => sorted(value, str::to_owned),
            "Principal" | "NotPrincipal" => canonical_principal(value),
            "Condition" => canonical_condition(value),
            _ => value,
        };
        (key, value)
    });
    Value::Object(canonical.collect())
}

fn canonical_principal(principal: Value) -> Value {
    let kinds = match principal {
        Value::Object(kinds) => kinds,
        other => Map::from_iter([("AWS".to_owned(), other)]),
    };
    Value::Object(kinds.into_iter().map(|(kind, who)| (kind, sorted(who, account))).collect())
}

/// `arn:aws:iam::123456789012:root` is the long form of `123456789012`.
fn account(principal: &str) -> String {
    let parts: Vec<&str> = principal.split(':').collect();
    match parts.as_slice() {
        ["arn", _, "iam", "", account, "root"] => (*account).to_owned(),
        _ => principal.to_owned(),
    }
}

fn canonical_condition(condition: Value) -> Value {
    let Value::Object(operators) = condition else { return condition };
    let operators = operators.into_iter().map(|(operator, keys)| {
        let keys = match keys {
            Value::Object(keys) => Value::Object(
                keys.into_iter().map(|(key, values)| (key, sorted(values, str::to_owned))).collect(),
            ),
            other => other,
        };
        (operator, keys)
    });
    Value::Object(operators.collect())
}

fn items(value: Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items,
        one => vec![one],
    }
}

fn sorted(value: Value, spelling: impl Fn(&str) -> String) -> Value {
    let mut texts: Vec<String> = items(value)
        .into_iter()
        .map(|item| match item {
            Value::String(text) => spelling(&text),
            other => other.to_string(),
        })
        .collect();
    texts.sort();
    texts.dedup();
    Value::from(texts)
}

/// An IAM policy, evaluated for an anonymous caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Document {
    statements: Vec<Statement>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Statement {
    allow: bool,
    actions: Patterns,
    resources: Patterns,
    /// Holds for some requests only: it has a condition or names principals.
    partial: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Patterns {
    These(Vec<String>),
    AllBut(Vec<String>),
}

impl Document {
    /// Reads a policy; `None` when it is not a JSON object.
    pub(crate) fn parse(text: &str) -> Option<Document> {
        let Value::Object(mut policy) = serde_json::from_str(text).ok()? else { return None };
        let statements = policy.remove("Statement").map(items).unwrap_or_default();
        Some(Document { statements: statements.iter().filter_map(Statement::read).collect() })
    }

    /// Whether the policy may allow `action` on `resource` (no wildcards in either).
    pub(crate) fn allows(&self, action: &str, resource: &str) -> bool {
        let applies = |statement: &&Statement| {
            statement.actions.matches(action) && statement.resources.matches(resource)
        };
        self.statements.iter().filter(applies).any(|statement| statement.allow)
            && !self.statements.iter().filter(applies).any(|statement| !statement.allow && !statement.partial)
    }

    /// Whether the policy may allow any request to `service`, such as `ecr`.
    pub(crate) fn allows_service(&self, service: &str) -> bool {
        let denied = self.statements.iter().any(|statement| {
            !statement.allow
                && !statement.partial
                && statement.actions.cover(service)
                && statement.resources == Patterns::These(vec!["*".to_owned()])
        });
        !denied && self.statements.iter().any(|statement| statement.allow && statement.actions.touch(service))
    }
}

impl Statement {
    fn read(statement: &Value) -> Option<Statement> {
        let anybody = match statement.get("Principal") {
            None => !statement.get("NotPrincipal").is_some_and(Value::is_object),
            Some(principal) => canonical_principal(principal.clone())
                .get("AWS")
                .and_then(Value::as_array)
                .is_some_and(|who| who.iter().any(|who| who == "*")),
        };
        let conditional =
            statement.get("Condition").and_then(Value::as_object).is_some_and(|c| !c.is_empty());
        Some(Statement {
            allow: statement.get("Effect")? == "Allow",
            actions: Patterns::read(statement, "Action", "NotAction"),
            resources: Patterns::read(statement, "Resource", "NotResource"),
            partial: conditional || !anybody,
        })
    }
}

impl Patterns {
    fn read(statement: &Value, these: &str, all_but: &str) -> Patterns {
        let texts = |value: &Value| {
            items(value.clone()).iter().filter_map(Value::as_str).map(str::to_ascii_lowercase).collect()
        };
        match (statement.get(these), statement.get(all_but)) {
            (Some(value), _) => Patterns::These(texts(value)),
            (None, Some(value)) => Patterns::AllBut(texts(value)),
            (None, None) => Patterns::These(Vec::new()),
        }
    }

    fn matches(&self, text: &str) -> bool {
        let text = text.to_ascii_lowercase();
        let any = |patterns: &[String]| patterns.iter().any(|pattern| glob(pattern, &text));
        match self {
            Patterns::These(patterns) => any(patterns),
            Patterns::AllBut(patterns) => !any(patterns),
        }
    }

    /// Whether some action of `service` matches.
    fn touch(&self, service: &str) -> bool {
        match self {
            Patterns::These(patterns) => patterns.iter().any(|pattern| match pattern.split_once(':') {
                Some((prefix, action)) => glob(prefix, service) && !action.is_empty(),
                None => glob(pattern, service),
            }),
            Patterns::AllBut(_) => !self.cover_not(service),
        }
    }

    /// Whether every action of `service` matches.
    fn cover(&self, service: &str) -> bool {
        match self {
            Patterns::These(patterns) => {
                patterns.iter().any(|pattern| pattern == "*" || *pattern == format!("{service}:*"))
            }
            Patterns::AllBut(patterns) => !Patterns::These(patterns.clone()).touch(service),
        }
    }

    fn cover_not(&self, service: &str) -> bool {
        match self {
            Patterns::These(_) => false,
            Patterns::AllBut(patterns) => Patterns::These(patterns.clone()).cover(service),
        }
    }
}

/// Whether `text` matches `pattern`, in which `*` stands for any text and `?` for one character.
fn glob(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut p, mut t) = (0, 0);
    // Where to continue after a mismatch: after the last `*`, one character later each time.
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                retry = Some((p + 1, t));
                p += 1;
            }
            Some(&c) if c == b'?' || c == text[t] => {
                p += 1;
                t += 1;
            }
            _ => match retry {
                Some((after, from)) => {
                    retry = Some((after, from + 1));
                    (p, t) = (after, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&c| c == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_compare_by_meaning() {
        let written = r#"{"Version":"2012-10-17","Statement":{"Effect":"Allow","Principal":"*",
            "Action":["s3:PutObject","s3:GetObject"],"Resource":"arn:aws:s3:::b/*",
            "Condition":{"StringEquals":{"aws:PrincipalOrgID":"o-1"},"Bool":{"aws:SecureTransport":true}}}}"#;
        let live = r#"{"Statement":[{"Action":["s3:getobject","s3:PutObject"],"Resource":["arn:aws:s3:::b/*"],
            "Condition":{"Bool":{"aws:SecureTransport":"true"},"StringEquals":{"aws:PrincipalOrgID":["o-1"]}},
            "Effect":"Allow","Principal":{"AWS":"*"}}],"Version":"2012-10-17"}"#;
        assert!(equivalent(written, live));
        assert!(!equivalent(written, &live.replace("o-1", "o-2")));
        assert!(!equivalent(written, &live.replace("Allow", "Deny")));
        assert!(equivalent("not json", "not json"));
        assert!(!equivalent("not json", "{}"));
    }

    #[test]
    fn an_account_has_two_spellings() {
        let long =
            r#"{"Statement":[{"Principal":{"AWS":"arn:aws:iam::123456789012:root"},"Effect":"Allow"}]}"#;
        let short = r#"{"Statement":[{"Principal":{"AWS":["123456789012"]},"Effect":"Allow"}]}"#;
        assert!(equivalent(long, short));
    }

    #[test]
    fn lifecycle_rules_are_ordered_by_priority() {
        let one = r#"{"rules":[{"rulePriority":2,"a":1},{"rulePriority":1,"a":2}]}"#;
        let two = r#"{"rules":[{"a":2,"rulePriority":1},{"a":1,"rulePriority":2}]}"#;
        assert!(same_lifecycle(one, two));
        assert!(!same_lifecycle(one, r#"{"rules":[]}"#));
    }

    #[test]
    fn state_keeps_its_spelling() {
        let state = Attr::from(r#"{ "Statement": [] }"#);
        assert_eq!(keep_spelling(&state, Some(r#"{"Statement":[]}"#.into()), equivalent), state);
        let other = r#"{"Statement":[{"Effect":"Deny"}]}"#;
        assert_eq!(keep_spelling(&state, Some(other.into()), equivalent), Attr::from(other));
        assert_eq!(keep_spelling(&state, None, equivalent), Attr::Null);
    }

    fn document(text: &str) -> Document {
        Document::parse(text).unwrap()
    }

    #[test]
    fn evaluation_is_cautious() {
        let layer = "arn:aws:s3:::prod-eu-west-1-starport-layer-bucket/x";
        let allow = document(
            r#"{"Statement":[{"Effect":"Allow","Action":"s3:Get*","Resource":"arn:aws:s3:::prod-*/*"}]}"#,
        );
        assert!(allow.allows("s3:GetObject", layer));
        assert!(!allow.allows("s3:PutObject", layer));
        assert!(!allow.allows("s3:GetObject", "arn:aws:s3:::mine/x"));
        let denied = document(
            r#"{"Statement":[{"Effect":"Allow","Action":"*","Resource":"*"},{"Effect":"Deny","Action":"s3:*","NotResource":"arn:aws:s3:::mine/*","Principal":"*"}]}"#,
        );
        assert!(!denied.allows("s3:GetObject", layer));
        assert!(denied.allows("s3:GetObject", "arn:aws:s3:::mine/x"));
        let conditional = document(
            r#"{"Statement":[{"Effect":"Allow","Action":"*","Resource":"*"},{"Effect":"Deny","Action":"*","Resource":"*","Condition":{"Bool":{"a":"b"}}}]}"#,
        );
        assert!(conditional.allows("s3:GetObject", layer));
    }

    #[test]
    fn a_service_may_be_shut_out() {
        for (text, open) in [
            (r#"{"Statement":[]}"#, false),
            (r#"{"Statement":[{"Effect":"Deny","Action":"*","Resource":"*"}]}"#, false),
            (r#"{"Statement":[{"Effect":"Allow","Action":"s3:*","Resource":"*"}]}"#, false),
            (r#"{"Statement":[{"Effect":"Allow","Action":"ecr:BatchGetImage","Resource":"*"}]}"#, true),
            (r#"{"Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}"#, true),
            (r#"{"Statement":[{"Effect":"Allow","NotAction":"ecr:*","Resource":"*"}]}"#, false),
            (r#"{"Statement":[{"Effect":"Allow","NotAction":"ecr:DeleteRepository","Resource":"*"}]}"#, true),
            (
                r#"{"Statement":[{"Effect":"Allow","Action":"*","Resource":"*"},{"Effect":"Deny","Action":"ecr:*","Resource":"*"}]}"#,
                false,
            ),
        ] {
            assert_eq!(document(text).allows_service("ecr"), open, "{text}");
        }
    }

    #[test]
    fn globs() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("a*c", "abbc", true),
            ("a?c", "abbc", false),
            ("", "a", false),
            ("a*b*c", "a1b2b3c", true),
        ] {
            assert_eq!(glob(pattern, text), expected, "{pattern} {text}");
        }
    }
}
