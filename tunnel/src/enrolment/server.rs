//! The gateway's responses to enrolment requests, independent of HTTP and TLS.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use ipnet::IpNet;
use parking_lot::Mutex;
use warren_budget::Source;
use warren_lease::{Enrolment as Joining, Grant, Refusal};
use warren_wire::enrolment::{
    Answer, ChannelBinding, CredentialService, DirectService, Dns, DnsZone, ENROL_PATH, Enrol, Kind,
    MEDIA_TYPE, PROBLEM_TYPE, Problem, Proof, Purpose, RELEASE_PATH, REPORT_MAX, REPORT_PATH, REQUEST_MAX,
    Release, ReportRequest, Version,
};
use warren_wire::gateway::{GatewayConfig, PeerSettings};
use warren_wire::token::{CLOCK_SKEW, Claims, GatewaySet, KeyId, KeyRing, TokenError, VerifyingKey};
use warren_wire::{Name, PrivateKey, PublicKey, UnixTime};

use super::leases::LeaseService;
use super::limits::RequestLimits;
use super::now;

/// `Retry-After` of a draining gateway, which does not know how long that lasts.
const RETRY_DRAINING: Duration = Duration::from_secs(10);
/// The least `Retry-After` where there are too many requests: of many clients that return, only one may be next.
const RETRY_LIMITED: Duration = Duration::from_secs(5);
/// `Retry-After` of a full pool of which no address is in quarantine, so that only a change makes room.
const RETRY_FULL: Duration = Duration::from_secs(30);
/// `Retry-After` of a gateway that does not trust its clock. Most doubts last for a minute; other gateways may be sure already.
const RETRY_CLOCK: Duration = Duration::from_secs(15);
/// Added to the end of a quarantine: the address is free when its record has been removed.
const SWEEP_DELAY: Duration = Duration::from_secs(2);

/// A complete request.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The client's address.
    pub remote: SocketAddr,
    /// The channel binding of the TLS connection.
    pub binding: ChannelBinding,
    /// `POST`.
    pub method: &'a str,
    /// The path, without a query.
    pub path: &'a str,
    /// The value of `Content-Type`; empty if there is none.
    pub content_type: &'a str,
    /// The body.
    pub body: &'a [u8],
}

/// A response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// Value of `Content-Type`.
    pub content_type: &'static str,
    /// Value of `Retry-After`, in seconds.
    pub retry_after: Option<u32>,
    /// Body.
    pub body: Vec<u8>,
}

/// The least time between two reports to one gateway.
const REPORT_INTERVAL: Duration = Duration::from_secs(2);

/// Serves enrolments and releases.
pub struct Enrolment {
    fabric: Name,
    key: PrivateKey,
    public: PublicKey,
    /// Gateways of other networks: their keys are no pod's.
    sites: Vec<PublicKey>,
    keys: KeyRing,
    /// Keys of the ring whose tokens grant nothing new.
    retired: BTreeSet<KeyId>,
    gateways: GatewaySet,
    routes: BTreeMap<Name, Vec<IpNet>>,
    dns: Dns,
    zones: Vec<DnsZone>,
    credentials: BTreeMap<Name, CredentialService>,
    direct: BTreeMap<Name, DirectService>,
    peers: PeerSettings,
    limits: Arc<RequestLimits>,
    leases: LeaseService,
    draining: Arc<AtomicBool>,
    last_stamp: LastStamp,
    reports: Arc<Reports>,
}

/// What this gateway reports to the other gateways, in JSON. May block for seconds.
pub type Report = Box<dyn Fn() -> Result<Vec<u8>, NoReport> + Send + Sync>;

/// Why there is no report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoReport {
    /// This gateway reports nothing.
    Off,
    /// It cannot now.
    Busy,
}

/// Reports to the other gateways.
#[derive(Default)]
struct Reports {
    make: OnceLock<Report>,
    /// When each gateway had its last one begun.
    begun: Mutex<HashMap<PublicKey, Instant>>,
}

impl Reports {
    /// Whether a gateway may have one now: each is as large as all its peers, and takes a thread.
    fn admit(&self, gateway: PublicKey) -> bool {
        let mut begun = self.begun.lock();
        if begun.get(&gateway).is_some_and(|begun| begun.elapsed() < REPORT_INTERVAL) {
            return false;
        }
        begun.insert(gateway, Instant::now());
        true
    }
}

