//! Which servers know a name: those of the longest domain that it is in.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use hickory_proto::rr::{LowerName, Name as DnsName};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::target::Name;

/// A server that did not answer is queried after the others for this long.
const SHUNNED: Duration = Duration::from_secs(10);

/// The names of a zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Suffixes {
    /// These and all below them.
    These(Vec<Name>),
    /// All names.
    All,
}

/// Names, and the servers that know them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zone {
    /// Its names.
    pub suffixes: Suffixes,
    /// Its servers, in the order of preference.
    pub servers: Vec<SocketAddr>,
}

/// Whether a name server answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServerState {
    /// The server.
    pub at: SocketAddr,
    /// Whether its last answer arrived in time; true before the first query.
    pub answers: bool,
}

/// All zones, the longest domains first.
#[derive(Debug, Default)]
pub(super) struct Zones {
    by_domain: Vec<(LowerName, Arc<Servers>)>,
    rest: Option<Arc<Servers>>,
    all: Vec<Arc<Servers>>,
    configured: Vec<Zone>,
}

impl Zones {
    /// Without servers, a zone has no names.
    pub(super) fn new(zones: &[Zone]) -> Self {
        let mut built = Self { configured: zones.to_vec(), ..Self::default() };
        for zone in zones.iter().filter(|zone| !zone.servers.is_empty()) {
            let servers = Arc::new(Servers::new(&zone.servers));
            built.all.push(Arc::clone(&servers));
            match &zone.suffixes {
                Suffixes::All => built.rest = built.rest.or(Some(servers)),
                Suffixes::These(names) => {
                    let domains = names.iter().filter_map(|name| dns_name(name).map(LowerName::from));
                    built.by_domain.extend(domains.map(|domain| (domain, Arc::clone(&servers))));
                }
            }
        }
        built.by_domain.sort_by_key(|(domain, _)| std::cmp::Reverse(domain.num_labels()));
        built
    }

    /// The servers of a name. Any name that DNS can carry counts, not only those of hosts: it must not be looked up elsewhere.
    pub(super) fn of(&self, name: &DnsName) -> Option<&Arc<Servers>> {
        let name = LowerName::from(name);
        let found = self.by_domain.iter().find(|(domain, _)| domain.zone_of(&name));
        found.map(|(_, servers)| servers).or(self.rest.as_ref())
    }

    /// The first domain of the configuration.
    pub(super) fn first_domain(&self) -> Option<Name> {
        self.configured.iter().filter(|zone| !zone.servers.is_empty()).find_map(|zone| match &zone.suffixes {
            Suffixes::These(names) => names.first().cloned(),
            Suffixes::All => None,
        })
    }

    /// Whether these zones are the same.
    pub(super) fn are(&self, zones: &[Zone]) -> bool {
        self.configured == zones
    }

    pub(super) fn states(&self) -> Vec<ServerState> {
        let mut states: Vec<ServerState> = self.all.iter().flat_map(|servers| servers.states()).collect();
        // One server may have several zones: it answers if it does so for all of them.
        states.sort_unstable();
        states.dedup_by_key(|state| state.at);
        states
    }
}

/// A name as DNS has it.
pub(super) fn dns_name(name: &Name) -> Option<DnsName> {
    let mut name = DnsName::from_labels(name.as_str().split('.').map(str::as_bytes)).ok()?;
    name.set_fqdn(true);
    Some(name)
}

/// Servers of one zone, and which of them did not answer lately.
#[derive(Debug, Default)]
pub(super) struct Servers(Vec<Server>);

#[derive(Debug)]
struct Server {
    at: SocketAddr,
    failed: Mutex<Option<Instant>>,
}

impl Servers {
    pub(super) fn new(servers: &[SocketAddr]) -> Self {
        Self(servers.iter().map(|at| Server { at: *at, failed: Mutex::new(None) }).collect())
    }

