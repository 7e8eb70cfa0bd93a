//! Two networks behind one: destinations inside some prefixes enter the tunnel, others do not.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use arc_swap::ArcSwap;
use ipnet::IpNet;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::{Datagrams, Dial, DialError, Stream};

/// A set of addresses; looking one up takes a binary search.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prefixes(Vec<IpNet>);

impl Prefixes {
    /// Overlapping and neighbouring prefixes become one.
    pub fn new(prefixes: &[IpNet]) -> Self {
        let mut prefixes = IpNet::aggregate(&prefixes.to_vec());
        prefixes.sort_unstable_by_key(IpNet::network);
        Self(prefixes)
    }

    /// Whether one of them holds `address`.
    pub fn contain(&self, address: IpAddr) -> bool {
        let after = self.0.partition_point(|prefix| prefix.network() <= address);
        after
            .checked_sub(1)
            .and_then(|index| self.0.get(index))
            .is_some_and(|prefix| prefix.contains(&address))
    }
}

/// Whether an address means this machine or its link: no tunnel leads there, whatever its prefixes say.
pub fn is_local(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.is_loopback() || v4.is_link_local() || v4.is_unspecified(),
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unicast_link_local() || v6.is_unspecified(),
    }
}

/// Dials through the tunnel what lies in its prefixes, and all else directly or not at all.
///
/// The other direction never happens: what lies in the tunnel's prefixes is not dialled directly, also while the tunnel is down.
#[derive(Debug)]
pub struct Split<T, S> {
    tunnel: T,
    prefixes: Arc<ArcSwap<Prefixes>>,
    direct: Option<S>,
}

impl<T, S> Split<T, S> {
    /// Without `direct`, destinations outside of the tunnel are refused.
    pub fn new(tunnel: T, prefixes: Prefixes, direct: Option<S>) -> Self {
        Self { tunnel, prefixes: Arc::new(ArcSwap::from_pointee(prefixes)), direct }
    }

    /// Changes the prefixes; existing streams continue.
    pub fn set_prefixes(&self, prefixes: Prefixes) {
        self.prefixes.store(Arc::new(prefixes));
    }

    /// Whether `address` is reached through the tunnel.
    pub fn enters(&self, address: IpAddr) -> bool {
        enters(&self.prefixes.load(), address)
    }
}

fn enters(prefixes: &Prefixes, address: IpAddr) -> bool {
    !is_local(address) && prefixes.contain(address.to_canonical())
}

impl<T: Dial, S: Dial> Dial for Split<T, S> {
    type Stream = Either<T::Stream, S::Stream>;
    type Datagrams = SplitDatagrams<T::Datagrams, S::Datagrams>;

    async fn connect(&self, to: SocketAddr) -> Result<Self::Stream, DialError> {
        if self.enters(to.ip()) {
            return self.tunnel.connect(to).await.map(Either::Tunnel);
        }
        match &self.direct {
            Some(direct) => direct.connect(to).await.map(Either::Direct),
            None => Err(DialError::NotPermitted),
        }
    }

    async fn bind_udp(&self, ipv6: bool) -> io::Result<Self::Datagrams> {
        let direct = match &self.direct {
            Some(direct) => Some(direct.bind_udp(ipv6).await?),
            None => None,
        };
        Ok(SplitDatagrams {
            tunnel: self.tunnel.bind_udp(ipv6).await?,
            prefixes: Arc::clone(&self.prefixes),
            direct,
        })
    }
}

/// A stream of one of the two networks.
#[derive(Debug)]
pub enum Either<T, S> {
    /// Through the tunnel.
    Tunnel(T),
    /// Beside it.
    Direct(S),
}

macro_rules! of_either {
    ($stream:expr, $method:ident($($argument:expr),*)) => {
        match $stream.get_mut() {
            Self::Tunnel(stream) => Pin::new(stream).$method($($argument),*),
            Self::Direct(stream) => Pin::new(stream).$method($($argument),*),
        }
    };
}

