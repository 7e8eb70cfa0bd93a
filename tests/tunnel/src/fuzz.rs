//! One function for each parser of bytes from outside. Any bytes may be given; only a defect panics.
//!
//! `tests/fuzz` lets libFuzzer choose the bytes; `tests/hostile` chooses them from a seed, within seconds. Targets that need
//! the inside of a crate are in its module `fuzz`, which product builds do not compile, with tests of their own.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use warren_device::tun::coalesce::{Coalescer, Joins};
use warren_device::tun::vnet::{VNET_HEADER, Vnet};
use warren_device::tun::{ip, split};
use warren_proto::Now;
use warren_proto::engine::{Engine, EngineConfig, Output, PeerConfig};
use warren_proto::plane::Endpoint;
use warren_tunnel::runtime::uapi;
use warren_wire::enrolment::{self, Answer, Enrol, Release};
use warren_wire::gateway::GatewayConfig;
use warren_wire::stream::frame::{self, Frame, FrameError};
use warren_wire::stream::http;
use warren_wire::token::{Claims, KeyRing, SigningKey, TokenId, Validity};
use warren_wire::{PrivateKey, Token, UnixTime, config::Config};

/// A parser and its name.
pub type Target = (&'static str, fn(&[u8]));

/// The targets of this module.
pub const TARGETS: &[Target] = &[
    ("datagram", datagram),
    ("handshake", handshake),
    ("frame", frame),
    ("coalescer", coalescer),
    ("wg_quick", wg_quick),
    ("uapi", uapi_request),
    ("stream", stream),
    ("token", token),
    ("enrolment", enrolment),
    ("gateway_config", gateway_config),
];

/// What comes over a TLS connection: the HTTP before the frames, and the frames. Wherever the bytes are cut, the same
/// frames come of them.
pub fn stream(bytes: &[u8]) {
    let _ = http::Head::parse(bytes);
    let _ = http::parse_status(bytes);
    let cut = bytes.first().map_or(0, |first| usize::from(*first)).min(bytes.len());
    let (Ok(whole), Ok(mut parts)) = (frames(bytes, 0), frames(&bytes[..cut], 0)) else { return };
    if let Ok((rest, end)) = frames(bytes, parts.1) {
        parts.0.extend(rest);
        assert_eq!((parts.0, end), whole, "frames depend on where the stream is cut");
    }
}

fn frames(bytes: &[u8], mut at: usize) -> Result<(Vec<Frame>, usize), FrameError> {
    let mut all = Vec::new();
    while let Some((found, end)) = frame::next(bytes, at)? {
        assert!(end > at && end <= bytes.len(), "a frame that ends nowhere");
        all.push(found);
        at = end;
    }
    Ok((all, at))
}

/// Handshake messages of strangers: none is answered, whatever it is.
pub fn datagram(bytes: &[u8]) {
    let mut engine = engine(1, 2, None);
    let mut message = bytes.to_vec();
    engine.handle(at(5), endpoint(), &mut message);
    assert!(engine.poll_output().is_none(), "an answer to a stranger");
}

/// A handshake whose messages are changed on their way: a session comes of it only if none was.
///
/// The bytes are edits: which message, where, and what is combined with the byte there.
pub fn handshake(edits: &[u8]) {
    let (mut caller, mut called) = (engine(1, 2, Some(endpoint().remote)), engine(2, 1, None));
    let Some(id) = caller.peers(at(0)).first().map(|peer| peer.id) else { return };
    caller.want_session(at(0), id);
    let mut changed = false;
    for turn in 0..3 {
        let (from, to) = if turn % 2 == 0 { (&mut caller, &mut called) } else { (&mut called, &mut caller) };
        while let Some(output) = from.poll_output() {
            let Output::Transmit { mut bytes, .. } = output else { continue };
            if !matches!(bytes.first(), Some(1..=3)) {
                continue;
            }
            for edit in edits.chunks_exact(3).filter(|edit| edit[0] % 3 == turn) {
                let place = usize::from(edit[1]) % bytes.len();
                // What follows mac1 protects the receiver's time only, and is not looked at when there is plenty.
                if place < bytes.len() - 16 {
                    bytes[place] ^= edit[2];
                    changed |= edit[2] != 0;
                }
            }
            to.handle(at(10 + u64::from(turn)), endpoint(), &mut bytes);
        }
    }
    // Two edits of one place may undo each other, so only the other way round can be said.
    let established = caller.peers(at(20)).iter().any(|peer| peer.handshakes_initiated > 0);
    assert!(changed || established, "an unchanged handshake failed");
}

/// A frame as a TUN queue gives it: a vnet header, then a packet.
pub fn frame(bytes: &[u8]) {
    let Ok(frame) = split::parse(bytes) else { return };
    let mut out = vec![0; bytes.len()];
    let count = frame.segments();
    assert!((1..=bytes.len()).contains(&count));
    for index in 0..count {
        let length = frame.segment_len(index);
        assert!(length <= bytes.len());
        assert!(frame.write(index, &mut out[..length]));
        assert_eq!(ip::length(&out[..length]), Some(length), "a segment's header tells its length");
        assert_eq!(ip::destination(&out[..length]), Some(frame.destination()));
    }
    assert_eq!(frame.segment_len(count), 0);
}

/// Decrypted packets of a peer that wants to confuse: each comes out once, whole, in a frame that fits.
///
/// The bytes are packets, each after its length in two bytes.
pub fn coalescer(mut bytes: &[u8]) {
    let mut arena = Vec::new();
    let mut places = Vec::new();
    while let [high, low, rest @ ..] = bytes {
        let length = usize::from(u16::from_be_bytes([*high, *low])).min(rest.len());
        let (packet, rest) = rest.split_at(length);
        bytes = rest;
        // The datapath gives packets exactly as long as their header says.
        if let Some(length) = ip::length(packet) {
            arena.resize(arena.len() + VNET_HEADER, 0);
            let start = arena.len();
            arena.extend_from_slice(&packet[..length]);
            places.push(start..start + length);
        }
    }
    let mut joiner = Coalescer::new(Joins { tcp: true, udp: true });
    let (mut given, mut written) = (0, 0);
    for place in places {
        if joiner.is_full() {
            flush(&mut joiner, &mut arena, &mut written);
        }
        assert!(joiner.push(&mut arena, place));
        given += 1;
    }
    flush(&mut joiner, &mut arena, &mut written);
    assert_eq!(given, written, "packets");
}

fn flush(joiner: &mut Coalescer, arena: &mut [u8], written: &mut usize) {
    joiner.flush(arena, |parts, packets| {
        let frame: Vec<u8> = parts.iter().flat_map(|part| part.iter().copied()).collect();
        assert!(frame.len() <= warren_device::tun::FRAME, "a frame of {} bytes", frame.len());
        assert!(Vnet::parse(&frame).is_some());
        // What was joined comes apart again into as many packets, by the other half of the datapath.
        if packets > 1 {
            let split = split::parse(&frame);
            assert!(split.is_ok_and(|split| split.segments() == packets), "a run of {packets}");
        }
        *written += packets;
    });
}

/// A wg-quick file: what is understood prints as a file that means the same.
pub fn wg_quick(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match Config::parse(&text) {
        Ok(config) => {
            let again = Config::parse(&config.to_string());
            assert!(again.is_ok_and(|again| again == config), "a printed file means something else");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// A request on the UAPI socket.
pub fn uapi_request(bytes: &[u8]) {
    let _ = uapi::parse(bytes);
}

/// A token: none but the one that was signed is good.
pub fn token(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Ok(token) = Token::parse(&text) else { return };
    let ring = KeyRing::new([signer().verifying_key()]);
    assert!(ring.verify(&token).is_err() || token == signed_token(), "a token that nobody signed");
    assert!(token.peek().is_ok() && Token::parse(token.secret()).is_ok());
    _ = token.key_id();
}

/// The only token that is good for [`token`].
///
/// # Panics
/// Never: the claims are a constant.
pub fn signed_token() -> Token {
    let gateways = r#"[{"name":"gw-a","key":"zhfKdDHZcX0PG5KWPqvLZyRj8kpBMsCjqvYhAXi7Ugg=","tls":"192.0.2.1:443",
        "pins":["AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM"]}]"#;
    let claims = || {
        let time = UnixTime::from_secs;
        Some(Claims {
            id: TokenId::from_random([4; 16]),
            validity: Validity::new(time(1_800_000_000), time(1_800_003_600)).ok()?,
            fabric: "llm-training".parse().ok()?,
            group: "gpu".parse().ok()?,
            uses: NonZeroU32::new(5),
            max_lease: None,
            gateways: serde_json::from_str(gateways).ok()?,
        })
    };
    claims().and_then(|claims| claims.sign(&signer()).ok()).expect("a constant")
}

fn signer() -> SigningKey {
    SigningKey::from_random([1; 32])
}

/// Bodies of requests and answers: what is understood is understood again when it is printed.
pub fn enrolment(bytes: &[u8]) {
    if let Ok(request) = Enrol::from_json(bytes) {
        let again = request.to_json().and_then(|body| Enrol::from_json(&body));
        assert!(again.is_ok_and(|again| again == request), "a printed request means something else");
    }
    if let Ok(request) = Release::from_json(bytes) {
        let again = request.to_json().and_then(|body| Release::from_json(&body));
        assert!(again.is_ok_and(|again| again == request), "a printed request means something else");
    }
    if let Ok(answer) = Answer::from_json(bytes) {
        assert!((1..=2).contains(&answer.addresses.len()));
    }
    if let Some(problem) = enrolment::Problem::from_json(bytes) {
        let again = enrolment::Problem::from_json(&problem.to_json());
        assert!(again == Some(problem), "a printed problem means something else");
    }
}

/// A gateway's configuration: a file, or an error that has a place in it.
pub fn gateway_config(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Err(error) = GatewayConfig::parse(&text) {
        assert!(error.line <= text.matches('\n').count() + 1, "line {} of {text:?}", error.line);
        assert!(error.column >= 1 && !error.hint.is_empty());
    }
}

fn engine(own: u8, other: u8, remote: Option<SocketAddr>) -> Engine {
    let key = |byte| PrivateKey::from_random([byte; 32]);
    let mut engine = Engine::new(EngineConfig::new(key(own)), [own; 32]);
    let config = PeerConfig { endpoint: remote, ..PeerConfig::new(key(other).public()) };
    engine.upsert_peer(at(0), config);
    engine
}

fn at(millis: u64) -> Now {
    Now::new(Duration::from_millis(millis), Duration::from_secs(1_800_000_000))
}

fn endpoint() -> Endpoint {
    Endpoint::new(([192, 0, 2, 1], 51820).into())
}
