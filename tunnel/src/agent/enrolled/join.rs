//! Requests to gateways: the first one that accepts a connection is used.

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
use crate::log;
use crate::problem::{Context as _, Problem, Result};

/// Timeout for connecting, and again for each part of the answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// The same for requests whose answer matters little.
const SHORT: Duration = Duration::from_secs(2);
/// How long a starting agent retries, and the pause between attempts.
const AT_FIRST: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(500);
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
/// the gateway's key.
///
/// # Errors
/// The last response of each gateway.
pub(super) fn patiently(request: &Request<'_>) -> Result<(Answer, PublicKey)> {
    let until = Instant::now() + AT_FIRST;
    let mut told = false;
    loop {
        match first(request) {
            Err((problem, true)) if Instant::now() < until => {
                if !std::mem::replace(&mut told, true) {
                    log::warn(&Problem::new(format!("{}\n  retrying", problem.what())));
                }
                thread::sleep(spread(PAUSE));
            }
            other => return other.map_err(|(problem, _)| problem),
        }
    }
}

/// Enrols at the first gateway that answers. Returns its answer and its key.
///
/// # Errors
/// The response of each gateway, and whether a retry may help.
pub(super) fn first(request: &Request<'_>) -> std::result::Result<(Answer, PublicKey), (Problem, bool)> {
    // Pods start with different gateways, each pod always with the same one.
    let mut gateways = request.claims.gateways.as_slice().to_vec();
    let start = usize::from(request.key.public().as_bytes()[0]) % gateways.len().max(1);
    gateways.rotate_left(start);
    let mut reasons: Vec<Reason> = Vec::new();
    let (connected, connections) = mpsc::channel();
    let mut rest = gateways.iter();
    let mut waiting = 0;
    let until = Instant::now() + 2 * PATIENCE;
    loop {
        if let Some(gateway) = rest.next() {
            waiting += 1;
            connect(gateway, request.carriers, &connected).map_err(|problem| (problem, false))?;
        }
        if waiting == 0 {
            return Err(refused(&reasons));
        }
        let patience = if rest.len() > 0 { STAGGER } else { until.saturating_duration_since(Instant::now()) };
        let (gateway, connection) = match connections.recv_timeout(patience) {
            Ok(connected) => connected,
            Err(RecvTimeoutError::Timeout) if rest.len() > 0 => continue,
            Err(_) => {
                reasons.push(Reason {
                    gateway: "all others".into(),
                    what: "no answer in time".into(),
                    hint: None,
                    end: End::Again,
                });
                return Err(refused(&reasons));
            }
        };
        waiting -= 1;
        let name = gateway.name.to_string();
        reasons.push(match connection {
            Ok(connection) => match enrol(connection, &gateway, request) {
                Ok(answer) => {
                    tracing::info!(gateway = %gateway.name, group = %answer.group, addresses = ?answer.addresses,
                        lease_seconds = answer.lease_seconds, "enrolled");
                    return Ok((answer, gateway.key));
                }
                Err(error) => Reason { gateway: name, what: error.to_string(), hint: None, end: End::of(&error) },
            },
            Err(error) => {
                let end = if matches!(error, DialError::WrongPin { .. }) { End::Elsewhere } else { End::Again };
                Reason { gateway: name, what: error.to_string(), hint: Some(error.hint()), end }
            }
        });
        if reasons.iter().any(|reason| reason.end == End::Everywhere) {
            return Err(refused(&reasons));
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

/// Connects on a separate thread, since name resolution, handshakes and timeouts take time.
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
        .while_doing(|| "cannot start the enrolment thread".into())?;
    Ok(())
}

fn target(gateway: &Gateway, carriers: &Carriers) -> Option<Target> {
    let tls = TlsEndpoint { endpoint: gateway.tls.clone(), pins: Some(gateway.pins.clone()), name: None };
    Some(carriers.target(&tls, None))
}

/// Why one gateway did not accept the pod.
struct Reason {
    gateway: String,
    what: String,
    hint: Option<&'static str>,
    end: End,
}

/// Whether another attempt may succeed after a refusal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// The same gateway may accept a retry.
    Again,
    /// Another gateway may accept it.
    Elsewhere,
    /// No gateway will accept it.
    Everywhere,
}

impl End {
    fn of(error: &ClientError) -> Self {
        match error {
            ClientError::Refused(problem) => match problem.kind {
                Kind::TokenExpired
                | Kind::TokenEarly
                | Kind::TokenFabric
                | Kind::TokenRevoked
                | Kind::TokenUsedUp
                | Kind::Evicted => Self::Everywhere,
                Kind::RateLimited | Kind::Busy | Kind::Store => Self::Again,
                _ => Self::Elsewhere,
            },
            ClientError::Connection(_) => Self::Again,
            ClientError::Answer(_) | ClientError::Key => Self::Elsewhere,
        }
    }
}

fn refused(reasons: &[Reason]) -> (Problem, bool) {
    let mut what = "no gateway of the token accepted this pod".to_owned();
    for Reason { gateway, what: reason, .. } in reasons {
        what += &format!("\n  {gateway}: {reason}");
    }
    let hint = reasons.iter().find_map(|reason| reason.hint);
    let hint =
        hint.unwrap_or("run `warren-tunnel token inspect` to see the token's gateways, group and expiry");
    let final_word = reasons.iter().any(|reason| reason.end == End::Everywhere);
    let again = !final_word && reasons.iter().any(|reason| reason.end == End::Again);
    (Problem::new(what).hint(hint), again)
}

/// Adds jitter to a pause, so that many pods do not return at the same moment.
pub(super) fn spread(pause: Duration) -> Duration {
    let part = random().map_or(128, |bytes| bytes[0]);
    pause.mul_f64(0.75 + f64::from(part) / 512.0)
}
