//! A UDP forward: a session for each client.
//!
//! ```text
//! client ─► socket ─► by source ─► session's queue ─► its own socket ─► target
//! client ◄─ socket ◄────────────── session ◄───────── its own socket ◄─ target
//! ```

use std::{
    collections::HashMap,
    future::poll_fn,
    net::SocketAddr,
    sync::{Arc, atomic::Ordering::Relaxed},
    task::Poll,
};

use tokio::{
    sync::mpsc,
    time::{sleep, timeout},
};

use super::receive;
use crate::{
    counters::Service,
    net::{Datagrams, Dial},
    outbound::{Asker, Outbound, Resolve},
    relay::{Buffer, poll_idle},
    service::{Place, Shared},
    target::Target,
};

/// Datagrams of one client that wait for its session.
const WAITING: usize = 32;
/// Clients whose sessions have ended are looked for when their number has doubled, at least so many.
const SWEEP: usize = 64;

type Queue = mpsc::Sender<Box<[u8]>>;

pub(super) fn start<S: Datagrams, D: Dial, R: Resolve>(
    shared: &Arc<Shared>,
    socket: S,
    outbound: Arc<Outbound<D, R>>,
    target: Target,
) {
    let forward = Forward { shared: Arc::clone(shared), socket, outbound, target };
    shared.spawn(Arc::new(forward).run());
}

struct Forward<S, D, R> {
    shared: Arc<Shared>,
    socket: S,
    outbound: Arc<Outbound<D, R>>,
    target: Target,
}

impl<S: Datagrams, D: Dial, R: Resolve> Forward<S, D, R> {
    async fn run(self: Arc<Self>) {
        let mut sessions: HashMap<SocketAddr, Queue> = HashMap::new();
        let mut sweep_at = SWEEP;
        loop {
            let next = poll_fn(|cx| {
                let mut buffer = self.shared.pool.take();
                receive(&self.socket, cx, &mut buffer, 0, &self.shared)
                    .map(|(length, from)| (Box::<[u8]>::from(&buffer[..length]), from))
            });
            let (datagram, from) = tokio::select! {
                biased;
                () = self.shared.stop.cancelled() => return,
                next = next => next,
            };
            if sessions.get(&from).is_none_or(Queue::is_closed) {
                if sessions.len() >= sweep_at {
                    sessions.retain(|_, queue| !queue.is_closed());
                    sweep_at = SWEEP.max(2 * sessions.len());
                }
                let Some(queue) = self.open(from) else {
                    self.drop_one();
                    continue;
                };
                sessions.insert(from, queue);
            }
            if let Some(queue) = sessions.get(&from)
                && queue.try_send(datagram).is_err()
            {
                self.drop_one();
            }
        }
    }

    fn drop_one(&self) {
        self.shared.counters.datagrams_dropped.fetch_add(1, Relaxed);
    }

    fn open(self: &Arc<Self>, client: SocketAddr) -> Option<Queue> {
        let place = self.shared.session(Service::Udp)?;
        let (queue, waiting) = mpsc::channel(WAITING);
        self.shared.spawn(Arc::clone(self).session(client, waiting, place));
        Some(queue)
    }

    async fn session(
        self: Arc<Self>,
        client: SocketAddr,
        mut waiting: mpsc::Receiver<Box<[u8]>>,
        _place: Place,
    ) {
        let limits = &self.shared.limits;
        let found = self.outbound.addresses(&self.target, Asker::Configuration);
        let to = match timeout(limits.connect, found).await {
            Ok(Ok(found)) => found.first().copied(),
            Ok(Err(error)) => {
                self.shared.counters.refuse(error.into());
                None
            }
            Err(_) => None,
        };
        let Some(to) = to else {
            tracing::debug!(target = %self.target, "UDP forward: no address");
            return;
        };
        let out = match self.outbound.dial.bind_udp(to.is_ipv6()).await {
            Ok(out) => out,
            Err(error) => return tracing::debug!(%error, "UDP forward: no socket"),
        };
        let clock = sleep(limits.udp_idle);
        tokio::pin!(clock);
        let mut active = false;
        loop {
            let event = poll_fn(|cx| {
                if let Poll::Ready(datagram) = waiting.poll_recv(cx) {
                    active = true;
                    return Poll::Ready(datagram.map(Event::Client));
                }
                let mut buffer = self.shared.pool.take();
                if let Poll::Ready((length, from)) = receive(&out, cx, &mut buffer, 0, &self.shared) {
                    active = true;
                    return Poll::Ready(Some(Event::Target(buffer, length, from)));
                }
                poll_idle(cx, clock.as_mut(), limits.udp_idle, &mut active).map(|()| None)
            });
            let (sent, length, counter) = match event.await {
                None => return,
                Some(Event::Client(datagram)) => {
                    (out.send_to(&datagram, to).await, datagram.len(), &self.shared.counters.sent)
                }
                // Strangers do not speak for the target.
                Some(Event::Target(_, _, from)) if from != to => {
                    self.drop_one();
                    continue;
                }
                Some(Event::Target(buffer, length, _)) => (
                    self.socket.send_to(&buffer[..length], client).await,
                    length,
                    &self.shared.counters.received,
                ),
            };
            match sent {
                Ok(()) => _ = counter.fetch_add(length as u64, Relaxed),
                Err(_) => self.drop_one(),
            }
        }
    }
}

enum Event {
    Client(Box<[u8]>),
    Target(Buffer, usize, SocketAddr),
}
