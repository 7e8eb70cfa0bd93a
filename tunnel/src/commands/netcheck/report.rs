//! The report of `netcheck`: what was measured, what it means, and what an agent would use. Pure.

use std::{fmt::Write as _, time::Duration};

use serde::Serialize;
use warren_wire::config::Endpoint;

use super::{
    probe::{Failure, Measured, Plan, Samples},
    targets::{Named, Source, Targets, Used},
};
use crate::runtime::net;

/// The MTU inside the tunnel of agents that have not enrolled yet: the default of gateways.
const USUAL_MTU: u32 = 1420;
/// A handshake at most so old proves that the carrier of its session works (whitepaper section 6.1).
const FRESH: f64 = 180.0;

/// The report. Its fields are an interface: docs/tunnel.md describes them.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    source: Source,
    count: usize,
    timeout_seconds: f64,
    /// Whether UDP works at all.
    udp: Verdict,
    gateways: Vec<Gateway>,
    /// Peers that were not measured.
    omitted: usize,
    selection: Selection,
}

/// Whether the network lets UDP through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    /// A gateway answers.
    Works,
    /// No gateway answers, although one answers over TLS.
    Blocked,
    /// Nothing answers at all, or no gateway has a UDP endpoint.
    Unknown,
}

#[derive(Debug, Serialize)]
struct Gateway {
    name: String,
    public_key: String,
    /// The interface of the running agent that uses it.
    agent: Option<String>,
    udp: Option<Path>,
    tls: Option<Path>,
    mtu: Option<Mtu>,
    /// The carrier that an agent would use.
    carrier: Option<&'static str>,
}

/// A path by one carrier. Times are in milliseconds.
#[derive(Debug, Serialize)]
struct Path {
    endpoint: String,
    answers: bool,
    sent: usize,
    answered: usize,
    loss: f64,
    min_ms: Option<f64>,
    median_ms: Option<f64>,
    max_ms: Option<f64>,
    jitter_ms: Option<f64>,
    reason: Option<String>,
    hint: Option<String>,
}

#[derive(Debug, PartialEq, Serialize)]
struct Mtu {
    /// Of the path outside the tunnel.
    path: u32,
    /// The largest that fits inside.
    fits: u32,
    /// Of the agent, or the usual one.
    tunnel: u32,
    full_packets: bool,
}

/// What an agent would use.
#[derive(Debug, Default, PartialEq, Serialize)]
struct Selection {
    /// The gateway; none if there is none, or if it depends on the agent's key.
    gateway: Option<String>,
    carrier: Option<&'static str>,
    /// All gateways that are possible.
    candidates: Vec<String>,
    why: String,
}

impl Report {
    pub(super) fn new(targets: Targets, measured: Vec<Measured>, plan: Plan) -> Self {
        let Targets { source, gateways: named, omitted } = targets;
        let uses: Vec<Option<Used>> = named.iter().map(|named| named.used.clone()).collect();
        let gateways: Vec<Gateway> = named
            .into_iter()
            .zip(measured)
            .map(|(named, measured)| Gateway::new(source, named, measured))
            .collect();
        Self {
            source,
            count: plan.count,
            timeout_seconds: plan.timeout.as_secs_f64(),
            udp: verdict(&gateways),
            selection: select(source, &gateways, &uses),
            gateways,
            omitted,
        }
    }

    fn paths(&self) -> impl Iterator<Item = &Path> {
        self.gateways.iter().flat_map(|gateway| gateway.udp.iter().chain(&gateway.tls))
    }

    /// The MTUs, each with the gateways that have it.
    fn mtus(&self) -> Vec<(&Mtu, Vec<&str>)> {
        let mut all: Vec<(&Mtu, Vec<&str>)> = Vec::new();
        for gateway in &self.gateways {
            let Some(mtu) = &gateway.mtu else { continue };
            match all.iter_mut().find(|(known, _)| *known == mtu) {
                Some((_, names)) => names.push(&gateway.name),
                None => all.push((mtu, vec![&gateway.name])),
            }
        }
        all
    }

