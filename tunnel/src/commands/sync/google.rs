//! The token of a running agent for Google Storage: that of an external account whose token service is the agent. Other external
//! accounts are not supported.

use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use object_store::CredentialProvider;
use object_store::client::{HttpClient, HttpConnector as _, HttpRequestBody};
use object_store::gcp::GcpCredential;
use serde::Deserialize;
use tokio::sync::Mutex;
use warren_sync::net::Http;
use warren_wire::gateway::GOOGLE_PATH;
use zeroize::Zeroizing;

use crate::runtime::problem::{Context as _, Result};

/// Time before its end at which a token is replaced.
const EARLY: Duration = Duration::from_secs(120);
/// Time between two attempts to replace a token that is still valid.
const RETRY: Duration = Duration::from_secs(5);

/// A credentials file, as the agent writes it.
#[derive(Deserialize)]
struct Account {
    r#type: String,
    token_url: String,
    credential_source: Source,
}

impl Account {
    /// Whether an agent of this machine wrote it as `path`. The secret of any other file is not sent.
    fn is_of_an_agent(&self, path: &Path) -> bool {
        let place = self.token_url.strip_prefix("http://").and_then(|rest| rest.strip_suffix(GOOGLE_PATH));
        let at = place.and_then(|at| at.parse::<SocketAddr>().ok());
        self.r#type == "external_account"
            && at.is_some_and(|at| at.ip().is_loopback())
            && Path::new(&self.credential_source.file).parent() == path.parent()
    }
}

#[derive(Deserialize)]
struct Source {
    file: String,
}

#[derive(Deserialize)]
struct Token {
    access_token: String,
    expires_in: u64,
}

/// Requests tokens from the agent.
pub(super) struct AgentToken {
    url: String,
    secret: String,
    client: HttpClient,
    last: Mutex<Option<Kept>>,
}

/// A token: when it is replaced, and when it ends.
struct Kept {
    token: Arc<GcpCredential>,
    refresh: Instant,
    ends: Instant,
}

impl fmt::Debug for AgentToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentToken").field("url", &self.url).finish_non_exhaustive()
    }
}

impl AgentToken {
    /// The provider for this credentials file; `None` if it is not one of an agent.
    ///
    /// # Errors
    /// The file of an agent cannot be used.
    pub(super) fn of(path: &str, http: &dyn Fn() -> Result<Http>) -> Result<Option<Self>> {
        let Ok(text) = std::fs::read_to_string(path) else { return Ok(None) };
        let Ok(account) = serde_json::from_str::<Account>(&text) else { return Ok(None) };
        if !account.is_of_an_agent(Path::new(path)) {
            return Ok(None);
        }
        let client = http()?.connect(&object_store::ClientOptions::new()).while_doing(|| path.to_owned())?;
        let secret = account.credential_source.file;
        Ok(Some(Self { url: account.token_url, secret, client, last: Mutex::default() }))
    }

    async fn fetch(&self) -> std::result::Result<Kept, String> {
        let asked = Instant::now();
        let secret = std::fs::read_to_string(&self.secret).map(Zeroizing::new);
        let secret = secret.map_err(|error| format!("{}: {error}", self.secret))?;
        let body = format!("subject_token={}", secret.trim());
        let request = http::Request::post(&self.url).body(HttpRequestBody::from(body));
        let request = request.map_err(|error| error.to_string())?;
        let response = self.client.execute(request).await.map_err(|error| error.to_string())?;
        let status = response.status();
        let body = response.into_body().bytes().await.map_err(|error| error.to_string())?;
        if !status.is_success() {
            // An error has no secret.
            return Err(format!("the agent answered {status}: {}", String::from_utf8_lossy(&body)));
        }
        let token: Token =
            serde_json::from_slice(&body).map_err(|_| "the agent answered without a token".to_owned())?;
        let life = Duration::from_secs(token.expires_in);
        let refresh = asked + life.saturating_sub(EARLY.min(life / 2));
        let token = Arc::new(GcpCredential { bearer: token.access_token });
        Ok(Kept { token, refresh, ends: asked + life })
    }
}

