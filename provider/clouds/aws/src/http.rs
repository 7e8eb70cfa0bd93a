//! The HTTP client of all SDK clients: proxies of the environment, certificate authorities of `AWS_CA_BUNDLE`, and an
//! early end for calls to hosts that never answer.
//!
//! ```text
//! new ── answer ──> answered      every later failure is retried as usual, however long
//!  │
//!  └─ no answer in time ──> dead  calls fail at once, and are tried again after a pause
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_smithy_http_client::proxy::ProxyConfig;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_http_client::tls::{Provider, TlsContext, TrustStore};
use aws_smithy_http_client::{Builder, ConnectorBuilder};
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use tf_provider_rs::{Diagnostic, Path as Attribute};
use tokio::time::Instant;

use crate::error::chain;

/// Time in which some host must answer, from the first call on.
const FIRST_ANSWER: Duration = Duration::from_secs(7);
/// Time that a host has at least, even if others have used up the time above.
const LAST_CHANCE: Duration = Duration::from_secs(1);
/// Time in which failed connections to a host that never answered are retried.
const CONNECTING: Duration = Duration::from_secs(3);
/// After this time, a dead host is tried again.
const REST: Duration = Duration::from_secs(30);

/// The clients of a provider block.
#[derive(Clone, Debug)]
pub(crate) struct Clients {
    /// For calls of services.
    pub(crate) calls: SharedHttpClient,
    /// For the metadata services of containers and instances, which no proxy reaches.
    pub(crate) metadata: SharedHttpClient,
}

/// The clients. A bundle replaces the certificate authorities of the system, as in botocore.
///
/// # Errors
/// The bundle is not a file with certificates in PEM format.
pub(crate) fn clients(ca_bundle: Option<&Path>) -> Result<Clients, Diagnostic> {
    let trust = match ca_bundle {
        None => TrustStore::default(),
        Some(path) => TrustStore::empty().with_native_roots(false).with_pem_certificate(bundle(path)?),
    };
    let tls = TlsContext::builder()
        .with_trust_store(trust)
        .build()
        .map_err(|error| unusable(Path::new("AWS_CA_BUNDLE"), &chain(&error)))?;
    let through = |proxies: ProxyConfig| {
        let tls = tls.clone();
        Builder::new().build_with_connector_fn(move |settings, components| {
            let mut connector = ConnectorBuilder::default()
                .tls_provider(Provider::Rustls(CryptoMode::AwsLc))
                .tls_context(tls.clone());
            connector.set_connector_settings(settings.cloned());
            connector.set_sleep_impl(components.and_then(RuntimeComponents::sleep_impl));
            connector.set_proxy_config(Some(proxies.clone()));
            connector.build()
        })
    };
    let metadata = through(ProxyConfig::disabled());
    let calls = Watched {
        inner: through(ProxyConfig::from_env()),
        metadata: metadata.clone(),
        hosts: Arc::default(),
    };
    Ok(Clients { calls: SharedHttpClient::new(calls), metadata })
}

/// The contents of a bundle. The SDK panics on one that is invalid.
fn bundle(path: &Path) -> Result<Vec<u8>, Diagnostic> {
    let contents = fs::read(path).map_err(|error| unusable(path, &chain(&error)))?;
    let certificates = CertificateDer::pem_slice_iter(&contents)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| unusable(path, &error.to_string()))?;
    if certificates.is_empty() {
        return Err(unusable(path, "it contains no certificate in PEM format"));
    }
    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        roots.add(certificate).map_err(|error| unusable(path, &error.to_string()))?;
    }
    Ok(contents)
}

fn unusable(path: &Path, reason: &str) -> Diagnostic {
    Diagnostic::error(
        "Invalid CA bundle",
        format!(
            "The certificate authorities in {} cannot be used: {reason}. Correct AWS_CA_BUNDLE or \
             `aws.custom_ca_bundle`.",
            path.display()
        ),
    )
    .at(Attribute::of("aws"))
}

/// A host never answered. The call must not be repeated.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{host} cannot be reached: {reason}")]
pub(crate) struct Unreachable {
    pub(crate) host: String,
    pub(crate) reason: String,
}

/// What is known about the hosts that were called.
#[derive(Debug, Default)]
struct Hosts {
    answered: BTreeSet<String>,
    /// The first call to each host that has not answered yet.
    waiting: BTreeMap<String, Instant>,
    dead: BTreeMap<String, (Instant, Unreachable)>,
}

type SharedHosts = Arc<Mutex<Hosts>>;

