//! Requests to gateways: to whichever can be connected to first.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use warren_transport::tls::{DialError, Exchange, Target, exchange};
use warren_wire::config::TlsEndpoint;
use warren_wire::enrolment::{Answer, ChannelBinding, HostInfo, Kind};
use warren_wire::token::{Claims, Gateway};
use warren_wire::{PrivateKey, PublicKey, Token};

use super::super::Carriers;
use crate::commands::keys::random;
use crate::enrolment::client::{self, ClientError};
use crate::problem::{Context as _, Problem, Result};

/// For a connection, and again for each part of the answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// The same where the answer matters little.
const SHORT: Duration = Duration::from_secs(2);
/// Head start of each gateway before the next.
const STAGGER: Duration = Duration::from_millis(300);

/// Enrols at the first gateway that answers; its answer and its key.
///
/// # Errors
/// What each of them said.
pub(super) fn first(
    claims: &Claims,
    token: &Token,
    key: &PrivateKey,
    host: &HostInfo,
    carriers: &Carriers,
) -> Result<(Answer, PublicKey)> {
    // Pods begin with different gateways, each pod always with the same.
    let mut gateways = claims.gateways.as_slice().to_vec();
    let start = usize::from(key.public().as_bytes()[0]) % gateways.len().max(1);
    gateways.rotate_left(start);
    let mut reasons = Vec::new();
    let (connected, connections) = mpsc::channel();
    let mut rest = gateways.iter();
    let mut waiting = 0;
    let until = Instant::now() + 2 * PATIENCE;
    loop {
        if let Some(gateway) = rest.next() {
            waiting += 1;
            connect(gateway, carriers, &connected)?;
        }
        if waiting == 0 {
            return Err(refused(&reasons));
        }
        let patience = if rest.len() > 0 { STAGGER } else { until.saturating_duration_since(Instant::now()) };
        match connections.recv_timeout(patience) {
            Ok((gateway, Ok(mut connection))) => {
                waiting -= 1;
                let binding = ChannelBinding(connection.binding());
                match client::enrol(&mut connection, &binding, &gateway, token, key, host.clone()) {
                    Ok(answer) => {
                        tracing::info!(gateway = %gateway.name, group = %answer.group, addresses = ?answer.addresses,
                            lease_seconds = answer.lease_seconds, "enrolled");
                        return Ok((answer, gateway.key));
                    }
                    Err(error) => reasons.push((gateway.name.to_string(), told(error))),
                }
            }
            Ok((gateway, Err(error))) => {
                waiting -= 1;
                reasons.push((
                    gateway.name.to_string(),
                    (error.to_string(), Some(error.hint().to_owned()), false),
                ));
            }
            Err(RecvTimeoutError::Timeout) if rest.len() > 0 => {}
            Err(_) => {
                reasons.push(("the others".into(), ("no answer in time".into(), None, false)));
                return Err(refused(&reasons));
            }
        }
        // What the token is refused for at one gateway it is refused for at all.
        if reasons.iter().any(|(_, (_, _, last))| *last) {
            return Err(refused(&reasons));
        }
    }
}

/// Gives the lease back: to the active gateway, else to any other.
///
/// # Errors
/// What the last of them said.
pub(super) fn release(
    answer: &Answer,
    active: PublicKey,
    key: &PrivateKey,
    carriers: &Carriers,
) -> Result<()> {
    let mut gateways = answer.gateways.as_slice().to_vec();
    gateways.sort_by_key(|gateway| gateway.key != active);
    let mut last = Problem::new("there is no gateway");
    for gateway in gateways.iter().take(2) {
        let Some(target) = target(gateway, carriers) else { continue };
        let released =
            exchange(&target, SHORT).map_err(|error| error.to_string()).and_then(|mut connection| {
                let binding = ChannelBinding(connection.binding());
                client::release(&mut connection, &binding, gateway, key).map_err(|error| error.to_string())
            });
        match released {
            Ok(()) => return Ok(()),
            Err(what) => last = Problem::new(what),
        }
    }
    Err(last)
}

type Connected = (Gateway, std::result::Result<Exchange, DialError>);

/// Names, handshakes and silence take their time: each on a thread of its own.
fn connect(gateway: &Gateway, carriers: &Carriers, to: &mpsc::Sender<Connected>) -> Result<()> {
    let Some(target) = target(gateway, carriers) else { return Ok(()) };
    let (gateway, to) = (gateway.clone(), to.clone());
    thread::Builder::new()
        .name("enrol".into())
        .stack_size(512 << 10)
        .spawn(move || {
            let connection = exchange(&target, PATIENCE);
            // Another may have been faster.
            _ = to.send((gateway, connection));
        })
        .while_doing(|| "thread to enrol".into())?;
    Ok(())
}

fn target(gateway: &Gateway, carriers: &Carriers) -> Option<Target> {
    let tls = TlsEndpoint { endpoint: gateway.tls.clone(), pins: Some(gateway.pins.clone()), name: None };
    Some(carriers.target(&tls, None))
}

/// What went wrong, what to do, and whether there is no use in asking another.
fn told(error: ClientError) -> (String, Option<String>, bool) {
    match error {
        ClientError::Refused(problem) => {
            let last = matches!(
                problem.kind,
                Kind::TokenExpired
                    | Kind::TokenEarly
                    | Kind::TokenFabric
                    | Kind::TokenRevoked
                    | Kind::TokenUsedUp
                    | Kind::Evicted
            );
            (problem.to_string(), None, last)
        }
        other => (other.to_string(), None, false),
    }
}

fn refused(reasons: &[(String, (String, Option<String>, bool))]) -> Problem {
    let mut what = "no gateway of the token let this pod in".to_owned();
    for (gateway, (reason, ..)) in reasons {
        what += &format!("\n  {gateway}: {reason}");
    }
    let hint = reasons.iter().find_map(|(_, (_, hint, _))| hint.clone());
    Problem::new(what)
        .hint(hint.unwrap_or_else(|| "`warren-tunnel token inspect` shows what the token says".into()))
}

/// A pause of about so long: many pods must not come back at one moment.
pub(super) fn spread(pause: Duration) -> Duration {
    let part = random().map_or(128, |bytes| bytes[0]);
    pause.mul_f64(0.75 + f64::from(part) / 512.0)
}
