//! Echo requests and names for `warren-tunnel ping`: through the netstack, or through sockets of the kernel's stack at the inner
//! end of the tunnel.

mod kernel;

use std::{
    future::Future,
    io,
    net::IpAddr,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU16, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
    time::{Duration, Instant},
};

use warren_budget::Slots;
use warren_device::{
    namespace::Namespace,
    user::{Net, Ping, Undeliverable, Unreachable},
};
use warren_proxy::{
    Name,
    dns::Names,
    outbound::{NameError, Resolve as _},
};

use super::{
    events::Reloader,
    proxies::names_by_interface,
    tunnel::{TunnelHandle, failure, reload_answer, status_answer},
};
use crate::runtime::{
    problem::{Context as _, Problem, Result},
    random,
    status::Status,
    uapi::{PingRequest, Pong, PongReason, Request, errno},
};

/// Echo requests at the same time. Each holds one of the connections of the control socket, which others need too.
const PINGS: usize = 8;
/// Names that are looked up at the same time.
const LOOKUPS: usize = 2;
/// Timeout for a name: longer than that of its servers.
const NAME_TIMEOUT: Duration = Duration::from_secs(20);

/// The stack at the inner end of a tunnel.
pub(super) enum Inside {
    /// The netstack of this process.
    Netstack(Net),
    /// The machine's own.
    Machine,
    /// That of a network namespace.
    Private(Arc<Namespace>),
}

/// Finds the addresses of a name.
pub(super) type Lookup = Arc<dyn Fn(Name) -> Option<Found> + Send + Sync>;
/// The result; `None` if the tunnel has ended.
pub(super) type Found = std::result::Result<Vec<IpAddr>, NameError>;

/// Sends echo requests and looks up names, as many at once as its budget permits.
pub(super) struct Pinger {
    inside: Inside,
    /// The names of the proxies. `None`: those of the machine, and the gateway's domains.
    lookup: Option<Lookup>,
    pings: Slots<()>,
    lookups: Slots<()>,
    id: u16,
    sequence: AtomicU16,
}

impl Pinger {
    pub(super) fn new(inside: Inside, lookup: Option<Lookup>) -> Result<Self> {
        let seed = random()?;
        Ok(Self {
            inside,
            lookup,
            pings: Slots::new(PINGS, PINGS),
            lookups: Slots::new(LOOKUPS, LOOKUPS),
            id: u16::from_le_bytes([seed[0], seed[1]]),
            sequence: AtomicU16::new(0),
        })
    }

    fn ping(&self, request: &PingRequest) -> Result<Pong> {
        let _slot = self.pings.take(()).map_err(|_| {
            Problem::new(format!("the agent sends at most {PINGS} echo requests at the same time"))
                .hint("end other `warren-tunnel ping` commands, or use a longer --interval")
        })?;
        let PingRequest { to, size, timeout } = *request;
        let number = (self.id, self.sequence.fetch_add(1, Ordering::Relaxed));
        let sent = match &self.inside {
            Inside::Netstack(net) => by_netstack(net, to, number, usize::from(size), timeout),
            Inside::Machine => kernel::echo(&kernel::machine, to, number, size.into(), timeout),
            Inside::Private(namespace) => {
                let socket = |family, kind, protocol| namespace.socket(family, kind, Some(protocol));
                kernel::echo(&socket, to, number, size.into(), timeout)
            }
        };
        sent.map_err(|error| refused(to, &error))
    }

    fn resolve(&self, name: &str, handle: &dyn TunnelHandle) -> Result<Vec<IpAddr>> {
        let parsed: Name = name.parse().map_err(|error| {
            Problem::new(format!("{name}: {error}"))
                .hint("give a name such as train-0.gpu.warren.internal, or an address")
        })?;
        let _slot = self.lookups.take(()).map_err(|_| {
            Problem::new(format!("the agent looks up at most {LOOKUPS} names at the same time"))
                .hint("try again")
        })?;
        let found = match &self.lookup {
            Some(lookup) => lookup(parsed),
            None => by_machine(&handle.status()?, &parsed),
        };
        match found {
            Some(Ok(addresses)) => Ok(addresses),
            Some(Err(error)) => Err(unresolved(name, error, &handle.status()?)),
            None => Err(Problem::new("the tunnel is down")),
        }
    }
}

/// Answers the requests that agents of all backends have in common; `None` for the others.
pub(super) fn answer(
    request: &Request,
    handle: &dyn TunnelHandle,
    reloader: &Reloader,
    pinger: &Pinger,
) -> Option<Vec<u8>> {
    let result = match request {
        Request::Get | Request::Set(_) => return None,
        Request::Status => status_answer(handle),
        Request::Reload => reload_answer(reloader),
        Request::Gateways => reloader.gateways().and_then(|gateways| line("gateways", &gateways)),
        Request::Resolve(name) => pinger.resolve(name, handle).and_then(|found| line("addresses", &found)),
        Request::Ping(ping) => pinger.ping(ping).and_then(|pong| line("pong", &pong)),
    };
    Some(result.unwrap_or_else(|problem| failure(&problem)))
}

