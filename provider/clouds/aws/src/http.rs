//! The HTTP client of all SDK clients: proxies of the environment, certificate authorities of `AWS_CA_BUNDLE`, and an
//! early end for calls to hosts that never answer.

use std::fs;
use std::path::Path;
use std::sync::Arc;
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
use warren_managed::reach::Hosts;

use crate::error::chain;

/// Time in which some host must answer, from the first call on.
const FIRST_ANSWER: Duration = Duration::from_secs(7);

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
        hosts: Arc::new(Hosts::new(FIRST_ANSWER)),
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

/// A client that knows which hosts have answered.
#[derive(Debug)]
struct Watched {
    inner: SharedHttpClient,
    metadata: SharedHttpClient,
    hosts: Arc<Hosts>,
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
    hosts: Arc<Hosts>,
}

impl HttpConnector for WatchedConnector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let host = host(request.uri());
        if is_metadata(&host) {
            return self.metadata.call(request);
        }
        let unreachable =
            |host: String, reason: String| Err(ConnectorError::user(Unreachable { host, reason }.into()));
        let deadlines = match self.hosts.deadlines(&host, Instant::now()) {
            Ok(None) => return self.inner.call(request),
            Ok(Some(deadlines)) => deadlines,
            Err(reason) => return HttpConnectorFuture::ready(unreachable(host, reason)),
        };
        let (call, hosts) = (self.inner.call(request), Arc::clone(&self.hosts));
        HttpConnectorFuture::new(async move {
            match tokio::time::timeout_at(deadlines.answer, call).await {
                Ok(Ok(response)) => {
                    hosts.answered(&host);
                    Ok(response)
                }
                Ok(Err(error)) if Instant::now() < deadlines.connect => Err(error),
                Ok(Err(error)) => {
                    let reason = reason(&error);
                    hosts.bury(&host, &reason);
                    unreachable(host, reason)
                }
                Err(_) => {
                    let seconds = FIRST_ANSWER.as_secs();
                    let reason = format!("it did not answer within {seconds} seconds");
                    hosts.bury(&host, &reason);
                    unreachable(host, reason)
                }
            }
        })
    }
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

    #[test]
    fn an_unreachable_host_is_named_with_the_reason() {
        let refused = Unreachable { host: HOST.into(), reason: "the connection was refused".into() };
        assert_eq!(refused.to_string(), format!("{HOST} cannot be reached: the connection was refused"));
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
    async fn a_dead_endpoint_is_told_long_before_the_timeout() {
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
            // Ten seconds, and time that a busy machine takes for three clients.
            assert!(*time < Duration::from_secs(30), "{time:?}: {told}");
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
