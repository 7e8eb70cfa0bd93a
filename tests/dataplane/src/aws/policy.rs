//! Policies in JSON, after "IAM JSON policy elements reference" and "Policy evaluation logic" of the IAM User Guide.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use super::condition::Condition;

/// A policy.
#[derive(Clone, Debug)]
pub(super) struct Policy {
    statements: Vec<Statement>,
    of_gateway: bool,
}

/// What a policy is asked about.
#[derive(Clone, Debug)]
pub(super) struct Request<'a> {
    pub(super) action: &'a str,
    pub(super) resource: &'a str,
    pub(super) caller: Option<&'a Caller>,
    /// The request context; the names of keys are in lower case.
    pub(super) keys: &'a BTreeMap<&'static str, String>,
}

/// Who has signed a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Caller {
    pub(super) account: String,
    pub(super) arn: String,
}

/// What a policy says about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Allowed,
    /// No statement is about it: an implicit deny.
    Silent,
    Denied,
}

#[derive(Clone, Debug)]
struct Statement {
    allow: bool,
    principals: Principals,
    actions: Patterns,
    resources: Patterns,
    conditions: Vec<Condition>,
}

#[derive(Clone, Debug)]
struct Patterns {
    not: bool,
    all: Vec<String>,
}

#[derive(Clone, Debug)]
struct Principals {
    not: bool,
    everyone: bool,
    aws: Vec<String>,
}

impl Policy {
    /// Reads a policy of a bucket, or of an interface endpoint.
    ///
    /// # Errors
    /// It is none that AWS would accept, or has an element that is not evaluated here.
    pub(super) fn read(text: &str) -> Result<Policy> {
        let tree: Value = serde_json::from_str(text).with_context(|| format!("a policy: {text}"))?;
        let statements = items(tree.get("Statement").context("a policy without statements")?);
        let statements = statements.iter().map(Statement::read).collect::<Result<_>>();
        let statements = statements.with_context(|| format!("the policy {text}"))?;
        Ok(Policy { statements, of_gateway: false })
    }

    /// Reads the policy of a gateway endpoint: "if you specify the principal in the following format [an account or its root],
    /// access is granted to the AWS account root user only, not all users and roles for the account" ("Control access to VPC
    /// endpoints using endpoint policies").
    ///
    /// # Errors
    /// As [`Policy::read`].
    pub(super) fn read_of_gateway(text: &str) -> Result<Policy> {
        Ok(Policy { of_gateway: true, ..Policy::read(text)? })
    }

    /// "An explicit deny in any policy overrides any allows"; "by default, all requests are implicitly denied".
    pub(super) fn effect(&self, request: &Request<'_>) -> Effect {
        let about = |it: &&Statement| it.is_about(request, self.of_gateway);
        self.statements.iter().filter(about).fold(Effect::Silent, |effect, statement| {
            match (effect, statement.allow) {
                (Effect::Denied, _) | (_, false) => Effect::Denied,
                (_, true) => Effect::Allowed,
            }
        })
    }
}

impl Statement {
    fn read(tree: &Value) -> Result<Statement> {
        for key in tree.as_object().context("a statement is an object")?.keys() {
            let known = ["Sid", "Effect", "Principal", "NotPrincipal", "Action", "NotAction"];
            let more = ["Resource", "NotResource", "Condition"];
            ensure!(known.contains(&key.as_str()) || more.contains(&key.as_str()), "no element {key}");
        }
        let mut conditions = Vec::new();
        for (operator, keys) in tree.get("Condition").and_then(Value::as_object).into_iter().flatten() {
            for (key, values) in keys.as_object().context("a condition is an object")? {
                conditions.push(Condition::read(operator, key, texts(values))?);
            }
        }
        Ok(Statement {
            allow: match tree["Effect"].as_str() {
                Some("Allow") => true,
                Some("Deny") => false,
                other => bail!("no effect {other:?}"),
            },
            principals: Principals::read(tree)?,
            // "The prefix and the action name are case insensitive."
            actions: Patterns::read(tree, "Action", "NotAction", str::to_ascii_lowercase)?,
            resources: Patterns::read(tree, "Resource", "NotResource", str::to_owned)?,
            conditions,
        })
    }