    pub(super) fn exit_code(&self) -> u8 {
        match (self.paths().all(|path| path.answers), self.paths().any(|path| path.answers)) {
            (_, false) => 2,
            (true, true) => 0,
            (false, true) => 1,
        }
    }

    pub(super) fn text(&self) -> String {
        let width = self.gateways.iter().map(|gateway| gateway.name.len()).max().unwrap_or(0).max(7);
        let at = self.paths().map(|path| path.endpoint.len()).max().unwrap_or(0).max(8);
        let mut out = format!(
            "{:width$}  carrier  {:at$}  {:>5}  {:>8}  {:>8}  {:>8}  {:>8}\n",
            "gateway", "endpoint", "loss", "min", "median", "max", "jitter"
        );
        let mut notes = String::new();
        for gateway in &self.gateways {
            for (carrier, path) in [("udp", &gateway.udp), ("tls", &gateway.tls)] {
                let Some(path) = path else { continue };
                let loss = format!("{:.0} %", path.loss * 100.0);
                let times = [path.min_ms, path.median_ms, path.max_ms, path.jitter_ms].map(milliseconds);
                let [min, median, max, jitter] = times;
                _ = writeln!(
                    out,
                    "{:width$}  {carrier:7}  {:at$}  {loss:>5}  {min:>8}  {median:>8}  {max:>8}  {jitter:>8}",
                    gateway.name, path.endpoint
                );
                let Some(reason) = &path.reason else { continue };
                _ = writeln!(notes, "{} over {carrier}: {reason}", gateway.name);
                if let Some(hint) = &path.hint {
                    _ = writeln!(notes, "  hint: {hint}");
                }
            }
        }
        if self.omitted > 0 {
            _ = writeln!(out, "{} further peers were not measured.", self.omitted);
        }
        out.push_str("Times are in milliseconds.\n\n");
        out.push_str(&notes);
        _ = writeln!(out, "UDP: {}", self.udp.text());
        for (mtu, names) in self.mtus() {
            _ = writeln!(out, "MTU to {}: {}", names.join(", "), mtu.text());
        }
        _ = writeln!(out, "Selection: {}", self.selection.why);
        out
    }
}

impl Verdict {
    fn text(self) -> &'static str {
        match self {
            Self::Works => "works, a gateway answers",
            Self::Blocked => "blocked, no gateway answers although one answers over TLS",
            Self::Unknown => "unknown, since no gateway answers",
        }
    }
}

impl Mtu {
    fn text(&self) -> String {
        let Self { path, fits, tunnel, full_packets } = self;
        if *full_packets {
            format!("{path} on the path, which carries full packets of {tunnel} bytes inside the tunnel")
        } else {
            format!(
                "{path} on the path, which does not carry full packets of {tunnel} bytes inside the tunnel\n  \
                 hint: start the agent with --mtu {fits}, or set `mtu` in the gateway's file"
            )
        }
    }
}

impl Gateway {
    fn new(source: Source, named: Named, measured: Measured) -> Self {
        let Named { name, target, used } = named;
        let answers = |samples: &Option<Samples>| samples.as_ref().is_some_and(Samples::answers);
        let (by_udp, by_tls) = (answers(&measured.udp), answers(&measured.tls));
        let context = Context {
            source,
            tls: measured.tls.is_some().then_some(by_tls),
            session: used.as_ref().is_some_and(|used| {
                used.carrier == "udp" && used.handshake_age.is_some_and(|age| age < FRESH)
            }),
            own: target.own.is_some(),
        };
        let udp = target.udp.as_ref().zip(measured.udp).map(|(endpoint, samples)| {
            let reason = context.udp(endpoint, &samples);
            Path::new(endpoint, samples, reason)
        });
        let tls = target.tls.as_ref().zip(measured.tls).map(|(tls, samples)| {
            let reason = samples.error.clone().map(said);
            Path::new(&tls.endpoint, samples, reason)
        });
        let tunnel = used.as_ref().map_or(USUAL_MTU, |used| used.mtu);
        let mtu = measured.path_mtu.map(|path| {
            let fits = net::tunnel_mtu(Some(path));
            Mtu { path, fits, tunnel, full_packets: fits >= tunnel }
        });
        let carrier = if by_udp || context.session { Some("udp") } else { by_tls.then_some("tls") };
        let agent = used.filter(|used| used.active).map(|used| used.interface.to_string());
        Self { name, public_key: target.key.to_string(), agent, udp, tls, mtu, carrier }
    }
}

