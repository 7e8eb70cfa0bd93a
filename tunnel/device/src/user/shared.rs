//! What streams and the driver share: the stack behind a lock, and who waits for what.

use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::event::{EventfdFlags, eventfd};
use std::collections::{HashMap, VecDeque};

use warren_netstack::{Event, ListenerId, Ping, SocketId, Stack, StreamId};

use super::{Controllers, Routes, UserConfig};

/// The device as all its handles see it.
pub(super) struct Shared {
    state: Mutex<State>,
    pub(super) wake: OwnedFd,
    pub(super) routes: Routes,
    congestion: Controllers,
    origin: Instant,
}

/// The stack and its waiters.
pub(super) struct State {
    pub(super) stack: Stack,
    pub(super) mtu: usize,
    /// The driver sleeps, or is about to: whoever gives the stack something to do wakes it.
    pub(super) asleep: bool,
    /// There is no driver any more.
    pub(super) closed: bool,
    /// By the streams' own index.
    streams: Vec<Option<Waiters>>,
    listeners: Vec<(ListenerId, Option<Waker>)>,
    sockets: Vec<(SocketId, Option<Waker>)>,
    /// Senders of datagrams that found a queue full.
    senders: Vec<Waker>,
    /// Connections to other hosts that wait for a decision, and who decides.
    pub(super) incoming: VecDeque<StreamId>,
    pub(super) decider: Option<Waker>,
    /// Who forwards echo requests.
    pub(super) echoer: Option<Waker>,
    /// Echo requests that wait for an answer.
    pub(super) pings: HashMap<Ping, Option<Waker>>,
}

/// Who waits for a stream.
struct Waiters {
    id: StreamId,
    read: Option<Waker>,
    write: Option<Waker>,
}

/// A direction of a stream.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Read,
    Write,
}

impl Shared {
    pub(super) fn new(config: UserConfig) -> io::Result<Arc<Self>> {
        let mut stack = Stack::new(config.stack());
        if let Some(pass) = config.pass {
            stack.set_pass(pass);
        }
        Ok(Arc::new(Self {
            state: Mutex::new(State {
                stack,
                mtu: config.mtu,
                asleep: false,
                closed: false,
                streams: Vec::new(),
                listeners: Vec::new(),
                sockets: Vec::new(),
                senders: Vec::new(),
                incoming: VecDeque::new(),
                decider: None,
                echoer: None,
                pings: HashMap::new(),
            }),
            wake: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            routes: config.routes,
            congestion: config.congestion,
            origin: Instant::now(),
        }))
    }

    /// The stack's time.
    #[inline]
    pub(super) fn now(&self) -> Duration {
        self.origin.elapsed()
    }

    /// For the driver: what it does it does itself.
    pub(super) fn lock(&self) -> parking_lot::MutexGuard<'_, State> {
        self.state.lock()
    }

    /// For streams: what they give the stack to do wakes the driver.
    #[inline]
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut State, Duration) -> T) -> T {
        let now = self.now();
        let mut state = self.state.lock();
        let result = act(&mut state, now);
        let wake = state.asleep && state.stack.eager();
        if wake {
            state.asleep = false;
        }
        drop(state);
        if wake {
            self.wake_driver();
        }
        result
    }

    /// Gives a stream that has not sent data the congestion control of its other end. The stack is not locked during the look-up,
    /// which may wait for another lock.
    pub(super) fn set_controller(&self, id: StreamId, remote: IpAddr) {
        let congestion = (self.congestion)(remote);
        self.with(|state, now| state.stack.set_congestion(now, id, congestion));
    }

    pub(super) fn wake_driver(&self) {
        // Full only when it is readable already.
        let _ = rustix::io::write(&self.wake, &1_u64.to_ne_bytes());
    }
}

impl State {
    /// Takes note of a stream that somebody holds from now on.
    pub(super) fn adopt(&mut self, id: StreamId) {
        if id.index() >= self.streams.len() {
            self.streams.resize_with(id.index() + 1, || None);
        }
        self.streams[id.index()] = Some(Waiters { id, read: None, write: None });
    }

    /// Nobody holds it any more.
    pub(super) fn forget(&mut self, id: StreamId) {
        if let Some(slot) = self.streams.get_mut(id.index())
            && slot.as_ref().is_some_and(|waiters| waiters.id == id)
        {
            *slot = None;
        }
    }