    fn is_about(&self, request: &Request<'_>, of_gateway: bool) -> bool {
        self.actions.have(&request.action.to_ascii_lowercase())
            && self.resources.have(request.resource)
            && self.principals.have(request.caller, of_gateway)
            && self.conditions.iter().all(|condition| condition.holds(request.keys))
    }
}

impl Patterns {
    fn read(tree: &Value, name: &str, not: &str, spelling: impl Fn(&str) -> String) -> Result<Patterns> {
        let (not, value) = match (tree.get(name), tree.get(not)) {
            (Some(value), None) => (false, value),
            (None, Some(value)) => (true, value),
            _ => bail!("either {name} or {not}"),
        };
        Ok(Patterns { not, all: texts(value).iter().map(|text| spelling(text)).collect() })
    }

    fn have(&self, text: &str) -> bool {
        self.all.iter().any(|pattern| like(pattern, text)) != self.not
    }
}

impl Principals {
    fn read(tree: &Value) -> Result<Principals> {
        let (not, value) = match (tree.get("Principal"), tree.get("NotPrincipal")) {
            (Some(value), None) => (false, value),
            (None, Some(value)) => (true, value),
            _ => bail!("either Principal or NotPrincipal"),
        };
        let aws = match value {
            Value::String(text) => vec![text.clone()],
            // Services and federated users do not call here.
            kinds => kinds.get("AWS").map(texts).unwrap_or_default(),
        };
        Ok(Principals { not, everyone: aws.iter().any(|it| it == "*"), aws })
    }

    fn have(&self, caller: Option<&Caller>, of_gateway: bool) -> bool {
        let is = |caller: &Caller, principal: &str| {
            let root = format!("arn:aws:iam::{}:root", caller.account);
            let account = principal == caller.account || principal == root;
            principal == caller.arn || (account && (!of_gateway || caller.arn == root))
        };
        let named = caller.is_some_and(|caller| self.aws.iter().any(|principal| is(caller, principal)));
        (self.everyone || named) != self.not
    }
}

/// Whether a text matches a pattern, in which `*` is any text and `?` one character.
pub(super) fn like(pattern: &str, text: &str) -> bool {
    let Some(first) = pattern.chars().next() else { return text.is_empty() };
    let rest = &pattern[first.len_utf8()..];
    match first {
        '*' => (0..=text.len()).any(|at| text.is_char_boundary(at) && like(rest, &text[at..])),
        _ => text
            .chars()
            .next()
            .is_some_and(|c| (first == '?' || first == c) && like(rest, &text[c.len_utf8()..])),
    }
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice)
}

