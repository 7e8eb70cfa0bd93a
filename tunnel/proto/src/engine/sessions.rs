//! Sessions of a peer: previous, current and next (whitepaper section 6.3).
//!
//! ```text
//!  response received (we are the initiator)          initiation answered (we are the responder)
//!
//!   next --------> previous    if there is a next         new --> next        previous and an old next end
//!   current -----> previous    otherwise
//!   new ---------> current     and we send with it    first data message on next:
//!                                                         current -> previous, next -> current
//!
//!  Any of them ends at the age of REJECT_AFTER_TIME. We send with `current` only and receive with all three.
//! ```
//!
//! A responder must not send with `next` before the other end has shown that it has the keys: else packets
//! would be lost whenever the response is.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::{Engine, Output};
use crate::Now;
use crate::handshake::noise::Keys;
use crate::plane::Session;
use crate::time::limits::{REJECT_AFTER_TIME, REKEY_AFTER_TIME, REKEY_ON_RECEIVE};
use crate::transport::{RecvKey, SendKey};

impl Engine {
    /// Makes a session of the keys and puts it into its place.
    pub(super) fn install(
        &mut self,
        now: Now,
        slot: u32,
        ours: u32,
        theirs: u32,
        initiator: bool,
        keys: &Keys,
    ) {
        let Some(state) = self.peers.get_mut(slot) else { return };
        let (send, recv) =
            if initiator { (&keys.initiator, &keys.responder) } else { (&keys.responder, &keys.initiator) };
        let session = Arc::new(Session {
            recv: RecvKey::new(self.cipher, recv),
            peer: Arc::clone(&state.shared),
            send: Arc::new(SendKey::new(self.cipher, send, theirs, now.mono)),
            index: ours,
            initiator,
            confirmed: AtomicBool::new(initiator),
        });
        self.plane.put_session(Arc::clone(&session));
        let places = &mut state.sessions;
        let ended = if initiator {
            let replaced = places.current.replace(session);
            match places.next.take() {
                Some(next) => [places.previous.replace(next), replaced],
                None => [std::mem::replace(&mut places.previous, replaced), None],
            }
        } else {
            [places.previous.take(), places.next.replace(session)]
        };
        self.end(ended);
        if initiator {
            self.use_current(now, slot);
        }
        self.reschedule(slot);
    }

    /// The first data message came on a session that waited for it.
    pub(super) fn confirmed(&mut self, now: Now, slot: u32) {
        let Some(state) = self.peers.get_mut(slot) else { return };
        let places = &mut state.sessions;
        if !places.next.as_ref().is_some_and(|next| next.is_confirmed()) {
            // A newer session of our own came in between; the data path may have gone back from it.
            state.shared.set_sealer(places.current.as_ref().map(|current| Arc::clone(&current.send)));
            return;
        }
        let replaced = places.current.take();
        places.current = places.next.take();
        let ended = std::mem::replace(&mut places.previous, replaced);
        state.answered += 1;
        // The initiator sends as soon as it has the response.
        let sent = places.current.as_ref().map(|current| current.send.born());
        state.answer_rtt = sent.map(|sent| now.mono.saturating_sub(sent));
        self.end([ended, None]);
        self.use_current(now, slot);
        self.reschedule(slot);
    }

    /// Lets the data path send with the current session, and ends the attempt to make one.
    fn use_current(&mut self, now: Now, slot: u32) {
        let Some(state) = self.peers.get_mut(slot) else { return };
        let Some(current) = &state.sessions.current else { return };
        let born = current.send.born();
        let rekey = current.initiator.then_some((born + REKEY_AFTER_TIME, born + REKEY_ON_RECEIVE));
        state.shared.set_sealer(Some(Arc::clone(&current.send)));
        state.shared.set_rekey(rekey.map(|at| at.0), rekey.map(|at| at.1));
        state.last_handshake = Some(now.wall);
        state.timers.retry = None;
        state.waiting = None;
        state.away = None;
        let outgoing = state.outgoing.take();
        // Only now is it sure that a packet staged in the meantime is either seen here or asks itself.
        state.shared.set_pursuing(false);
        let (id, staged, initiator) = (state.shared.id(), state.shared.has_staged(), current.initiator);
        if let Some(outgoing) = outgoing {
            self.indices.release(outgoing.index);
        }
        self.outputs.push_back(Output::Established(id));
        if staged {
            self.outputs.push_back(Output::Flush(id));
        } else if initiator {
            // The responder may not send before it received.
            self.keepalive(now, slot);
        }
    }

    /// Ends the sessions that are too old.
    pub(super) fn expire(&mut self, now: Now, slot: u32) {
        let Some(state) = self.peers.get_mut(slot) else { return };
        let places = &mut state.sessions;
        let old = |session: &mut Arc<Session>| session.expired(now.mono);
        let current = places.current.take_if(old);
        let others = [places.previous.take_if(old), places.next.take_if(old)];
        let id = state.shared.id();
        if current.is_some() {
            state.shared.set_sealer(None);
            state.shared.set_rekey(None, None);
            self.outputs.push_back(Output::Expired(id));
        }
        self.end([current, None]);
        self.end(others);
    }

    /// Ends all sessions and the handshake of a peer.
    pub(super) fn drop_sessions(&mut self, slot: u32) {
        let Some(state) = self.peers.get_mut(slot) else { return };
        let places = std::mem::take(&mut state.sessions);
        let outgoing = state.outgoing.take();
        state.shared.set_sealer(None);
        state.shared.set_rekey(None, None);
        state.shared.set_pursuing(false);
        state.timers.retry = None;
        state.waiting = None;
        state.last_message = None;
        state.last_sent = None;
        if let Some(outgoing) = outgoing {
            self.indices.release(outgoing.index);
        }
        self.end([places.previous, places.current]);
        self.end([places.next, None]);
    }

    fn end(&mut self, sessions: [Option<Arc<Session>>; 2]) {
        for session in sessions.into_iter().flatten() {
            self.plane.remove_session(session.index);
            self.indices.release(session.index);
        }
    }
}

impl super::peers::Sessions {
    /// When the oldest session ends.
    pub(super) fn expiry(&self) -> Option<Duration> {
        let all = [&self.previous, &self.current, &self.next];
        all.into_iter().flatten().map(|session| session.send.born() + REJECT_AFTER_TIME).min()
    }
}
