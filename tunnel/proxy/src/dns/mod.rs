//! Names, split by suffix: some are the tunnel's to answer, all others this machine's.
//!
//! ```text
//! proxies ─► Names::resolve ─┬─ suffix of the tunnel ─► cache ─► the tunnel's servers, through the tunnel
//!                            └─ any other ───────────► getaddrinfo(3)
//! clients ─► server ─► Names ┬─ suffix of the tunnel ─► cache ─► the tunnel's servers, through the tunnel
//!                            └─ any other ───────────► cache ─► this machine's servers, directly
//! ```

mod cache;
pub mod message;
mod server;
mod upstream;

use std::{
    collections::HashMap,
    fmt,
    future::Future,
    net::{IpAddr, SocketAddr},
    sync::{Arc, atomic::Ordering::Relaxed},
};

use hickory_proto::op::{Message, ResponseCode};
use parking_lot::Mutex;
use tokio::sync::watch;

pub use self::upstream::name_servers;
use self::{cache::Cache, message::Question, upstream::Upstream};
use crate::{
    net::{Dial, System},
    outbound::{NameError, Resolve},
    service::{Services, Shared},
    target::Name,
};

/// Names that a tunnel answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Suffixes {
    /// These and all below them.
    These(Vec<Name>),
    /// All names.
    All,
}

impl Suffixes {
    fn hold(&self, name: Option<&Name>) -> bool {
        match (self, name) {
            (Self::All, _) => true,
            (Self::These(suffixes), Some(name)) => suffixes.iter().any(|suffix| name.is_below(suffix)),
            (Self::These(_), None) => false,
        }
    }
}

/// Where names are looked up. Clones share their cache.
pub struct Names<D>(Arc<Inner<D>>);

struct Inner<D> {
    shared: Arc<Shared>,
    suffixes: Suffixes,
    tunnel: Upstream<D>,
    system: Upstream<System>,
    cache: Cache,
    asking: Mutex<HashMap<Question, watch::Receiver<Option<Answer>>>>,
}

/// What came of a question; nothing where no server answered.
type Answer = Option<Arc<Message>>;

impl<D> Clone for Names<D> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<D> fmt::Debug for Names<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Names").field("suffixes", &self.0.suffixes).finish_non_exhaustive()
    }
}

/// Name servers.
#[derive(Debug, Clone, Default)]
pub struct Servers {
    /// The tunnel's servers: queried through the tunnel, for names with one of its suffixes.
    pub tunnel: Vec<SocketAddr>,
    /// This machine's servers: queried directly, for all other questions to the DNS server ([`name_servers`]).
    pub system: Vec<SocketAddr>,
}

impl<D: Dial> Names<D> {
    /// `dial` is the tunnel itself, not split by prefix: its servers are asked through it wherever they are. Without servers of
    /// the tunnel no name is its own.
    pub fn new(services: &Services, dial: D, suffixes: Suffixes, servers: Servers) -> Self {
        let shared = Arc::clone(&services.0);
        let counters = || Arc::clone(&shared.counters);
        let suffixes = if servers.tunnel.is_empty() { Suffixes::These(Vec::new()) } else { suffixes };
        Self(Arc::new(Inner {
            suffixes,
            tunnel: Upstream { dial, servers: servers.tunnel, counters: counters() },
            system: Upstream { dial: System, servers: servers.system, counters: counters() },
            cache: Cache::new(shared.limits.dns_cache),
            asking: Mutex::default(),
            shared,
        }))
    }

    /// The answer to a question, from the cache or a server. Equal questions at one time are asked once.
    pub(crate) async fn ask(&self, question: &Question) -> Answer {
        let counters = &self.0.shared.counters;
        counters.dns_questions.fetch_add(1, Relaxed);
        if let Some(answer) = self.0.cache.get(question) {
            counters.dns_cached.fetch_add(1, Relaxed);
            return Some(answer);
        }
        let mut answered = self.join(question)?;
        let answer = answered.wait_for(Option::is_some).await.ok()?.clone().flatten();
        if answer.is_none() {
            counters.dns_failed.fetch_add(1, Relaxed);
        }
        answer
    }

    /// Joins a pending query for the same question, or starts one. `None`: too many questions are pending.
    fn join(&self, question: &Question) -> Option<watch::Receiver<Option<Answer>>> {
        let mut asking = self.0.asking.lock();
        if let Some(answered) = asking.get(question) {
            return Some(answered.clone());
        }
        if asking.len() >= self.0.shared.limits.dns_questions {
            self.0.shared.counters.dns_failed.fetch_add(1, Relaxed);
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
            let answer = names.fetch(&question).await.map(Arc::new);
            if let Some(answer) = &answer {
                names.0.cache.put(&question, answer);
            }
            sender.send_replace(Some(answer));
        });
        Some(answered)
    }

    async fn fetch(&self, question: &Question) -> Option<Message> {
        if self.0.suffixes.hold(question.host().as_ref()) {
            self.0.tunnel.ask(question).await
        } else {
            self.0.system.ask(question).await
        }
    }

    async fn addresses(&self, name: &Name, ipv6: bool) -> Result<Vec<IpAddr>, NameError> {
        let question = Question::addresses(name, ipv6).ok_or(NameError::Unknown)?;
        let answer = self.ask(&question).await.ok_or(NameError::Failed)?;
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
        if !self.0.suffixes.hold(Some(name)) {
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
