//! Connecting to a gateway: names, addresses, a proxy, TLS, the upgrade. It waits, so it has a thread of its own.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ring::rand::{SecureRandom as _, SystemRandom};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, connect, recv, send, socket_with, sockopt,
};
use rustls::ClientConnection;
use rustls::pki_types::ServerName;
use warren_wire::stream::http::{self, Membership, Token, parse_status, permitted_connections};

use super::bundle::Bundle;
use super::limits::CONNECTIONS;
use super::proxy::Proxy;
use super::session::{Session, State};
use super::stream::Left;
use super::streams::{Opened, Role};
use super::trust::{Refused, Trust, client_config};
use super::{Pin, Pins};

/// For everything together.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Head start of each address before the next (RFC 8305 section 5).
const STAGGER: Duration = Duration::from_millis(250);

/// A gateway to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Name or address.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// The name that is asked for, if it is not the host's: in the server name indication and in a certificate.
    pub server_name: Option<String>,
    /// By what it is known.
    pub trust: Trust,
    /// What is on the way.
    pub proxy: Option<Proxy>,
    /// Mark of the packets, for routing rules.
    pub fwmark: Option<u32>,
}

impl Target {
    /// Host and port, as messages have them.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    /// The name has no address.
    #[error("cannot resolve {name}: {error}")]
    Name {
        /// Of the gateway or of the proxy.
        name: String,
        /// Why.
        error: io::Error,
    },
    /// No TCP connection.
    #[error("cannot connect to {name}: {error}")]
    Connect {
        /// Of the gateway or of the proxy.
        name: String,
        /// Why.
        error: io::Error,
    },
    /// The proxy does not let it through.
    #[error("proxy {proxy} refused to connect: HTTP status {status}")]
    Proxy {
        /// Its name and port.
        proxy: String,
        /// 407: it wants a password.
        status: u16,
    },
    /// Another key than the pinned one.
    #[error("{name} is not the pinned gateway: its key is {found}, expected {expected}")]
    WrongPin {
        /// The gateway.
        name: String,
        /// The configured pins.
        expected: Pins,
        /// What it showed.
        found: Pin,
    },
    /// TLS does not work out.
    #[error("TLS with {name}: {error}")]
    Tls {
        /// The gateway.
        name: String,
        /// Why.
        error: rustls::Error,
    },
    /// The other end is a web server that knows no tunnel.
    #[error("{name} is not a gateway, or has another version: HTTP status {status}")]
    NoGateway {
        /// The gateway.
        name: String,
        /// Its answer; 0 for none that can be understood.
        status: u16,
    },
    /// The connection ended half way, or it took too long.
    #[error("{name}: {error}")]
    Cut {
        /// The gateway.
        name: String,
        /// Why.
        error: io::Error,
    },
}

impl DialError {
    /// What can be done, in one sentence.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Name { .. } => "check that DNS is reachable without the tunnel",
            Self::Connect { .. } | Self::Cut { .. } => {
                "check that the gateway is running and accepts TLS, and that firewalls allow its TCP port; set HTTPS_PROXY if the path needs a proxy"
            }
            Self::Proxy { .. } => {
                "the proxy must allow CONNECT to this port; if it needs a password, put it into HTTPS_PROXY"
            }
            Self::WrongPin { .. } => {
                "if the gateway has a new key, copy the pin from its log; otherwise the connection is intercepted; nothing was sent"
            }
            Self::Tls { .. } => {
                "check that the port belongs to the gateway; a self-signed certificate needs TLSPin"
            }
            Self::NoGateway { .. } => {
                "check that the port belongs to the gateway, and that both have the same version"
            }
        }
    }
}

/// Connects, for at most ten seconds.
///
/// # Errors
/// The first thing that does not work.
pub fn dial(target: &Target) -> Result<Opened, DialError> {
    let mut random = [0; 16];
    // Without a token it is a connection alone.
    let token = SystemRandom::new().fill(&mut random).ok().map(|()| Token::new(random));
    open(target, token.map(Membership::First))
}

/// Connects another time, for at most ten seconds, for a bundle whose first connection [`dial`] made.
///
/// # Errors
/// The first thing that does not work; also when the other end knows no such bundle, or accepts no more connections.
pub fn dial_another(target: &Target, bundle: &Bundle) -> Result<Opened, DialError> {
    let alone = || DialError::Cut { name: target.name(), error: io::ErrorKind::Unsupported.into() };
    open(target, Some(Membership::Another(bundle.token().ok_or_else(alone)?)))
}

