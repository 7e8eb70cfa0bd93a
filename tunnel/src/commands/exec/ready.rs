//! Waits for a peer, and explains why none answers.

use std::{
    fmt::Write as _,
    time::{Duration, Instant},
};

use super::child::Signals;
use crate::{
    agent::ScopedTunnel,
    commands::doctor,
    runtime::{
        problem::{Problem, Result},
        status::Status,
    },
};

/// Interval between checks.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Interval between requests for handshakes. A handshake in progress is not disturbed.
const HANDSHAKE_INTERVAL: Duration = Duration::from_secs(1);
/// Peers named in the error.
const MAX_NAMED: usize = 5;

/// Waits until a peer has answered, for at most `timeout` after `begun`. Returns the signal if one ended the wait early.
///
/// # Errors
/// When no peer answers in time, with the peers tried and problems found on this machine.
pub(super) fn wait(
    tunnel: &ScopedTunnel,
    begun: Instant,
    timeout: Duration,
    signals: &Signals,
) -> Result<Option<i32>> {
    if timeout.is_zero() || tunnel.config().peers.is_empty() {
        return Ok(None);
    }
    let mut requested: Option<Instant> = None;
    loop {
        let status = tunnel.status()?;
        if status.peers.iter().any(|peer| peer.last_handshake.is_some()) {
            tracing::info!(after_ms = begun.elapsed().as_millis(), "peer answered");
            return Ok(None);
        }
        if begun.elapsed() >= timeout {
            return Err(no_answer(&status, timeout, &doctor::examine(Some(tunnel.config()))));
        }
        if requested.is_none_or(|last| last.elapsed() >= HANDSHAKE_INTERVAL) {
            tunnel.start_handshakes();
            requested = Some(Instant::now());
        }
        if let Some(signal) = signals.next(POLL_INTERVAL) {
            return Ok(Some(signal));
        }
    }
}

fn no_answer(status: &Status, timeout: Duration, report: &doctor::Report) -> Problem {
    let mut what = format!("no peer answered within {} s, so the command was not started", timeout.as_secs());
    for peer in status.peers.iter().take(MAX_NAMED) {
        let name = peer.endpoint_name.as_deref().unwrap_or("its endpoint");
        _ = match peer.endpoint {
            Some(at) => write!(what, "\n  peer {}: no answer from {at}", peer.public_key),
            None if peer.endpoint_name.is_some() => {
                write!(what, "\n  peer {}: {name} is not resolved yet", peer.public_key)
            }
            None => {
                write!(what, "\n  peer {}: has no Endpoint, so it must connect first", peer.public_key)
            }
        };
    }
    if status.peers.len() > MAX_NAMED {
        _ = write!(what, "\n  and {} more", status.peers.len() - MAX_NAMED);
    }
    for finding in report.troubles() {
        _ = write!(what, "\n  {}: {}", finding.check, finding.seen);
    }
    Problem::new(what).hint(
        "check the endpoint, the public keys at both ends, and that UDP passes (`warren-tunnel doctor --config FILE`); or change \
         the timeout with --wait",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        commands::doctor::{Finding, Report},
        runtime::status::tests::sample,
    };

    #[test]
    fn the_story_names_peers_and_troubles() {
        let mut status = sample();
        status.peers[1].endpoint = None;
        status.peers[1].endpoint_name = Some("hub.example:51820".into());
        let report = Report {
            findings: vec![
                Finding::ok("clock", "plausible"),
                Finding::limited("UDP out", "the name server 10.0.0.2 does not answer: timed out", "ask"),
            ],
            backend: Some("user"),
            because: String::new(),
        };
        insta::assert_snapshot!(no_answer(&status, Duration::from_secs(30), &report));
    }
}
