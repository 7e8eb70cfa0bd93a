//! Echo requests through the kernel's ping sockets, which need no privileges if `net.ipv4.ping_group_range` contains our group.
//! Those to peers are sent through the tunnel; none are sent to other sites.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, socket_with};
use tokio::net::UdpSocket;
use tokio::time::timeout;
use warren_budget::{ShareLimits, Shares};
use warren_device::user::{Echo, Unreachable};
use warren_lease::policy::Flow;
use warren_proxy::net::DialError;
use warren_wire::gateway::Protocol;

use super::{Nat, icmp_reason};
use crate::gateway::access::Direction;
use crate::gateway::audit::Entry;

/// Pending requests at one time; each has a socket.
const PENDING: ShareLimits = ShareLimits { share: 4, each: 64, total: 1024 };
/// Timeout for an answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Type, code, checksum, identifier, sequence number.
const HEADER: usize = 8;

/// Forwards echo requests until the tunnel ends.
pub(super) async fn serve(nat: Arc<Nat>) {
    let places = Shares::new(PENDING);
    let mut told_once = false;
    while let Ok(echo) = nat.inside.echo().await {
        let flow =
            Flow { source: echo.source, destination: echo.destination, protocol: Protocol::Icmp, port: 0 };
        let parties = match nat.admit(&flow) {
            Ok(parties) => parties,
            Err(why) => {
                nat.inside.echoed(&echo, Err(why));
                continue;
            }
        };
        let member = &parties.member;
        if parties.to.is_none() && nat.outside.by_tunnel(echo.destination) {
            nat.inside.echoed(&echo, Err(Unreachable::Prohibited));
            continue;
        }
        let Ok(place) = places.take(member.key, 1) else {
            nat.counters.dropped.fetch_add(1, Ordering::Relaxed);
            continue;
        };
        let bytes = echo.data.len() as u64;
        if !parties.take(Direction::Out, echo.data.len()) {
            nat.counters.dropped.fetch_add(1, Ordering::Relaxed);
            continue;
        }
        let route = match &parties.to {
            Some(_) => Ok(Route::Tunnel),
            None => socket(echo.destination).map(Route::System),
        };
        let route = match route {
            Ok(route) => route,
            Err(error) => {
                if !std::mem::replace(&mut told_once, true) {
                    tracing::warn!(%error, hint = "to permit them: sysctl -w net.ipv4.ping_group_range=\"0 2147483647\"",
                        "cannot forward echo requests: ping sockets are not permitted");
                }
                nat.inside.echoed(&echo, Err(Unreachable::Prohibited));
                continue;
            }
        };
        nat.counters.echo.fetch_add(1, Ordering::Relaxed);
        nat.counters.bytes_out.fetch_add(bytes, Ordering::Relaxed);
        let entry = Entry::new(member, &flow, None);
        let nat = Arc::clone(&nat);
        tokio::spawn(async move {
            let _place = place;
            let asked = async {
                match &route {
                    Route::System(socket) => ask(socket, &echo).await,
                    Route::Tunnel => nat.outside.ping(&echo).await,
                }
            };
            let result = timeout(TIMEOUT, asked).await;
            let back = if matches!(result, Ok(Ok(()))) { bytes } else { 0 };
            nat.counters.bytes_in.fetch_add(back, Ordering::Relaxed);
            nat.audit.add(&entry, 1, bytes, back);
            match result {
                Ok(Ok(())) => nat.inside.echoed(&echo, Ok(())),
                Ok(Err(error)) => {
                    let why = icmp_reason(DialError::from(&error)).unwrap_or(Unreachable::Host);
                    nat.inside.echoed(&echo, Err(why));
                }
                // A host that does not answer gets no answer from us.
                Err(_) => {}
            }
        });
    }
}

/// Where a request is sent.
enum Route {
    /// Through a ping socket of this machine.
    System(UdpSocket),
    /// To a peer, with the sender's address.
    Tunnel,
}

/// A ping socket behaves as a UDP socket whose datagrams are echo requests and replies; the kernel gives it an identifier.
fn socket(to: IpAddr) -> io::Result<UdpSocket> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (family, protocol) = match to {
        IpAddr::V4(_) => (AddressFamily::INET, ipproto::ICMP),
        IpAddr::V6(_) => (AddressFamily::INET6, ipproto::ICMPV6),
    };
    let socket = socket_with(family, SocketType::DGRAM, flags, Some(protocol))?;
    UdpSocket::from_std(socket.into())
}

async fn ask(socket: &UdpSocket, echo: &Echo) -> io::Result<()> {
    socket.connect(SocketAddr::new(echo.destination, 0)).await?;
    let request: u8 = if echo.destination.is_ipv4() { 8 } else { 128 };
    let mut message = vec![request, 0, 0, 0, 0, 0];
    message.extend_from_slice(&echo.number.1.to_be_bytes());
    message.extend_from_slice(&echo.data);
    socket.send(&message).await?;
    let mut answer = vec![0; message.len() + 64];
    loop {
        let length = socket.recv(&mut answer).await?;
        let reply: u8 = if echo.destination.is_ipv4() { 0 } else { 129 };
        // The socket receives only its own reply, and it sends one request.
        if length >= HEADER && answer[0] == reply && answer[6..8] == echo.number.1.to_be_bytes() {
            return Ok(());
        }
    }
}