impl Hosts {
    /// The time by which a host must answer and the time until which connections are retried; `None` once it has
    /// answered.
    fn deadlines(&mut self, host: &str, now: Instant) -> Result<Option<(Instant, Instant)>, Unreachable> {
        if self.answered.contains(host) {
            return Ok(None);
        }
        match self.dead.get(host) {
            Some((since, unreachable)) if now < *since + REST => return Err(unreachable.clone()),
            Some(_) => {
                self.dead.clear();
                self.waiting.clear();
            }
            None => {}
        }
        let first = *self.waiting.entry(host.to_owned()).or_insert(now);
        // While nothing has answered at all, all hosts share the time: STS and EC2 of a region that does not exist.
        let begun = if self.answered.is_empty() {
            self.waiting.values().copied().filter(|begun| now < *begun + REST).min().unwrap_or(first)
        } else {
            first
        };
        Ok(Some(((begun + FIRST_ANSWER).max(now + LAST_CHANCE), first + CONNECTING)))
    }

    fn answer(&mut self, host: &str) {
        self.waiting.remove(host);
        self.dead.remove(host);
        self.answered.insert(host.to_owned());
    }

    fn bury(&mut self, host: &str, reason: String) -> Unreachable {
        let unreachable = Unreachable { host: host.to_owned(), reason };
        self.dead.insert(host.to_owned(), (Instant::now(), unreachable.clone()));
        unreachable
    }
}

/// A client that knows which hosts have answered.
#[derive(Debug)]
struct Watched {
    inner: SharedHttpClient,
    metadata: SharedHttpClient,
    hosts: SharedHosts,
}

impl HttpClient for Watched {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(WatchedConnector {
            inner: self.inner.http_connector(settings, components),
            metadata: self.metadata.http_connector(settings, components),
            hosts: Arc::clone(&self.hosts),
        })
    }
}

#[derive(Debug)]
struct WatchedConnector {
    inner: SharedHttpConnector,
    metadata: SharedHttpConnector,
    hosts: SharedHosts,
}

impl HttpConnector for WatchedConnector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let host = host(request.uri());
        if is_metadata(&host) {
            return self.metadata.call(request);
        }
        let known = lock(&self.hosts).deadlines(&host, Instant::now());
        let (deadline, connecting) = match known {
            Ok(None) => return self.inner.call(request),
            Ok(Some(deadlines)) => deadlines,
            Err(unreachable) => {
                return HttpConnectorFuture::ready(Err(ConnectorError::user(unreachable.into())));
            }
        };
        let (call, hosts) = (self.inner.call(request), Arc::clone(&self.hosts));
        HttpConnectorFuture::new(async move {
            match tokio::time::timeout_at(deadline, call).await {
                Ok(Ok(response)) => {
                    lock(&hosts).answer(&host);
                    Ok(response)
                }
                Ok(Err(error)) if Instant::now() < connecting => Err(error),
                Ok(Err(error)) => {
                    let unreachable = lock(&hosts).bury(&host, reason(&error));
                    Err(ConnectorError::user(unreachable.into()))
                }
                Err(_) => {
                    let seconds = FIRST_ANSWER.as_secs();
                    let reason = format!("it did not answer within {seconds} seconds");
                    let unreachable = lock(&hosts).bury(&host, reason);
                    Err(ConnectorError::user(unreachable.into()))
                }
            }
        })
    }
}

fn lock(hosts: &SharedHosts) -> std::sync::MutexGuard<'_, Hosts> {
    hosts.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Host and port of a URL.
fn host(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?']).next().unwrap_or(rest).to_owned()
}

/// The metadata services of instances and containers have short timeouts of their own, and are absent elsewhere.
fn is_metadata(host: &str) -> bool {
    host.starts_with("169.254.") || host.starts_with("[fd00:ec2::")
}

