//! Short-lived credentials of clouds for pods, narrowed to the objects that their group's grants name.
//!
//! ```text
//! pod --> overlay address, port 9580 --> whose address? --> grants of its group --> budget --> kept and fresh? --> answer
//!                                                                                     no +--> STS: session policy
//!                                                                                        +--> Google: access boundary
//! ```
//!
//! The source address is authentic, as for the name server: only a peer's session brings packets from it. It decides what a pod
//! gets. But every program of a pod can send from it, also by the agent's proxies, so a request has a proof of the pod's key about
//! a text of this gateway, as in an enrolment. An exchange with a cloud runs in a task of its own, so a client that gives up early finds its result.

mod aws;
mod client;
mod google;
mod http;
mod share;
mod transfers;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle as Runtime;
use tokio::sync::Semaphore;
use warren_budget::Slots;
use warren_sync::net::{Direct, Http};
use warren_wire::enrolment::{ChannelBinding, Proof, Purpose};
use warren_wire::gateway::{
    CREDENTIALS_PORT, Cloud, GatewayConfig, Grant, SESSION_MIN, TransferReport, access_boundary,
    session_policy,
};
use warren_wire::{Name, PrivateKey, PublicKey};

use self::aws::Aws;
use self::client::Failure;
use self::google::Google;
use self::share::Issued;
pub(super) use self::share::Share;
pub use self::transfers::{TRANSFERS, TransferEntry};
use super::audit::Audit;
use super::forward::Inside;
use super::in_tunnel;
use super::peers::{Member, PeerTable};
use crate::enrolment::leases::LeaseService;
use crate::enrolment::now;
use crate::runtime::problem::{Context as _, Problem, Result};

/// Requests of one pod at the same time, and of all pods.
const REQUESTS: (usize, usize) = (8, 1024);
/// After a failure, no pod causes another attempt for so long; after a refusal, no pod with the same grants.
const PAUSE: Duration = Duration::from_secs(2);
/// Exchanges with one cloud at the same time. STS limits the requests of an account.
const EXCHANGES: usize = 16;
/// Credentials end so long before the lease can: an exchange takes time.
const MARGIN: Duration = Duration::from_secs(30);
/// The longest name of a session.
const SESSION_NAME_MAX: usize = 64;

/// The running service.
pub(super) struct CredentialServer(Arc<Inner>);

/// What the service needs from the gateway.
pub(super) struct Context {
    pub(super) runtime: Runtime,
    /// The gateway's own key.
    pub(super) key: PrivateKey,
    pub(super) peer_table: Arc<PeerTable>,
    pub(super) leases: LeaseService,
    pub(super) audit: Arc<Audit>,
}

struct Inner {
    context: Context,
    rules: ArcSwap<Rules>,
    slots: Slots<PublicKey>,
    outcomes: [Outcomes; 2],
    exchanges: [Semaphore; 2],
    paused: Mutex<Paused>,
}

/// Recent failures: those of a scope, or of the whole cloud.
type Paused = BTreeMap<(Cloud, Option<Arc<str>>), (Instant, Failure)>;

/// What each group gets, and from where.
#[derive(Default)]
pub(super) struct Rules {
    aws: Option<Aws>,
    google: Option<Google>,
    scopes: BTreeMap<(Name, Cloud), Scope>,
}

/// What a group gets of a cloud.
struct Scope {
    /// The session policy, or the access boundary.
    text: String,
    /// The same with the identity: credentials of another one are not kept.
    key: Arc<str>,
}

/// Requests of one cloud by outcome.
#[derive(Default)]
struct Outcomes {
    issued: AtomicU64,
    kept: AtomicU64,
    refused: AtomicU64,
    failed: AtomicU64,
    limited: AtomicU64,
}