    /// All of them, in the order in which they are queried now.
    pub(super) fn order(&self) -> Vec<SocketAddr> {
        let shunned = |server: &&Server| server.failed.lock().is_some_and(|at| at.elapsed() < SHUNNED);
        let (late, first): (Vec<_>, Vec<_>) = self.0.iter().partition(shunned);
        first.into_iter().chain(late).map(|server| server.at).collect()
    }

    /// The servers as configured.
    pub(super) fn addresses(&self) -> Vec<SocketAddr> {
        self.0.iter().map(|server| server.at).collect()
    }

    /// Notes whether a server answered, and logs a change.
    pub(super) fn note(&self, at: SocketAddr, answered: bool) {
        let Some(server) = self.0.iter().find(|server| server.at == at) else { return };
        let mut failed = server.failed.lock();
        match (answered, failed.is_some()) {
            (false, false) => tracing::warn!(server = %at, "name server does not answer"),
            (true, true) => tracing::info!(server = %at, "name server answers again"),
            _ => {}
        }
        *failed = (!answered).then(Instant::now);
    }

    fn states(&self) -> impl Iterator<Item = ServerState> + '_ {
        self.0.iter().map(|server| ServerState { at: server.at, answers: server.failed.lock().is_none() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(suffixes: &[&str], server: u8) -> Zone {
        Zone {
            suffixes: match suffixes {
                [] => Suffixes::All,
                names => Suffixes::These(names.iter().map(|name| name.parse().unwrap()).collect()),
            },
            servers: vec![([10, 0, 0, server], 53).into()],
        }
    }

    fn server(zones: &Zones, name: &str) -> Option<String> {
        let mut name = DnsName::from_labels(name.split('.').map(str::as_bytes)).unwrap();
        name.set_fqdn(true);
        zones.of(&name).map(|servers| servers.order()[0].ip().to_string())
    }

    #[test]
    fn the_longest_domain_wins_whatever_the_order() {
        let mut all = vec![
            zone(&["example.com"], 1),
            zone(&["s3.example.com", "other.test"], 2),
            zone(&["eu.s3.example.com"], 3),
        ];
        for _ in 0..3 {
            all.rotate_left(1);
            let zones = Zones::new(&all);
            for (name, expected) in [
                ("example.com", Some("10.0.0.1")),
                ("WWW.Example.COM", Some("10.0.0.1")),
                ("s3.example.com", Some("10.0.0.2")),
                ("a.b.s3.example.com", Some("10.0.0.2")),
                ("x.eu.s3.example.com", Some("10.0.0.3")),
                ("mys3.example.com", Some("10.0.0.1")),
                ("notexample.com", None),
                ("com", None),
            ] {
                assert_eq!(server(&zones, name).as_deref(), expected, "{name}");
            }
        }
        all.push(zone(&[], 9));
        assert_eq!(server(&Zones::new(&all), "com").as_deref(), Some("10.0.0.9"));
    }

    #[test]
    fn names_that_no_host_has_belong_to_their_domain_too() {
        let zones = Zones::new(&[zone(&["example.com"], 1)]);
        for name in ["-x.example.com", "*.example.com", "a b.example.com", "x\0y.example.com"] {
            assert_eq!(server(&zones, name).as_deref(), Some("10.0.0.1"), "{name}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_did_not_answer_comes_last_for_a_while() {
        let [one, other]: [SocketAddr; 2] = [([10, 0, 0, 1], 53).into(), ([10, 0, 0, 2], 53).into()];
        let servers = Servers::new(&[one, other]);
        assert_eq!(servers.order(), [one, other]);
        servers.note(one, false);
        assert_eq!(servers.order(), [other, one]);
        assert_eq!(servers.states().map(|state| state.answers).collect::<Vec<_>>(), [false, true]);
        tokio::time::advance(SHUNNED).await;
        assert_eq!(servers.order(), [one, other]);
        servers.note(one, true);
        assert!(servers.states().all(|state| state.answers));
    }
}
