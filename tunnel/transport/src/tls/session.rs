//! A TLS connection without a socket.

use std::io::{BufRead as _, Write as _};

use rustls::Connection;

/// The label of the exporter that names a connection to both its ends (RFC 9266).
pub(super) const BINDING: &[u8] = b"EXPORTER-Channel-Binding";
/// Encrypted bytes of one call of [`Session::read`]: other threads get their turn between two.
const PART: usize = 32 << 10;

/// Whether anything can be expected of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The handshake is not done.
    Handshake,
    /// Data can be sent.
    Open,
    /// The other end has said that it is done.
    Closed,
}

/// Either end.
pub(super) struct Session(Connection);

impl Session {
    pub(super) fn new(connection: impl Into<Connection>) -> Self {
        let mut connection = connection.into();
        // It is emptied after each record.
        connection.set_buffer_limit(None);
        Self(connection)
    }

    /// Reads a part of `cipher`, all of it when called often enough: what it holds is appended to `plain`, what is to be
    /// sent to `out`. Returns how many bytes of `cipher` are done with.
    pub(super) fn read(
        &mut self,
        cipher: &[u8],
        plain: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<(usize, State), rustls::Error> {
        let mut rest = &cipher[..cipher.len().min(PART)];
        let all = rest.len();
        let mut closed = false;
        // An empty slice would be the end of the stream to the library.
        while !rest.is_empty() {
            if self.0.read_tls(&mut rest).map_err(|error| general(&error))? == 0 {
                break;
            }
            let processed = self.0.process_new_packets();
            if let Ok(state) = &processed {
                closed = state.peer_has_closed();
                if state.plaintext_bytes_to_read() > 0 {
                    let mut reader = self.0.reader();
                    while let Ok(content) = reader.fill_buf()
                        && !content.is_empty()
                    {
                        plain.extend_from_slice(content);
                        let length = content.len();
                        reader.consume(length);
                    }
                }
            }
            // On an error too: an alert that tells it.
            self.drain(out)?;
            processed?;
        }
        self.drain(out)?;
        let state = match (closed, self.0.is_handshaking()) {
            (true, _) => State::Closed,
            (_, true) => State::Handshake,
            _ => State::Open,
        };
        Ok((all - rest.len(), state))
    }

    /// Appends a record with `plain`, at most 16 KB, to `out`. Only after the handshake.
    pub(super) fn seal(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), rustls::Error> {
        self.0.writer().write_all(plain).map_err(|error| general(&error))?;
        self.drain(out)
    }

    /// 32 bytes that both ends of this connection know and no other connection has: `tls-exporter` of RFC 9266. Only after
    /// the handshake.
    pub(super) fn binding(&self) -> Result<[u8; 32], rustls::Error> {
        let Connection::Server(connection) = &self.0 else {
            return Err(rustls::Error::General("the gateway's end alone".into()));
        };
        connection.export_keying_material([0; 32], BINDING, None)
    }

    fn drain(&mut self, out: &mut Vec<u8>) -> Result<(), rustls::Error> {
        while self.0.wants_write() {
            self.0.write_tls(out).map_err(|error| general(&error))?;
        }
        Ok(())
    }
}

fn general(error: &std::io::Error) -> rustls::Error {
    rustls::Error::General(error.to_string())
}
