use serde_json::Value;

use super::*;

fn role() -> AwsRole {
    AwsRole {
        role_arn: "arn:aws:iam::123456789012:role/warren-pods".parse().unwrap(),
        region: "eu-west-1".parse().unwrap(),
        duration: hour(),
    }
}

fn grants(list: &[(&str, Access)]) -> Vec<Grant> {
    list.iter()
        .map(|(objects, access)| Grant { objects: objects.parse().unwrap(), access: *access })
        .collect()
}

fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(all) => all.iter().map(|text| text.as_str().unwrap()).collect(),
        other => panic!("{other}"),
    }
}

/// A pattern of IAM: `*` is any text, `?` any character.
fn like(pattern: &str, text: &str) -> bool {
    let mut chars = pattern.chars();
    match chars.next() {
        None => text.is_empty(),
        Some('*') => (0..=text.len())
            .filter(|at| text.is_char_boundary(*at))
            .any(|at| like(chars.as_str(), &text[at..])),
        Some(first) => {
            let mut rest = text.chars();
            rest.next().is_some_and(|c| first == '?' || c == first) && like(chars.as_str(), rest.as_str())
        }
    }
}

/// Whether a policy allows a request, as IAM decides: this one has no statement that denies.
fn allows(policy: &Value, action: &str, resource: &str, prefix: Option<&str>) -> bool {
    policy["Statement"].as_array().unwrap().iter().any(|statement| {
        assert_eq!(statement["Effect"], "Allow");
        let named = texts(&statement["Action"]).contains(&action)
            && texts(&statement["Resource"]).iter().any(|pattern| like(pattern, resource));
        let meets = match statement.get("Condition") {
            None => true,
            Some(condition) => {
                let wanted = texts(&condition["StringLike"]["s3:prefix"]);
                prefix.is_some_and(|prefix| wanted.iter().any(|pattern| like(pattern, prefix)))
            }
        };
        named && meets
    })
}

#[test]
fn a_session_policy_allows_its_prefixes_and_nothing_else() {
    let grants = grants(&[
        ("s3://acme-data/llm/", Access::Read),
        ("s3://acme-data/run 7/", Access::ReadWrite),
        ("s3://acme-open/", Access::Read),
        ("gs://acme-gs/x/", Access::ReadWrite),
    ]);
    let text = session_policy(&role(), &grants).unwrap();
    insta::assert_snapshot!("session_policy", text);
    let policy: Value = serde_json::from_str(&text).unwrap();
    for (action, resource, prefix, allowed) in [
        ("s3:GetObject", "acme-data/llm/a.bin", None, true),
        ("s3:GetObject", "acme-data/llm/deep/er/a.bin", None, true),
        ("s3:GetObject", "acme-data/run 7/a.bin", None, true),
        ("s3:GetObject", "acme-open/any", None, true),
        ("s3:GetObject", "acme-data/llm", None, false),
        ("s3:GetObject", "acme-data/llm-secret/a.bin", None, false),
        ("s3:GetObject", "acme-data/other", None, false),
        ("s3:GetObject", "acme-data2/llm/a.bin", None, false),
        ("s3:GetObject", "acme-gs/x/a", None, false),
        ("s3:PutObject", "acme-data/run 7/a.bin", None, true),
        ("s3:DeleteObject", "acme-data/run 7/a.bin", None, true),
        ("s3:AbortMultipartUpload", "acme-data/run 7/a.bin", None, true),
        ("s3:PutObject", "acme-data/llm/a.bin", None, false),
        ("s3:DeleteObject", "acme-open/any", None, false),
        ("s3:PutObjectAcl", "acme-data/run 7/a.bin", None, false),
        ("s3:ListBucket", "acme-data", Some("llm/"), true),
        ("s3:ListBucket", "acme-data", Some("llm/deep/"), true),
        ("s3:ListBucket", "acme-data", Some("run 7/"), true),
        ("s3:ListBucket", "acme-data", Some("llm"), false),
        ("s3:ListBucket", "acme-data", Some(""), false),
        ("s3:ListBucket", "acme-data", None, false),
        ("s3:ListBucket", "acme-open", None, true),
        ("s3:ListBucket", "acme-gs", Some("x/"), false),
        ("s3:DeleteBucket", "acme-data", None, false),
    ] {
        let arn = format!("arn:aws:s3:::{resource}");
        assert_eq!(allows(&policy, action, &arn, prefix), allowed, "{action} {resource} {prefix:?}");
    }
}