impl Path {
    fn new(endpoint: &Endpoint, samples: Samples, reason: Option<(String, String)>) -> Self {
        let Samples { sent, times, .. } = samples;
        let (reason, hint) = reason.unzip();
        let answered = times.len();
        let mut sorted = times.clone();
        sorted.sort();
        let at = |index: usize| sorted.get(index).map(in_ms);
        Self {
            endpoint: endpoint.to_string(),
            answers: answered > 0,
            sent,
            answered,
            loss: share(sent - answered, sent),
            min_ms: at(0),
            median_ms: at(answered / 2),
            max_ms: at(answered.saturating_sub(1)),
            jitter_ms: jitter(&times),
            reason,
            hint: hint.filter(|hint| !hint.is_empty()),
        }
    }
}

/// What explains why UDP does not answer.
struct Context {
    source: Source,
    /// Whether TLS answers, if there is a TLS endpoint.
    tls: Option<bool>,
    /// An agent has a session with it over UDP.
    session: bool,
    /// The probe used a key that the peer knows.
    own: bool,
}

impl Context {
    fn udp(&self, endpoint: &Endpoint, samples: &Samples) -> Option<(String, String)> {
        let port = endpoint.port;
        let both = |what: &str, hint: String| Some((what.to_owned(), hint));
        match samples.error.clone()? {
            Failure::Silent if samples.answers() => both(
                "some probes were lost",
                "expect slower transfers; a path with less loss may exist through another gateway".into(),
            ),
            Failure::Silent if self.session => both(
                "no answer to probes, although the agent has a session",
                "the peer answers only its own peers, or is a gateway of an earlier version".into(),
            ),
            Failure::Silent if self.tls == Some(true) => both(
                "no answer, although the gateway answers over TLS: UDP is dropped on the path, or the gateway is of an earlier version",
                format!("permit UDP to port {port} in both directions; until then the agent uses TLS"),
            ),
            Failure::Silent if self.source != Source::Token && !self.own && self.tls.is_none() => both(
                "no answer: a peer that is not a gateway answers only its own peers",
                "see the last handshake in `warren-tunnel status`, or stop the agent and use --config".into(),
            ),
            Failure::Silent => both(
                "no answer: the gateway is down, or nothing passes to it",
                format!("check that the gateway runs, and that firewalls permit UDP to port {port}"),
            ),
            Failure::Closed => both(
                "the host answers that nothing listens on this port",
                "check that the gateway runs there, and that the endpoint has the right port".into(),
            ),
            other @ Failure::Other(..) => Some(said(other)),
        }
    }
}

fn said(failure: Failure) -> (String, String) {
    match failure {
        Failure::Other(what, hint) => (what, hint),
        Failure::Silent => ("no answer".into(), String::new()),
        Failure::Closed => ("the port is closed".into(), String::new()),
    }
}

fn verdict(gateways: &[Gateway]) -> Verdict {
    let udp = gateways.iter().any(|gateway| gateway.carrier == Some("udp"));
    let tried = |gateway: &Gateway| gateway.udp.as_ref().is_some_and(|path| path.sent > 0);
    let tls = |gateway: &Gateway| gateway.tls.as_ref().is_some_and(|path| path.answers);
    if udp {
        Verdict::Works
    } else if gateways.iter().any(|gateway| tried(gateway) && tls(gateway)) {
        Verdict::Blocked
    } else {
        Verdict::Unknown
    }
}

