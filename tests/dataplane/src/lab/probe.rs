//! Probes: many at a time, from any node.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};

use anyhow::Result;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, UdpSocket};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::responder::QUESTION;
use super::{Lab, Node};

/// An attempt to reach an address.
#[derive(Clone, Debug)]
pub struct Probe {
    from: Node,
    source: Option<IpAddr>,
    target: Target,
    /// A request of HTTP, in place of the lab's own question.
    request: Option<String>,
}

/// What is to be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A connection.
    Tcp(SocketAddr),
    /// A datagram and the answer to it.
    Udp(SocketAddr),
}

/// What came of a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A server of the lab answered.
    Answered {
        /// The node that it is on.
        server: String,
        /// The client as the server sees it.
        seen: SocketAddr,
    },
    /// Something else answered, or accepted the connection without saying who it is.
    Open,
    /// A server refused a request; its words.
    Forbidden(String),
    /// The host is there, and nothing listens.
    Refused,
    /// A router said so.
    Unreachable,
    /// Nothing came back.
    Silent,
}

impl Probe {
    /// A connection from a node.
    pub fn tcp(from: &Node, to: SocketAddr) -> Probe {
        Probe { from: from.clone(), source: None, target: Target::Tcp(to), request: None }
    }

    /// A datagram from a node.
    pub fn udp(from: &Node, to: SocketAddr) -> Probe {
        Probe { from: from.clone(), source: None, target: Target::Udp(to), request: None }
    }

    /// A request for a path of a host over HTTP, with these header lines. `to` is where the host is.
    pub fn get(from: &Node, to: SocketAddr, host: &str, path: &str, headers: &[&str]) -> Probe {
        let headers: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{headers}Connection: close\r\n\r\n");
        Probe { request: Some(request), ..Probe::tcp(from, to) }
    }

    /// The same from one of the node's addresses.
    #[must_use]
    pub fn source(mut self, source: IpAddr) -> Probe {
        self.source = Some(source);
        self
    }

    /// The node that it comes from.
    pub fn from(&self) -> &Node {
        &self.from
    }

    /// What it is to reach.
    pub fn target(&self) -> Target {
        self.target
    }
}

impl Outcome {
    /// Whether packets went there and back.
    pub fn reached(&self) -> bool {
        matches!(self, Outcome::Answered { .. } | Outcome::Open)
    }

    /// The node that answered.
    pub fn server(&self) -> Option<&str> {
        match self {
            Outcome::Answered { server, .. } => Some(server),
            _ => None,
        }
    }
}

/// A socket that was opened on the probe's node.
enum Socket {
    Tcp(TcpSocket, SocketAddr, Vec<u8>),
    Udp(std::net::UdpSocket, SocketAddr),
}

impl Lab {
    /// Sends all probes at once. They end when all have an outcome, or when none got one for the lab's quiet time; the outcomes are
    /// in the order of the probes.
    pub fn probe(&self, probes: &[Probe]) -> Vec<Outcome> {
        let mut outcomes = vec![Outcome::Silent; probes.len()];
        let mut sockets = Vec::new();
        let mut waiting: Vec<(usize, &Probe)> = probes.iter().enumerate().collect();
        waiting.sort_by_key(|(_, probe)| probe.from.path());
        for group in waiting.chunk_by(|(_, one), (_, other)| one.from.is(&other.from)) {
            let Some((_, first)) = group.first() else { continue };
            let opened = first
                .from
                .inside(|| Ok(group.iter().map(|(index, probe)| (*index, open(probe))).collect::<Vec<_>>()));
            for (index, socket) in opened.into_iter().flatten() {
                match socket {
                    Ok(socket) => sockets.push((index, socket)),
                    Err(_) => outcomes[index] = Outcome::Unreachable,
                }
            }
        }
        let quiet = self.quiet;
        self.wait(async {
            let mut tasks = JoinSet::new();
            for (index, socket) in sockets {
                tasks.spawn(async move { (index, socket.exchange().await) });
            }
            while let Ok(Some(done)) = timeout(quiet, tasks.join_next()).await {
                if let Ok((index, outcome)) = done {
                    outcomes[index] = outcome;
                }
            }
            outcomes
        })
    }