fn open(target: &Target, membership: Option<Membership>) -> Result<Opened, DialError> {
    let name = target.name();
    let until = Instant::now() + TIMEOUT;
    let cut = |error| DialError::Cut { name: name.clone(), error };
    let (socket, remote) = plain(target, &name, until)?;
    secure(target, membership, &name, socket, remote, until, &cut)
}

/// A TCP connection, through the proxy if there is one.
pub(super) fn plain(target: &Target, name: &str, until: Instant) -> Result<(OwnedFd, SocketAddr), DialError> {
    let Some(proxy) = &target.proxy else {
        return reach(&target.host, target.port, target.fwmark, until);
    };
    let cut = |error| DialError::Cut { name: name.to_owned(), error };
    let (socket, remote) = reach(&proxy.host, proxy.port, target.fwmark, until)?;
    through(proxy, &socket, target, until, &cut)?;
    Ok((socket, remote))
}

/// What an error of TLS means.
pub(super) fn refusal(target: &Target, name: &str, refused: &Refused, error: rustls::Error) -> DialError {
    match (&target.trust, *refused.lock()) {
        (Trust::Pins(expected), Some(found)) => {
            DialError::WrongPin { name: name.to_owned(), expected: expected.clone(), found }
        }
        _ => DialError::Tls { name: name.to_owned(), error },
    }
}

/// A TCP connection to the first address that answers; each has a head start before the next.
fn reach(
    host: &str,
    port: u16,
    fwmark: Option<u32>,
    until: Instant,
) -> Result<(OwnedFd, SocketAddr), DialError> {
    let name = format!("{host}:{port}");
    let mut addresses: Vec<SocketAddr> = (host, port)
        .to_socket_addrs()
        .map_err(|error| DialError::Name { name: name.clone(), error })?
        .collect();
    interleave(&mut addresses);
    let mut rest = addresses.into_iter();
    let mut trying: Vec<(OwnedFd, SocketAddr)> = Vec::new();
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    loop {
        if let Some(address) = rest.next() {
            match begin(address, fwmark) {
                Ok(socket) => trying.push((socket, address)),
                Err(error) => last = error,
            }
        } else if trying.is_empty() {
            return Err(DialError::Connect { name, error: last });
        }
        let timeout = if rest.len() > 0 { STAGGER } else { until.saturating_duration_since(Instant::now()) };
        let mut entries: Vec<PollFd<'_>> =
            trying.iter().map(|(socket, _)| PollFd::new(socket, PollFlags::OUT)).collect();
        if !entries.is_empty() {
            poll(&mut entries, Some(&timespec(timeout)))
                .or_else(interrupted)
                .map_err(|error| DialError::Connect { name: name.clone(), error: error.into() })?;
        }
        let done: Vec<usize> = (0..entries.len()).filter(|n| !entries[*n].revents().is_empty()).collect();
        for index in done.into_iter().rev() {
            let (socket, address) = trying.swap_remove(index);
            match sockopt::socket_error(&socket) {
                Ok(Ok(())) => return Ok((socket, address)),
                Ok(Err(error)) | Err(error) => last = error.into(),
            }
        }
        if Instant::now() >= until {
            return Err(DialError::Connect { name, error: io::ErrorKind::TimedOut.into() });
        }
    }
}

/// The system's order, but with families in turn (RFC 8305 section 4).
fn interleave(addresses: &mut Vec<SocketAddr>) {
    let first_is_v6 = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let (preferred, other): (Vec<_>, Vec<_>) =
        addresses.drain(..).partition(|address| address.is_ipv6() == first_is_v6);
    let (mut preferred, mut other) = (preferred.into_iter(), other.into_iter());
    while preferred.len() + other.len() > 0 {
        addresses.extend(preferred.next());
        addresses.extend(other.next());
    }
}

fn begin(address: SocketAddr, fwmark: Option<u32>) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    if let Some(mark) = fwmark {
        crate::udp::set_mark(socket.as_fd(), mark)?;
    }
    match connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(error) => Err(error.into()),
    }
}

