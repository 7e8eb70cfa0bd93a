//! Entry points for fuzzing: any bytes, no panic, bounded memory. Compiled for tests and libFuzzer only.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::{
    auth::Credentials,
    counters::Service,
    dns::message,
    http,
    limits::Limits,
    net::{Datagrams, Dial, DialError, Stream},
    outbound::{NameError, Outbound, Resolve},
    service::Services,
    socks::{self, wire},
    target::Name,
};

const CLIENT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 40_000);

/// SOCKS: each message alone, and the server as a whole with and without a password.
pub fn socks(bytes: &[u8]) {
    for cut in [bytes.len() / 2, bytes.len()] {
        let bytes = &bytes[..cut];
        check(&wire::greeting(bytes), bytes);
        check(&wire::login(bytes), bytes);
        check(&wire::request(bytes), bytes);
        if let Ok((target, payload)) = wire::datagram(bytes) {
            assert!(target.port != 0 && payload.len() < bytes.len());
        }
    }
    for credentials in [None, Credentials::parse("u:p").ok()] {
        serve(
            |services, outbound, stream| async move {
                let place = services.0.session(Service::Socks);
                let server = Arc::new(socks::Server { shared: services.0, outbound, credentials });
                if let Some(place) = place {
                    server.serve(stream, CLIENT, CLIENT.ip(), place).await;
                }
            },
            bytes,
        );
    }
}

fn check<T>(parsed: &wire::Parsed<T>, bytes: &[u8]) {
    match parsed {
        Ok(Some((_, length))) => assert!((1..=bytes.len()).contains(length)),
        Ok(None) => assert!(bytes.len() < wire::LONGEST, "a message that never ends"),
        Err(_) => {}
    }
}

/// HTTP: the server as a whole, before a network where nothing answers.
pub fn http(bytes: &[u8]) {
    serve(
        |services, outbound, stream| async move {
            let place = services.0.session(Service::Http);
            let server = Arc::new(http::Server { shared: services.0, outbound, credentials: None });
            if let Some(place) = place {
                server.serve(stream, CLIENT, place).await;
            }
        },
        bytes,
    );
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(uri) = text.parse()
    {
        for target in
            [http::fields::connect_target(&uri), http::fields::absolute_target(&uri)].into_iter().flatten()
        {
            let again = target.to_string().parse();
            assert_eq!(again, Ok(target), "a target that prints as another");
        }
    }
}

/// Bytes of an OPT record without options.
const EDNS: usize = 11;

/// DNS: a client's question, and a server's answer to it.
pub fn dns(bytes: &[u8]) {
    match message::question(bytes) {
        Ok(asked) => {
            for answer in [asked.failure(), asked.refusal()] {
                assert!(!answer.is_empty() && answer.len() <= bytes.len() + EDNS, "no amplification");
            }
            let Some(query) = asked.question.message(7) else { return };
            assert!(
                message::answer(&query, 7, &asked.question).is_none(),
                "a question believed as its answer"
            );
            // The same bytes as an answer to themselves: mark them as one.
            let mut answer = bytes.to_vec();
            answer[2] |= 0x80;
            let id = u16::from_be_bytes([bytes[0], bytes[1]]);
            if let Some(mut answer) = message::answer(&answer, id, &asked.question) {
                message::addresses(&answer, &asked.question);
                message::age(&mut answer, Duration::from_secs(30));
                assert!(message::lifetime(&answer).is_none_or(|kept| kept <= Duration::from_secs(3_600)));
                assert!(asked.answer(&answer, false).len() <= usize::from(message::UDP_PAYLOAD));
                asked.answer(&answer, true);
            }
        }
        Err(message::Unasked::Answer(answer)) => {
            assert_eq!(answer[..2], bytes[..2], "the id");
            assert_eq!(
                message::question(&answer).err(),
                Some(message::Unasked::Silence),
                "no answer to an answer"
            );
        }
        Err(message::Unasked::Silence) => {}
    }
}

/// Runs a server on one stream that says `bytes` and then no more.
fn serve<F: Future<Output = ()>>(
    server: impl FnOnce(Services, Arc<Outbound<Nowhere, Nowhere>>, Script) -> F,
    bytes: &[u8],
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let Ok(runtime) = runtime else { return };
    runtime.block_on(async {
        let services = Services::new(Limits::default());
        let outbound = Arc::new(Outbound::new(Nowhere, Nowhere, Duration::from_secs(1)));
        let script = Script { input: bytes.to_vec(), at: 0, said: 0 };
        server(services.clone(), outbound, script).await;
        services.shutdown(Duration::ZERO).await;
        assert_eq!(services.counters().snapshot().open(), 0, "a place that is never given back");
    });
}

