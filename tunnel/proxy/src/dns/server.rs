//! A name server, over UDP and TCP: for the programs of this machine, or for the clients of a network.

use std::{
    future::poll_fn,
    io,
    net::{IpAddr, SocketAddr},
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    sync::Semaphore,
    time::timeout,
};

use super::{
    Names, Reply,
    message::{self, Asked, Unasked},
    upstream::framed,
};
use crate::{
    counters::{Refusal, Service},
    forward::receive,
    net::{Datagrams, Dial, Listen, Stream, System, SystemDatagrams, SystemListener},
    service::{Place, Services, listen_here},
};

/// Between two questions of one TCP connection (RFC 7766 section 6.2.3: some seconds).
const TCP_IDLE: Duration = Duration::from_secs(10);
/// Longest that a client would wait anyway (resolv.conf(5): 5 s a server).
const TIMEOUT: Duration = Duration::from_secs(10);
/// Tries to find a port that is free for both protocols.
const TRIES: usize = 16;

/// Something that a client of a name server wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// A TCP connection, on which to ask.
    Connection,
    /// An answer to a question, over UDP.
    Datagram,
    /// An answer to a question, over TCP.
    Message,
}

/// How a client is served.
#[derive(Debug)]
pub enum Verdict<P> {
    /// It is; this is held meanwhile.
    Serve(P),
    /// Its questions are refused.
    Refuse,
    /// It gets no answer.
    Ignore,
}

/// The clients of a name server.
pub trait Clients: Send + Sync + 'static {
    /// Something held while a client is served, such as its share of a limit.
    type Pass: Send + Sync + 'static;

    /// Whether a client is served.
    fn admit(&self, from: SocketAddr, wanted: Wanted) -> Verdict<Self::Pass>;

    /// Whether its question may be passed on to these servers.
    fn may_ask(&self, pass: &Self::Pass, servers: &[SocketAddr]) -> bool;

    /// The addresses of a name that is answered without servers, for this client; none if there is no such name. `None`: the
    /// servers know.
    fn addresses(&self, _pass: &Self::Pass, _name: &str) -> Option<Vec<IpAddr>> {
        None
    }
}

/// Programs of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Everyone;

impl Clients for Everyone {
    type Pass = ();

    fn admit(&self, _: SocketAddr, _: Wanted) -> Verdict<()> {
        Verdict::Serve(())
    }

    fn may_ask(&self, (): &(), _: &[SocketAddr]) -> bool {
        true
    }
}

impl Services {
    /// Serves DNS at an address of this machine, over UDP and TCP on the same port; gives the address, whose port is chosen where
    /// it was 0.
    ///
    /// # Errors
    /// When the address is taken or not of this machine.
    pub async fn dns<D: Dial>(&self, at: SocketAddr, names: Names<D>) -> io::Result<SocketAddr> {
        let (socket, listener) = both(at).await?;
        let bound = socket.local_addr()?;
        self.serve_dns(socket, listener, names, Everyone);
        Ok(bound)
    }

    /// Serves DNS at an address of a network, for these clients alone.
    ///
    /// # Errors
    /// When the address is taken or not of that network.
    pub async fn dns_for<D: Dial, N: Listen, C: Clients>(
        &self,
        network: &N,
        at: SocketAddr,
        names: Names<D>,
        clients: C,
    ) -> io::Result<()> {
        let (socket, listener) = (network.bind(at).await?, network.listen(at).await?);
        self.serve_dns(socket, listener, names, clients);
        Ok(())
    }

    fn serve_dns<D, S, L, C>(&self, socket: S, listener: L, names: Names<D>, clients: C)
    where
        D: Dial,
        S: Datagrams,
        L: crate::net::Listener,
        C: Clients,
    {
        let places = Semaphore::new(2 * self.0.limits.dns_questions);
        let server = Arc::new(Server { names, places, socket, clients });
        self.0.spawn(Arc::clone(&server).run());
        self.0.accept(listener, Service::Dns, move |stream, from, place| {
            Arc::clone(&server).serve(stream, from, place)
        });
    }
}

async fn both(at: SocketAddr) -> io::Result<(SystemDatagrams, SystemListener)> {
    let mut tries = 0;
    loop {
        let socket = System.bind(at).await?;
        match listen_here("DNS server", socket.local_addr()?, false).await {
            Ok(listener) => return Ok((socket, listener)),
            Err(_) if at.port() == 0 && tries < TRIES => tries += 1,
            Err(error) => return Err(error),
        }
    }
}

