//! Names, split by domain: some are the tunnel's to answer, all others this machine's.
//!
//! ```text
//! proxies ─► Names::resolve ─┬─ domain of a zone ─► cache ─► the zone's servers, through the tunnel
//!                            └─ any other ────────► getaddrinfo(3)
//! clients ─► server ─► Names ┬─ domain of a zone ─► cache ─► the zone's servers, through the tunnel
//!                            └─ any other ────────► cache ─► this machine's servers, directly; or refused
//! ```
//!
//! A name in a zone is never looked up elsewhere, also while its servers do not answer.

mod cache;
pub mod message;
mod server;
mod upstream;
mod zones;

use std::{
    collections::HashMap,
    fmt,
    future::Future,
    net::{IpAddr, SocketAddr},
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use arc_swap::ArcSwap;
use hickory_proto::op::{Message, ResponseCode};
use parking_lot::Mutex;
use tokio::{sync::watch, time::timeout};

use self::{
    cache::Cache,
    message::Question,
    upstream::Upstream,
    zones::{Servers, Zones, dns_name},
};
pub use self::{
    server::{Clients, Everyone, Verdict, Wanted},
    upstream::name_servers,
    zones::{ServerState, Suffixes, Zone},
};
use crate::{
    net::{Dial, System},
    outbound::{NameError, Resolve},
    service::{Services, Shared},
    target::Name,
};

/// Longest for one question, with all servers.
const WITHIN: Duration = Duration::from_secs(15);

/// Where names are looked up. Clones share their cache.
pub struct Names<D>(Arc<Inner<D>>);

struct Inner<D> {
    shared: Arc<Shared>,
    zones: ArcSwap<Zones>,
    tunnel: Upstream<D>,
    others: Option<(Upstream<System>, Servers)>,
    cache: Cache,
    asking: Mutex<HashMap<Question, watch::Receiver<Option<Answer>>>>,
}

/// The result of a query; nothing where no server answered.
type Answer = Option<Arc<Message>>;

/// The result of [`Names::test`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tested {
    /// The domain that was queried.
    pub name: Name,
    /// Whether a server knows it, or knows that there is no such name.
    pub works: bool,
    /// The response code in words; nothing if no server answered.
    pub answer: Option<String>,
}

/// What became of a question.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// A server's answer.
    Answer(Arc<Message>),
    /// No server answered.
    Failed,
    /// The name is in no zone, and others are not answered.
    Refused,
}

impl<D> Clone for Names<D> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<D> fmt::Debug for Names<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Names").finish_non_exhaustive()
    }
}

/// Names that are in no zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Others {
    /// This machine's servers answer them ([`name_servers`]).
    System(Vec<SocketAddr>),
    /// They are refused.
    Refused,
}

impl<D: Dial> Names<D> {
    /// `dial` is the network of the zones' servers. A tunnel is not split by prefix: its servers are queried through it wherever
    /// they are.
    pub fn new(services: &Services, dial: D, zones: &[Zone], others: Others) -> Self {
        let shared = Arc::clone(&services.0);
        let counters = || Arc::clone(&shared.counters);
        let others = match others {
            Others::Refused => None,
            Others::System(servers) => {
                Some((Upstream { dial: System, counters: counters() }, Servers::new(&servers)))
            }
        };
        Self(Arc::new(Inner {
            zones: ArcSwap::from_pointee(Zones::new(zones)),
            tunnel: Upstream { dial, counters: counters() },
            others,
            cache: Cache::new(shared.limits.dns_cache),
            asking: Mutex::default(),
            shared,
        }))
    }

    /// The network of the zones' servers.
    pub fn dial(&self) -> &D {
        &self.0.tunnel.dial
    }

    /// Replaces the zones. What was learned from other servers before is forgotten.
    pub fn set_zones(&self, zones: &[Zone]) {
        if self.0.zones.load().are(zones) {
            return;
        }
        self.0.zones.store(Arc::new(Zones::new(zones)));
        self.0.cache.clear();
    }

    /// The zones' servers, and whether they answer.
    pub fn servers(&self) -> Vec<ServerState> {
        self.0.zones.load().states()
    }

    /// Queries the servers of the first zone for its first domain, and nothing in the cache; `None` without a zone.
    pub async fn test(&self) -> Option<Tested> {
        let zones = self.0.zones.load_full();
        let name = zones.first_domain()?;
        let question = Question::addresses(&name, false)?;
        let answer = timeout(WITHIN, self.fetch(&zones, &question)).await.ok().flatten();
        let code = answer.map(|answer| answer.metadata.response_code);
        let works = matches!(code, Some(ResponseCode::NoError | ResponseCode::NXDomain));
        Some(Tested { name, works, answer: code.map(|code| code.to_string()) })
    }

    /// The servers of the zone of a question; none if it is in no zone.
    pub(crate) fn servers_of(&self, question: &Question) -> Vec<SocketAddr> {
        self.0.zones.load().of(&question.name).map(|servers| servers.addresses()).unwrap_or_default()
    }