fn line(name: &str, value: &impl serde::Serialize) -> Result<Vec<u8>> {
    let json = serde_json::to_string(value).while_doing(|| "cannot encode the answer".into())?;
    Ok(format!("{name}={json}\n{}", errno(0)).into_bytes())
}

fn by_netstack(
    net: &Net,
    to: IpAddr,
    number: (u16, u16),
    size: usize,
    timeout: Duration,
) -> io::Result<Pong> {
    let source = net.address_towards(to).ok_or(io::ErrorKind::AddrNotAvailable)?;
    let begun = Instant::now();
    match wait(net.ping(Ping { source, destination: to, number }, &data(size)), timeout) {
        None => Ok(Pong::Silent),
        Some(Ok(())) => Ok(Pong::Answered { seconds: begun.elapsed().as_secs_f64() }),
        Some(Err(error)) => {
            let why = error.get_ref().and_then(|inner| inner.downcast_ref::<Undeliverable>()).copied();
            why.map(|Undeliverable { by, why }| Pong::Undelivered { by, reason: reason(why) }).ok_or(error)
        }
    }
}

fn reason(why: Unreachable) -> PongReason {
    match why {
        Unreachable::Network => PongReason::Network,
        Unreachable::Host => PongReason::Host,
        Unreachable::Port => PongReason::Protocol,
        Unreachable::Prohibited => PongReason::Prohibited,
    }
}

/// The data of a request: bytes that differ, as those of iputils.
fn data(size: usize) -> Vec<u8> {
    (0..=u8::MAX).cycle().take(size).collect()
}

/// The gateway's domains by its servers, through the interface; all other names as the machine has them.
fn by_machine(status: &Status, name: &Name) -> Option<Found> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    let names = names_by_interface(status);
    let resolved = async { tokio::time::timeout(NAME_TIMEOUT, names.resolve(name)).await };
    Some(runtime.block_on(resolved).unwrap_or(Err(NameError::Failed)))
}

/// Looks names up by the names of the proxies, on their runtime.
pub(super) fn lookup<D: warren_proxy::net::Dial>(names: Names<D>, runtime: tokio::runtime::Handle) -> Lookup {
    Arc::new(move |name| {
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        let names = names.clone();
        runtime.spawn(async move { sender.send(names.resolve(&name).await) });
        match receiver.recv_timeout(NAME_TIMEOUT) {
            Ok(found) => Some(found),
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => Some(Err(NameError::Failed)),
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => None,
        }
    })
}

fn unresolved(name: &str, error: NameError, status: &Status) -> Problem {
    let domains: Vec<&str> =
        status.dns_zones.iter().flat_map(|zone| zone.domains.iter().map(String::as_str)).collect();
    let problem = Problem::new(format!("cannot resolve {name}: {error}"));
    match error {
        NameError::Unknown if domains.is_empty() => {
            problem.hint("check the name; this tunnel has no private domains, so the resolver of this machine was used")
        }
        NameError::Unknown => problem.hint(format!(
            "check the name, which only those pods know whose rules permit the destination; the tunnel resolves {}",
            domains.join(", ")
        )),
        NameError::Failed => problem
            .hint("check the handshake with `warren-tunnel status`, and the resolvers with `warren-tunnel gateway status` at the gateway"),
    }
}

/// Why an echo request was not sent.
fn refused(to: IpAddr, error: &io::Error) -> Problem {
    let problem = Problem::new(format!("cannot send an echo request to {to}: {error}"));
    match (error.kind(), error.raw_os_error()) {
        (io::ErrorKind::AddrNotAvailable, _) => Problem::new(format!(
            "the tunnel has no IPv{} address, so it cannot send to {to}",
            if to.is_ipv4() { 4 } else { 6 }
        ))
        .hint("use an address of the other family"),
        (io::ErrorKind::InvalidInput, _) | (_, Some(libc::EMSGSIZE)) => {
            problem.hint("the request does not fit into a packet: use a smaller --size")
        }
        (io::ErrorKind::PermissionDenied, _) => problem.hint(
            "the agent needs CAP_NET_RAW, or its group in the sysctl net.ipv4.ping_group_range; or use the system's ping",
        ),
        _ => problem,
    }
}

/// Unparks the thread that waits for a future.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for a future on this thread: that of the netstack needs no runtime, which may end meanwhile.
fn wait<T>(future: impl Future<Output = T>, time: Duration) -> Option<T> {
    let until = Instant::now() + time;
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Some(done);
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return None;
        }
        thread::park_timeout(left);
    }
}
