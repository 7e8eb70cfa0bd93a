//! Probes for an assertion.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use anyhow::{Result, bail, ensure};
use warren_dataplane::lab::{Node, Outcome, Packet, Probe, Watch};
use warren_dataplane::servers::SIGNED;
use warren_model::policy::{Assertion, Expect, Selector, matches};
use warren_model::topology::Protocol;

use super::Verdict;
use super::ground::{Ground, Kind};

/// Ports that stand for all ports.
pub(super) const PORTS: [u16; 5] = [22, 80, 443, 8000, 8080];

/// A source or destination.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum End {
    /// A host, by its place in the list of all.
    Host(usize),
    /// A pod of a group.
    Pod(String),
    Internet,
    /// A name, with what the policy calls it.
    Name(String, String),
}

/// A port of a transport protocol.
#[derive(Clone, Copy, Debug)]
pub(super) struct Port {
    pub(super) tcp: bool,
    pub(super) number: u16,
}

/// What came of one attempt.
struct Attempt {
    from: End,
    to: End,
    port: Port,
    /// Whether it was answered by whom it was for, or why not.
    outcome: Result<(), String>,
}

impl Ground {
    /// Answers an assertion with packets.
    pub(super) fn ask(&self, assertion: &Assertion) -> Result<Verdict> {
        let mut findings = Vec::new();
        let from = self.ends(&assertion.from, assertion, &mut findings)?;
        let to = self.ends(&assertion.to, assertion, &mut findings)?;
        let pairs: Vec<(End, End)> = from
            .iter()
            .flat_map(|from| to.iter().map(move |to| (from.clone(), to.clone())))
            // A group stands for several pods.
            .filter(|(from, to)| from != to || matches!(to, End::Pod(_)))
            .collect();
        if pairs.is_empty() {
            let empty = from.is_empty() || to.is_empty();
            if findings.is_empty() && assertion.allow_empty && empty {
                return Ok(Verdict::NotProbed);
            }
            findings.push("there is no pair of a source and another destination".to_owned());
        }
        self.internet.watch().clear();
        let attempts = self.attempts(&pairs, &ports(assertion.protocol)?)?;
        for (from, to) in &pairs {
            let own = attempts.iter().filter(|attempt| attempt.from == *from && attempt.to == *to);
            let pair = format!("{} -> {}", self.name(from), self.name(to));
            findings.extend(contradictions(assertion.expect, &pair, &own.collect::<Vec<_>>()));
        }
        let seen = self.internet.seen();
        if assertion.expect == Expect::Endpoint && !seen.is_empty() {
            let tunnel = |line: &&str| !self.is_tunnel(line);
            findings.extend(seen.lines().filter(tunnel).map(|line| format!("crossed the internet: {line}")));
        }
        Ok(Verdict::from_findings(findings))
    }

    fn ends(
        &self,
        selectors: &[Selector],
        assertion: &Assertion,
        findings: &mut Vec<String>,
    ) -> Result<Vec<End>> {
        let mut ends = BTreeSet::new();
        for selector in selectors {
            let some = self.select(selector)?;
            if some.is_empty() && !assertion.allow_empty {
                findings.push(format!("{selector:?} matches nothing that exists"));
            }
            ends.extend(some);
        }
        Ok(ends.into_iter().collect())
    }

    fn select(&self, selector: &Selector) -> Result<Vec<End>> {
        let hosts = |fits: &dyn Fn(&super::ground::Host) -> bool| -> Vec<End> {
            let all = self.hosts.iter().enumerate();
            all.filter(|(_, host)| fits(host)).map(|(index, _)| End::Host(index)).collect()
        };
        let subnet = |host: &super::ground::Host| host.kind == Kind::Subnet;
        Ok(match selector {
            Selector::Internet => vec![End::Internet],
            Selector::Network(name) => hosts(&|host| subnet(host) && matches(name, &host.network)),
            Selector::Subnet(name) => hosts(&|host| subnet(host) && matches(name, &host.name)),
            Selector::Any(name) => {
                hosts(&|host| subnet(host) && (matches(name, &host.network) || matches(name, &host.name)))
            }
            Selector::Host(name) => hosts(&|host| host.kind == Kind::Instance && matches(name, &host.name)),
            Selector::Group(name) => {
                self.pods.groups().filter(|group| matches(name, group)).map(End::Pod).collect()
            }
            Selector::Name(name) => vec![End::Name(name.clone(), name.clone())],
            Selector::Service(service) => {
                let names = names_of(service);
                ensure!(!names.is_empty(), "no name is known for service:{service}");
                names.iter().map(|name| End::Name((*name).to_owned(), format!("service {service}"))).collect()
            }
        })
    }