/// Why no connection was made.
fn reason(error: &ConnectorError) -> String {
    let text = chain(error);
    let has = |parts: &[&str]| parts.iter().any(|part| text.contains(part));
    if has(&["failed to lookup address", "resolve"]) {
        "its name does not resolve".to_owned()
    } else if has(&["Connection refused"]) {
        "the connection was refused".to_owned()
    } else if has(&["certificate"]) {
        format!("its TLS certificate was rejected ({text})")
    } else if error.is_timeout() {
        "no connection was established in time".to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use tf_provider_rs::{Attr, CancellationToken};
    use warren_managed::{Failure as _, retry};

    use super::*;
    use crate::account::Aws;
    use crate::config::AwsConfig;
    use crate::error::Named as _;

    const HOST: &str = "ec2.us-east-1.amazonaws.com";

    fn at(seconds: u64, from: Instant) -> Instant {
        from + Duration::from_secs(seconds)
    }

    #[tokio::test]
    async fn a_host_that_answered_has_no_deadline() {
        let (mut hosts, now) = (Hosts::default(), Instant::now());
        assert!(matches!(hosts.deadlines(HOST, now), Ok(Some(_))));
        hosts.answer(HOST);
        assert!(matches!(hosts.deadlines(HOST, at(3600, now)), Ok(None)));
    }

    #[tokio::test]
    async fn hosts_share_the_time_until_one_answers() {
        let (mut hosts, now) = (Hosts::default(), Instant::now());
        let sts = "sts.us-east-1.amazonaws.com";
        let first = hosts.deadlines(sts, now).unwrap().unwrap().0;
        assert_eq!(hosts.deadlines(HOST, at(5, now)).unwrap().unwrap().0, first);
        hosts.answer(sts);
        assert_eq!(hosts.deadlines(HOST, at(5, now)).unwrap().unwrap().0, at(5, now) + FIRST_ANSWER);
    }

    #[tokio::test]
    async fn a_dead_host_is_tried_again_after_a_pause() {
        let mut hosts = Hosts::default();
        let now = Instant::now();
        assert!(hosts.deadlines(HOST, now).is_ok());
        hosts.bury(HOST, "the connection was refused".into());
        let refused = hosts.deadlines(HOST, at(1, now)).unwrap_err();
        assert_eq!(refused.to_string(), format!("{HOST} cannot be reached: the connection was refused"));
        let later = at(60, now);
        assert_eq!(hosts.deadlines(HOST, later).unwrap().unwrap().0, later + FIRST_ANSWER);
    }

    #[test]
    fn a_bundle_without_certificates_is_refused() {
        let file = std::env::temp_dir().join(format!("warren-bundle-{}", std::process::id()));
        fs::write(&file, "no certificate").unwrap();
        let refused = clients(Some(&file)).unwrap_err();
        fs::remove_file(&file).unwrap();
        assert!(refused.detail.contains("contains no certificate"), "{}", refused.detail);
        assert!(clients(Some(Path::new("/nowhere/ca.pem"))).is_err());
    }

    /// What a user sees of the first call of a run, and the time it takes: the account is asked for first.
    async fn first_call(region: &str, endpoint: Option<String>) -> (String, Duration) {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(&file, "[p]\naws_access_key_id = AKIAX\naws_secret_access_key = secret\n").unwrap();
        let path = file.path().display().to_string();
        let config = AwsConfig {
            region: region.into(),
            profile: "p".into(),
            endpoint_url: endpoint.into(),
            shared_credentials_files: Attr::Known(vec![path.as_str().into()]),
            ..AwsConfig::default()
        };
        let begun = Instant::now();
        let aws = Aws::new(&config, crate::account::tests::scope()).await.unwrap();
        let calls = async {
            let _unknown = aws.account().await;
            aws.ec2().describe_vpcs().send().await.named("DescribeVpcs")
        };
        let timeout = begun + Duration::from_secs(60);
        let error = retry::until(timeout, CancellationToken::new(), calls).await.unwrap_err();
        assert!(!error.is_ambiguous() && !error.is_throttle() && !error.is_not_ready());
        let told = Diagnostic::from(error);
        (format!("{}\n{}", told.summary, told.detail), begun.elapsed())
    }

    #[tokio::test]
    async fn a_dead_endpoint_is_told_within_ten_seconds() {
        // A dead port, and a listener that never accepts.
        let dead = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let hole = TcpListener::bind("127.0.0.1:0").unwrap();
        let silent = hole.local_addr().unwrap();
        let (dead, silent, unknown) = tokio::join!(
            first_call("us-east-1", Some(format!("http://{dead}"))),
            first_call("us-east-1", Some(format!("http://{silent}"))),
            first_call("us-est-1", None),
        );
        for ((told, time), reason) in [
            (&dead, "the connection was refused"),
            (&silent, "it did not answer within 7 seconds"),
            (&unknown, "Did you mean `us-east-1`?"),
        ] {
            assert!(*time < Duration::from_secs(10), "{time:?}: {told}");
            assert!(told.starts_with("DescribeVpcs failed: AWS cannot be reached\n"), "{told}");
            assert!(told.contains(reason) && told.contains("AWS_REGION"), "{told}");
            assert!(
                !["Error", "Some(", " { ", "os error"].iter().any(|debug| told.contains(debug)),
                "{told}"
            );
        }
    }

    #[test]
    fn a_host_is_part_of_a_url() {
        assert_eq!(host("http://127.0.0.1:5000/?x"), "127.0.0.1:5000");
        assert_eq!(host("https://ec2.us-east-1.amazonaws.com/"), HOST);
        assert!(is_metadata(&host("http://[fd00:ec2::254]/latest")));
        assert!(is_metadata("169.254.169.254") && !is_metadata("127.0.0.1:80"));
    }
}
