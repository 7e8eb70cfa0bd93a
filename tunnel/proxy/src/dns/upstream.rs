//! Asking name servers: a new socket and id for each attempt, TCP where an answer is cut off.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use hickory_proto::op::{Message, ResponseCode};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    time::timeout,
};

use super::{
    message::{self, Question},
    zones::Servers,
};
use crate::{
    counters::Counters,
    net::{Datagrams as _, Dial, is_local},
};

/// One attempt over UDP, in the first round of all servers and in the second: a dead server delays its successor little, and a
/// forwarder whose first server is dead still answers in time.
const UDP_TIMEOUTS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(3)];
/// One attempt over TCP, connection included.
const TCP_TIMEOUT: Duration = Duration::from_secs(5);
/// Other messages that an attempt looks at while it waits for its answer: somebody guesses.
const STRANGE: usize = 32;

/// A network with name servers.
#[derive(Debug)]
pub(super) struct Upstream<D> {
    pub(super) dial: D,
    pub(super) counters: Arc<Counters>,
}

impl<D: Dial> Upstream<D> {
    /// The first answer of any use; else the last that was none.
    pub(super) async fn ask(&self, servers: &Servers, question: &Question) -> Option<Message> {
        let mut useless = None;
        for udp_timeout in UDP_TIMEOUTS {
            for server in servers.order() {
                let answer = self.attempt(server, question, udp_timeout).await;
                servers.note(server, answer.is_ok());
                match answer {
                    Ok(answer) if is_useful(&answer) => return Some(answer),
                    Ok(answer) => useless = Some(answer),
                    Err(error) => tracing::debug!(%server, name = %question.name, %error, "DNS"),
                }
            }
        }
        useless
    }

    async fn attempt(
        &self,
        server: SocketAddr,
        question: &Question,
        udp_timeout: Duration,
    ) -> io::Result<Message> {
        let answer = timeout(udp_timeout, self.over_udp(server, question)).await??;
        if !answer.metadata.truncation {
            return Ok(answer);
        }
        match timeout(TCP_TIMEOUT, self.over_tcp(server, question)).await {
            Ok(Ok(whole)) => Ok(whole),
            // What fitted is more than nothing.
            Ok(Err(_)) | Err(_) if !answer.answers.is_empty() => Ok(answer),
            Ok(Err(error)) => Err(error),
            Err(late) => Err(late.into()),
        }
    }

    async fn over_udp(&self, server: SocketAddr, question: &Question) -> io::Result<Message> {
        let id = rand::random();
        let query = question.message(id).ok_or(io::ErrorKind::InvalidInput)?;
        let socket = self.dial.bind_udp(server.is_ipv6()).await?;
        socket.send_to(&query, server).await?;
        let mut buffer = vec![0; 4096];
        for _ in 0..STRANGE {
            let (length, from) = socket.recv_from(&mut buffer).await?;
            let believed =
                (from == server).then(|| message::answer(&buffer[..length], id, question)).flatten();
            if let Some(answer) = believed {
                return Ok(answer);
            }
            self.counters.dns_strange.fetch_add(1, Relaxed);
        }
        Err(io::Error::new(io::ErrorKind::InvalidData, "too many messages that do not answer the query"))
    }

    /// RFC 1035 section 4.2.2: a length of two bytes, then the message.
    async fn over_tcp(&self, server: SocketAddr, question: &Question) -> io::Result<Message> {
        let id = rand::random();
        let query = question.message(id).ok_or(io::ErrorKind::InvalidInput)?;
        let mut stream = self.dial.connect(server).await.map_err(io::Error::other)?;
        stream.write_all(&framed(&query)).await?;
        let length = usize::from(stream.read_u16().await?);
        let mut buffer = vec![0; length];
        stream.read_exact(&mut buffer).await?;
        _ = stream.shutdown().await;
        message::answer(&buffer, id, question).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

/// Whether the answer is final, so no other server needs to be queried.
fn is_useful(answer: &Message) -> bool {
    !matches!(
        answer.metadata.response_code,
        ResponseCode::ServFail | ResponseCode::Refused | ResponseCode::NotImp | ResponseCode::FormErr
    )
}

/// A message as it goes over TCP, in one write.
pub(super) fn framed(message: &[u8]) -> Vec<u8> {
    let length = u16::try_from(message.len()).unwrap_or(u16::MAX);
    let mut bytes = length.to_be_bytes().to_vec();
    bytes.extend_from_slice(&message[..usize::from(length)]);
    bytes
}

/// Name servers of `/etc/resolv.conf` (resolv.conf(5)), as `servers` of [`super::Names::new`].
pub fn name_servers(resolv_conf: &str) -> Vec<SocketAddr> {
    /// As many as the system's resolver uses.
    const MOST: usize = 3;
    resolv_conf
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix("nameserver"))
        .filter(|rest| rest.starts_with([' ', '\t']))
        .filter_map(|rest| rest.split_whitespace().next()?.parse().ok())
        // Of link-local servers the interface would have to be known.
        .filter(|address: &std::net::IpAddr| {
            address.is_ipv4() || !is_local(*address) || address.is_loopback()
        })
        .map(|address| SocketAddr::new(address, 53))
        .take(MOST)
        .collect()
}
