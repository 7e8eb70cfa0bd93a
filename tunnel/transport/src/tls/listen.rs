//! The gateway's TLS listener: accepts connections, and serves TLS and HTTP until the connection becomes a tunnel.
//!
//! One thread serves all handshakes and no tunnels, so a flood of connections does not slow down tunnels. Requests that
//! are not for a tunnel go to an [`Answer`], which may respond later, in any order and from any thread.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::Mutex;
use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, accept_with, getpeername, recv, send,
    sockopt,
};
use rustls::{ServerConfig, ServerConnection};
use warren_budget::{Admission, Refused, Slot, Slots, Source};
use warren_wire::stream::http::{Head, HttpError, Membership, response, tunnel_response};

use super::answer::{Reply, Request};
use super::limits::{CONNECTIONS, HANDSHAKE_BYTES, ListenLimits, SOURCES};
use super::refusals::Refusal;
use super::session::{Session, State};
use super::stream::Left;
use super::streams::{Opened, Role, Streams};

const BACKLOG: i32 = 512;
/// Time for a request to be answered and the answer to be taken.
const ANSWER: Duration = Duration::from_secs(20);
const TICK: Duration = Duration::from_millis(250);
/// Records of an answer that are sealed before another connection has its turn.
const RECORDS: usize = 4;
/// Data of the events that are no handshake's.
const ACCEPT: u64 = 0;
const WAKE: u64 = 1;
const FIRST: u64 = 2;

/// Answers requests that are not for a tunnel.
pub trait Answer: Send + Sync {
    /// Takes a request. It is called on the thread of all handshakes, so it does not wait: the answer is given by
    /// `answering`, at any time and from any thread.
    fn answer(&self, request: Request, answering: Answering);
}

/// A request that waits for its answer. Dropped without one, it is answered with status 500.
pub struct Answering {
    shared: Arc<Shared>,
    number: u64,
    reply: Option<Vec<u8>>,
}

impl Answering {
    /// Answers.
    pub fn reply(mut self, reply: &Reply) {
        self.reply = Some(response(reply.status, reply.content_type, reply.retry_after, &reply.body));
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        let reply = self.reply.take().unwrap_or_else(|| response(500, "text/plain", None, b""));
        self.shared.replies.lock().push((self.number, reply));
        self.shared.waiting.fetch_sub(1, Ordering::AcqRel);
        self.shared.wake();
    }
}

/// Counters since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListenStats {
    /// Connections accepted.
    pub accepted: u64,
    /// Of them those that were closed at once: too many.
    pub limited: u64,
    /// Of them those whose handshake failed or took too long.
    pub failed: u64,
    /// Of them those that became tunnels.
    pub tunnels: u64,
    /// Connections that were refused, or ended before a known peer used them, by reason.
    pub refused: Vec<(&'static str, u64)>,
}

#[derive(Default)]
struct Counters {
    accepted: AtomicU64,
    limited: AtomicU64,
    failed: AtomicU64,
    tunnels: AtomicU64,
}

struct Shared {
    streams: Arc<Streams>,
    tls: Arc<ServerConfig>,
    wake: OwnedFd,
    stop: std::sync::atomic::AtomicBool,
    replies: Mutex<Vec<(u64, Vec<u8>)>>,
    /// Requests without an answer.
    waiting: AtomicUsize,
    limits: Mutex<ListenLimits>,
    counters: Counters,
}