    /// The answer to a question, from the cache or a server. Equal questions at one time are asked once.
    pub(crate) async fn ask(&self, question: &Question) -> Reply {
        let counters = &self.0.shared.counters;
        counters.dns_questions.fetch_add(1, Relaxed);
        if self.0.others.is_none() && self.0.zones.load().of(&question.name).is_none() {
            counters.dns_refused.fetch_add(1, Relaxed);
            return Reply::Refused;
        }
        if let Some(answer) = self.0.cache.get(question) {
            counters.dns_cached.fetch_add(1, Relaxed);
            return Reply::Answer(answer);
        }
        let answer = match self.join(question) {
            Some(mut answered) => {
                answered.wait_for(Option::is_some).await.ok().and_then(|answer| answer.clone().flatten())
            }
            None => None,
        };
        match answer {
            Some(answer) => Reply::Answer(answer),
            None => {
                counters.dns_failed.fetch_add(1, Relaxed);
                Reply::Failed
            }
        }
    }

    /// Joins a pending query for the same question, or starts one. `None`: too many questions are pending.
    fn join(&self, question: &Question) -> Option<watch::Receiver<Option<Answer>>> {
        let mut asking = self.0.asking.lock();
        if let Some(answered) = asking.get(question) {
            return Some(answered.clone());
        }
        if asking.len() >= self.0.shared.limits.dns_questions {
            return None;
        }
        let (sender, answered) = watch::channel(None);
        asking.insert(question.clone(), answered.clone());
        drop(asking);
        // In a task of its own: whoever began may go away, the others still wait.
        let names = Self(Arc::clone(&self.0));
        let question = question.clone();
        self.0.shared.spawn(async move {
            let _forget = Forget(&names.0.asking, &question);
            let zones = names.0.zones.load_full();
            let answer = timeout(WITHIN, names.fetch(&zones, &question)).await.ok().flatten().map(Arc::new);
            if let Some(answer) = &answer
                && Arc::ptr_eq(&zones, &names.0.zones.load())
            {
                names.0.cache.put(&question, answer);
            }
            sender.send_replace(Some(answer));
        });
        Some(answered)
    }

    async fn fetch(&self, zones: &Zones, question: &Question) -> Option<Message> {
        match (zones.of(&question.name), &self.0.others) {
            (Some(servers), _) => self.0.tunnel.ask(servers, question).await,
            (None, Some((system, servers))) => system.ask(servers, question).await,
            (None, None) => None,
        }
    }

    async fn addresses(&self, name: &Name, ipv6: bool) -> Result<Vec<IpAddr>, NameError> {
        let question = Question::addresses(name, ipv6).ok_or(NameError::Unknown)?;
        let Reply::Answer(answer) = self.ask(&question).await else { return Err(NameError::Failed) };
        match answer.metadata.response_code {
            ResponseCode::NoError => Ok(message::addresses(&answer, &question)),
            ResponseCode::NXDomain => Err(NameError::Unknown),
            _ => Err(NameError::Failed),
        }
    }
}

/// Takes a question off the list also when its task is ended early.
struct Forget<'n>(&'n Mutex<HashMap<Question, watch::Receiver<Option<Answer>>>>, &'n Question);

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.0.lock().remove(self.1);
    }
}

impl<D: Dial> Resolve for Names<D> {
    async fn resolve(&self, name: &Name) -> Result<Vec<IpAddr>, NameError> {
        if dns_name(name).is_none_or(|name| self.0.zones.load().of(&name).is_none()) {
            return SystemNames.resolve(name).await;
        }
        let (v4, v6) = tokio::join!(self.addresses(name, false), self.addresses(name, true));
        match (v4, v6) {
            // IPv4 first: pods and tunnels without IPv6 are many, without IPv4 few.
            (Ok(v4), Ok(v6)) => some([v4, v6].concat()),
            (Ok(one), Err(_)) | (Err(_), Ok(one)) if !one.is_empty() => Ok(one),
            (Err(NameError::Failed), _) | (_, Err(NameError::Failed)) => Err(NameError::Failed),
            _ => Err(NameError::Unknown),
        }
    }
}

/// Names as every program of this machine sees them: `/etc/hosts`, `/etc/nsswitch.conf`, `/etc/resolv.conf`.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemNames;

impl Resolve for SystemNames {
    fn resolve(&self, name: &Name) -> impl Future<Output = Result<Vec<IpAddr>, NameError>> + Send {
        let name = name.as_str().to_owned();
        async move {
            // getaddrinfo(3) tells "unknown" and "no server" apart only by numbers that std does not pass on.
            let found = tokio::net::lookup_host((name, 0)).await.map_err(|_| NameError::Unknown)?;
            let mut addresses = Vec::new();
            for address in found.map(|address| address.ip()) {
                if !addresses.contains(&address) {
                    addresses.push(address);
                }
            }
            some(addresses)
        }
    }
}

fn some(addresses: Vec<IpAddr>) -> Result<Vec<IpAddr>, NameError> {
    if addresses.is_empty() { Err(NameError::Unknown) } else { Ok(addresses) }
}