/// The time in the last handshake stamp of a peer, if there was one. May block for seconds.
pub type LastStamp = Arc<dyn Fn(PublicKey) -> Option<UnixTime> + Send + Sync>;

impl Enrolment {
    /// Creates a server from the configuration and the gateway's WireGuard key.
    #[must_use]
    pub fn new(config: &GatewayConfig, key: PrivateKey, leases: LeaseService, last_stamp: LastStamp) -> Self {
        let limits = Arc::new(RequestLimits::new(&config.limits));
        Self::with(config, key, leases, limits, Arc::default(), last_stamp, Arc::default())
    }

    /// The same with another configuration. Rate limits and draining carry over.
    #[must_use]
    pub fn with_config(&self, config: &GatewayConfig) -> Self {
        self.limits.change(&config.limits);
        let (limits, draining) = (Arc::clone(&self.limits), Arc::clone(&self.draining));
        let last_stamp = Arc::clone(&self.last_stamp);
        let reports = Arc::clone(&self.reports);
        Self::with(config, self.key.clone(), self.leases.clone(), limits, draining, last_stamp, reports)
    }

    fn with(
        config: &GatewayConfig,
        key: PrivateKey,
        leases: LeaseService,
        limits: Arc<RequestLimits>,
        draining: Arc<AtomicBool>,
        last_stamp: LastStamp,
        reports: Arc<Reports>,
    ) -> Self {
        Self {
            fabric: config.fabric.clone(),
            public: key.public(),
            sites: config.site.peers.iter().map(|site| site.key).collect(),
            key,
            keys: KeyRing::new(config.keys.token_keys.iter().chain(&config.keys.retired_token_keys).copied()),
            retired: config
                .keys
                .retired_token_keys
                .iter()
                .filter(|key| !config.keys.token_keys.contains(key))
                .map(VerifyingKey::id)
                .collect(),
            gateways: config.gateways.clone(),
            routes: config.groups.keys().map(|group| (group.clone(), config.routes(group))).collect(),
            dns: config.dns.of_peers(),
            zones: config.dns_zones(),
            credentials: config
                .groups
                .keys()
                .filter_map(|group| Some((group.clone(), config.credential_service(group)?)))
                .collect(),
            direct: config
                .groups
                .keys()
                .filter_map(|group| Some((group.clone(), config.direct_service(group)?)))
                .collect(),
            peers: config.peers,
            limits,
            leases,
            draining,
            last_stamp,
            reports,
        }
    }

    /// Answers the other gateways with this report from now on. Only the first call counts.
    pub fn set_report(&self, report: Report) {
        // A second one would be that of the same gateway.
        _ = self.reports.make.set(report);
    }

    /// Refuses or accepts new peers from now on. Releases are always served.
    pub fn set_draining(&self, draining: bool) {
        self.draining.store(draining, Ordering::Relaxed);
    }

    /// Serves a request. A refused request changes nothing.
    pub async fn handle(&self, request: Request<'_>) -> Response {
        let answer = match (self.limits.admit(request.remote.ip()), request.path) {
            (Err(wait), _) => {
                let detail = "too many requests from this address or in total";
                Err(Problem::new(Kind::RateLimited, detail).retry_after(wait.max(RETRY_LIMITED)))
            }
            (Ok(()), ENROL_PATH | RELEASE_PATH | REPORT_PATH) if request.method != "POST" => {
                Err(Problem::new(Kind::Method, format!("{} accepts only POST", request.path)))
            }
            (Ok(()), ENROL_PATH) => self.enrol(&request).await,
            (Ok(()), RELEASE_PATH) => self.release(&request).await,
            (Ok(()), REPORT_PATH) => self.report(&request).await,
            (Ok(()), _) => Err(Problem::new(Kind::NotFound, format!("try POST {ENROL_PATH}"))),
        };
        answer.unwrap_or_else(|problem| {
            tracing::info!(remote = %request.remote, kind = %problem.kind, detail = problem.detail, "refused");
            Response::from(&problem)
        })
    }