/// A listening port. Closed when dropped; tunnels stay.
pub struct Listener {
    shared: Arc<Shared>,
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    /// Listens on `address`; what becomes a tunnel goes to `streams`.
    ///
    /// # Errors
    /// When the address is taken or may not be used.
    pub fn start(
        address: SocketAddr,
        tls: Arc<ServerConfig>,
        streams: Arc<Streams>,
        answer: Option<Arc<dyn Answer>>,
        limits: ListenLimits,
    ) -> io::Result<Self> {
        let socket = listen(address)?;
        let address = SocketAddr::try_from(rustix::net::getsockname(&socket)?).map_err(io::Error::from)?;
        let shared = Arc::new(Shared {
            streams,
            tls,
            wake: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            stop: false.into(),
            replies: Mutex::default(),
            waiting: AtomicUsize::new(0),
            limits: Mutex::new(limits),
            counters: Counters::default(),
        });
        shared.streams.set_limits(&limits);
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &socket, epoll::EventData::new_u64(ACCEPT), epoll::EventFlags::IN)?;
        epoll::add(&epoll, &shared.wake, epoll::EventData::new_u64(WAKE), epoll::EventFlags::IN)?;
        let porter = Porter {
            shared: Arc::clone(&shared),
            socket,
            epoll,
            answer,
            pending: HashMap::new(),
            order: VecDeque::new(),
            next: FIRST,
            admission: Admission::new(limits.rates(), SOURCES),
            handshakes: Slots::new(limits.handshakes_of_one, usize::MAX),
        };
        let thread = std::thread::Builder::new().name("tls-accept".into()).spawn(move || porter.run())?;
        Ok(Self { shared, address, thread: Some(thread) })
    }

    /// The address that it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether the thread that accepts has ended, which it does not by itself.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.thread.as_ref().is_none_or(std::thread::JoinHandle::is_finished)
    }

    /// Changes the limits. Existing connections keep their timeouts.
    pub fn set_limits(&self, limits: ListenLimits) {
        *self.shared.limits.lock() = limits;
        self.shared.streams.set_limits(&limits);
    }

    /// Counters since the start.
    #[must_use]
    pub fn stats(&self) -> ListenStats {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counters = &self.shared.counters;
        ListenStats {
            accepted: get(&counters.accepted),
            limited: get(&counters.limited),
            failed: get(&counters.failed),
            tunnels: get(&counters.tunnels),
            refused: self.shared.streams.refusals.read(),
        }
    }
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Listener({})", self.address)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.shared.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn limits(&self) -> ListenLimits {
        *self.limits.lock()
    }

    fn wake(&self) {
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }
}

fn listen(address: SocketAddr) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    // Connections of a gateway that ran before do not keep its port.
    sockopt::set_socket_reuseaddr(&socket, true)?;
    rustix::net::bind(&socket, &address)?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(socket)
}

/// A connection of which it is not known yet what it wants.
struct Pending {
    _slot: Slot<Source>,
    socket: OwnedFd,
    remote: SocketAddr,
    session: Session,
    until: Duration,
    received: usize,
    plain: Vec<u8>,
    out: Vec<u8>,
    /// The answer. It is sealed as fast as the other end takes it.
    answer: Vec<u8>,
    /// How much of it is sealed.
    sealed: usize,
    stage: Stage,
    /// Of the tunnel that it asks for.
    membership: Option<Membership>,
    place: Option<Slot<Source>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Reading,
    Answering,
    /// What is left to be sent is in `out` and `answer`; then it is over.
    Closing,
}

enum Next {
    Wait,
    Tunnel,
    Ask(Head, Vec<u8>),
    End,
}

struct Porter {
    shared: Arc<Shared>,
    socket: OwnedFd,
    epoll: OwnedFd,
    answer: Option<Arc<dyn Answer>>,
    pending: HashMap<u64, Pending>,
    /// The numbers, oldest first; some may be gone.
    order: VecDeque<u64>,
    next: u64,
    admission: Admission<Source>,
    /// What is in `pending`, by source.
    handshakes: Slots<Source>,
}