/// Credentials that a gateway gave to pods, for its status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CredentialStatus {
    /// `aws` or `google`.
    pub cloud: String,
    /// Requests answered with new credentials.
    pub issued: u64,
    /// Requests answered with credentials that the gateway still had.
    pub kept: u64,
    /// Requests refused: no grant, no lease, or refused by the cloud.
    pub refused: u64,
    /// Requests without an answer of the cloud.
    pub failed: u64,
    /// Requests above the limits of a pod.
    pub limited: u64,
}

/// Why a pod gets no credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Refusal {
    /// The source is no pod of this gateway.
    NoLease,
    /// The request does not come from the pod's agent.
    NoProof,
    /// No grant of its group is about this cloud.
    NoGrant(Name, Cloud),
    /// Too many requests.
    Limited,
    /// The lease changed meanwhile.
    Changed,
    /// The cloud gives none.
    Failed(Cloud, Failure),
}

impl CredentialServer {
    /// Starts to answer; `None` if no group has grants.
    ///
    /// # Errors
    /// The port of the overlay address is not available, or a source of credentials is not usable.
    pub(super) fn start(config: &GatewayConfig, inside: &Inside, context: Context) -> Result<Option<Self>> {
        let addresses = config.credential_addresses();
        if addresses.is_empty() {
            return Ok(None);
        }
        let runtime = context.runtime.clone();
        let inner = Arc::new(Inner {
            context,
            rules: ArcSwap::from_pointee(rules(config)?),
            slots: Slots::new(REQUESTS.0, REQUESTS.1),
            outcomes: Default::default(),
            exchanges: [EXCHANGES; 2].map(Semaphore::new),
            paused: Mutex::default(),
        });
        let answering = Arc::clone(&inner);
        let answer =
            move |from, challenge, request| http::answer(Arc::clone(&answering), from, challenge, request);
        let told =
            ("credentials for pods", "remove the grants of all groups to run without credentials for pods");
        in_tunnel::start(inside, &runtime, (addresses, CREDENTIALS_PORT), told, answer)?;
        Ok(Some(Self(inner)))
    }

    /// Applies the grants and sources of another configuration.
    pub(super) fn apply(&self, rules: Rules) {
        self.0.rules.store(Arc::new(rules));
        self.0.paused.lock().clear();
    }

    /// Counters.
    pub(super) fn status(&self) -> Vec<CredentialStatus> {
        let rules = self.0.rules.load();
        let sources = [(Cloud::Aws, rules.aws.is_some()), (Cloud::Google, rules.google.is_some())];
        let of = |cloud: Cloud| {
            let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
            let outcomes = self.0.of(cloud);
            CredentialStatus {
                cloud: cloud.name().to_owned(),
                issued: read(&outcomes.issued),
                kept: read(&outcomes.kept),
                refused: read(&outcomes.refused),
                failed: read(&outcomes.failed),
                limited: read(&outcomes.limited),
            }
        };
        sources.into_iter().filter(|(_, used)| *used).map(|(cloud, _)| of(cloud)).collect()
    }
}

/// The grants and sources of a configuration.
///
/// # Errors
/// A source of credentials is not usable.
pub(super) fn rules(config: &GatewayConfig) -> Result<Rules> {
    let get = |name: &str| std::env::var(name).ok();
    let http = Http::new(Arc::new(Direct), None).map_err(|what| {
        Problem::new(format!("credentials for pods: {what}")).hint("install the package ca-certificates")
    })?;
    let doing = |table: &'static str| move || format!("[credentials.{table}]");
    let (aws, google) = (&config.credentials.aws, &config.credentials.google);
    let aws = aws.as_ref().map(|role| Aws::new(role, &http, &get)).transpose().while_doing(doing("aws"))?;
    let google = google.as_ref().map(|of| Google::new(of, &http, &get)).transpose();
    let google = google.while_doing(doing("google"))?;
    let policy = |grants: &[Grant]| session_policy(config.credentials.aws.as_ref()?, grants);
    let scopes = config.groups.iter().flat_map(|(name, group)| {
        let texts = [(Cloud::Aws, policy(&group.grants)), (Cloud::Google, access_boundary(&group.grants))];
        texts
            .map(|(cloud, text)| {
                let key = format!("{:?}\n{}", config.credentials, text.as_deref().unwrap_or_default());
                Some(((name.clone(), cloud), Scope { text: text?, key: key.into() }))
            })
            .into_iter()
            .flatten()
    });
    Ok(Rules { aws, google, scopes: scopes.collect() })
}

