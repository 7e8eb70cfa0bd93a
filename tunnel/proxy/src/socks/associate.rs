//! UDP ASSOCIATE (RFC 1928 section 7): a socket for the client, and one to the network for each family that it uses.

use std::{
    collections::HashSet,
    future::poll_fn,
    io,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncWriteExt as _, ReadBuf},
    time::{Instant, Sleep, sleep, timeout},
};

use super::{NOWHERE, Server, wire};
use crate::{
    counters::{Refusal, Service},
    forward::receive,
    net::{Datagrams, Dial, Listen as _, Stream, System, SystemDatagrams},
    outbound::{Asker, Outbound, Resolve},
    relay::{Buffer, poll_idle},
    service::{Place, Shared, part},
    target::{Host, Target},
};

/// Addresses that a client has written to and that may answer.
const PARTNERS: usize = 1_024;
/// Names of a client that are remembered, so that a datagram does not wait for a question each time.
const NAMES: usize = 64;
/// How long.
const REMEMBERED: Duration = Duration::from_secs(30);
/// Room before a datagram of the network for its header.
const HEADER: usize = wire::DATAGRAM_HEADER;

impl<D: Dial, R: Resolve> Server<D, R> {
    /// Serves an association; it ends with the stream.
    pub(super) async fn associate<S: Stream>(
        &self,
        mut stream: S,
        from: SocketAddr,
        here: IpAddr,
        expected: &Target,
        place: Place,
    ) {
        let Some(_session) = self.shared.session(Service::SocksUdp) else {
            return part(stream, &wire::reply(wire::Reply::Failure, NOWHERE)).await;
        };
        drop(place);
        let bound = match System.bind(SocketAddr::new(here, 0)).await {
            Ok(socket) => socket.local_addr().map(|address| (socket, address)),
            Err(error) => Err(error),
        };
        let (client, address) = match bound {
            Ok(bound) => bound,
            Err(error) => {
                tracing::warn!(%error, "no socket for a UDP association");
                self.shared.counters.refuse(Refusal::Failed);
                return part(stream, &wire::reply(wire::Reply::Failure, NOWHERE)).await;
            }
        };
        let reply = wire::reply(wire::Reply::Succeeded, address);
        if stream.write_all(&reply).await.is_err() {
            return;
        }
        // Where the client says from which port it will send it is held to that, else to the port it sends from first.
        let peer = (expected.port != 0).then(|| SocketAddr::new(from.ip(), expected.port));
        let association = Association {
            shared: &self.shared,
            outbound: &self.outbound,
            client,
            owner: from.ip(),
            peer,
            out: [None, None],
            partners: HashSet::new(),
            names: Vec::new(),
        };
        association.run(&mut stream).await;
        _ = stream.shutdown().await;
    }
}

struct Association<'s, D: Dial, R> {
    shared: &'s std::sync::Arc<Shared>,
    outbound: &'s Outbound<D, R>,
    client: SystemDatagrams,
    owner: IpAddr,
    peer: Option<SocketAddr>,
    /// To IPv4 and to IPv6.
    out: [Option<D::Datagrams>; 2],
    partners: HashSet<IpAddr>,
    names: Vec<(Target, SocketAddr, Instant)>,
}

enum Event {
    /// A datagram of the client, in the buffer from [`HEADER`] on.
    Client(Buffer, usize, SocketAddr),
    /// A datagram of the network, at the same place.
    Network(Buffer, usize, SocketAddr),
    End,
}