impl Porter {
    fn run(mut self) {
        let mut events = Vec::with_capacity(64);
        while !self.shared.stop.load(Ordering::Relaxed) {
            events.clear();
            let timeout = Timespec { tv_sec: 0, tv_nsec: TICK.subsec_nanos().into() };
            let timeout = (!self.pending.is_empty()).then_some(&timeout);
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), timeout) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => {
                    tracing::error!(%error, "the TLS listener has stopped");
                    return;
                }
            }
            let now = self.shared.streams.now();
            for event in &events {
                match event.data.u64() {
                    ACCEPT => self.accept(now),
                    WAKE => self.replies(),
                    number => self.turn(now, number, event.flags),
                }
            }
            self.expire(now);
        }
    }

    fn accept(&mut self, now: Duration) {
        for _ in 0..64 {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let socket = match accept_with(&self.socket, flags) {
                Ok(socket) => socket,
                Err(Errno::AGAIN) => return,
                Err(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS) => {
                    // The listening socket stays readable: without room made this would turn without end.
                    if !self.evict() {
                        std::thread::sleep(Duration::from_millis(50));
                    }
                    return;
                }
                Err(_) => continue,
            };
            self.shared.counters.accepted.fetch_add(1, Ordering::Relaxed);
            if let Err(refusal) = self.admit(now, socket) {
                self.shared.counters.limited.fetch_add(1, Ordering::Relaxed);
                if let Some(refusal) = refusal {
                    self.shared.streams.refusals.count(refusal);
                }
            }
        }
    }

    /// Begins a handshake.
    ///
    /// # Errors
    /// There are too many, or `None`: the connection has ended, or the kernel has no room for it.
    fn admit(&mut self, now: Duration, socket: OwnedFd) -> Result<(), Option<Refusal>> {
        let name = getpeername(&socket).ok().flatten();
        let remote = name.and_then(|name| SocketAddr::try_from(name).ok()).ok_or(None)?;
        let source = Source::from(remote.ip());
        let limits = self.shared.limits();
        self.handshakes.set_limits(limits.handshakes_of_one, usize::MAX);
        self.admission.set_rates(limits.rates());
        let slot = self.handshakes.take(source).map_err(|_| Some(Refusal::SourceHandshakes))?;
        self.admission.admit(now, source).map_err(|refused| match refused {
            Refused::Each => Some(Refusal::SourceRate),
            Refused::Total => Some(Refusal::TotalRate),
        })?;
        while self.pending.len() >= limits.handshakes && self.evict() {}
        let connection = ServerConnection::new(Arc::clone(&self.shared.tls)).map_err(|_| None)?;
        let number = self.next;
        self.next += 1;
        let flags = epoll::EventFlags::IN | epoll::EventFlags::RDHUP;
        epoll::add(&self.epoll, socket.as_fd(), epoll::EventData::new_u64(number), flags)
            .map_err(|_| None)?;
        let pending = Pending {
            _slot: slot,
            socket,
            remote,
            session: Session::new(connection),
            until: now + limits.request_timeout,
            received: 0,
            plain: Vec::new(),
            out: Vec::new(),
            answer: Vec::new(),
            sealed: 0,
            stage: Stage::Reading,
            membership: None,
            place: None,
        };
        self.pending.insert(number, pending);
        self.order.push_back(number);
        Ok(())
    }

    /// Ends the oldest handshake; false: there is none.
    fn evict(&mut self) -> bool {
        while let Some(number) = self.order.pop_front() {
            if self.pending.remove(&number).is_some() {
                self.shared.counters.failed.fetch_add(1, Ordering::Relaxed);
                return true;
            }
        }
        false
    }

    /// Something came, or the socket takes more.
    fn turn(&mut self, now: Duration, number: u64, flags: epoll::EventFlags) {
        let Some(pending) = self.pending.get_mut(&number) else { return };
        // The kernel reports both without being asked, again and again while the answer is awaited.
        let gone = flags.intersects(epoll::EventFlags::HUP | epoll::EventFlags::ERR);
        if gone && pending.stage != Stage::Reading {
            return self.end(number);
        }
        match pending.turn(&self.shared.streams) {
            Next::Wait => self.watch(number),
            Next::Ask(head, body) => self.ask(now, number, head, body),
            Next::End => self.end(number),
            Next::Tunnel => {
                let Some(pending) = self.pending.remove(&number) else { return };
                let _ = epoll::delete(&self.epoll, &pending.socket);
                let Pending { socket, remote, session, plain, membership, place, .. } = pending;
                let (left, role, most) = (Left { plain }, Role::Server, CONNECTIONS);
                let opened = Opened { socket, remote, session, left, role, membership, most, place };
                let counter = match self.shared.streams.adopt(opened) {
                    Ok(_) => &self.shared.counters.tunnels,
                    Err(_) => &self.shared.counters.limited,
                };
                counter.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Wants to be told what the connection waits for.
    fn watch(&mut self, number: u64) {
        let Some(pending) = self.pending.get(&number) else { return };
        let mut flags = epoll::EventFlags::empty();
        if pending.stage == Stage::Reading {
            flags |= epoll::EventFlags::IN | epoll::EventFlags::RDHUP;
        }
        if !pending.out.is_empty() || pending.sealed < pending.answer.len() {
            flags |= epoll::EventFlags::OUT;
        }
        let _ = epoll::modify(&self.epoll, &pending.socket, epoll::EventData::new_u64(number), flags);
    }

    fn ask(&mut self, now: Duration, number: u64, head: Head, body: Vec<u8>) {
        let Some(pending) = self.pending.get_mut(&number) else { return };
        pending.stage = Stage::Answering;
        pending.until = now + ANSWER;
        let Ok(binding) = pending.session.binding() else { return self.end(number) };
        let request = Request { remote: pending.remote, head, body, binding };
        let Some(answer) = &self.answer else {
            return self.answer(number, response(404, "text/plain", None, b""));
        };
        if self.shared.waiting.fetch_add(1, Ordering::AcqRel) >= self.shared.limits().requests {
            self.shared.waiting.fetch_sub(1, Ordering::AcqRel);
            return self.answer(number, response(503, "text/plain", Some(1), b""));
        }
        answer.answer(request, Answering { shared: Arc::clone(&self.shared), number, reply: None });
        self.watch(number);
    }

    fn replies(&mut self) {
        let _ = rustix::io::read(&self.shared.wake, &mut [0u8; 8]);
        let replies = std::mem::take(&mut *self.shared.replies.lock());
        for (number, bytes) in replies {
            self.answer(number, bytes);
        }
    }

    fn answer(&mut self, number: u64, bytes: Vec<u8>) {
        let Some(pending) = self.pending.get_mut(&number) else { return };
        match pending.close_with(bytes) {
            Next::Wait => self.watch(number),
            _ => self.end(number),
        }
    }

    fn end(&mut self, number: u64) {
        if let Some(pending) = self.pending.remove(&number)
            && pending.stage == Stage::Reading
        {
            self.shared.counters.failed.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn expire(&mut self, now: Duration) {
        let late: Vec<u64> = self
            .pending
            .iter()
            .filter(|(_, pending)| pending.until <= now)
            .map(|(number, _)| *number)
            .collect();
        late.into_iter().for_each(|number| self.end(number));
        if self.order.len() > 2 * self.shared.limits().handshakes {
            let pending = &self.pending;
            self.order.retain(|number| pending.contains_key(number));
        }
    }
}

impl Pending {
    fn turn(&mut self, streams: &Streams) -> Next {
        if self.stage != Stage::Reading {
            return self.flush();
        }
        match self.read() {
            Ok(true) => {}
            Ok(false) => return Next::Wait,
            // An alert may say why.
            Err(()) => {
                self.flush();
                return Next::End;
            }
        }
        let decided = match Head::parse(&self.plain) {
            Ok(None) => return self.flush(),
            Ok(Some((head, end))) if head.asks_for_tunnel() => {
                self.membership = head.membership();
                if let Some(Membership::Another(token)) = self.membership {
                    self.place = streams.reserve(token, Source::from(self.remote.ip()));
                    if self.place.is_none() {
                        return self.close_with(response(409, "text/plain", None, b""));
                    }
                }
                self.plain.drain(..end);
                if self.session.seal(tunnel_response(CONNECTIONS).as_bytes(), &mut self.out).is_err() {
                    return Next::End;
                }
                // It fits into any socket that has sent so little.
                return match self.flush() {
                    Next::Wait if self.out.is_empty() => Next::Tunnel,
                    _ => Next::End,
                };
            }
            Ok(Some((head, end))) => match self.plain.get(end..end + head.body) {
                Some(body) => Ok((head, body.to_vec())),
                None => return self.flush(),
            },
            Err(error) => Err(error),
        };
        match decided {
            Ok((head, body)) => {
                self.flush();
                Next::Ask(head, body)
            }
            Err(error) => {
                let status = match error {
                    HttpError::Malformed => 400,
                    HttpError::LongHead => 431,
                    HttpError::LongBody => 413,
                };
                self.close_with(response(status, "text/plain", None, b""))
            }
        }
    }

    /// True: there may be something new to look at.
    fn read(&mut self) -> Result<bool, ()> {
        let mut cipher = [0; 8 << 10];
        let received = match recv(&self.socket, &mut cipher, RecvFlags::DONTWAIT) {
            Ok((0, _)) => return Err(()),
            Ok((received, _)) => received,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(false),
            Err(_) => return Err(()),
        };
        self.received += received;
        if self.received > HANDSHAKE_BYTES {
            return Err(());
        }
        let (_, state) =
            self.session.read(&cipher[..received], &mut self.plain, &mut self.out).map_err(|_| ())?;
        if state == State::Closed { Err(()) } else { Ok(true) }
    }

    fn close_with(&mut self, bytes: Vec<u8>) -> Next {
        self.stage = Stage::Closing;
        self.answer = bytes;
        self.flush()
    }

    /// Sends what the socket takes. An answer may be long, and the thread is that of all handshakes: it is sealed in parts.
    fn flush(&mut self) -> Next {
        for _ in 0..RECORDS {
            if self.out.is_empty() && self.sealed < self.answer.len() {
                let part = self.answer.len().min(self.sealed + super::RECORD);
                if self.session.seal(&self.answer[self.sealed..part], &mut self.out).is_err() {
                    return Next::End;
                }
                self.sealed = part;
            }
            while !self.out.is_empty() {
                match send(&self.socket, &self.out, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                    Ok(sent) => drop(self.out.drain(..sent)),
                    Err(Errno::INTR) => {}
                    Err(Errno::AGAIN) => return Next::Wait,
                    Err(_) => return Next::End,
                }
            }
            if self.sealed == self.answer.len() {
                return if self.stage == Stage::Closing { Next::End } else { Next::Wait };
            }
        }
        Next::Wait
    }
}
