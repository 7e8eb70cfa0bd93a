//! Sessions of roles that the AWS CLI has stored after it prompted for an MFA code.
//!
//! A code is valid for one call, and each command of Terraform starts several provider processes, so the provider accepts
//! no codes. The AWS CLI stores the sessions of roles in `~/.aws/cli/cache` (`awscli/customizations/assumerole.py`), under
//! the SHA-1 of the request (`_create_cache_key` in `botocore/credentials.py`).

use std::collections::BTreeMap;
use std::path::Path;
use std::time::SystemTime;

use aws_credential_types::Credentials;
use aws_smithy_types::DateTime;
use aws_smithy_types::date_time::Format;
use serde_json::Value;
use sha1::{Digest as _, Sha1};

use super::plan::Role;

/// The stored session of a role, unless it has expired.
pub(super) async fn session(home: &Path, role: &Role) -> Option<Credentials> {
    let path = home.join(".aws/cli/cache").join(key(role) + ".json");
    parse(&tokio::fs::read(path).await.ok()?, SystemTime::now())
}

fn parse(file: &[u8], now: SystemTime) -> Option<Credentials> {
    let json: Value = serde_json::from_slice(file).ok()?;
    let credentials = json.get("Credentials")?;
    let text = |name: &str| credentials.get(name)?.as_str();
    // Python writes the name of the time zone.
    let expiration = text("Expiration")?.replace("UTC", "Z");
    let expiration = DateTime::from_str(&expiration, Format::DateTimeWithOffset).ok()?;
    let expiry = SystemTime::try_from(expiration).ok().filter(|expiry| *expiry > now)?;
    let token = text("SessionToken").map(str::to_owned);
    Some(Credentials::new(text("AccessKeyId")?, text("SecretAccessKey")?, token, Some(expiry), "AssumeRole"))
}

fn key(role: &Role) -> String {
    let mut request = BTreeMap::from([("RoleArn", Value::from(role.arn.as_str()))]);
    let texts = [
        ("ExternalId", &role.external_id),
        ("RoleSessionName", &role.session_name),
        ("SerialNumber", &role.mfa.as_ref().map(|mfa| mfa.serial.clone())),
    ];
    request.extend(texts.into_iter().filter_map(|(name, text)| Some((name, Value::from(text.as_deref()?)))));
    request.extend(role.seconds.map(|seconds| ("DurationSeconds", Value::from(seconds))));
    // Python separates members by a comma and a space.
    let members: Vec<String> = request.iter().map(|(name, value)| format!("\"{name}\": {value}")).collect();
    let digest = Sha1::digest(format!("{{{}}}", members.join(", ")));
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::plan::Mfa;
    use super::*;

    /// The key is that of `aws sts get-caller-identity --profile`, computed with botocore.
    #[test]
    fn a_session_has_the_key_of_the_command_line() {
        let serial = "arn:aws:iam::123456789012:mfa/me".to_owned();
        let role = Role {
            arn: "arn:aws:iam::123456789012:role/admin".into(),
            mfa: Some(Mfa { serial, profile: "admin".into() }),
            ..Role::default()
        };
        assert_eq!(key(&role), "b26e45a5efba11b34b676c5657f44efc9db2add0");
        let role = Role {
            external_id: Some("x".into()),
            session_name: Some("me".into()),
            seconds: Some(1800),
            ..role
        };
        assert_eq!(key(&role), "694126346c52ab89636d529dcb7f068fd9f22e54");
    }

    #[test]
    fn an_expired_session_is_not_used() {
        let file = |expiration: &str| {
            let keys = r#""AccessKeyId": "ASIAX", "SecretAccessKey": "secret", "SessionToken": "token""#;
            format!(r#"{{"Credentials": {{{keys}, "Expiration": "{expiration}"}}}}"#)
        };
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        for expiration in ["2099-01-01T00:00:00UTC", "2099-01-01T00:00:00Z", "2099-01-01T00:00:00+00:00"] {
            let found = parse(file(expiration).as_bytes(), now);
            assert_eq!(found.as_ref().map(Credentials::access_key_id), Some("ASIAX"), "{expiration}");
        }
        assert!(parse(file("2020-01-01T00:00:00UTC").as_bytes(), now).is_none());
        assert!(parse(b"{", now).is_none());
    }
}
