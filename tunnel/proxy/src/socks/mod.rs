//! SOCKS5: CONNECT and UDP ASSOCIATE, open or with user and password (RFC 1928, RFC 1929).
//!
//! ```text
//! greeting ─► method ─┬─────────────────────► request ─┬─ CONNECT ──► dial ──► reply ──► relay
//!                     └─ user, password ─► status ─┘   ├─ ASSOCIATE ► socket ► reply ──► datagrams, while the stream lives
//!                                                      └─ BIND, other ► reply 7
//! ```

mod associate;
pub mod wire;

use std::{
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    time::timeout,
};
use zeroize::Zeroize as _;

use self::wire::{Command, Parsed, Reply, WireError};
use crate::{
    auth::Credentials,
    counters::{Refusal, Service},
    net::{Dial, Listener as _, Stream},
    outbound::{Asker, Outbound, Resolve},
    service::{Place, Services, Shared, listen_here, part},
    target::Target,
};

const NO_METHOD: u8 = 0xff;
const OPEN: u8 = 0;
const PASSWORD: u8 = 2;
/// What a reply names as bound where that says nothing.
const NOWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

impl Services {
    /// Serves SOCKS5 at an address of this machine; gives the address, whose port is chosen where it was 0.
    ///
    /// # Errors
    /// When the address is taken or not of this machine.
    pub async fn socks<D: Dial, R: Resolve>(
        &self,
        at: SocketAddr,
        outbound: Arc<Outbound<D, R>>,
        credentials: Option<Credentials>,
    ) -> io::Result<SocketAddr> {
        let listener = listen_here("SOCKS proxy", at, credentials.is_some()).await?;
        let bound = listener.local_addr()?;
        let server = Arc::new(Server { shared: Arc::clone(&self.0), outbound, credentials });
        self.0.accept(listener, Service::Socks, move |stream, from, place| {
            // The address that the client reached, which is where its datagrams reach us too.
            let here = stream.local_addr().map_or(bound.ip(), |address| address.ip());
            Arc::clone(&server).serve(stream, from, here, place)
        });
        Ok(bound)
    }
}

/// What every connection needs.
pub(crate) struct Server<D, R> {
    pub(crate) shared: Arc<Shared>,
    pub(crate) outbound: Arc<Outbound<D, R>>,
    pub(crate) credentials: Option<Credentials>,
}

/// Why there is no request, and the last word to the client.
struct Refused {
    why: Refusal,
    last: Vec<u8>,
}

/// The handshake's end.
enum Ended {
    Refused(Refused),
    /// The client went away, or its stream failed.
    Gone,
}

impl From<io::Error> for Ended {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

fn refused(why: Refusal, last: impl Into<Vec<u8>>) -> Ended {
    Ended::Refused(Refused { why, last: last.into() })
}

impl<D: Dial, R: Resolve> Server<D, R> {
    /// Serves one connection of a client at `from` that reached us at `here`.
    pub(crate) async fn serve<S: Stream>(
        self: Arc<Self>,
        mut stream: S,
        from: SocketAddr,
        here: IpAddr,
        place: Place,
    ) {
        let mut inbox = Inbox::default();
        let handshake = timeout(self.shared.limits.handshake, self.negotiate(&mut stream, &mut inbox)).await;
        let (command, target) = match handshake {
            Ok(Ok(request)) => request,
            Ok(Err(Ended::Gone)) => return,
            Ok(Err(Ended::Refused(Refused { why, last }))) => {
                self.refuse(why, from);
                return part(stream, &last).await;
            }
            Err(_) => return self.refuse(Refusal::Handshake, from),
        };
        match command {
            Command::Connect => self.connect(stream, from, &target, inbox.rest(), place).await,
            Command::Associate => self.associate(stream, from, here, &target, place).await,
            Command::Bind | Command::Other(_) => {
                self.refuse(Refusal::Unsupported, from);
                part(stream, &wire::reply(Reply::Command, NOWHERE)).await;
            }
        }
    }