/// A network where no host answers and no name is known.
struct Nowhere;

impl Dial for Nowhere {
    type Stream = Script;
    type Datagrams = Nowhere;

    async fn connect(&self, _: SocketAddr) -> Result<Script, DialError> {
        Err(DialError::NoRoute)
    }

    async fn bind_udp(&self, _: bool) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl Datagrams for Nowhere {
    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(CLIENT)
    }

    fn poll_recv_from(&self, _: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<SocketAddr>> {
        Poll::Pending
    }

    fn poll_send_to(&self, _: &mut Context<'_>, _: &[u8], _: SocketAddr) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl Resolve for Nowhere {
    async fn resolve(&self, _: &Name) -> Result<Vec<IpAddr>, NameError> {
        Err(NameError::Unknown)
    }
}

/// A client that says what it was given and listens to a megabyte.
struct Script {
    input: Vec<u8>,
    at: usize,
    said: usize,
}

impl Stream for Script {}

impl AsyncRead for Script {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let length = buf.remaining().min(self.input.len() - self.at).min(97);
        buf.put_slice(&self.input[self.at..self.at + length]);
        self.at += length;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Script {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.said += buf.len();
        assert!(self.said <= 1 << 20, "more answer than any request calls for");
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::{Index, select};

    const SOCKS: &[&[u8]] = &[
        b"\x05\x02\x00\x02\x05\x01\x00\x03\x0bexample.com\x01\xbb",
        b"\x05\x01\x02\x01\x01u\x01p\x05\x03\x00\x01\x00\x00\x00\x00\x00\x00",
        b"\x00\x00\x00\x04\xfd\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x35data",
    ];
    const HTTP: &[&[u8]] = &[
        b"CONNECT s3.example:443 HTTP/1.1\r\nHost: s3.example:443\r\n\r\nearly",
        b"PUT http://[fd00::1]:80/a?b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: x-hop\r\nX-Hop: 1\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        b"http://s3.example:8080/path",
        b"[fd00::1]:443",
    ];
    const DNS: &[&[u8]] = &[
        b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x01\x02db\x04corp\x04test\x00\x00\x01\x00\x01\x00\x00\x29\x10\x00\x00\x00\x80\x00\x00\x00",
        b"\x12\x34\x01\x00\x00\x01\x00\x02\x00\x00\x00\x00\x01a\x00\x00\x01\x00\x01\xc0\x0c\x00\x05\x00\x01\x00\x00\x00\x3c\x00\x03\x01b\x00\x01b\x00\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04\x0a\x00\x00\x01",
    ];

    /// Random bytes, or a valid input with a few changes: bytes, cuts, doubled parts.
    fn hostile(valid: &'static [&'static [u8]]) -> impl Strategy<Value = Vec<u8>> {
        let edit = (any::<Index>(), any::<u8>(), 0..5_u8);
        let edited = (select(valid), vec(edit, 0..5)).prop_map(|(valid, edits)| {
            let mut bytes = valid.to_vec();
            for (at, byte, operation) in edits {
                if bytes.is_empty() {
                    break;
                }
                let at = at.index(bytes.len());
                match operation {
                    0 => bytes.truncate(at),
                    1 => bytes[at] = byte,
                    2 => bytes.extend_from_within(at..),
                    3 => _ = bytes.remove(at),
                    _ => bytes.insert(at, byte),
                }
            }
            bytes
        });
        prop_oneof![2 => edited, 1 => vec(any::<u8>(), 0..256), 1 => vec(any::<u8>(), 0..4096)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn socks_survives_hostile_bytes(bytes in hostile(SOCKS)) {
            super::socks(&bytes);
        }

        #[test]
        fn http_survives_hostile_bytes(bytes in hostile(HTTP)) {
            super::http(&bytes);
        }

        #[test]
        fn dns_survives_hostile_bytes(bytes in hostile(DNS)) {
            super::dns(&bytes);
        }
    }

    #[test]
    fn valid_inputs_are_served() {
        SOCKS.iter().for_each(|bytes| super::socks(bytes));
        HTTP.iter().for_each(|bytes| super::http(bytes));
        DNS.iter().for_each(|bytes| super::dns(bytes));
    }
}
