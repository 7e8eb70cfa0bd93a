//! Claims in S3, with credentials that another crate resolved.

use std::sync::Arc;

use tf_provider_rs::async_trait;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::{VPC, config};
use crate::{ClaimRole, CredentialSource, Guard, GuardConfig, Key, S3Credentials, S3Options};

/// Credentials that another crate resolved.
struct Resolved;

#[async_trait]
impl CredentialSource for Resolved {
    async fn credentials(&self) -> Result<S3Credentials, String> {
        Ok(S3Credentials {
            access_key_id: "AKIDHANDED".into(),
            secret_access_key: "secret".into(),
            session_token: Some("token-of-a-role".into()),
        })
    }
}

struct Missing;

#[async_trait]
impl CredentialSource for Missing {
    async fn credentials(&self) -> Result<S3Credentials, String> {
        Err("the profile \"ml\" has expired; run `aws sso login`".into())
    }
}

fn s3_guard(endpoint: String, credentials: Arc<dyn CredentialSource>) -> Guard {
    Guard::new(GuardConfig {
        claims: Some("s3://bucket/claims.json".parse().unwrap()),
        s3: S3Options {
            endpoint: Some(endpoint),
            region: Some("eu-west-1".into()),
            allow_http: true,
            credentials: Some(credentials),
            ..S3Options::default()
        },
        ..config("ours")
    })
}

#[tokio::test]
async fn s3_is_asked_with_the_handed_credentials_and_conditions() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let mut heads = Vec::new();
        while heads.len() < 2 {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = String::new();
            while !head.contains("\r\n\r\n") {
                let mut bytes = [0; 4096];
                let count = stream.read(&mut bytes).await.unwrap();
                head.push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
            let put = head.starts_with("PUT");
            while put && !head.contains("\"role\"") {
                let mut bytes = [0; 4096];
                let count = stream.read(&mut bytes).await.unwrap();
                head.push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
            let answer = if put { "200 OK\r\netag: \"1\"" } else { "404 Not Found" };
            let answer = format!("HTTP/1.1 {answer}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            stream.write_all(answer.as_bytes()).await.unwrap();
            heads.push(head.to_lowercase());
        }
        heads
    });
    let guard = s3_guard(endpoint, Arc::new(Resolved));
    let net = "10.0.0.0/16".parse().unwrap();
    guard.claim(&Key::new(VPC, "hub"), ClaimRole::Occupy, &[net]).await.unwrap();
    let heads = server.await.unwrap();
    assert!(heads[0].starts_with("get /bucket/claims.json "), "{}", heads[0]);
    assert!(heads[1].starts_with("put /bucket/claims.json ") && heads[1].contains("if-none-match: *"));
    for head in heads {
        assert!(head.contains("credential=akidhanded/") && head.contains("/eu-west-1/s3/"), "{head}");
        assert!(head.contains("x-amz-security-token: token-of-a-role"), "{head}");
    }
}

#[tokio::test]
async fn missing_credentials_are_told() {
    let guard = s3_guard("http://127.0.0.1:9".into(), Arc::new(Missing));
    let refused = guard.release(&Key::new(VPC, "hub")).await.unwrap_err();
    insta::assert_snapshot!(refused.0[0].detail);
    let shown = format!(
        "{:?} {:?}",
        Resolved.credentials().await.unwrap(),
        S3Options { credentials: Some(Arc::new(Resolved)), ..S3Options::default() }
    );
    assert!(!shown.contains("secret") && !shown.contains("AKID"), "{shown}");
}
