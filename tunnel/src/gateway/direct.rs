//! Offers of direct paths to pods.
//!
//! ```text
//! pod A --> "I send to B" --+                        rules, leases, places of both
//!                           +--> pairs in use --------------------------------------> A: B's key, place, ports
//! pod B --> "I send to A" --+                                                         B: A's key, place, ports
//! ```
//!
//! A pair is offered to both pods while a direct rule is about their groups, both have leases, both are at this gateway by UDP and
//! request offers, and one of them has sent to the other. Offers hold for seconds, so both ends need this gateway's repeated
//! consent. A place is where this gateway hears a pod. What a pod says about its own network is passed on only to pods that this
//! gateway hears from the same address, which are behind the same translator: otherwise pods could send others' handshakes
//! anywhere.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hyper::body::Incoming;
use hyper::{Method, Request};
use parking_lot::Mutex;
use tokio::runtime::Handle as Runtime;
use warren_budget::Slots;
use warren_proto::engine::Liveness;
use warren_proto::plane::Carrier;
use warren_wire::enrolment::{ChannelBinding, Purpose};
use warren_wire::gateway::{DIRECT_PATH, DIRECT_PORT, DIRECT_SECONDS, GatewayConfig, Offer, Offers};
use warren_wire::{PrivateKey, PublicKey};

use super::access::Access;
use super::forward::Inside;
use super::in_tunnel::{self, refusal};
use super::peers::{Member, PeerTable};
use crate::runtime::control::{Command, Handle};
use crate::runtime::http1::{self, Answer};
use crate::runtime::problem::Result;

/// Requests of one pod at the same time, and of all pods.
const REQUESTS: (usize, usize) = (2, 256);
/// Pairs of one pod.
const PAIRS: usize = 32;
/// A pair without traffic for so long is no longer offered.
const IDLE: Duration = Duration::from_secs(600);
/// A pod that has not requested offers for so long gets none.
const ABSENT: Duration = Duration::from_secs(2 * DIRECT_SECONDS as u64);
/// Places of its own that a pod names.
const PLACES: usize = 4;
/// A pod that was not heard for so long may be elsewhere.
const UNHEARD: Duration = Duration::from_secs(120);

/// The running service.
pub(super) struct DirectServer(Arc<Inner>);

/// What the service needs from the gateway.
pub(super) struct Context {
    pub(super) runtime: Runtime,
    /// The gateway's own key.
    pub(super) key: PrivateKey,
    pub(super) peer_table: Arc<PeerTable>,
    pub(super) access: Arc<Access>,
    pub(super) interface: Handle,
}

struct Inner {
    context: Context,
    slots: Slots<PublicKey>,
    pairs: Mutex<Pairs>,
    offered: AtomicU64,
}

/// The pods that request offers, and the pairs of them.
#[derive(Default)]
struct Pairs {
    pods: HashMap<PublicKey, Pod>,
    pruned: Option<Instant>,
}

/// What is known about a pod.
struct Pod {
    seen: Instant,
    /// Its own places.
    local: Vec<SocketAddr>,
    /// The others that it has a pair with, and when one of both named the other last.
    with: HashMap<PublicKey, Instant>,
}

impl Pairs {
    /// Notes a request.
    fn note(&mut self, now: Instant, key: PublicKey, local: Vec<SocketAddr>) {
        if self.pruned.is_none_or(|last| now.saturating_duration_since(last) > ABSENT) {
            self.pruned = Some(now);
            self.prune(now);
        }
        let pod = self.pods.entry(key).or_insert_with(|| Pod {
            seen: now,
            local: Vec::new(),
            with: HashMap::new(),
        });
        pod.seen = now;
        pod.local = local;
    }

    fn prune(&mut self, now: Instant) {
        let is_fresh = |at: Instant| now.saturating_duration_since(at) < IDLE;
        for pod in self.pods.values_mut() {
            pod.with.retain(|_, at| is_fresh(*at));
        }
        self.pods.retain(|_, pod| is_fresh(pod.seen));
    }

    /// Makes or renews a pair, unless one of them has too many.
    fn pair(&mut self, now: Instant, one: PublicKey, other: PublicKey) {
        let fits = |key, with| {
            self.pods.get(&key).is_none_or(|pod: &Pod| pod.with.contains_key(&with) || pod.with.len() < PAIRS)
        };
        if !(fits(one, other) && fits(other, one)) {
            return;
        }
        for (key, with) in [(one, other), (other, one)] {
            // One that does not request offers counts as absent.
            let pod = self.pods.entry(key).or_insert_with(|| Pod {
                seen: now.checked_sub(ABSENT).unwrap_or(now),
                local: Vec::new(),
                with: HashMap::new(),
            });
            pod.with.insert(with, now);
        }
    }

