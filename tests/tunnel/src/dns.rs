//! Real name servers, and queries to them.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use hickory_proto::op::{Edns, Message, MessageType, OpCode, Query};
use hickory_proto::rr::{Name, RecordType};

use crate::{Daemon, Namespace, program, wait_for};

/// Time for an answer: that of a resolver whose first server is dead, and more.
const PATIENCE: Duration = Duration::from_secs(8);

/// A name server that knows only what `more` says and logs what it is asked.
///
/// # Errors
/// It is missing, or does not start; the error has its log.
pub fn dnsmasq(host: &Namespace, more: &[&str]) -> Result<Daemon> {
    let mut command = host.command(program("dnsmasq")?);
    command.args([
        "--keep-in-foreground",
        "--conf-file=/dev/null",
        "--pid-file=",
        "--user=root",
        "--no-resolv",
    ]);
    command.args(["--no-hosts", "--bind-interfaces", "--log-queries", "--log-facility=-", "--local-ttl=60"]);
    let daemon = Daemon::start(command.args(more))?;
    wait_for(Duration::from_secs(30), "dnsmasq", || Ok(daemon.log().contains("started").then_some(())))
        .with_context(|| daemon.log())?;
    Ok(daemon)
}

/// Whether that name server was asked for a name with `part` in it.
pub fn was_asked(server: &Daemon, part: &str) -> bool {
    server.log().lines().any(|line| line.contains("query[") && line.contains(part))
}

/// A query with the id 0x1234, as a stub resolver sends it.
///
/// # Errors
/// That is no name.
pub fn query(name: &str, kind: RecordType) -> Result<Vec<u8>> {
    let mut message = Message::new(0x1234, MessageType::Query, OpCode::Query);
    message.metadata.recursion_desired = true;
    message.add_query(Query::query(Name::from_ascii(name)?, kind));
    let mut edns = Edns::new();
    edns.set_max_payload(4096);
    message.set_edns(edns);
    Ok(message.to_vec()?)
}

/// The answer over UDP from `server` to bytes that are sent from a host; nothing if none comes.
///
/// # Errors
/// The host is gone, or another answers.
pub fn ask(host: &Namespace, server: &str, bytes: Vec<u8>) -> Result<Option<Vec<u8>>> {
    let to: SocketAddr = (server.parse::<IpAddr>()?, 53).into();
    host.inside(move || {
        let socket = UdpSocket::bind("0.0.0.0:0")?;
        socket.set_read_timeout(Some(PATIENCE))?;
        if socket.send_to(&bytes, to).is_err() {
            return Ok(None);
        }
        let mut buffer = vec![0; 4096];
        let Ok((length, from)) = socket.recv_from(&mut buffer) else { return Ok(None) };
        ensure!(from == to, "{from} answers in place of {to}");
        buffer.truncate(length);
        Ok(Some(buffer))
    })
}

/// The same over TCP.
///
/// # Errors
/// The host is gone, or an answer is cut off.
pub fn ask_tcp(host: &Namespace, server: &str, bytes: Vec<u8>) -> Result<Option<Vec<u8>>> {
    let to: SocketAddr = (server.parse::<IpAddr>()?, 53).into();
    host.inside(move || {
        let Ok(mut stream) = TcpStream::connect_timeout(&to, Duration::from_secs(3)) else { return Ok(None) };
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(&[u16::try_from(bytes.len())?.to_be_bytes().as_slice(), &bytes].concat())?;
        let mut length = [0; 2];
        if stream.read_exact(&mut length).is_err() {
            return Ok(None);
        }
        let mut answer = vec![0; u16::from_be_bytes(length).into()];
        stream.read_exact(&mut answer)?;
        Ok(Some(answer))
    })
}