    async fn enrol(&self, request: &Request<'_>) -> Result<Response, Problem> {
        check_body(request)?;
        let enrol = Enrol::from_json(request.body)?;
        if self.draining.load(Ordering::Relaxed) {
            let detail = "this gateway is being drained; connect to another gateway of the token";
            return Err(Problem::new(Kind::Draining, detail).retry_after(RETRY_DRAINING));
        }
        let (claims, over) = self.verify(&enrol)?;
        self.prove(&enrol.proof, Purpose::Enrol, &enrol.public_key, &request.binding)?;
        let joining = Joining {
            key: enrol.public_key,
            token: claims.id,
            expires: claims.validity.expires(),
            over: over.is_some(),
            uses: claims.uses,
            // Verified with the claims, which it is signed with.
            signer: enrol.token.key_id()?,
            max: claims.max_lease,
            source: Some(Source::from(request.remote.ip())),
            group: claims.group,
            host: enrol.host,
        };
        let grant = self.leases.enrol(joining).await.map_err(|refusal| match (refusal, over) {
            (Refusal::NoLease, Some(over)) => over.into(),
            (refusal, _) => problem(&refusal),
        })?;
        tracing::info!(remote = %request.remote, peer = %enrol.public_key, token = %claims.id, group = %grant.group,
            addresses = ?grant.addresses, "enrolled");
        let floor = self.floor(enrol.public_key).await;
        let body = serde_json::to_vec(&self.answer(grant, floor))
            .map_err(|error| Problem::new(Kind::Unknown, error.to_string()))?;
        Ok(Response { status: 200, content_type: MEDIA_TYPE, retry_after: None, body })
    }

    async fn release(&self, request: &Request<'_>) -> Result<Response, Problem> {
        check_body(request)?;
        let release = Release::from_json(request.body)?;
        self.prove(&release.proof, Purpose::Release, &release.public_key, &request.binding)?;
        self.leases.release(release.public_key).await.map_err(|refusal| problem(&refusal))?;
        tracing::info!(remote = %request.remote, peer = %release.public_key, "released");
        Ok(Response { status: 204, content_type: MEDIA_TYPE, retry_after: None, body: Vec::new() })
    }

    /// Only the gateways of the file get the report, which names all pods.
    async fn report(&self, request: &Request<'_>) -> Result<Response, Problem> {
        check_body(request)?;
        let ReportRequest { public_key, proof, .. } = ReportRequest::from_json(request.body)?;
        if !self.gateways.as_slice().iter().any(|gateway| gateway.key == public_key) {
            return Err(Problem::new(Kind::Proof, "only gateways of [[gateways]] get the report"));
        }
        self.prove(&proof, Purpose::Report, &public_key, &request.binding)?;
        if !self.reports.admit(public_key) {
            let why = format!("a gateway has one report in {} s", REPORT_INTERVAL.as_secs());
            return Err(Problem::new(Kind::RateLimited, why).retry_after(REPORT_INTERVAL));
        }
        let reports = Arc::clone(&self.reports);
        let report =
            tokio::task::spawn_blocking(move || reports.make.get().map_or(Err(NoReport::Off), |make| make()));
        let body = match report.await.unwrap_or(Err(NoReport::Busy)) {
            Ok(body) if body.len() <= REPORT_MAX => body,
            Ok(body) => {
                let why = format!("the report has {} bytes, more than {REPORT_MAX}", body.len());
                return Err(Problem::new(Kind::TooLarge, why));
            }
            Err(NoReport::Off) => {
                return Err(Problem::new(Kind::NotFound, "this gateway reports nothing to other gateways"));
            }
            Err(NoReport::Busy) => {
                let problem = Problem::new(Kind::Busy, "this gateway cannot report now");
                return Err(problem.retry_after(REPORT_INTERVAL));
            }
        };
        Ok(Response { status: 200, content_type: MEDIA_TYPE, retry_after: None, body })
    }

