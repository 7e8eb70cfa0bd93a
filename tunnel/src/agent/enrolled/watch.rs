//! The thread that monitors the gateways: it fails over, and enrols again.

use std::sync::{Arc, mpsc::Sender};
use std::thread;
use std::time::Duration;

use warren_path::failover::{Action, Failover};
use warren_proto::engine::Liveness;
use warren_wire::enrolment::RETRY_AFTER_MAX;

use super::{Enrolled, join::spread, refusal::Deferred};
use crate::agent::events::Event;
use crate::agent::tunnel::TunnelHandle;
use crate::runtime::log;
use crate::runtime::problem::{Context as _, Result};
use crate::runtime::supervise::Supervisor;

/// Interval between checks.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// First and longest pause between two attempts to enrol again.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// Starts the thread. It ends with the tunnel, and not before. A backend without signs of life is not watched.
///
/// # Errors
/// When no thread can be started.
pub(in crate::agent) fn start(
    enrolled: Arc<Enrolled>,
    tunnel: Arc<dyn TunnelHandle>,
    events: Sender<Event>,
    supervisor: &Supervisor,
) -> Result<()> {
    if !tunnel.has_signs() {
        return Ok(());
    }
    supervisor
        .restarted_thread("gateways", 512 << 10, move || run(&enrolled, tunnel.as_ref(), &events))
        .while_doing(|| "cannot start the gateway thread".into())?;
    Ok(())
}

fn run(enrolled: &Enrolled, tunnel: &dyn TunnelHandle, events: &Sender<Event>) {
    let (mut keys, active) = enrolled.gateways();
    let mut failover = Failover::new(active);
    loop {
        thread::sleep(CHECK_INTERVAL);
        let (now, signs) = match tunnel.signs(keys.clone()) {
            Ok(signs) => signs,
            Err(_) if tunnel.ended() => return,
            // A machine without time for its threads, or one that was suspended.
            Err(problem) => {
                log::warn(&problem);
                continue;
            }
        };
        let of = |key| signs.iter().find(|(known, _)| *known == key).map(|(_, signs)| *signs);
        let signs: Vec<Liveness> = keys.iter().map(|key| of(*key).unwrap_or_default()).collect();
        for action in failover.poll(now, &signs) {
            match action {
                Action::Probe(index) => tunnel.probe(keys[index]),
                Action::Move(index) => {
                    tracing::warn!(from = %keys[active_of(enrolled)], to = %keys[index], "gateway does not answer, failing over");
                    if events.send(Event::Replace(Box::new(enrolled.turn_to(keys[index])))).is_err() {
                        return;
                    }
                }
                Action::Lost => {
                    tracing::warn!("no gateway answers, enrolling again");
                    let Some(config) = rejoin(enrolled, tunnel) else { return };
                    if events.send(Event::Replace(Box::new(config))).is_err() {
                        return;
                    }
                    let (now_known, active) = enrolled.gateways();
                    keys = now_known;
                    failover.restart(active);
                    break;
                }
            }
        }
    }
}

fn active_of(enrolled: &Enrolled) -> usize {
    enrolled.gateways().1
}

/// Retries until it succeeds; `None` when the tunnel has ended.
fn rejoin(enrolled: &Enrolled, tunnel: &dyn TunnelHandle) -> Option<warren_wire::config::Config> {
    let (mut deferred, mut pause) = (Deferred::default(), PAUSE.0);
    loop {
        let delay = match enrolled.rejoin(&mut deferred) {
            Ok(Ok(config)) => return Some(config),
            Ok(Err(refusals)) => {
                log::warn(&refusals.problem());
                // Also after a final refusal: an operator may readmit a key that was evicted.
                refusals.delay().unwrap_or_default()
            }
            Err(problem) => {
                log::warn(&problem);
                Duration::ZERO
            }
        };
        let until = std::time::Instant::now() + spread(pause).max(delay.min(RETRY_AFTER_MAX));
        while std::time::Instant::now() < until {
            thread::sleep(CHECK_INTERVAL);
            if tunnel.ended() {
                return None;
            }
        }
        pause = (pause * 2).min(PAUSE.1);
    }
}