struct Server<D, S, C> {
    names: Names<D>,
    places: Semaphore,
    socket: S,
    clients: C,
}

impl<D: Dial, S: Datagrams, C: Clients> Server<D, S, C> {
    async fn run(self: Arc<Self>) {
        let shared = &self.names.0.shared;
        loop {
            let next = poll_fn(|cx| {
                let mut buffer = shared.pool.take();
                receive(&self.socket, cx, &mut buffer, 0, shared).map(|(length, from)| {
                    let pass = self.admit(from, Wanted::Datagram)?;
                    Some((message::question(&buffer[..length]), from, pass))
                })
            });
            let next = tokio::select! {
                biased;
                () = shared.stop.cancelled() => return,
                next = next => next,
            };
            let Some((asked, from, pass)) = next else { continue };
            match asked {
                Ok(asked) => {
                    let server = Arc::clone(&self);
                    shared.spawn(async move {
                        let answer = server.answer(&asked, pass.as_ref(), false).await;
                        server.send(&answer, from).await;
                    });
                }
                Err(Unasked::Silence) => {}
                Err(Unasked::Answer(answer)) => self.send(&answer, from).await,
            }
        }
    }

    /// What a client holds, if its questions are not refused; `None`: it gets no answer.
    #[expect(clippy::option_option, reason = "a client is served, refused or ignored")]
    fn admit(&self, from: SocketAddr, wanted: Wanted) -> Option<Option<C::Pass>> {
        match self.clients.admit(from, wanted) {
            Verdict::Serve(pass) => Some(Some(pass)),
            Verdict::Refuse => Some(None),
            Verdict::Ignore => {
                self.names.0.shared.counters.dns_ignored.fetch_add(1, Relaxed);
                None
            }
        }
    }

    async fn send(&self, answer: &[u8], to: SocketAddr) {
        if let Err(error) = self.socket.send_to(answer, to).await {
            self.names.0.shared.counters.datagrams_dropped.fetch_add(1, Relaxed);
            tracing::trace!(%error, "DNS answer");
        }
    }

    async fn answer(&self, asked: &Asked, pass: Option<&C::Pass>, tcp: bool) -> Vec<u8> {
        let counters = &self.names.0.shared.counters;
        let Ok(_place) = self.places.try_acquire() else {
            counters.refuse(Refusal::Limit);
            return asked.failure();
        };
        let own = pass.and_then(|pass| self.clients.addresses(pass, &asked.question.name()));
        if let Some(addresses) = own {
            counters.dns_questions.fetch_add(1, Relaxed);
            return asked.answer(&message::own(&asked.question, &addresses), tcp);
        }
        let may = pass.is_some_and(|pass| {
            let servers = self.names.servers_of(&asked.question);
            self.clients.may_ask(pass, &servers)
        });
        if !may {
            counters.dns_questions.fetch_add(1, Relaxed);
            counters.dns_refused.fetch_add(1, Relaxed);
            return asked.refusal();
        }
        match timeout(TIMEOUT, self.names.ask(&asked.question)).await {
            Ok(Reply::Answer(answer)) => asked.answer(&answer, tcp),
            Ok(Reply::Refused) => asked.refusal(),
            Ok(Reply::Failed) | Err(_) => asked.failure(),
        }
    }

    async fn serve<T: Stream>(self: Arc<Self>, mut stream: T, from: SocketAddr, _place: Place) {
        let Some(_connection) = self.admit(from, Wanted::Connection) else { return };
        let served = async {
            while let Ok(Ok(question)) = timeout(TCP_IDLE, read(&mut stream)).await {
                let Some(pass) = self.admit(from, Wanted::Message) else { break };
                let answer = match message::question(&question) {
                    Ok(asked) => self.answer(&asked, pass.as_ref(), true).await,
                    Err(Unasked::Answer(answer)) => answer,
                    Err(Unasked::Silence) => break,
                };
                timeout(TCP_IDLE, stream.write_all(&framed(&answer))).await??;
            }
            io::Result::Ok(())
        };
        if served.await.is_ok() {
            _ = stream.shutdown().await;
        }
    }
}

async fn read<S: Stream>(stream: &mut S) -> io::Result<Vec<u8>> {
    let length = usize::from(stream.read_u16().await?);
    let mut message = vec![0; length];
    stream.read_exact(&mut message).await?;
    Ok(message)
}