    /// The pods that a pod has a pair with and that request offers, with their own places.
    fn of(&self, now: Instant, key: &PublicKey) -> Vec<(PublicKey, Vec<SocketAddr>)> {
        let Some(pod) = self.pods.get(key) else { return Vec::new() };
        let fresh = pod.with.iter().filter(|(_, at)| now.saturating_duration_since(**at) < IDLE);
        let present = fresh.filter_map(|(with, _)| {
            let other = self.pods.get(with)?;
            let is_here = now.saturating_duration_since(other.seen) < ABSENT;
            is_here.then(|| (*with, other.local.clone()))
        });
        let mut all: Vec<_> = present.collect();
        all.sort_unstable_by_key(|(key, _)| *key.as_bytes());
        all
    }
}

impl DirectServer {
    /// Starts to answer; `None` if pods have no DNS, because then no rule can be direct until a restart.
    ///
    /// # Errors
    /// The port of the overlay address is not available.
    pub(super) fn start(config: &GatewayConfig, inside: &Inside, context: Context) -> Result<Option<Self>> {
        let addresses = config.dns_addresses();
        if addresses.is_empty() {
            return Ok(None);
        }
        let runtime = context.runtime.clone();
        let inner = Arc::new(Inner {
            context,
            slots: Slots::new(REQUESTS.0, REQUESTS.1),
            pairs: Mutex::default(),
            offered: AtomicU64::new(0),
        });
        let answering = Arc::clone(&inner);
        let answer = move |from, challenge, request| answer(Arc::clone(&answering), from, challenge, request);
        let told = ("direct paths", "end the program that has the port");
        in_tunnel::start(inside, &runtime, (addresses, DIRECT_PORT), told, answer)?;
        Ok(Some(Self(inner)))
    }

    /// Offers so far.
    pub(super) fn offered(&self) -> u64 {
        self.0.offered.load(Ordering::Relaxed)
    }
}

async fn answer(
    inner: Arc<Inner>,
    from: IpAddr,
    challenge: ChannelBinding,
    request: Request<Incoming>,
) -> Answer {
    if (request.method(), request.uri().path()) != (&Method::GET, DIRECT_PATH) {
        return http1::json(404, refusal("NotFound", "GET /v1/direct"));
    }
    let Some(proof) = in_tunnel::proof(&request) else { return in_tunnel::challenge(challenge) };
    let Some(member) = inner.context.peer_table.leased_at(from) else {
        return http1::json(403, refusal("NoLease", "this address has no lease at this gateway"));
    };
    let Ok(_slot) = inner.slots.take(member.key) else {
        return http1::json(429, refusal("TooManyRequests", "too many requests"));
    };
    if !proof.verify(Purpose::Direct, &inner.context.key, &member.key, &challenge) {
        return http1::json(401, refusal("NoProof", "the request does not come from the pod's agent"));
    }
    let wanted = Wanted::read(request.uri().query().unwrap_or_default());
    let offers = inner.offers(&member, wanted).await;
    match serde_json::to_vec(&offers) {
        Ok(body) => http1::json(200, body),
        Err(_) => http1::json(500, refusal("Internal", "the offers cannot be written")),
    }
}

/// The query of a request.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wanted {
    to: Vec<IpAddr>,
    local: Vec<SocketAddr>,
}

impl Wanted {
    /// Parses the query of a request. Values that are not valid addresses are ignored.
    fn read(query: &str) -> Self {
        let mut wanted = Self::default();
        for (name, value) in query.split('&').filter_map(|part| part.split_once('=')) {
            match name {
                "to" if wanted.to.len() < 2 * PAIRS => wanted.to.extend(value.parse::<IpAddr>().ok()),
                "local" if wanted.local.len() < PLACES => {
                    let at = value.parse::<SocketAddr>().ok();
                    wanted.local.extend(at.filter(|at| at.port() != 0 && is_usable(at.ip())));
                }
                _ => {}
            }
        }
        wanted
    }
}

/// Whether a pod may be there, as seen by another one.
fn is_usable(address: IpAddr) -> bool {
    let odd = match address {
        IpAddr::V4(v4) => v4.is_broadcast() || v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    };
    !(odd || address.is_unspecified() || address.is_loopback() || address.is_multicast())
}

impl Inner {
    /// What a pod may use now.
    async fn offers(&self, member: &Arc<Member>, wanted: Wanted) -> Offers {
        let Context { peer_table, access, .. } = &self.context;
        let now = Instant::now();
        let allowed = |other: &Member| {
            let either = [(&member.group, &other.group), (&other.group, &member.group)];
            either.iter().any(|(from, to)| !access.openings(from, to).is_empty())
        };
        let named: HashSet<PublicKey> = wanted
            .to
            .iter()
            .filter_map(|to| peer_table.leased_at(*to))
            .filter(|other| other.key != member.key && allowed(other))
            .map(|other| other.key)
            .collect();
        let others = {
            let mut pairs = self.pairs.lock();
            pairs.note(now, member.key, wanted.local.clone());
            for other in named {
                pairs.pair(now, member.key, other);
            }
            pairs.of(now, &member.key)
        };
        let mut peers = Vec::new();
        if !others.is_empty() && !peer_table.draining(member) && member.elsewhere.lock().is_none() {
            let keys = others.iter().map(|(key, _)| *key).chain([member.key]).collect();
            let places = self.places(keys).await;
            if let Some(own) = places.get(&member.key) {
                let offers = others.into_iter().filter_map(|(key, local)| {
                    let place = *places.get(&key)?;
                    let other = peer_table.of_key(&key)?;
                    self.offer(member, *own, &other, place, local)
                });
                peers = offers.collect();
            }
        }
        self.offered.fetch_add(peers.len() as u64, Ordering::Relaxed);
        Offers { seconds: DIRECT_SECONDS, peers }
    }