impl<T: Stream, S: Stream> Stream for Either<T, S> {
    fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<usize> {
        match self {
            Self::Tunnel(stream) => stream.poll_room(cx),
            Self::Direct(stream) => stream.poll_room(cx),
        }
    }

    fn poll_peek(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Option<Poll<io::Result<()>>> {
        match self {
            Self::Tunnel(stream) => stream.poll_peek(cx, buf),
            Self::Direct(stream) => stream.poll_peek(cx, buf),
        }
    }

    fn take_peeked(&mut self, bytes: usize) {
        match self {
            Self::Tunnel(stream) => stream.take_peeked(bytes),
            Self::Direct(stream) => stream.take_peeked(bytes),
        }
    }
}

impl<T: AsyncRead + Unpin, S: AsyncRead + Unpin> AsyncRead for Either<T, S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        of_either!(self, poll_read(cx, buf))
    }
}

impl<T: AsyncWrite + Unpin, S: AsyncWrite + Unpin> AsyncWrite for Either<T, S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        of_either!(self, poll_write(cx, buf))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        of_either!(self, poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        of_either!(self, poll_shutdown(cx))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        of_either!(self, poll_write_vectored(cx, bufs))
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Tunnel(stream) => stream.is_write_vectored(),
            Self::Direct(stream) => stream.is_write_vectored(),
        }
    }
}

/// A socket in each of the two networks.
#[derive(Debug)]
pub struct SplitDatagrams<T, S> {
    tunnel: T,
    prefixes: Arc<ArcSwap<Prefixes>>,
    direct: Option<S>,
}

impl<T: Datagrams, S: Datagrams> Datagrams for SplitDatagrams<T, S> {
    /// That in the tunnel.
    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.tunnel.local_addr()
    }

    fn poll_recv_from(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<SocketAddr>> {
        // Nobody beside the tunnel speaks for an address inside.
        while let Some(direct) = &self.direct
            && let Poll::Ready(received) = direct.poll_recv_from(cx, buf)
        {
            match received {
                Ok(from) if enters(&self.prefixes.load(), from.ip()) => buf.clear(),
                received => return Poll::Ready(received),
            }
        }
        self.tunnel.poll_recv_from(cx, buf)
    }

    fn poll_send_to(&self, cx: &mut Context<'_>, datagram: &[u8], to: SocketAddr) -> Poll<io::Result<()>> {
        if enters(&self.prefixes.load(), to.ip()) {
            return self.tunnel.poll_send_to(cx, datagram, to);
        }
        match &self.direct {
            Some(direct) => direct.poll_send_to(cx, datagram, to),
            None => Poll::Ready(Err(io::ErrorKind::PermissionDenied.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn nets(texts: &[&str]) -> Vec<IpNet> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn this_machine_and_its_link_never_enter() {
        let all = Prefixes::new(&nets(&["0.0.0.0/0", "::/0"]));
        for (address, expected) in [
            ("10.0.0.1", true),
            ("2001:db8::1", true),
            ("::ffff:10.0.0.1", true),
            ("127.0.0.1", false),
            ("::1", false),
            ("::ffff:127.0.0.1", false),
            ("169.254.169.254", false),
            ("fe80::1", false),
            ("0.0.0.0", false),
        ] {
            assert_eq!(enters(&all, address.parse().unwrap()), expected, "{address}");
        }
    }

    proptest! {
        #[test]
        fn looking_up_is_as_trying_each(
            prefixes in prop::collection::vec((any::<u32>(), 0..=32_u8), 0..12),
            addresses in prop::collection::vec(any::<u32>(), 20),
        ) {
            let nets: Vec<IpNet> = prefixes
                .iter()
                .map(|(address, length)| IpNet::new(IpAddr::from(address.to_be_bytes()), *length).unwrap().trunc())
                .collect();
            let set = Prefixes::new(&nets);
            let near = prefixes.iter().flat_map(|(base, _)| [*base, base.wrapping_add(1), base.wrapping_sub(1)]);
            for address in near.chain(addresses) {
                let address = IpAddr::from(address.to_be_bytes());
                prop_assert_eq!(set.contain(address), nets.iter().any(|net| net.contains(&address)));
            }
        }
    }
}