    fn attempts(&self, pairs: &[(End, End)], ports: &[Port]) -> Result<Vec<Attempt>> {
        let mut attempts = Vec::new();
        let (mut probes, mut opened) = (Vec::new(), Vec::new());
        for (from, to) in pairs {
            let pods = [from, to].map(|end| matches!(end, End::Pod(_)));
            ensure!(pods != [false, true], "pods are destinations of pods only");
            for port in ports {
                let attempt = |outcome| Attempt { from: from.clone(), to: to.clone(), port: *port, outcome };
                if let End::Pod(group) = from {
                    // The agent's proxy carries TCP.
                    if port.tcp {
                        opened.push((attempts.len(), self.open(group, to, *port)?));
                        attempts.push(attempt(Err(String::new())));
                    }
                    continue;
                }
                let node = self.node(from)?;
                let addresses = self.addresses(&node, from, to);
                if addresses.is_empty() {
                    attempts.push(attempt(Err("the name does not resolve".to_owned())));
                }
                for address in addresses {
                    let at = SocketAddr::new(address, port.number);
                    let probe = match (port.tcp, object(to)) {
                        (true, Some((host, path))) => Probe::get(&node, at, host, path, &[SIGNED]),
                        (true, None) => Probe::tcp(&node, at),
                        (false, _) => Probe::udp(&node, at),
                    };
                    probes.push((attempts.len(), probe));
                    attempts.push(attempt(Err(String::new())));
                }
            }
        }
        let (places, probes): (Vec<usize>, Vec<Probe>) = probes.into_iter().unzip();
        let watches = self.watches(pairs)?;
        for (index, outcome) in places.into_iter().zip(self.lab.probe(&probes)) {
            let attempt = &attempts[index];
            // On an instance, a program of its own listens. WireGuard answers no stranger, so what arrives counts.
            let arrived = |watch: &Watch| watch.packets().iter().any(|packet| attempt.port.is_of(packet));
            attempts[index].outcome = match (&outcome, watches.get(&attempt.to)) {
                (Outcome::Answered { server, .. }, _) => self.judge(&attempt.to, server),
                (Outcome::Open, Some(_)) => Ok(()),
                (Outcome::Silent, Some(watch)) if !attempt.port.tcp && arrived(watch) => Ok(()),
                (other, _) => Err(format!("{other:?}")),
            };
        }
        for (index, opened) in opened {
            let server = opened.answered()?;
            attempts[index].outcome = server.and_then(|server| self.judge(&attempts[index].to, &server));
        }
        Ok(attempts)
    }

    /// Records of the packets at the instances among the destinations.
    fn watches(&self, pairs: &[(End, End)]) -> Result<BTreeMap<End, Watch>> {
        let mut watches = BTreeMap::new();
        for (_, to) in pairs {
            if let End::Host(index) = to
                && let Some(host) = self.hosts.get(*index).filter(|host| host.kind == Kind::Instance)
                && !watches.contains_key(to)
            {
                watches.insert(to.clone(), Watch::of(&host.node)?);
            }
        }
        Ok(watches)
    }

    /// Whether the server that answered is the one that was meant.
    pub(super) fn judge(&self, to: &End, server: &str) -> Result<(), String> {
        let meant = match to {
            End::Host(index) => self.hosts.get(*index).is_some_and(|host| host.node.name() == server),
            End::Internet => server == self.internet.node().name(),
            End::Name(..) => {
                let host = self.hosts.iter().any(|host| host.node.name() == server);
                !host && server != self.internet.node().name()
            }
            End::Pod(group) => self.is_pod(group, server),
        };
        if meant { Ok(()) } else { Err(format!("{server} answered instead")) }
    }

    fn node(&self, end: &End) -> Result<Node> {
        match end {
            End::Host(index) => match self.hosts.get(*index) {
                Some(host) => Ok(host.node.clone()),
                None => bail!("no such host"),
            },
            End::Internet => Ok(self.internet.node().clone()),
            End::Pod(_) | End::Name(..) => bail!("{end:?} opens no connections"),
        }
    }

    /// Where `to` is for a client: from the internet, at its public address.
    pub(super) fn addresses(&self, node: &Node, from: &End, to: &End) -> Vec<IpAddr> {
        match to {
            End::Host(index) => self
                .hosts
                .get(*index)
                .into_iter()
                .map(|host| match (from, host.public) {
                    (End::Internet, Some(public)) => public.into(),
                    _ => host.address.into(),
                })
                .collect(),
            End::Internet => vec![self.internet.address()],
            End::Name(name, _) => self.lab.lookup(node, name).addresses.into_iter().collect(),
            End::Pod(_) => Vec::new(),
        }
    }