#[test]
fn a_policy_names_the_buckets_of_its_partition() {
    let arn = "arn:aws-cn:iam::123456789012:role/a/b";
    let role = AwsRole { role_arn: arn.parse().unwrap(), ..role() };
    let text = session_policy(&role, &grants(&[("s3://acme-data/", Access::Read)])).unwrap();
    assert!(text.contains("arn:aws-cn:s3:::acme-data/*") && !text.contains("arn:aws:"), "{text}");
    assert_eq!(session_policy(&role, &grants(&[("gs://acme-data/", Access::Read)])), None);
}

/// A file with these grants of the group `pods`; `NUMBER` is that of the grant.
fn file(count: usize, objects: &str) -> Result<GatewayConfig, crate::ParseError> {
    let aws = "[credentials.aws]\nrole_arn = \"arn:aws:iam::123456789012:role/pods\"\nregion = \"us-east-1\"\n[credentials.google]\n";
    let grants: String = (0..count)
        .map(|number| {
            let objects = objects.replace("NUMBER", &number.to_string());
            format!("[[groups.pods.grants]]\nobjects = \"{objects}\"\naccess = \"read\"\n")
        })
        .collect();
    GatewayConfig::parse(
        &super::super::tests::GOOD.replace("[groups.idle]", &format!("{aws}{grants}[groups.idle]")),
    )
}

#[test]
fn grants_that_a_cloud_would_refuse_are_refused_before() {
    assert!(file(10, "gs://acme-data/NUMBER/").is_ok());
    let long = format!("s3://acme-data/{}NUMBER/", "x".repeat(60));
    assert!(file(10, &long).is_ok());
    let errors = [
        file(11, "gs://acme-data/NUMBER/"),
        file(12, &long),
        file(2, "s3://acme-data/"),
        file(65, "s3://a.b/NUMBER/"),
    ];
    insta::assert_snapshot!("limits", errors.map(|result| result.unwrap_err().to_string()).join("\n"));
}

#[test]
fn pods_learn_where_credentials_are() {
    let pods = "pods".parse().unwrap();
    let config = file(1, "s3://acme-data/").unwrap();
    let service = config.credential_service(&pods).unwrap();
    assert_eq!(service.servers, ["10.100.0.1:9580".parse().unwrap(), "[fd00:1::1]:9580".parse().unwrap()]);
    assert!(service.aws && !service.google);
    assert!(config.routes(&pods).contains(&"10.100.0.1/32".parse().unwrap()));
    assert_eq!(config.credential_service(&"idle".parse().unwrap()), None);
    let without = file(0, "").unwrap();
    assert!(without.credential_addresses().is_empty() && without.credential_service(&pods).is_none());
}

#[test]
fn a_boundary_has_a_rule_for_each_grant() {
    let grants = grants(&[
        ("gs://acme_ckpt/run-7/", Access::ReadWrite),
        ("gs://acme-open/", Access::Read),
        ("s3://acme-data/llm/", Access::Read),
    ]);
    let text = access_boundary(&grants).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    insta::assert_snapshot!("access_boundary", serde_json::to_string_pretty(&value).unwrap());
    assert_eq!(access_boundary(&grants[2..]), None);
}

#[test]
fn prefixes_that_a_policy_would_read_otherwise_are_refused() {
    for good in ["s3://acme-data/", "s3://acme.data/a/b c/", "gs://a_b-c/run=1/"] {
        assert_eq!(good.parse::<Objects>().unwrap().to_string(), good);
    }
    let mut out = String::new();
    for bad in [
        "acme-data/llm/",
        "https://acme-data/llm/",
        "s3://acme-data",
        "s3://Acme/llm/",
        "s3://a_b-c/llm/",
        "s3://ab/x/",
        "s3://acme-data//x/",
        "s3://acme-data/llm",
        "s3://acme-data/*/",
        "s3://acme-data/l?m/",
        "s3://acme-data/${aws:username}/",
        "gs://acme-data/x') || true || ('/",
        "gs://acme-data/a\\/",
        "s3://acme-data/\u{e9}/",
    ] {
        out += &format!("{bad}\n  {}\n", bad.parse::<Objects>().unwrap_err());
    }
    insta::assert_snapshot!("objects", out);
    for bad in [
        "arn:aws:iam::123456789012:user/x",
        "arn:aws:iam::12345678901:role/x",
        "arn:aws:iam::123456789012:role/",
        "arn:aws:sts::123456789012:role/x",
        "arn:aws:iam:eu-west-1:123456789012:role/x",
        "arn:aws\":iam::123456789012:role/x",
        "role/x",
    ] {
        assert_eq!(bad.parse::<RoleArn>(), Err(RoleArnError), "{bad}");
    }
}