    /// Verifies a token. One that has expired, or whose key is retired, is returned with that error: it may be that of a lease.
    fn verify(&self, enrol: &Enrol) -> Result<(Claims, Option<TokenError>), Problem> {
        let claims = self.keys.verify(&enrol.token)?;
        let signer = enrol.token.key_id()?;
        let now = now();
        let mut over = self.retired.contains(&signer).then_some(TokenError::UnknownKey(signer));
        match claims.check(now, &self.fabric) {
            Ok(()) => {}
            Err(TokenError::Early(from)) => {
                let wait = from.since(now).saturating_sub(CLOCK_SKEW);
                return Err(Problem::from(TokenError::Early(from)).retry_after(wait));
            }
            Err(error @ TokenError::Expired(_)) => over = Some(error),
            Err(error) => return Err(error.into()),
        }
        if !claims.gateways.as_slice().iter().any(|gateway| gateway.key == self.public) {
            let detail =
                "the token does not name this gateway; create a token that names the current gateways";
            return Err(Problem::new(Kind::TokenGateway, detail));
        }
        if !self.routes.contains_key(&claims.group) {
            let detail = format!("group {} is not in this gateway's configuration", claims.group);
            return Err(Problem::new(Kind::Group, detail));
        }
        Ok((claims, over))
    }

    fn prove(
        &self,
        proof: &Proof,
        purpose: Purpose,
        peer: &PublicKey,
        binding: &ChannelBinding,
    ) -> Result<(), Problem> {
        if *peer != self.public
            && !self.sites.contains(peer)
            && proof.verify(purpose, &self.key, peer, binding)
        {
            return Ok(());
        }
        let detail =
            "the proof does not match this key, gateway and connection; each connection needs a new proof";
        Err(Problem::new(Kind::Proof, detail))
    }

    /// The least time for the stamps of a peer's handshakes. The peer has proven its key, so it may know.
    async fn floor(&self, key: PublicKey) -> UnixTime {
        let last_stamp = Arc::clone(&self.last_stamp);
        let last = tokio::task::spawn_blocking(move || last_stamp(key)).await;
        let after = last.ok().flatten().map(|last| last.plus(Duration::from_secs(1)));
        after.map_or_else(now, |after| after.max(now()))
    }

    fn answer(&self, grant: Grant, floor: UnixTime) -> Answer {
        Answer {
            version: Version,
            routes: self.routes.get(&grant.group).cloned().unwrap_or_default(),
            credentials: self.credentials.get(&grant.group).cloned(),
            direct: self.direct.get(&grant.group).cloned(),
            group: grant.group,
            addresses: grant.addresses,
            dns: self.dns.clone(),
            zones: self.zones.clone(),
            gateways: self.gateways.clone(),
            lease_seconds: u32::try_from(grant.ttl.as_secs()).unwrap_or(u32::MAX),
            mtu: self.peers.mtu,
            keepalive_seconds: self.peers.keepalive_seconds,
            handshake_floor: Some(floor),
        }
    }
}

impl From<&Problem> for Response {
    fn from(problem: &Problem) -> Self {
        Self {
            status: problem.kind.status(),
            content_type: PROBLEM_TYPE,
            retry_after: problem.retry_after,
            body: problem.to_json(),
        }
    }
}

fn check_body(request: &Request<'_>) -> Result<(), Problem> {
    let media = request.content_type.split(';').next().unwrap_or_default().trim();
    if !media.eq_ignore_ascii_case(MEDIA_TYPE) {
        return Err(Problem::new(Kind::MediaType, format!("send {MEDIA_TYPE}")));
    }
    if request.body.len() > REQUEST_MAX {
        return Err(Problem::new(Kind::TooLarge, format!("at most {REQUEST_MAX} bytes are accepted")));
    }
    Ok(())
}

fn problem(refusal: &Refusal) -> Problem {
    let (kind, delay) = match refusal {
        Refusal::UsedUp(_) | Refusal::Replaced => (Kind::TokenUsedUp, None),
        Refusal::Revoked => (Kind::TokenRevoked, None),
        Refusal::Evicted(_) | Refusal::Suspended(_) => (Kind::Evicted, None),
        Refusal::Source { .. } => (Kind::RateLimited, Some(RETRY_FULL)),
        Refusal::Full(full) => {
            (Kind::PoolExhausted, Some(full.next_free.map_or(RETRY_FULL, |at| at.since(now()) + SWEEP_DELAY)))
        }
        Refusal::NoLease | Refusal::NotEvicted => (Kind::NoLease, None),
        Refusal::Contended => (Kind::Busy, Some(Duration::from_secs(1))),
        Refusal::Clock => (Kind::Busy, Some(RETRY_CLOCK)),
        Refusal::Store => (Kind::Store, Some(Duration::from_secs(2))),
    };
    let problem = Problem::new(kind, refusal.to_string());
    match delay {
        Some(delay) => problem.retry_after(delay),
        None => problem,
    }
}