/// What an agent uses now, or would use.
fn select(source: Source, gateways: &[Gateway], uses: &[Option<Used>]) -> Selection {
    let candidates: Vec<&Gateway> = gateways.iter().filter(|gateway| gateway.carrier.is_some()).collect();
    let names: Vec<String> = candidates.iter().map(|gateway| gateway.name.clone()).collect();
    let active: Vec<(&Gateway, &Used)> = gateways
        .iter()
        .zip(uses)
        .filter_map(|(gateway, used)| Some((gateway, used.as_ref().filter(|used| used.active)?)))
        .collect();
    // With several, nothing is selected: each has prefixes of its own.
    if source != Source::Configuration
        && let [(gateway, used)] = active[..]
    {
        let mut why = format!(
            "the agent of {} uses {} over {}: {}",
            used.interface, gateway.name, used.carrier, used.why
        );
        if gateway.carrier.is_none() {
            why += "; it does not answer now, so the agent fails over";
        }
        let (gateway, carrier) = (Some(gateway.name.clone()), Some(used.carrier));
        return Selection { gateway, carrier, candidates: names, why };
    }
    // A token is redeemed over TLS.
    let enrols = |gateway: &&&Gateway| gateway.tls.as_ref().is_some_and(|path| path.answers);
    let possible: Vec<&&Gateway> = match source {
        Source::Token => candidates.iter().filter(enrols).collect(),
        Source::Configuration | Source::Agent => candidates.iter().collect(),
    };
    let names: Vec<String> = possible.iter().map(|gateway| gateway.name.clone()).collect();
    let by = |gateway: &Gateway| match gateway.carrier {
        Some("udp") => format!("{} over udp, which answers", gateway.name),
        _ => format!("{} over tls, since UDP does not answer", gateway.name),
    };
    let (gateway, carrier, why) = match (&possible[..], source) {
        ([], Source::Token) => {
            (None, None, "none, since no gateway answers over TLS, which enrolment needs".to_owned())
        }
        ([], _) => (None, None, "none, since no gateway answers".to_owned()),
        ([only], _) => {
            let why = match source {
                Source::Token if gateways.len() > 1 => {
                    format!("{}; no other gateway accepts an enrolment", by(only))
                }
                _ => by(only),
            };
            (Some(only.name.clone()), only.carrier, why)
        }
        (several, source) => {
            let all: Vec<String> = several.iter().map(|gateway| by(gateway)).collect();
            let rule = match source {
                Source::Token => {
                    "the key of an agent decides where it enrols, and the others have its next attempts"
                }
                _ => "each peer carries the traffic to its AllowedIPs",
            };
            (None, None, format!("{}; {rule}", all.join(", or ")))
        }
    };
    Selection { gateway, carrier, candidates: names, why }
}

/// The mean difference between successive round trips.
fn jitter(times: &[Duration]) -> Option<f64> {
    let differences: Vec<Duration> = times.windows(2).map(|pair| pair[0].abs_diff(pair[1])).collect();
    let count = u32::try_from(differences.len()).ok().filter(|count| *count > 0)?;
    Some(in_ms(&(differences.iter().sum::<Duration>() / count)))
}

/// To a microsecond.
fn in_ms(time: &Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

fn milliseconds(time: Option<f64>) -> String {
    time.map_or_else(|| "-".into(), |time| format!("{time:.2}"))
}

#[expect(clippy::cast_precision_loss, reason = "a share to be read by people")]
fn share(part: usize, of: usize) -> f64 {
    if of == 0 { 1.0 } else { (part as f64 / of as f64 * 1e3).round() / 1e3 }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
