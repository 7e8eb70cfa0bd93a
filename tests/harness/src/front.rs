//! The front of an emulated cloud: it records every call, fails on demand, kills clients and cuts connections.
//!
//! What is behind it, the proxy to an emulator or a double of our own, is a [`Cloud`]. A call passes these stations:
//!
//! ```text
//! record -> kill (before) -> fault -> [ cloud ] -> kill (after) -> cut -> answer
//! ```

use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use bytes::Bytes;

mod call;
mod fault;
mod hosted;
mod kill;
mod listener;
mod peer;
pub(crate) mod reply;

pub(crate) use call::is_read;
pub use call::{Call, Service, Violation};
pub use fault::{Effect, Fault};
pub(crate) use hosted::Hosted;
pub use kill::{KillSwitch, Phase};

use listener::Connection;
use reply::{Outcome, Reply};

/// What answers the calls.
pub(crate) trait Cloud: Send + Sync + 'static {
    /// A request as the cloud reads it.
    type Request: Send + Sync + 'static;

    /// Reads a request. The call's sequence number is set by the front.
    fn read(&self, raw: http::Request<Bytes>) -> (Call, Self::Request);

    /// Handles a request. `effect` is the fault that struck it, where it is one that the cloud itself acts out.
    fn answer(
        &self,
        sequence: u64,
        request: Self::Request,
        effect: Option<Effect>,
    ) -> impl Future<Output = Reply> + Send;
}

/// The record and the controls of an emulated cloud. Clones share them. All methods act at once and may be called
/// while calls are under way.
#[derive(Clone, Debug, Default)]
pub struct Front {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Counts connections and kills on one scale: a connection older than a kill belongs to the killed process.
    clock: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    sequence: u64,
    calls: Vec<Call>,
    violations: Vec<Violation>,
    faults: Vec<Fault>,
    kill: kill::Kills,
}

impl Front {
    /// Serves `cloud` on a free loopback port, which is returned.
    pub(crate) async fn serve<C: Cloud>(&self, cloud: Arc<C>) -> Result<u16> {
        self.serve_at((Ipv4Addr::LOCALHOST, 0).into(), cloud).await
    }

    /// Serves `cloud` at this address; returns the port.
    pub(crate) async fn serve_at<C: Cloud>(&self, address: SocketAddr, cloud: Arc<C>) -> Result<u16> {
        listener::listen(address, self.clone(), cloud).await
    }

    /// Every call so far, in the order of arrival.
    pub fn calls(&self) -> Vec<Call> {
        self.state().calls.clone()
    }

    /// The calls of one action so far.
    pub fn calls_of(&self, action: &str) -> Vec<Call> {
        self.state().calls.iter().filter(|call| call.action == action).cloned().collect()
    }

    /// Forgets the recorded calls; sequence numbers go on.
    pub fn clear_calls(&self) {
        self.state().calls.clear();
    }

    /// Requests that the real cloud would not understand, and requests that the emulated one does not implement.
    pub fn violations(&self) -> Vec<Violation> {
        self.state().violations.clone()
    }

    /// Fails the test if there are violations.
    ///
    /// # Panics
    /// There are some; the message lists them.
    pub fn assert_valid(&self) {
        let found: Vec<String> = self.violations().iter().map(ToString::to_string).collect();
        assert!(found.is_empty(), "requests that the cloud would refuse:\n{}", found.join("\n"));
    }

    /// Adds a fault. Where several match a call, the oldest acts.
    pub fn inject(&self, fault: Fault) {
        self.state().faults.push(fault);
    }

    /// Removes all faults.
    pub fn clear_faults(&self) {
        self.state().faults.clear();
    }

    /// Arms a kill point; calls are counted from here. An older kill point that has not fired is replaced.
    pub fn arm(&self, switch: KillSwitch) {
        self.state().kill.arm(switch);
    }

    /// Takes the kill point away and returns the call at which it fired, where it did.
    pub fn disarm(&self) -> Option<Call> {
        self.state().kill.disarm()
    }

    /// The call at which the armed kill point fired, where it did.
    pub fn tripped(&self) -> Option<Call> {
        self.state().kill.tripped()
    }

    /// Forgets calls, violations, faults and kill points.
    pub(crate) fn forget(&self) {
        let mut state = self.state();
        *state = State { sequence: state.sequence, ..State::default() };
    }

    /// Records what is wrong with a call.
    pub(crate) fn violate(&self, sequence: u64, action: &str, problem: String) {
        self.state().violations.push(Violation { sequence, action: action.to_owned(), problem });
    }

    /// Changes the record of a call.
    pub(crate) fn note(&self, sequence: u64, change: impl FnOnce(&mut Call)) {
        if let Some(call) = self.state().calls.iter_mut().rev().find(|call| call.sequence == sequence) {
            change(call);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tick(&self) -> u64 {
        self.shared.clock.fetch_add(1, Ordering::SeqCst)
    }

    /// Handles one call from arrival to answer.
    async fn handle<C: Cloud>(
        &self,
        cloud: &C,
        connection: Connection,
        raw: http::Request<Bytes>,
    ) -> Outcome {
        let (mut call, request) = cloud.read(raw);
        let number = {
            let mut state = self.state();
            if connection.born < state.kill.cut_before {
                return Outcome::Cut;
            }
            state.sequence += 1;
            call.sequence = state.sequence;
            state.calls.push(call.clone());
            state.kill.count(&call)
        };
        if self.kill_if_due(connection, number, Phase::Before, &call).await {
            return Outcome::Cut;
        }
        let effect = fault::strike(&mut self.state().faults, &call);
        let rejection = effect.as_ref().and_then(|effect| effect.rejection(call.service));
        let cut_after = effect == Some(Effect::CutAfter);
        let reply = if effect == Some(Effect::CutBefore) {
            return Outcome::Cut;
        } else if let Some(rejection) = rejection {
            rejection.reply_to(call.service, &call.action, call.sequence)
        } else {
            if let Some(Effect::Delay(time)) = effect {
                tokio::time::sleep(time).await;
            }
            cloud.answer(call.sequence, request, effect).await
        };
        self.note(call.sequence, |call| {
            call.status = Some(reply.status().as_u16());
            call.error = reply::error_code(&reply);
        });
        if self.kill_if_due(connection, number, Phase::After, &call).await || cut_after {
            self.note(call.sequence, |call| call.status = None);
            return Outcome::Cut;
        }
        Outcome::Answer(reply)
    }

    /// Fires the kill switch if it is due. The call's own connection, and all older than the kill, are dead afterwards.
    async fn kill_if_due(
        &self,
        connection: Connection,
        number: kill::Number,
        phase: Phase,
        call: &Call,
    ) -> bool {
        let Some(switch) = self.state().kill.due(number, phase, call) else { return false };
        let (front, call) = (self.clone(), call.clone());
        let fired = tokio::task::spawn_blocking(move || {
            if !switch.fire(&call, (connection.peer, connection.ours)) {
                front.state().kill.spared();
            }
            let now = front.tick();
            front.state().kill.cut_before = now + 1;
        });
        // A callback that panics has still ended the call.
        let _ = fired.await;
        true
    }
}
