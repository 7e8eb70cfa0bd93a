//! A TLS connection without a socket.

use rustls::client::UnbufferedClientConnection;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{ConnectionState, EncodeError, EncryptError, UnbufferedStatus};

/// More than a record of TLS 1.3 adds, and a key update before it.
const OVERHEAD: usize = 256;

/// What came of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The handshake needs more of the other end.
    Handshake,
    /// There is plain text; there may be more in what is left.
    Data,
    /// All is read; the handshake is done.
    Idle,
    /// The other end has said that it is done.
    Closed,
}

/// Either end.
pub(super) enum Session {
    Client(Box<UnbufferedClientConnection>),
    Server(Box<UnbufferedServerConnection>),
}

enum Step {
    Again,
    Is(State),
}

impl Session {
    /// Reads at most one record with data from `cipher`: its content is appended to `plain`, what is to be sent to
    /// `out`. Returns how many bytes of `cipher` are done with.
    pub(super) fn read(
        &mut self,
        cipher: &mut [u8],
        plain: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<(usize, State), rustls::Error> {
        let mut done = 0;
        loop {
            let rest = cipher.get_mut(done..).unwrap_or_default();
            let (used, step) = self.step(rest, plain, None, out)?;
            done += used;
            if let Step::Is(state) = step {
                return Ok((done, state));
            }
        }
    }

    /// Appends a record with `plain`, at most 16 KB, to `out`. Only after the handshake.
    pub(super) fn seal(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), rustls::Error> {
        let mut none = Vec::new();
        loop {
            if let (_, Step::Is(state)) = self.step(&mut [], &mut none, Some(plain), out)? {
                return match state {
                    State::Idle => Ok(()),
                    _ => Err(rustls::Error::HandshakeNotComplete),
                };
            }
        }
    }

    fn step(
        &mut self,
        cipher: &mut [u8],
        plain: &mut Vec<u8>,
        seal: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> Result<(usize, Step), rustls::Error> {
        match self {
            Self::Client(connection) => handle(connection.process_tls_records(cipher), plain, seal, out),
            Self::Server(connection) => handle(connection.process_tls_records(cipher), plain, seal, out),
        }
    }
}

fn handle<Data>(
    status: UnbufferedStatus<'_, '_, Data>,
    plain: &mut Vec<u8>,
    seal: Option<&[u8]>,
    out: &mut Vec<u8>,
) -> Result<(usize, Step), rustls::Error> {
    let UnbufferedStatus { mut discard, state, .. } = status;
    let step = match state? {
        ConnectionState::ReadTraffic(mut traffic) => {
            while let Some(record) = traffic.next_record() {
                let record = record?;
                discard += record.discard;
                plain.extend_from_slice(record.payload);
            }
            Step::Is(State::Data)
        }
        ConnectionState::EncodeTlsData(mut data) => {
            let start = out.len();
            let size = match data.encode(&mut []) {
                Err(EncodeError::InsufficientSize(error)) => error.required_size,
                Ok(_) | Err(EncodeError::AlreadyEncoded) => 0,
            };
            out.resize(start + size, 0);
            data.encode(&mut out[start..])
                .map_err(|error| rustls::Error::General(format!("encoding: {error}")))?;
            Step::Again
        }
        ConnectionState::TransmitTlsData(data) => {
            // It is in `out`, which the caller sends in order.
            data.done();
            Step::Again
        }
        ConnectionState::WriteTraffic(mut traffic) => {
            if let Some(plain) = seal {
                let start = out.len();
                out.resize(start + plain.len() + OVERHEAD, 0);
                let written = traffic.encrypt(plain, &mut out[start..]).map_err(|error| match error {
                    EncryptError::EncryptExhausted => rustls::Error::EncryptError,
                    EncryptError::InsufficientSize(error) => {
                        rustls::Error::General(format!("a record of {} bytes", error.required_size))
                    }
                })?;
                out.truncate(start + written);
            }
            Step::Is(State::Idle)
        }
        ConnectionState::BlockedHandshake => Step::Is(State::Handshake),
        // Early data is not offered, and later states mean an end too.
        _ => Step::Is(State::Closed),
    };
    Ok((discard, step))
}
