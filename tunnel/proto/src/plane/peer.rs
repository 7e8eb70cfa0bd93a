//! A peer as the data path sees it.
//!
//! Times in atomics are nanoseconds of monotonic time; 0 stands for "none". The two `since` marks are the
//! inputs of the traffic timers (whitepaper section 6.5):
//!
//! * `unanswered`: data was sent and nothing authentic came since. After `KEEPALIVE_TIMEOUT + REKEY_TIMEOUT` the
//!   engine makes a new session.
//! * `unacknowledged`: data was received and nothing was sent since. After `KEEPALIVE_TIMEOUT` the engine sends
//!   a keepalive.
//!
//! The data path only sets and clears marks. It wakes the engine when a mark is set while no traffic timer runs
//! (`armed`), that is at most once in some seconds a peer.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::ops::AddAssign;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use parking_lot::Mutex;
use warren_wire::PublicKey;

use super::wakeup::{ARRIVED, REKEY, TRAFFIC, WANT_SESSION, Wakeup, WakeupQueue};
use super::{DropReason, Drops, Endpoint};
use crate::allowed::AllowedIps;
use crate::time::limits::{REJECT_AFTER_MESSAGES, REJECT_AFTER_TIME};
use crate::transport::SendKey;

/// Packets that wait for a session, at most.
pub const STAGED: usize = 128;

const NEVER: u64 = u64::MAX;

/// Names a peer of one engine. Ids are not used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId {
    pub(crate) slot: u32,
    pub(crate) generation: NonZeroU32,
}

impl PeerId {
    /// Not 0, as the generation is not.
    fn bits(self) -> u64 {
        u64::from(self.generation.get()) << 32 | u64::from(self.slot)
    }

    fn from_bits(bits: u64) -> Option<Self> {
        let generation = NonZeroU32::new((bits >> 32) as u32)?;
        Some(Self { slot: bits as u32, generation })
    }
}

impl std::fmt::Display for PeerId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.slot, self.generation)
    }
}

/// Counters of one direction, on a cache line of their own: each is written by another thread.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Side {
    packets: AtomicU64,
    bytes: AtomicU64,
    /// When anything authentic passed last.
    last: AtomicU64,
    /// See the module's text.
    mark: AtomicU64,
    /// From when on traffic in this direction asks for a new session.
    rekey_at: AtomicU64,
}

/// Traffic of a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Data packets sent.
    pub tx_packets: u64,
    /// Bytes of UDP payload sent, handshakes included.
    pub tx_bytes: u64,
    /// Data packets received.
    pub rx_packets: u64,
    /// Bytes of UDP payload received, handshakes included.
    pub rx_bytes: u64,
}

impl AddAssign for Traffic {
    fn add_assign(&mut self, more: Self) {
        self.tx_packets += more.tx_packets;
        self.tx_bytes += more.tx_bytes;
        self.rx_packets += more.rx_packets;
        self.rx_bytes += more.rx_bytes;
    }
}

/// A peer as the data path sees it. All methods take `&self` and none blocks on the control side.
pub struct Peer {
    id: PeerId,
    public_key: PublicKey,
    queue: Arc<WakeupQueue>,
    routes: Arc<ArcSwap<AllowedIps<PeerId>>>,
    sealer: ArcSwapOption<SendKey>,
    endpoint: ArcSwapOption<Endpoint>,
    staged: Mutex<VecDeque<Vec<u8>>>,
    drops: Drops,
    wants: AtomicU8,
    armed: AtomicBool,
    pursuing: AtomicBool,
    /// The peer through which it is reached, as [`PeerId::bits`]; 0 is none.
    via: AtomicU64,
    tx: Side,
    rx: Side,
}