    fn name(&self, end: &End) -> String {
        match end {
            End::Host(index) => self
                .hosts
                .get(*index)
                .map_or_else(String::new, |host| format!("{} of {}", host.name, host.network)),
            End::Pod(group) => format!("pod of {group}"),
            End::Internet => "the internet".to_owned(),
            End::Name(name, called) if name == called => name.clone(),
            End::Name(name, called) => format!("{called} ({name})"),
        }
    }
}

impl Attempt {
    fn reason(&self) -> &str {
        self.outcome.as_ref().err().map_or("reached", String::as_str)
    }
}

impl Port {
    /// Whether a packet is for this port.
    fn is_of(self, packet: &Packet) -> bool {
        packet.protocol == if self.tcp { 6 } else { 17 } && packet.destination_port == self.number
    }
}

impl std::fmt::Display for Port {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", if self.tcp { "TCP" } else { "UDP" }, self.number)
    }
}

/// The host and the path of an object, where a name is that of a bucket: whether it can be read is up to policies as well.
pub(super) fn object(to: &End) -> Option<(&str, &'static str)> {
    match to {
        End::Name(name, _) if name.contains(".s3.") => Some((name, "/object")),
        _ => None,
    }
}

/// What the attempts between two ends say against the expectation.
fn contradictions(expect: Expect, pair: &str, attempts: &[&Attempt]) -> Vec<String> {
    if attempts.is_empty() {
        return vec![format!("{pair}: nothing was sent")];
    }
    let (reached, failed): (Vec<&Attempt>, Vec<&Attempt>) =
        attempts.iter().partition(|attempt| attempt.outcome.is_ok());
    match expect {
        Expect::Unreachable => reached.iter().map(|it| format!("{pair} {}: reached", it.port)).collect(),
        // Where the policy names no port, one that is open suffices.
        Expect::Reachable | Expect::Endpoint if reached.is_empty() => {
            failed.iter().map(|it| format!("{pair} {}: {}", it.port, it.reason())).collect()
        }
        Expect::Reachable | Expect::Endpoint => Vec::new(),
    }
}

/// The ports that stand for those of an assertion.
fn ports(protocol: Protocol) -> Result<Vec<Port>> {
    let some = |tcp, low: u16, high: u16| -> Vec<Port> {
        if low == high {
            return vec![Port { tcp, number: low }];
        }
        let within = PORTS.into_iter().filter(|port| (low..=high).contains(port));
        within.map(|number| Port { tcp, number }).collect()
    };
    let ports = match protocol {
        Protocol::Any => [some(true, 0, u16::MAX), some(false, 0, u16::MAX)].concat(),
        Protocol::Tcp(low, high) => some(true, low, high),
        Protocol::Udp(low, high) => some(false, low, high),
        Protocol::Other => Vec::new(),
    };
    ensure!(!ports.is_empty(), "no probe for {protocol:?}");
    Ok(ports)
}

/// The names that clients of a service ask for.
fn names_of(service: &str) -> &'static [&'static str] {
    match service {
        "s3" => &["s3.us-east-1.amazonaws.com", "acme-datasets.s3.us-east-1.amazonaws.com"],
        "ecr.api" => &["api.ecr.us-east-1.amazonaws.com"],
        "ecr.dkr" => &["123456789012.dkr.ecr.us-east-1.amazonaws.com"],
        "googleapis" | "storage" => &["storage.googleapis.com"],
        "artifact-registry" => &["us-central1-docker.pkg.dev"],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(port: u16, outcome: Result<(), &str>) -> Attempt {
        let port = Port { tcp: true, number: port };
        Attempt { from: End::Internet, to: End::Host(0), port, outcome: outcome.map_err(str::to_owned) }
    }

    #[test]
    fn a_pair_between_which_nothing_was_sent_contradicts_every_expectation() {
        for expect in [Expect::Unreachable, Expect::Reachable, Expect::Endpoint] {
            assert_eq!(contradictions(expect, "a -> b", &[]), ["a -> b: nothing was sent"]);
        }
    }

    #[test]
    fn one_open_port_keeps_reachable_and_breaks_unreachable() {
        let (open, closed) = (attempt(443, Ok(())), attempt(22, Err("Silent")));
        assert_eq!(
            contradictions(Expect::Unreachable, "a -> b", &[&open, &closed]),
            ["a -> b TCP 443: reached"]
        );
        assert!(contradictions(Expect::Unreachable, "a -> b", &[&closed]).is_empty());
        assert!(contradictions(Expect::Reachable, "a -> b", &[&open, &closed]).is_empty());
        assert_eq!(contradictions(Expect::Reachable, "a -> b", &[&closed]), ["a -> b TCP 22: Silent"]);
    }
}