    fn waiters(&mut self, id: StreamId) -> Option<&mut Waiters> {
        self.streams.get_mut(id.index())?.as_mut().filter(|waiters| waiters.id == id)
    }

    /// Has the task of `context` woken at the next event of this side.
    pub(super) fn wait(&mut self, id: StreamId, side: Side, context: &Context<'_>) {
        if let Some(waiters) = self.waiters(id) {
            remember(if side == Side::Read { &mut waiters.read } else { &mut waiters.write }, context);
        }
    }

    pub(super) fn add_listener(&mut self, id: ListenerId) {
        self.listeners.push((id, None));
    }

    pub(super) fn drop_listener(&mut self, id: ListenerId) {
        self.listeners.retain(|(known, _)| *known != id);
    }

    pub(super) fn wait_listener(&mut self, id: ListenerId, context: &Context<'_>) {
        if let Some((_, slot)) = self.listeners.iter_mut().find(|(known, _)| *known == id) {
            remember(slot, context);
        }
    }

    pub(super) fn add_socket(&mut self, id: SocketId) {
        self.sockets.push((id, None));
    }

    pub(super) fn drop_socket(&mut self, id: SocketId) {
        self.sockets.retain(|(known, _)| *known != id);
    }

    pub(super) fn wait_socket(&mut self, id: SocketId, context: &Context<'_>) {
        if let Some((_, slot)) = self.sockets.iter_mut().find(|(known, _)| *known == id) {
            remember(slot, context);
        }
    }

    /// Has a sender woken when datagrams have left.
    pub(super) fn wait_sender(&mut self, context: &Context<'_>) {
        if !self.senders.iter().any(|waker| waker.will_wake(context.waker())) {
            self.senders.push(context.waker().clone());
        }
    }

    /// Collects those that the stack's events are for.
    pub(super) fn dispatch(&mut self, woken: &mut Vec<Waker>) {
        while let Some(event) = self.stack.poll_event() {
            match event {
                Event::Readable(id) => {
                    woken.extend(self.waiters(id).and_then(|waiters| waiters.read.take()));
                }
                Event::Writable(id) => {
                    woken.extend(self.waiters(id).and_then(|waiters| waiters.write.take()));
                }
                Event::Connected(id) | Event::Closed(id, _) => {
                    if let Some(waiters) = self.waiters(id) {
                        woken.extend(waiters.read.take().into_iter().chain(waiters.write.take()));
                    }
                }
                Event::Acceptable(id) => {
                    let found = self.listeners.iter_mut().find(|(known, _)| *known == id);
                    woken.extend(found.and_then(|(_, slot)| slot.take()));
                }
                Event::Datagram(id) => {
                    let found = self.sockets.iter_mut().find(|(known, _)| *known == id);
                    woken.extend(found.and_then(|(_, slot)| slot.take()));
                }
                Event::Incoming(_, id) => {
                    self.incoming.push_back(id);
                    woken.extend(self.decider.take());
                }
                Event::Echo => woken.extend(self.echoer.take()),
                Event::Pong(ping) => woken.extend(self.pings.get_mut(&ping).and_then(Option::take)),
            }
        }
        if !self.senders.is_empty() {
            woken.append(&mut self.senders);
        }
    }

    /// Everybody: the device has ended.
    pub(super) fn wake_all(&mut self, woken: &mut Vec<Waker>) {
        for waiters in self.streams.iter_mut().flatten() {
            woken.extend(waiters.read.take().into_iter().chain(waiters.write.take()));
        }
        woken.extend(self.listeners.iter_mut().filter_map(|(_, slot)| slot.take()));
        woken.extend(self.sockets.iter_mut().filter_map(|(_, slot)| slot.take()));
        woken.append(&mut self.senders);
        woken.extend(self.decider.take().into_iter().chain(self.echoer.take()));
        woken.extend(self.pings.values_mut().filter_map(Option::take));
    }
}

pub(super) fn remember(slot: &mut Option<Waker>, context: &Context<'_>) {
    match slot {
        Some(known) if known.will_wake(context.waker()) => {}
        _ => *slot = Some(context.waker().clone()),
    }
}