impl<D: Dial, R: Resolve> Association<'_, D, R> {
    async fn run<S: Stream>(mut self, control: &mut S) {
        let clock = sleep(self.shared.limits.idle);
        tokio::pin!(clock);
        let mut active = false;
        loop {
            let event = poll_fn(|cx| {
                let event = self.poll(cx, control);
                match event {
                    Poll::Ready(event) => {
                        active |= !matches!(event, Event::End);
                        Poll::Ready(event)
                    }
                    Poll::Pending => self.poll_clock(cx, clock.as_mut(), &mut active),
                }
            })
            .await;
            match event {
                Event::End => return,
                Event::Client(buffer, length, from) => self.outward(&buffer[HEADER..length], from).await,
                Event::Network(mut buffer, length, from) => self.inward(&mut buffer, length, from).await,
            }
        }
    }

    fn poll_clock(&self, cx: &mut Context<'_>, clock: Pin<&mut Sleep>, active: &mut bool) -> Poll<Event> {
        poll_idle(cx, clock, self.shared.limits.idle, active).map(|()| {
            self.shared.counters.idle.fetch_add(1, Relaxed);
            Event::End
        })
    }

    fn poll<S: Stream>(&self, cx: &mut Context<'_>, control: &mut S) -> Poll<Event> {
        let mut byte = [0; 16];
        let mut sink = ReadBuf::new(&mut byte);
        // The stream says nothing more; bytes on it are read and forgotten.
        while let Poll::Ready(read) = Pin::new(&mut *control).poll_read(cx, &mut sink) {
            if read.is_err() || sink.filled().is_empty() {
                return Poll::Ready(Event::End);
            }
            sink.clear();
        }
        let mut buffer = self.shared.pool.take();
        if let Poll::Ready((length, from)) = receive(&self.client, cx, &mut buffer, HEADER, self.shared) {
            return Poll::Ready(Event::Client(buffer, length, from));
        }
        for socket in self.out.iter().flatten() {
            if let Poll::Ready((length, from)) = receive(socket, cx, &mut buffer, HEADER, self.shared) {
                return Poll::Ready(Event::Network(buffer, length, from));
            }
        }
        Poll::Pending
    }

    /// A datagram of the client to its target.
    async fn outward(&mut self, datagram: &[u8], from: SocketAddr) {
        let expected = self.peer.unwrap_or(from);
        if from.ip().to_canonical() != self.owner.to_canonical() || from.port() != expected.port() {
            return self.drop_one();
        }
        let (target, payload) = match wire::datagram(datagram) {
            Ok(parts) => parts,
            Err(error) => {
                if error == wire::WireError::Fragment {
                    self.shared.counters.refuse(Refusal::Fragment);
                }
                return self.drop_one();
            }
        };
        self.peer = Some(from);
        let to = match self.address(&target).await {
            Ok(to) => to,
            Err(why) => {
                self.shared.counters.refuse(why);
                return self.drop_one();
            }
        };
        if self.partners.len() >= PARTNERS {
            self.partners.clear();
        }
        self.partners.insert(to.ip());
        let sent = match self.socket(to.is_ipv6()).await {
            Ok(socket) => socket.send_to(payload, to).await,
            Err(error) => Err(error),
        };
        self.count(sent, payload.len(), &self.shared.counters.sent);
    }

    /// A datagram of the network to the client.
    async fn inward(&mut self, buffer: &mut Buffer, length: usize, from: SocketAddr) {
        let source = SocketAddr::new(from.ip().to_canonical(), from.port());
        let (Some(peer), true) = (self.peer, self.partners.contains(&source.ip())) else {
            return self.drop_one();
        };
        let mut header = [0; HEADER];
        let start = wire::datagram_header(source, &mut header);
        buffer[start..HEADER].copy_from_slice(&header[start..]);
        let sent = self.client.send_to(&buffer[start..length], peer).await;
        self.count(sent, length - HEADER, &self.shared.counters.received);
    }

    fn count(&self, sent: io::Result<()>, length: usize, counter: &AtomicU64) {
        match sent {
            Ok(()) => {
                counter.fetch_add(length as u64, Relaxed);
            }
            Err(error) => {
                tracing::trace!(%error, "a datagram of an association");
                self.drop_one();
            }
        }
    }

    fn drop_one(&self) {
        self.shared.counters.datagrams_dropped.fetch_add(1, Relaxed);
    }

    async fn address(&mut self, target: &Target) -> Result<SocketAddr, Refusal> {
        self.names.retain(|(.., since)| since.elapsed() < REMEMBERED);
        if let Some((_, known, _)) = self.names.iter().find(|(name, ..)| name == target) {
            return Ok(*known);
        }
        let asked = self.outbound.addresses(target, Asker::Client(self.owner));
        let found = timeout(self.shared.limits.connect, asked).await;
        let to = match found {
            Ok(Ok(found)) => found.first().copied().ok_or(Refusal::Name)?,
            Ok(Err(error)) => return Err(error.into()),
            Err(_) => return Err(Refusal::TimedOut),
        };
        if matches!(target.host, Host::Name(_)) {
            if self.names.len() >= NAMES {
                self.names.clear();
            }
            self.names.push((target.clone(), to, Instant::now()));
        }
        Ok(to)
    }

    async fn socket(&mut self, ipv6: bool) -> io::Result<&D::Datagrams> {
        let place = &mut self.out[usize::from(ipv6)];
        if place.is_none() {
            *place = Some(self.outbound.dial.bind_udp(ipv6).await?);
        }
        place.as_ref().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}