impl Inner {
    fn of(&self, cloud: Cloud) -> &Outcomes {
        &self.outcomes[cloud as usize]
    }

    /// Credentials for the pod with this address, as the body of an answer.
    async fn answer(
        self: &Arc<Self>,
        from: IpAddr,
        cloud: Cloud,
        proof: &Proof,
        challenge: &ChannelBinding,
    ) -> std::result::Result<http::Body, Refusal> {
        let counters = self.of(cloud);
        let Some(member) = self.context.peer_table.leased_at(from) else {
            counters.refused.fetch_add(1, Ordering::Relaxed);
            return Err(Refusal::NoLease);
        };
        let Ok(_slot) = self.slots.take(member.key) else {
            counters.limited.fetch_add(1, Ordering::Relaxed);
            return Err(Refusal::Limited);
        };
        // Before the budget: other programs of the pod do not use it up.
        if !proof.verify(Purpose::Credentials, &self.context.key, &member.key, challenge) {
            counters.refused.fetch_add(1, Ordering::Relaxed);
            return Err(Refusal::NoProof);
        }
        if !member.credentials.begin() {
            counters.limited.fetch_add(1, Ordering::Relaxed);
            return Err(Refusal::Limited);
        }
        let inner = Arc::clone(self);
        let asking = Arc::clone(&member);
        let done = self.context.runtime.spawn(async move { inner.credentials(&asking, cloud).await }).await;
        let done = done.unwrap_or(Err(Refusal::Changed));
        // It may have been evicted, or moved to another group, meanwhile.
        let still = self
            .context
            .peer_table
            .of_key(&member.key)
            .is_some_and(|now| now.group == member.group && now.addresses == member.addresses);
        let done = if still { done } else { Err(Refusal::NoLease) };
        if let Err(refusal) = &done {
            let counter = match refusal {
                Refusal::Failed(_, Failure::Refused(..) | Failure::Ending(_)) => &counters.refused,
                Refusal::Failed(..) => &counters.failed,
                _ => &counters.refused,
            };
            counter.fetch_add(1, Ordering::Relaxed);
        }
        done
    }

    /// Keeps what a pod's agent reports about a transfer.
    fn note_transfer(
        &self,
        from: IpAddr,
        proof: &Proof,
        challenge: &ChannelBinding,
        report: TransferReport,
    ) -> std::result::Result<(), Refusal> {
        let member = self.context.peer_table.leased_at(from).ok_or(Refusal::NoLease)?;
        if !proof.verify(Purpose::Credentials, &self.context.key, &member.key, challenge) {
            return Err(Refusal::NoProof);
        }
        if member.credentials.transfers.note(report) { Ok(()) } else { Err(Refusal::Limited) }
    }