    /// Runs a future on the lab's runtime and waits, also when the caller is on another runtime.
    pub fn wait<T: Send>(&self, work: impl Future<Output = T> + Send) -> T {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| self.runtime().block_on(work));
            match thread.join() {
                Ok(value) => value,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }
}

fn open(probe: &Probe) -> Result<Socket> {
    let any = |to: &SocketAddr| -> SocketAddr {
        let unspecified: IpAddr =
            if to.is_ipv4() { [0; 4].into() } else { std::net::Ipv6Addr::UNSPECIFIED.into() };
        SocketAddr::new(probe.source.unwrap_or(unspecified), 0)
    };
    Ok(match probe.target {
        Target::Tcp(to) => {
            let socket = if to.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
            socket.bind(any(&to))?;
            let question = probe.request.as_ref().map_or(QUESTION, String::as_bytes);
            Socket::Tcp(socket, to, question.to_owned())
        }
        Target::Udp(to) => {
            let socket = std::net::UdpSocket::bind(any(&to))?;
            socket.set_nonblocking(true)?;
            Socket::Udp(socket, to)
        }
    })
}

impl Socket {
    async fn exchange(self) -> Outcome {
        let connected = match &self {
            Socket::Tcp(..) => true,
            Socket::Udp(..) => false,
        };
        let heard = match self {
            Socket::Tcp(socket, to, question) => over_tcp(socket, to, &question).await,
            Socket::Udp(socket, to) => over_udp(socket, to).await,
        };
        match heard {
            Ok(bytes) => answered(&bytes),
            Err(error) => match error.kind() {
                ErrorKind::ConnectionRefused => Outcome::Refused,
                ErrorKind::TimedOut => Outcome::Silent,
                // The connection was made, and a server that speaks something else ended it.
                ErrorKind::ConnectionReset | ErrorKind::BrokenPipe if connected => Outcome::Open,
                _ => Outcome::Unreachable,
            },
        }
    }
}

async fn over_tcp(socket: TcpSocket, to: SocketAddr, question: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut stream = socket.connect(to).await?;
    let mut bytes = Vec::new();
    let talk = async {
        stream.write_all(question).await?;
        stream.read_to_end(&mut bytes).await
    };
    // A server of TLS, say, waits for more: it did accept.
    match timeout(std::time::Duration::from_millis(600), talk).await {
        Ok(Err(error)) if bytes.is_empty() => Err(error),
        _ => Ok(bytes),
    }
}

async fn over_udp(socket: std::net::UdpSocket, to: SocketAddr) -> std::io::Result<Vec<u8>> {
    let socket = UdpSocket::from_std(socket)?;
    socket.connect(to).await?;
    let mut buffer = vec![0; 4096];
    // A datagram that meets an unresolved neighbour may be lost.
    for _ in 0..3 {
        socket.send(QUESTION).await?;
        if let Ok(heard) = timeout(std::time::Duration::from_millis(400), socket.recv(&mut buffer)).await {
            buffer.truncate(heard?);
            return Ok(buffer);
        }
    }
    Err(ErrorKind::TimedOut.into())
}

fn answered(bytes: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(bytes);
    let (head, text) = text.split_once("\r\n\r\n").unwrap_or(("", &text));
    // Most APIs of AWS say 400 and AccessDeniedException.
    if head.starts_with("HTTP/1.1 403 ") || head.starts_with("HTTP/1.1 400 ") {
        return Outcome::Forbidden(text.to_owned());
    }
    let said = text.trim().rsplit_once(' ').map(|(server, seen)| (server.to_owned(), seen.parse()));
    match said {
        Some((server, Ok(seen))) => Outcome::Answered { server, seen },
        _ => Outcome::Open,
    }
}