    fn refuse(&self, why: Refusal, from: SocketAddr) {
        tracing::debug!(client = %from, why = why.label(), "SOCKS");
        self.shared.counters.refuse(why);
    }

    async fn negotiate<S: Stream>(
        &self,
        stream: &mut S,
        inbox: &mut Inbox,
    ) -> Result<(Command, Target), Ended> {
        let malformed = |_: WireError| refused(Refusal::Malformed, []);
        let offer = inbox.next(stream, wire::greeting, malformed).await?;
        if let Some(credentials) = &self.credentials {
            if !offer.password {
                return Err(refused(Refusal::Authentication, [wire::VERSION, NO_METHOD]));
            }
            stream.write_all(&[wire::VERSION, PASSWORD]).await?;
            let accepted = |bytes: &[u8]| {
                wire::login(bytes).map(|done| {
                    done.map(|(login, length)| (credentials.accept(login.user, login.password), length))
                })
            };
            if !inbox.next(stream, accepted, malformed).await? {
                return Err(refused(Refusal::Authentication, [wire::AUTH_VERSION, 1]));
            }
            stream.write_all(&[wire::AUTH_VERSION, 0]).await?;
        } else {
            if !offer.open {
                return Err(refused(Refusal::Unsupported, [wire::VERSION, NO_METHOD]));
            }
            stream.write_all(&[wire::VERSION, OPEN]).await?;
        }
        let request = inbox
            .next(stream, wire::request, |error| match error {
                WireError::AddressType(_) => {
                    refused(Refusal::Unsupported, wire::reply(Reply::AddressType, NOWHERE))
                }
                _ => refused(Refusal::Malformed, wire::reply(Reply::Failure, NOWHERE)),
            })
            .await?;
        match request.target {
            Some(target) if target.port != 0 || request.command != Command::Connect => {
                Ok((request.command, target))
            }
            _ => Err(refused(Refusal::Malformed, wire::reply(Reply::HostUnreachable, NOWHERE))),
        }
    }

    async fn connect<S: Stream>(
        &self,
        mut stream: S,
        from: SocketAddr,
        target: &Target,
        early: Vec<u8>,
        place: Place,
    ) {
        match self.outbound.connect(target, Asker::Client(from.ip())).await {
            Ok(reached) => {
                if stream.write_all(&wire::reply(Reply::Succeeded, NOWHERE)).await.is_ok() {
                    self.shared.join(stream, reached, &early, place);
                }
            }
            Err(error) => {
                tracing::debug!(client = %from, %target, %error, "SOCKS");
                self.shared.counters.refuse(error.into());
                part(stream, &wire::reply(error.into(), NOWHERE)).await;
            }
        }
    }
}

/// Bytes of the client that no message has used yet. Wiped in the end: there was a password among them.
#[derive(Default)]
struct Inbox {
    bytes: Vec<u8>,
}

impl Inbox {
    /// The next message, reading as little beyond it as may be.
    async fn next<S, T>(
        &mut self,
        stream: &mut S,
        parse: impl Fn(&[u8]) -> Parsed<T>,
        wrong: impl FnOnce(WireError) -> Ended,
    ) -> Result<T, Ended>
    where
        S: Stream,
    {
        loop {
            match parse(&self.bytes) {
                Err(error) => return Err(wrong(error)),
                Ok(Some((message, length))) => {
                    self.bytes[..length].zeroize();
                    self.bytes.drain(..length);
                    return Ok(message);
                }
                Ok(None) => {}
            }
            // No message is longer, so what has not been understood by now leaves room to read.
            let room = wire::LONGEST.saturating_sub(self.bytes.len());
            let mut chunk = [0; wire::LONGEST];
            let length = stream.read(&mut chunk[..room]).await?;
            self.bytes.reserve_exact(room);
            self.bytes.extend_from_slice(&chunk[..length]);
            chunk.zeroize();
            if length == 0 {
                return Err(Ended::Gone);
            }
        }
    }

    /// What came after the last message.
    fn rest(mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        self.bytes.zeroize();
    }
}