    async fn credentials(
        &self,
        member: &Arc<Member>,
        cloud: Cloud,
    ) -> std::result::Result<http::Body, Refusal> {
        let mut kept = member.credentials.of(cloud).lock().await;
        // Not before: a reload may have come while this waited.
        let rules = self.rules.load_full();
        let role = match cloud {
            Cloud::Aws => rules.aws.as_ref().map(|aws| aws.role().role_arn.to_string()),
            Cloud::Google => rules.google.as_ref().map(|google| google.account().to_owned()),
        };
        let scope = rules.scopes.get(&(member.group.clone(), cloud));
        let (Some(role), Some(scope)) = (role, scope) else {
            return Err(Refusal::NoGrant(member.group.clone(), cloud));
        };
        let counters = self.of(cloud);
        let key = &scope.key;
        if let Some(issued) = kept.fresh(key) {
            counters.kept.fetch_add(1, Ordering::Relaxed);
            return Ok(issued.to_json(&role));
        }
        let usable = kept.usable(key);
        let outcome = match kept.failure(key) {
            Some(failure) => Err(failure),
            None => {
                let session = session_name(member);
                let outcome = tokio::select! {
                    biased;
                    () = member.gone() => return Err(Refusal::Changed),
                    outcome = self.issue(&rules, member, cloud, scope, &session) => outcome?,
                };
                self.record(member, cloud, &role, &session, &outcome);
                kept.keep(key, &outcome);
                outcome
            }
        };
        match outcome {
            Ok(issued) => {
                counters.issued.fetch_add(1, Ordering::Relaxed);
                Ok(issued.to_json(&role))
            }
            // Those that it has are valid for a while, in which the cloud may answer again.
            Err(failure) => match usable {
                Some(issued) => {
                    counters.kept.fetch_add(1, Ordering::Relaxed);
                    Ok(issued.to_json(&role))
                }
                None => Err(Refusal::Failed(cloud, failure)),
            },
        }
    }

    /// Requests credentials from the cloud. They end before the lease can.
    async fn issue(
        &self,
        rules: &Rules,
        member: &Member,
        cloud: Cloud,
        scope: &Scope,
        session: &str,
    ) -> std::result::Result<std::result::Result<Arc<Issued>, Failure>, Refusal> {
        // It is never closed.
        let _exchange = self.exchanges[cloud as usize].acquire().await;
        if let Some(failure) = self.pause_of(cloud, &scope.key) {
            return Ok(Err(failure));
        }
        let left = self.context.leases.time_left(member.key).await.ok_or(Refusal::NoLease)?;
        let left = left.saturating_sub(MARGIN);
        let outcome = match (cloud, &rules.aws, &rules.google) {
            (Cloud::Aws, Some(aws), _) => {
                let duration = aws.role().duration.get().min(left);
                if duration < SESSION_MIN {
                    return Ok(Err(Failure::Ending(left)));
                }
                aws.assume(&scope.text, session, duration).await
            }
            (Cloud::Google, _, Some(google)) => match google.narrow(&scope.text).await {
                Ok(issued) if issued.lifetime() > left => Err(Failure::Ending(left)),
                outcome => outcome,
            },
            _ => return Err(Refusal::NoGrant(member.group.clone(), cloud)),
        };
        let outcome = outcome.map(Arc::new);
        self.pause(cloud, &scope.key, &outcome);
        Ok(outcome)
    }

    /// Notes a failure that other pods would see, too.
    fn pause(&self, cloud: Cloud, scope: &Arc<str>, outcome: &std::result::Result<Arc<Issued>, Failure>) {
        let (of, failure) = match outcome {
            Err(failure @ (Failure::Unavailable(_) | Failure::NoSource(_))) => (None, failure),
            Err(failure @ Failure::Refused(..)) => (Some(Arc::clone(scope)), failure),
            Err(Failure::Ending(_)) | Ok(_) => return,
        };
        self.paused.lock().insert((cloud, of), (Instant::now(), failure.clone()));
    }

    /// Such a failure, if it was just seen.
    fn pause_of(&self, cloud: Cloud, scope: &Arc<str>) -> Option<Failure> {
        let paused = self.paused.lock();
        let recent = |of| paused.get(&(cloud, of)).filter(|(at, _)| at.elapsed() < PAUSE);
        let (_, failure) = recent(None).or_else(|| recent(Some(Arc::clone(scope))))?;
        Some(failure.clone())
    }

