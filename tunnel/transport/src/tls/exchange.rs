//! A connection to a gateway for one request and its answer.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};

use super::dial::{DialError, Target, plain, refusal};
use super::session::BINDING;
use super::trust::{Refused, client_config};

/// A TLS connection on which nothing has been said yet. Reads and writes wait for at most the time that was given.
pub struct Exchange {
    stream: StreamOwned<ClientConnection, TcpStream>,
    binding: [u8; 32],
    handshake: Duration,
}

impl Exchange {
    /// 32 bytes that both ends of this connection know and no other connection has: `tls-exporter` of RFC 9266.
    #[must_use]
    pub fn binding(&self) -> [u8; 32] {
        self.binding
    }

    /// How long the TLS handshake took on the TCP connection that was there: one round trip, and the computations of both ends.
    #[must_use]
    pub fn handshake(&self) -> Duration {
        self.handshake
    }
}

/// Connects for at most `timeout`; each read and write then waits for at most as long.
///
/// # Errors
/// The first thing that does not work.
pub fn exchange(target: &Target, timeout: Duration) -> Result<Exchange, DialError> {
    let name = target.name();
    let until = Instant::now() + timeout;
    let cut = |error| DialError::Cut { name: name.clone(), error };
    let (socket, _) = plain(target, &name, until)?;
    let socket = TcpStream::from(socket);
    socket.set_nonblocking(false).map_err(cut)?;
    let limit = |time: Duration| {
        socket.set_read_timeout(Some(time)).and_then(|()| socket.set_write_timeout(Some(time)))
    };
    limit(until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1))).map_err(cut)?;
    let refused = Refused::default();
    let tls = |error| refusal(target, &name, &refused, error);
    let asked = target.server_name.as_deref().unwrap_or(&target.host);
    let server = ServerName::try_from(asked.to_owned())
        .map_err(|_| tls(rustls::Error::General(format!("{asked} is not a server name"))))?;
    let config = client_config(&target.trust, Arc::clone(&refused)).map_err(tls)?;
    let mut connection = ClientConnection::new(Arc::new(config), server).map_err(tls)?;
    let mut io = &socket;
    let begun = Instant::now();
    while connection.is_handshaking() {
        if let Err(error) = connection.complete_io(&mut io) {
            let of_tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()).cloned();
            return Err(of_tls.map_or_else(|| cut(error), tls));
        }
    }
    let handshake = begun.elapsed();
    let binding = connection.export_keying_material([0; 32], BINDING, None).map_err(tls)?;
    limit(timeout).map_err(cut)?;
    Ok(Exchange { stream: StreamOwned::new(connection, socket), binding, handshake })
}

impl Read for Exchange {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.read(buffer)
    }
}

impl Write for Exchange {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