fn texts(value: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    items(value).iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECT: &str = "arn:aws:s3:::corpus/part/0";

    fn policy(statements: &str) -> Policy {
        Policy::read(&format!(r#"{{"Version":"2012-10-17","Statement":{statements}}}"#)).unwrap()
    }

    fn ask(policy: &Policy, action: &str, resource: &str, arn: Option<&str>) -> Effect {
        let caller = arn.map(|arn| Caller { account: "123456789012".to_owned(), arn: arn.to_owned() });
        policy.effect(&Request { action, resource, caller: caller.as_ref(), keys: &BTreeMap::new() })
    }

    fn get(statements: &str) -> Effect {
        ask(&policy(statements), "s3:GetObject", OBJECT, Some("arn:aws:iam::123456789012:user/ann"))
    }

    #[test]
    fn nothing_is_allowed_that_no_statement_allows_and_a_deny_wins() {
        let allow = r#"{"Effect":"Allow","Principal":"*","Action":"s3:*","Resource":"*"}"#;
        let deny =
            r#"{"Effect":"Deny","Principal":"*","Action":"s3:Get*","Resource":"arn:aws:s3:::corpus/*"}"#;
        assert_eq!(get("[]"), Effect::Silent);
        assert_eq!(get(allow), Effect::Allowed);
        assert_eq!(get(&format!("[{allow},{deny}]")), Effect::Denied);
        assert_eq!(get(&format!("[{deny},{allow}]")), Effect::Denied);
    }

    #[test]
    fn actions_are_patterns_without_case_and_resources_with() {
        let of = |action: &str, resource: &str| {
            get(&format!(
                r#"{{"Effect":"Allow","Principal":"*","Action":["{action}"],"Resource":["{resource}"]}}"#
            ))
        };
        assert_eq!(of("s3:getobject", OBJECT), Effect::Allowed);
        assert_eq!(of("S3:Get?bject", "arn:aws:s3:::c*/0"), Effect::Allowed);
        assert_eq!(of("s3:GetObjectAcl", "*"), Effect::Silent);
        assert_eq!(of("s3:GetObject", "arn:aws:s3:::corpus"), Effect::Silent);
        assert_eq!(of("s3:GetObject", "arn:aws:s3:::Corpus/*"), Effect::Silent);
    }

    #[test]
    fn not_elements_are_about_everything_else() {
        let of = |elements: &str| get(&format!(r#"{{"Effect":"Deny",{elements}}}"#));
        let open = r#""Principal":"*""#;
        assert_eq!(of(&format!(r#"{open},"NotAction":"s3:GetObject","Resource":"*""#)), Effect::Silent);
        assert_eq!(of(&format!(r#"{open},"NotAction":"s3:PutObject","Resource":"*""#)), Effect::Denied);
        let others = r#""Action":"*","NotResource":["arn:aws:s3:::corpus/*"]"#;
        assert_eq!(of(&format!("{open},{others}")), Effect::Silent);
        let all = r#""Action":"*","Resource":"*""#;
        let ann = "arn:aws:iam::123456789012:user/ann";
        assert_eq!(of(&format!(r#""NotPrincipal":{{"AWS":"{ann}"}},{all}"#)), Effect::Silent);
        assert_eq!(of(&format!(r#""NotPrincipal":{{"AWS":"{ann}e"}},{all}"#)), Effect::Denied);
    }

    #[test]
    fn an_account_stands_for_its_callers_except_at_a_gateway_endpoint() {
        let text = |principal: &str| {
            let element = format!(r#""Principal":{{"AWS":"{principal}"}}"#);
            format!(r#"{{"Statement":[{{"Effect":"Allow",{element},"Action":"*","Resource":"*"}}]}}"#)
        };
        let root = "arn:aws:iam::123456789012:root";
        let ann = Some("arn:aws:iam::123456789012:user/ann");
        for principal in ["123456789012", root] {
            let own = Policy::read(&text(principal)).unwrap();
            assert_eq!(ask(&own, "s3:GetObject", OBJECT, ann), Effect::Allowed);
            assert_eq!(ask(&own, "s3:GetObject", OBJECT, None), Effect::Silent);
            let gateway = Policy::read_of_gateway(&text(principal)).unwrap();
            assert_eq!(ask(&gateway, "s3:GetObject", OBJECT, ann), Effect::Silent);
            assert_eq!(ask(&gateway, "s3:GetObject", OBJECT, Some(root)), Effect::Allowed);
        }
        let other = Policy::read(&text("210987654321")).unwrap();
        assert_eq!(ask(&other, "s3:GetObject", OBJECT, ann), Effect::Silent);
        let everyone = Policy::read(&text("*")).unwrap();
        assert_eq!(ask(&everyone, "s3:GetObject", OBJECT, None), Effect::Allowed);
    }

    #[test]
    fn what_aws_would_not_accept_is_an_error() {
        for statement in [
            r#"{"Effect":"Allow","Action":"*","Resource":"*"}"#,
            r#"{"Effect":"allow","Principal":"*","Action":"*","Resource":"*"}"#,
            r#"{"Effect":"Allow","Principal":"*","Resource":"*"}"#,
            r#"{"Effect":"Allow","Principal":"*","Action":"*","Resource":"*","Conditions":{}}"#,
            r#"{"Effect":"Allow","Principal":"*","Action":"*","Resource":"*","Condition":{"StringIs":{"a":"b"}}}"#,
        ] {
            assert!(Policy::read(&format!(r#"{{"Statement":[{statement}]}}"#)).is_err(), "{statement}");
        }
        assert!(Policy::read("{}").is_err());
    }
}