impl Peer {
    pub(crate) fn new(
        id: PeerId,
        public_key: PublicKey,
        queue: Arc<WakeupQueue>,
        routes: Arc<ArcSwap<AllowedIps<PeerId>>>,
    ) -> Self {
        let peer = Self {
            id,
            public_key,
            queue,
            routes,
            sealer: ArcSwapOption::empty(),
            endpoint: ArcSwapOption::empty(),
            staged: Mutex::default(),
            drops: Drops::default(),
            wants: AtomicU8::new(0),
            armed: AtomicBool::new(false),
            pursuing: AtomicBool::new(false),
            via: AtomicU64::new(0),
            tx: Side::default(),
            rx: Side::default(),
        };
        peer.set_rekey(None, None);
        peer
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> PeerId {
        self.id
    }

    /// Its public key.
    #[must_use]
    pub fn public_key(&self) -> &PublicKey {
        &self.public_key
    }

    /// The key to send with; `None` if there is no usable session: then [`Peer::stage`] the packet.
    ///
    /// Fetch it once a batch: it is never older than `REJECT_AFTER_TIME` at `now`.
    #[must_use]
    pub fn sealer(&self, now: Duration) -> Option<Arc<SendKey>> {
        let guard = self.sealer.load();
        let key = guard.as_ref()?;
        if now.saturating_sub(key.born()) >= REJECT_AFTER_TIME || key.used() >= REJECT_AFTER_MESSAGES {
            return None;
        }
        if key.worn() {
            self.tx.rekey_at.store(0, Ordering::Relaxed);
        }
        Some(Arc::clone(key))
    }

    /// Where to send to.
    #[must_use]
    pub fn endpoint(&self) -> Option<Endpoint> {
        self.endpoint.load().as_ref().map(|endpoint| **endpoint)
    }

    /// Whether an inner packet from `src` may come from this peer itself. [`super::Reader::permits`] is the same without
    /// atomic operations, and also knows what other peers send [through](Peer::via) this one.
    #[must_use]
    pub fn permits(&self, src: IpAddr) -> bool {
        self.routes.load().lookup(src) == Some(self.id)
    }

    /// Another peer through which it is reached at present, such as another gateway.
    #[inline]
    #[must_use]
    pub fn via(&self) -> Option<PeerId> {
        PeerId::from_bits(self.via.load(Ordering::Relaxed))
    }

    /// To be called for each data message of the peer itself, keepalives included: from then on it is [here](Peer::via). The first
    /// message of a session does not count, because agents also make sessions with gateways that they do not use.
    #[inline]
    pub fn arrived(&self) -> Wakeup {
        if self.via.load(Ordering::Relaxed) == 0 || self.via.swap(0, Ordering::Relaxed) == 0 {
            return Wakeup::NONE;
        }
        self.want(ARRIVED)
    }

    pub(crate) fn set_via(&self, via: Option<PeerId>) {
        self.via.store(via.map_or(0, PeerId::bits), Ordering::Relaxed);
    }

    /// Notes that a batch was sent: `packets` data packets (0: keepalives only) in `bytes` of UDP payload.
    pub fn sent(&self, now: Duration, packets: u64, bytes: u64) -> Wakeup {
        let now = nanos(now);
        self.tx.packets.fetch_add(packets, Ordering::Relaxed);
        self.tx.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.tx.last.store(now, Ordering::Relaxed);
        if self.rx.mark.load(Ordering::Relaxed) != 0 {
            self.rx.mark.store(0, Ordering::Relaxed);
        }
        let mut wakeup = Wakeup::NONE;
        if packets > 0 && self.tx.mark.load(Ordering::Relaxed) == 0 {
            self.tx.mark.store(now, Ordering::SeqCst);
            wakeup |= self.arm();
        }
        if now >= self.tx.rekey_at.load(Ordering::Relaxed) {
            wakeup |= self.want(REKEY);
        }
        wakeup
    }

    /// Notes that a batch of authentic messages was received: `packets` data packets (0: keepalives only) in
    /// `bytes` of UDP payload. The endpoint follows the last of them (whitepaper section 2.1).
    pub fn received(&self, now: Duration, from: &Endpoint, packets: u64, bytes: u64) -> Wakeup {
        let now = nanos(now);
        self.rx.packets.fetch_add(packets, Ordering::Relaxed);
        self.rx.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.rx.last.store(now, Ordering::Relaxed);
        self.set_endpoint(*from);
        if self.tx.mark.load(Ordering::Relaxed) != 0 {
            self.tx.mark.store(0, Ordering::Relaxed);
        }
        let mut wakeup = Wakeup::NONE;
        if packets > 0 && self.rx.mark.load(Ordering::Relaxed) == 0 {
            self.rx.mark.store(now, Ordering::SeqCst);
            wakeup |= self.arm();
        }
        if now >= self.rx.rekey_at.load(Ordering::Relaxed) {
            wakeup |= self.want(REKEY);
        }
        wakeup
    }

    /// Keeps an IP packet until there is a session, and asks for one. The oldest is dropped when the queue is
    /// full. `Output::Flush` says when to [`Peer::take_staged`].
    pub fn stage(&self, packet: &[u8]) -> Wakeup {
        let mut staged = self.staged.lock();
        if staged.len() >= STAGED {
            staged.pop_front();
            self.drops.count(DropReason::StagedOverflow, 1);
        }
        staged.push_back(packet.to_vec());
        drop(staged);
        // While a session is being made the engine knows that packets may wait.
        if self.pursuing.load(Ordering::SeqCst) { Wakeup::NONE } else { self.want(WANT_SESSION) }
    }

    /// Removes and returns the staged packets, oldest first.
    #[must_use]
    pub fn take_staged(&self) -> VecDeque<Vec<u8>> {
        std::mem::take(&mut *self.staged.lock())
    }

    /// Whether packets wait.
    #[must_use]
    pub fn has_staged(&self) -> bool {
        !self.staged.lock().is_empty()
    }

    /// Counters of its dropped packets.
    #[must_use]
    pub fn drops(&self) -> &Drops {
        &self.drops
    }

    /// Packets and bytes so far.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        Traffic {
            tx_packets: self.tx.packets.load(Ordering::Relaxed),
            tx_bytes: self.tx.bytes.load(Ordering::Relaxed),
            rx_packets: self.rx.packets.load(Ordering::Relaxed),
            rx_bytes: self.rx.bytes.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn set_endpoint(&self, endpoint: Endpoint) {
        if self.endpoint() != Some(endpoint) {
            self.endpoint.store(Some(Arc::new(endpoint)));
        }
    }

    pub(crate) fn set_sealer(&self, key: Option<Arc<SendKey>>) {
        self.sealer.store(key);
    }

    /// From when on data that is sent, or received, asks for a new session.
    pub(crate) fn set_rekey(&self, on_send: Option<Duration>, on_receive: Option<Duration>) {
        self.tx.rekey_at.store(on_send.map_or(NEVER, nanos), Ordering::Relaxed);
        self.rx.rekey_at.store(on_receive.map_or(NEVER, nanos), Ordering::Relaxed);
    }

    /// Counts bytes of a handshake message.
    pub(crate) fn count_handshake(&self, now: Duration, sent: u64, received: u64) {
        for (side, bytes) in [(&self.tx, sent), (&self.rx, received)] {
            if bytes > 0 {
                side.bytes.fetch_add(bytes, Ordering::Relaxed);
                side.last.store(nanos(now), Ordering::Relaxed);
            }
        }
    }

    /// When anything authentic came last.
    pub(crate) fn last_received(&self) -> Option<Duration> {
        time(self.rx.last.load(Ordering::Relaxed))
    }

    /// When anything authentic passed last in either direction.
    pub(crate) fn last_traversal(&self) -> Option<Duration> {
        time(self.tx.last.load(Ordering::Relaxed).max(self.rx.last.load(Ordering::Relaxed)))
    }

    /// Since when data that was sent is unanswered.
    pub(crate) fn unanswered(&self) -> Option<Duration> {
        time(self.tx.mark.load(Ordering::SeqCst))
    }

    /// Since when data that was received is unacknowledged.
    pub(crate) fn unacknowledged(&self) -> Option<Duration> {
        time(self.rx.mark.load(Ordering::SeqCst))
    }

    pub(crate) fn clear_unanswered(&self) {
        self.tx.mark.store(0, Ordering::SeqCst);
    }

    pub(crate) fn clear_unacknowledged(&self) {
        self.rx.mark.store(0, Ordering::SeqCst);
    }

    /// The engine's traffic timer stops. It must look at the marks once more afterwards: a mark that was set just
    /// before found the timer still running.
    pub(crate) fn disarm(&self) {
        self.armed.store(false, Ordering::SeqCst);
    }

    /// The engine's traffic timer goes on after [`Peer::disarm`].
    pub(crate) fn rearm(&self) {
        self.armed.store(true, Ordering::SeqCst);
    }

    /// Whether the engine is making a session. After clearing it the engine must look for staged packets once
    /// more: one that was staged just before did not ask.
    pub(crate) fn set_pursuing(&self, pursuing: bool) {
        self.pursuing.store(pursuing, Ordering::SeqCst);
    }

    pub(crate) fn take_wants(&self) -> u8 {
        self.wants.swap(0, Ordering::AcqRel)
    }

    pub(crate) fn want(&self, bit: u8) -> Wakeup {
        if self.wants.load(Ordering::Relaxed) & bit != 0 || self.wants.fetch_or(bit, Ordering::AcqRel) != 0 {
            return Wakeup::NONE;
        }
        self.queue.push(self.id);
        Wakeup::NEEDED
    }

    fn arm(&self) -> Wakeup {
        if self.armed.load(Ordering::SeqCst) || self.armed.swap(true, Ordering::SeqCst) {
            return Wakeup::NONE;
        }
        self.want(TRAFFIC)
    }
}

impl std::fmt::Debug for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Peer").field("id", &self.id).field("public_key", &self.public_key).finish()
    }
}

/// Nanoseconds, never 0, which stands for "none".
fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX - 1).max(1)
}

fn time(nanos: u64) -> Option<Duration> {
    (nanos != 0).then(|| Duration::from_nanos(nanos))
}