/// Has the proxy connect.
fn through(
    proxy: &Proxy,
    socket: &OwnedFd,
    target: &Target,
    until: Instant,
    cut: &impl Fn(io::Error) -> DialError,
) -> Result<(), DialError> {
    write(socket, proxy.request(&target.host, target.port).as_bytes(), until).map_err(cut)?;
    let mut answer = Vec::new();
    loop {
        // One byte at a time: what follows the head is TLS already.
        let mut byte = [0];
        read(socket, &mut byte, until).map_err(cut)?;
        answer.extend_from_slice(&byte);
        let refused = |status| DialError::Proxy { proxy: format!("{proxy:?}"), status };
        match Proxy::answer(&answer) {
            Ok(None) => {}
            Ok(Some((200..=299, _))) => return Ok(()),
            Ok(Some((status, _))) => return Err(refused(status)),
            Err(_) => return Err(refused(0)),
        }
    }
}

/// TLS and the upgrade.
fn secure(
    target: &Target,
    membership: Option<Membership>,
    name: &str,
    socket: OwnedFd,
    remote: SocketAddr,
    until: Instant,
    cut: &impl Fn(io::Error) -> DialError,
) -> Result<Opened, DialError> {
    let refused = Refused::default();
    let tls = |error: rustls::Error| refusal(target, name, &refused, error);
    let asked = target.server_name.as_deref().unwrap_or(&target.host);
    let server = ServerName::try_from(asked.to_owned())
        .map_err(|_| tls(rustls::Error::General(format!("{asked} is not a server name"))))?;
    let config = client_config(&target.trust, Arc::clone(&refused)).map_err(tls)?;
    let connection = ClientConnection::new(Arc::new(config), server).map_err(tls)?;
    let mut session = Session::new(connection);
    let mut buffer = vec![0; 16 << 10];
    let (mut received, mut plain, mut out) = (0, Vec::new(), Vec::new());
    let mut asked_for_tunnel = false;
    loop {
        let mut rest = &buffer[..received];
        // At the beginning there is nothing to read, but something to say.
        let state = loop {
            let read = session.read(rest, &mut plain, &mut out);
            if read.is_err() {
                // The alert is a courtesy.
                let _ = write(&socket, &out, until);
            }
            let (used, state) = read.map_err(tls)?;
            rest = rest.get(used..).unwrap_or_default();
            if rest.is_empty() || state == State::Closed {
                break state;
            }
        };
        if state == State::Open && !asked_for_tunnel {
            asked_for_tunnel = true;
            let request = http::tunnel_request(asked, membership);
            session.seal(request.as_bytes(), &mut out).map_err(tls)?;
        }
        write(&socket, &out, until).map_err(cut)?;
        out.clear();
        match parse_status(&plain) {
            Ok(None) => {}
            Ok(Some((101, end))) => {
                let most = permitted_connections(&plain[..end]).min(CONNECTIONS);
                plain.drain(..end);
                let (left, role) = (Left { plain }, Role::Client);
                return Ok(Opened { socket, remote, session, left, role, membership, most, place: None });
            }
            Ok(Some((status, _))) => return Err(DialError::NoGateway { name: name.to_owned(), status }),
            Err(_) => return Err(DialError::NoGateway { name: name.to_owned(), status: 0 }),
        }
        if state == State::Closed {
            return Err(cut(io::ErrorKind::ConnectionAborted.into()));
        }
        received = read(&socket, &mut buffer, until).map_err(cut)?;
    }
}

fn read(socket: &OwnedFd, buffer: &mut [u8], until: Instant) -> io::Result<usize> {
    loop {
        match recv(socket, &mut *buffer, RecvFlags::DONTWAIT) {
            Ok((0, _)) => return Err(io::ErrorKind::ConnectionAborted.into()),
            Ok((received, _)) => return Ok(received),
            Err(Errno::AGAIN) => wait(socket, PollFlags::IN, until)?,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn write(socket: &OwnedFd, mut bytes: &[u8], until: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        match send(socket, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(sent) => bytes = bytes.get(sent..).unwrap_or_default(),
            Err(Errno::AGAIN) => wait(socket, PollFlags::OUT, until)?,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn wait(socket: &OwnedFd, flags: PollFlags, until: Instant) -> io::Result<()> {
    let timeout = until.saturating_duration_since(Instant::now());
    if timeout.is_zero() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    poll(&mut [PollFd::new(socket, flags)], Some(&timespec(timeout))).or_else(interrupted)?;
    Ok(())
}

fn interrupted(error: Errno) -> Result<usize, Errno> {
    if error == Errno::INTR { Ok(0) } else { Err(error) }
}

fn timespec(time: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(time.subsec_nanos()),
    }
}