    /// Logs an exchange with a cloud, and adds it to the audit.
    fn record(
        &self,
        member: &Member,
        cloud: Cloud,
        role: &str,
        session: &str,
        outcome: &std::result::Result<Arc<Issued>, Failure>,
    ) {
        let (peer, group, of) = (member.key, &member.group, cloud.name());
        match outcome {
            Ok(issued) => {
                tracing::info!(%peer, %group, cloud = of, session, expires = %issued.expires(), "credentials issued");
            }
            Err(failure) => {
                tracing::warn!(%peer, %group, cloud = of, session, "no credentials: {failure}");
            }
        }
        let (expires, failure) = match outcome {
            Ok(issued) => (Some(issued.expires().to_string()), None),
            Err(failure) => (None, Some(failure.to_string())),
        };
        self.context.audit.note(&serde_json::json!({
            "at": now().to_string(), "peer": peer.to_string(), "group": group.as_str(),
            "source": member.addresses.first(), "credentials": of, "identity": role, "session": session,
            "verdict": if failure.is_none() { "issued" } else { "failed" }, "expires": expires, "failure": failure,
        }));
    }
}

/// The name of a pod's session, as CloudTrail shows it: its host, group, and address. STS accepts 2 to 64 of `A-Za-z0-9_+=,.@-`.
fn session_name(member: &Member) -> String {
    let address = member.addresses.first().map(|address| address.to_string().replace(':', "-"));
    let address = address.unwrap_or_default();
    let room = SESSION_NAME_MAX - address.len() - 2;
    let (host, group) = (member.label.as_deref().unwrap_or("pod"), member.group.as_str());
    // Both are ASCII. The host is cut first, for the address tells pods apart.
    let group = &group[..group.len().min(room - 1)];
    let host = &host[..host.len().min(room - group.len())];
    format!("{host}@{group}@{address}")
}

impl Refusal {
    /// Status, code, and text of the answer. The reason of a cloud stays in the log: it names identities of the gateway.
    fn answer(&self) -> (u16, &'static str, String) {
        match self {
            Self::NoLease => (403, "NoLease", "this address has no lease at this gateway".into()),
            Self::NoProof => (401, "NoProof", "the request does not come from the pod's agent".into()),
            Self::NoGrant(group, cloud) => {
                (403, "NoGrant", format!("group {group} has no grants for {}", cloud.name()))
            }
            Self::Limited => (429, "TooManyRequests", "too many requests; wait a minute".into()),
            Self::Changed => (503, "LeaseChanged", "the lease has changed; request again".into()),
            Self::Failed(_, failure @ Failure::Ending(_)) => (403, "LeaseEnds", failure.to_string()),
            Self::Failed(cloud, Failure::Refused(code, _)) => (
                502,
                "Refused",
                format!("{} refused the gateway ({code}); its log has the reason", service(*cloud)),
            ),
            Self::Failed(cloud, Failure::Unavailable(_)) => {
                (503, "Unavailable", format!("{} does not answer the gateway; try again", service(*cloud)))
            }
            Self::Failed(cloud, Failure::NoSource(_)) => (
                502,
                "NoSource",
                format!("the gateway has no {} credentials of its own; its log has the reason", cloud.name()),
            ),
        }
    }
}

fn service(cloud: Cloud) -> &'static str {
    match cloud {
        Cloud::Aws => "STS",
        Cloud::Google => "Google's token service",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::access::Access;
    use crate::gateway::example::config;

    #[test]
    fn sessions_are_named_after_pods() {
        let access = Access::new(&config(""));
        let name = |host: &str, group: &str, address: &str| {
            let key = warren_wire::PrivateKey::from_random([7; 32]).public();
            let addresses = vec![address.parse().unwrap()];
            session_name(&Member::new(key, addresses, group.parse().unwrap(), host, &access))
        };
        assert_eq!(name("Train_0.local", "gpu", "10.100.0.7"), "train-0@gpu@10.100.0.7");
        assert_eq!(name("", "gpu", "10.100.0.7"), "pod@gpu@10.100.0.7");
        let long = name(&"h".repeat(63), &"g".repeat(63), "fd00:1111:2222:3333:4444:5555:6666:7777");
        assert_eq!(long.len(), SESSION_NAME_MAX);
        assert!(
            long.ends_with("@fd00-1111-2222-3333-4444-5555-6666-7777") && long.starts_with("h@ggg"),
            "{long}"
        );
    }
}
