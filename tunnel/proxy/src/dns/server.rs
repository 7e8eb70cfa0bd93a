//! A name server for this machine, over UDP and TCP.

use std::{
    future::poll_fn,
    io,
    net::SocketAddr,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    sync::Semaphore,
    time::timeout,
};

use super::{
    Names,
    message::{self, Asked, Unasked},
    upstream::framed,
};
use crate::{
    counters::{Refusal, Service},
    forward::receive,
    net::{Datagrams, Dial, Listen as _, Stream, System, SystemDatagrams},
    service::{Place, Services, listen_here},
};

/// Between two questions of one TCP connection (RFC 7766 section 6.2.3: some seconds).
const TCP_IDLE: Duration = Duration::from_secs(10);
/// Longest that a client would wait anyway (resolv.conf(5): 5 s a server).
const TIMEOUT: Duration = Duration::from_secs(10);
/// Tries to find a port that is free for both protocols.
const TRIES: usize = 16;

impl Services {
    /// Serves DNS at an address of this machine, over UDP and TCP on the same port; gives the address, whose port is chosen where
    /// it was 0.
    ///
    /// # Errors
    /// When the address is taken or not of this machine.
    pub async fn dns<D: Dial>(&self, at: SocketAddr, names: Names<D>) -> io::Result<SocketAddr> {
        let (socket, listener) = both(at).await?;
        let bound = socket.local_addr()?;
        let server =
            Arc::new(Server { names, places: Semaphore::new(2 * self.0.limits.dns_questions), socket });
        self.0.spawn(Arc::clone(&server).run());
        self.0
            .accept(listener, Service::Dns, move |stream, _, place| Arc::clone(&server).serve(stream, place));
        Ok(bound)
    }
}

async fn both(at: SocketAddr) -> io::Result<(SystemDatagrams, crate::net::SystemListener)> {
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

struct Server<D> {
    names: Names<D>,
    places: Semaphore,
    socket: SystemDatagrams,
}

impl<D: Dial> Server<D> {
    async fn run(self: Arc<Self>) {
        let shared = &self.names.0.shared;
        loop {
            let next = poll_fn(|cx| {
                let mut buffer = shared.pool.take();
                receive(&self.socket, cx, &mut buffer, 0, shared)
                    .map(|(length, from)| (message::question(&buffer[..length]), from))
            });
            let (asked, from) = tokio::select! {
                biased;
                () = shared.stop.cancelled() => return,
                next = next => next,
            };
            match asked {
                Ok(asked) => {
                    let server = Arc::clone(&self);
                    shared.spawn(async move {
                        let answer = server.answer(&asked, false).await;
                        server.send(&answer, from).await;
                    });
                }
                Err(Unasked::Silence) => {}
                Err(Unasked::Answer(answer)) => self.send(&answer, from).await,
            }
        }
    }

    async fn send(&self, answer: &[u8], to: SocketAddr) {
        if let Err(error) = self.socket.send_to(answer, to).await {
            self.names.0.shared.counters.datagrams_dropped.fetch_add(1, Relaxed);
            tracing::trace!(%error, "DNS answer");
        }
    }

    async fn answer(&self, asked: &Asked, tcp: bool) -> Vec<u8> {
        let Ok(_place) = self.places.try_acquire() else {
            self.names.0.shared.counters.refuse(Refusal::Limit);
            return asked.failure();
        };
        match timeout(TIMEOUT, self.names.ask(&asked.question)).await {
            Ok(Some(answer)) => asked.answer(&answer, tcp),
            _ => asked.failure(),
        }
    }

    async fn serve<S: Stream>(self: Arc<Self>, mut stream: S, _place: Place) {
        let served = async {
            while let Ok(Ok(question)) = timeout(TCP_IDLE, read(&mut stream)).await {
                let answer = match message::question(&question) {
                    Ok(asked) => self.answer(&asked, true).await,
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
