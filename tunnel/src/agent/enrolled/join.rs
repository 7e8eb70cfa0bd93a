//! Requests to gateways: the first one that accepts a connection is used.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use warren_transport::tls::{DialError, Exchange, Target, exchange};
use warren_wire::config::TlsEndpoint;
use warren_wire::enrolment::{Answer, ChannelBinding, HostInfo};
use warren_wire::token::{Claims, Gateway};
use warren_wire::{PrivateKey, PublicKey, Token};

use super::refusal::{Deferred, PAUSE, Refusal, Refusals};
use crate::agent::carriers::Carriers;
use crate::enrolment::client::{self, ClientError};
use crate::runtime::log;
use crate::runtime::problem::{Context as _, Problem, Result};
use crate::runtime::random;

/// Timeout for connecting, and again for each part of the answer.
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);
/// The same for requests whose answer matters little.
const SHORT_TIMEOUT: Duration = Duration::from_secs(2);
/// A pause that is logged each time.
const LONG: Duration = Duration::from_secs(5);
/// Head start of each gateway before the next.
const STAGGER: Duration = Duration::from_millis(300);

/// An enrolment request.
pub(super) struct Request<'a> {
    pub(super) claims: &'a Claims,
    pub(super) token: &'a Token,
    pub(super) key: &'a PrivateKey,
    pub(super) host: &'a HostInfo,
    pub(super) carriers: &'a Carriers,
}

/// Enrols at the first gateway that accepts the request, and retries for a while where that may help. Returns the answer and
/// the gateway's key. With `patience` it gives up after that time; zero is one attempt.
///
/// # Errors
/// The last response of each gateway.
pub(super) fn at_start(request: &Request<'_>, patience: Option<Duration>) -> Result<(Answer, PublicKey)> {
    let started = Instant::now();
    let attempt = || match patience {
        None | Some(Duration::ZERO) => 2 * TIMEOUT,
        Some(patience) => (2 * TIMEOUT).min(patience.saturating_sub(started.elapsed())),
    };
    let (mut deferred, mut logged) = (Deferred::default(), false);
    loop {
        let refusals = match once(request, &mut deferred, attempt())? {
            Ok(joined) => return Ok(joined),
            Err(refusals) => refusals,
        };
        let Some(pause) = refusals.pause_at_start(started.elapsed(), patience) else {
            return Err(refusals.problem());
        };
        if !std::mem::replace(&mut logged, true) || pause > LONG {
            let seconds = pause.as_secs().max(1);
            log::warn(&Problem::new(format!("{}\n  retrying in {seconds} s", refusals.problem().what())));
        }
        thread::sleep(if pause == PAUSE { spread(PAUSE) } else { pause });
    }
}

/// Enrols at the first gateway that accepts the request, within `time`. Returns its answer and its key, or the refusal of
/// each gateway. Deferred gateways are skipped.
///
/// # Errors
/// The system has no thread or no randomness to give.
pub(super) fn once(
    request: &Request<'_>,
    deferred: &mut Deferred,
    time: Duration,
) -> Result<std::result::Result<(Answer, PublicKey), Refusals>> {
    let mut refusals = Refusals::default();
    let mut gateways = Vec::new();
    for gateway in request.claims.gateways.as_slice() {
        match deferred.get(Instant::now(), &gateway.key) {
            Some(refusal) => refusals.push(refusal),
            None => gateways.push(gateway.clone()),
        }
    }
    // Pods start with different gateways, each pod always with the same one.
    let start = usize::from(request.key.public().as_bytes()[0]) % gateways.len().max(1);
    gateways.rotate_left(start);
    let (connected, connections) = mpsc::channel();
    let mut rest = gateways.iter();
    let mut waiting = 0;
    let until = Instant::now() + time;
    loop {
        if let Some(gateway) = rest.next() {
            waiting += 1;
            connect(gateway, request.carriers, &connected)?;
        }
        if waiting == 0 {
            return Ok(Err(refusals));
        }
        let left = until.saturating_duration_since(Instant::now());
        let timeout = if rest.len() > 0 { left.min(STAGGER) } else { left };
        let (gateway, connection) = match connections.recv_timeout(timeout) {
            Ok(connected) => connected,
            Err(RecvTimeoutError::Timeout) if rest.len() > 0 && Instant::now() < until => continue,
            Err(_) => {
                refusals.push(Refusal::no_answer());
                return Ok(Err(refusals));
            }
        };
        waiting -= 1;
        let name = gateway.name.to_string();
        let refusal = match connection {
            Ok(connection) => match enrol(connection, &gateway, request) {
                Ok(answer) => {
                    tracing::info!(gateway = %gateway.name, group = %answer.group, addresses = ?answer.addresses,
                        lease_seconds = answer.lease_seconds, "enrolled");
                    return Ok(Ok((answer, gateway.key)));
                }
                Err(error) => Refusal::answered(name, &error),
            },
            Err(error) => Refusal::unreachable(name, &error),
        };
        let bytes = random()?;
        deferred.defer(
            Instant::now(),
            gateway.key,
            &refusal,
            u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
        );
        let is_final = refusal.is_final();
        refusals.push(refusal);
        if is_final {
            return Ok(Err(refusals));
        }
    }
}

fn enrol(
    mut connection: Exchange,
    gateway: &Gateway,
    request: &Request<'_>,
) -> std::result::Result<Answer, ClientError> {
    let binding = ChannelBinding(connection.binding());
    client::enrol(&mut connection, &binding, gateway, request.token, request.key, request.host.clone())
}

/// Releases the lease at the active gateway, else at another one.
///
/// # Errors
/// The response of the last gateway.
pub(super) fn release(
    answer: &Answer,
    active: PublicKey,
    key: &PrivateKey,
    carriers: &Carriers,
) -> Result<()> {
    let mut gateways = answer.gateways.as_slice().to_vec();
    gateways.sort_by_key(|gateway| gateway.key != active);
    let mut last = Problem::new("the lease names no gateway");
    for gateway in gateways.iter().take(2) {
        let Some(target) = target(gateway, carriers) else { continue };
        let released =
            exchange(&target, SHORT_TIMEOUT).map_err(|error| error.to_string()).and_then(|mut connection| {
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

/// Connects on a separate thread, since name resolution, handshakes and timeouts take time.
fn connect(gateway: &Gateway, carriers: &Carriers, to: &mpsc::Sender<Connected>) -> Result<()> {
    let Some(target) = target(gateway, carriers) else { return Ok(()) };
    let (gateway, to) = (gateway.clone(), to.clone());
    thread::Builder::new()
        .name("enrol".into())
        .stack_size(512 << 10)
        .spawn(move || {
            let connection = exchange(&target, TIMEOUT);
            // Another may have been faster.
            _ = to.send((gateway, connection));
        })
        .while_doing(|| "cannot start the enrolment thread".into())?;
    Ok(())
}

fn target(gateway: &Gateway, carriers: &Carriers) -> Option<Target> {
    let tls = TlsEndpoint { endpoint: gateway.tls.clone(), pins: Some(gateway.pins.clone()), name: None };
    Some(carriers.target(&tls, None))
}

/// Adds jitter to a pause, so that many pods do not return at the same moment.
pub(super) fn spread(pause: Duration) -> Duration {
    let part = random().map_or(128, |bytes| bytes[0]);
    pause.mul_f64(0.75 + f64::from(part) / 512.0)
}