    fn offer(
        &self,
        member: &Member,
        own: SocketAddr,
        other: &Member,
        place: SocketAddr,
        local: Vec<SocketAddr>,
    ) -> Option<Offer> {
        let access = &self.context.access;
        let opens = access.openings(&member.group, &other.group);
        let accepts = access.openings(&other.group, &member.group);
        if (opens.is_empty() && accepts.is_empty()) || other.elsewhere.lock().is_some() {
            return None;
        }
        let neighbours = own.ip().to_canonical() == place.ip().to_canonical();
        let mut endpoints = if neighbours { local } else { Vec::new() };
        endpoints.retain(|at| *at != place);
        endpoints.push(place);
        let host = other.label.as_deref().unwrap_or("pod");
        Some(Offer {
            name: format!("{host}.{}", other.group),
            public_key: other.key,
            addresses: other.addresses.clone(),
            endpoints,
            opens,
            accepts,
        })
    }

    /// Where pods are that this gateway hears by UDP.
    async fn places(&self, keys: Vec<PublicKey>) -> HashMap<PublicKey, SocketAddr> {
        let interface = self.context.interface.clone();
        let signs =
            tokio::task::spawn_blocking(move || interface.request(|answer| Command::Liveness(keys, answer)));
        let Ok(Ok((now, signs))) = signs.await else { return HashMap::new() };
        let is_heard = |signs: &Liveness| {
            signs.session && signs.heard.is_some_and(|at| now.saturating_sub(at) < UNHEARD)
        };
        let by_udp = signs.into_iter().filter(|(_, signs)| is_heard(signs));
        let places = by_udp.filter_map(|(key, signs)| {
            let endpoint = signs.endpoint.filter(|endpoint| endpoint.carrier == Carrier::Udp)?;
            Some((key, SocketAddr::new(endpoint.remote.ip().to_canonical(), endpoint.remote.port())))
        });
        places.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u8) -> PublicKey {
        PrivateKey::from_random([number; 32]).public()
    }

    #[test]
    fn a_query_is_read_as_far_as_it_makes_sense() {
        let query =
            "to=10.100.0.7&to=x&local=192.168.0.5:51820&local=127.0.0.1:1&local=169.254.169.254:80&more=1&to";
        let wanted = Wanted::read(query);
        assert_eq!(wanted.to, ["10.100.0.7".parse::<IpAddr>().unwrap()]);
        assert_eq!(wanted.local, ["192.168.0.5:51820".parse().unwrap()]);
        assert_eq!(Wanted::read(""), Wanted::default());
    }

    #[test]
    fn a_pair_needs_both_pods_and_ends_without_traffic() {
        let mut pairs = Pairs::default();
        let begin = Instant::now();
        let others = |pairs: &Pairs, at: Instant, of: u8| pairs.of(at, &key(of)).len();
        pairs.note(begin, key(1), Vec::new());
        pairs.pair(begin, key(1), key(2));
        assert_eq!(others(&pairs, begin, 1), 0, "the other one does not request offers");
        pairs.note(begin, key(2), Vec::new());
        assert_eq!((others(&pairs, begin, 1), others(&pairs, begin, 2)), (1, 1));
        let later = begin + ABSENT;
        pairs.note(later, key(1), Vec::new());
        assert_eq!((others(&pairs, later, 1), others(&pairs, later, 2)), (0, 1));
        let idle = begin + IDLE;
        for pod in [1, 2] {
            pairs.note(idle, key(pod), Vec::new());
        }
        assert_eq!((others(&pairs, idle, 1), others(&pairs, idle, 2)), (0, 0));
    }

    #[test]
    fn a_pod_has_a_limited_number_of_pairs() {
        let mut pairs = Pairs::default();
        let now = Instant::now();
        for other in 2..100 {
            pairs.note(now, key(other), Vec::new());
            pairs.note(now, key(1), Vec::new());
            pairs.pair(now, key(1), key(other));
        }
        assert_eq!(pairs.of(now, &key(1)).len(), PAIRS);
        assert_eq!((pairs.of(now, &key(2)).len(), pairs.of(now, &key(99)).len()), (1, 0));
    }
}