#[async_trait]
impl CredentialProvider for AgentToken {
    type Credential = GcpCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<GcpCredential>> {
        let mut last = self.last.lock().await;
        if let Some(kept) = last.as_ref()
            && Instant::now() < kept.refresh
        {
            return Ok(Arc::clone(&kept.token));
        }
        match self.fetch().await {
            Ok(kept) => Ok(Arc::clone(&last.insert(kept).token)),
            Err(what) => match last.as_mut().filter(|kept| Instant::now() < kept.ends) {
                Some(kept) => {
                    tracing::debug!("the token is used until its end: {what}");
                    kept.refresh = Instant::now() + RETRY.min(kept.ends - Instant::now());
                    Ok(Arc::clone(&kept.token))
                }
                None => Err(object_store::Error::Generic {
                    store: "credentials of the gateway",
                    source: what.into(),
                }),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_file_of_an_agent_is_used() {
        let account = |url: &str, file: &str| Account {
            r#type: "external_account".into(),
            token_url: url.into(),
            credential_source: Source { file: file.into() },
        };
        let path = Path::new("/run/warren-tunnel/warren0.credentials/google.json");
        let token = "/run/warren-tunnel/warren0.credentials/token";
        let own = "http://127.0.0.1:9588/v1/credentials/google";
        assert!(account(own, token).is_of_an_agent(path));
        assert!(account("http://[::1]:9588/v1/credentials/google", token).is_of_an_agent(path));
        for (url, file) in [
            ("http://203.0.113.7:9588/v1/credentials/google", token),
            ("http://attacker.example/v1/credentials/google", token),
            ("https://127.0.0.1:9588/v1/credentials/google", token),
            ("http://127.0.0.1:9588/other", token),
            (own, "/etc/shadow"),
        ] {
            assert!(!account(url, file).is_of_an_agent(path), "{url} {file}");
        }
    }

    /// A service that issues one token with a life of 2 seconds, and then fails.
    #[tokio::test]
    async fn a_token_is_used_until_its_end_if_no_other_comes() {
        use std::io::{Read as _, Write as _};

        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let asked = std::thread::spawn(move || {
            let body = r#"{"access_token":"first","expires_in":2}"#;
            let good = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n", body.len());
            let bad = "HTTP/1.1 503 Unavailable\r\nContent-Length: 0\r\n".to_owned();
            for (head, body) in [(good, body), (bad.clone(), ""), (bad, "")] {
                let (mut stream, _) = listener.accept().unwrap();
                let mut bytes = [0; 4096];
                let mut request = String::new();
                while !request.contains("subject_token=secret") {
                    let read = stream.read(&mut bytes).unwrap();
                    assert!(read > 0, "{request}");
                    request += std::str::from_utf8(&bytes[..read]).unwrap();
                }
                stream.write_all(format!("{head}Connection: close\r\n\r\n{body}").as_bytes()).unwrap();
            }
        });
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        std::fs::write(path("token"), "secret").unwrap();
        let account = serde_json::json!({
            "type": "external_account", "token_url": format!("http://{at}{GOOGLE_PATH}"),
            "credential_source": { "file": path("token") },
        });
        std::fs::write(path("google.json"), account.to_string()).unwrap();
        let http = || Ok(Http::new(Arc::new(warren_sync::net::Direct), None).unwrap());
        let token = AgentToken::of(&path("google.json"), &http).unwrap().unwrap();
        let begun = Instant::now();
        let after = |time: u64| tokio::time::sleep_until((begun + Duration::from_millis(time)).into());
        for time in [0, 500, 1200, 1300] {
            after(time).await;
            assert_eq!(token.get_credential().await.unwrap().bearer, "first", "{time}");
        }
        after(2100).await;
        let error = token.get_credential().await.unwrap_err().to_string();
        assert!(error.contains("the agent answered 503"), "{error}");
        asked.join().unwrap();
    }
}
