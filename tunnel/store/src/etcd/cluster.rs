//! The members of a cluster: one of them is asked, and the next when it does not answer.

use std::fmt::Display;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, Response, Status};

use super::EtcdSettings;
use super::pb::kv_client::KvClient;
use crate::StoreError;

const CONNECT: Duration = Duration::from_secs(2);
/// How long one member may take for one answer. etcd itself gives up after about as long.
const ANSWER: Duration = Duration::from_secs(5);
/// Not more often than etcd permits (`--grpc-keepalive-min-time`, 5 s).
const KEEPALIVE: Duration = Duration::from_secs(6);
const KEEPALIVE_ANSWER: Duration = Duration::from_secs(3);
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(100);
/// A thousand peers fit many times.
const LARGEST: usize = 64 * 1024 * 1024;

#[derive(Debug, Clone)]
pub(super) struct Cluster {
    members: Arc<[Channel]>,
    current: Arc<AtomicUsize>,
}

pub(super) fn kv(channel: Channel) -> KvClient<Channel> {
    KvClient::new(channel).max_decoding_message_size(LARGEST)
}

impl Cluster {
    pub(super) fn new(settings: &EtcdSettings) -> Result<Self, StoreError> {
        let members: Result<Arc<[Channel]>, StoreError> =
            settings.endpoints.iter().map(|url| channel(url, settings)).collect();
        let members = members?;
        if members.is_empty() {
            return Err(StoreError::Refused("no endpoint is set".into()));
        }
        Ok(Self { members, current: Arc::default() })
    }

    /// The member that answered last, and its number.
    pub(super) fn current(&self) -> (usize, Channel) {
        let number = self.current.load(Ordering::Relaxed) % self.members.len();
        (number, self.members[number].clone())
    }

    /// Next time another than this one is asked.
    pub(super) fn avoid(&self, number: usize) {
        let next = (number + 1) % self.members.len();
        // If another has been chosen meanwhile, that is as well.
        _ = self.current.compare_exchange(number, next, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Asks one member after the other until one answers or the time is over. What is asked may be asked twice.
    pub(super) async fn call<T, F>(
        &self,
        within: Duration,
        ask: impl Fn(Channel) -> F,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = Result<Response<T>, Status>>,
    {
        let deadline = Instant::now() + within;
        loop {
            let (number, channel) = self.current();
            let last = match timeout_at(deadline.min(Instant::now() + ANSWER), ask(channel)).await {
                Ok(Ok(response)) => return Ok(response.into_inner()),
                Ok(Err(status)) if is_final(&status) => {
                    return Err(StoreError::Refused(with_causes(&status)));
                }
                Ok(Err(status)) => with_causes(&status),
                Err(_) => "no answer in time".to_owned(),
            };
            self.avoid(number);
            if Instant::now() + PAUSE >= deadline {
                return Err(StoreError::Unreachable(last));
            }
            sleep(PAUSE).await;
        }
    }
}

fn channel(url: &str, settings: &EtcdSettings) -> Result<Channel, StoreError> {
    let refused = |error: &dyn Display| StoreError::Refused(format!("endpoint {url}: {error}"));
    let mut endpoint = Endpoint::from_shared(url.to_owned())
        .map_err(|error| refused(&error))?
        .connect_timeout(CONNECT)
        .http2_keep_alive_interval(KEEPALIVE)
        .keep_alive_timeout(KEEPALIVE_ANSWER)
        .keep_alive_while_idle(true)
        .tcp_nodelay(true);
    if let Some(tls) = &settings.tls {
        let mut config = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(&tls.ca));
        if let Some((certificate, key)) = &tls.identity {
            config = config.identity(Identity::from_pem(certificate, key));
        }
        endpoint = endpoint.tls_config(config).map_err(|error| refused(&error))?;
    }
    Ok(endpoint.connect_lazy())
}

/// Whether another member, or the same one later, would say the same.
fn is_final(status: &Status) -> bool {
    matches!(
        status.code(),
        Code::InvalidArgument | Code::PermissionDenied | Code::Unauthenticated | Code::Unimplemented
    )
}

/// The status and what is behind it: tonic's own text of a failed connection is no more than that.
fn with_causes(status: &Status) -> String {
    let mut text = status.message().to_owned();
    let mut source = std::error::Error::source(status);
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}
