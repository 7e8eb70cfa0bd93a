//! Pods that join and leave over real TLS, and requests that never end or are too large.

use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use warren_transport::tls::{self, Target};
use warren_wire::PrivateKey;
use warren_wire::enrolment::{ChannelBinding, ENROL_PATH, HostInfo, MEDIA_TYPE};
use warren_wire::token::Gateway;

use super::{config, pod, runtime, start};
use crate::enrolment::client::{self, ClientError};
use crate::enrolment::serve;
use crate::enrolment::server::Enrolment;

/// Answers on a runtime.
struct Port(tokio::runtime::Handle, Arc<Enrolment>);

impl tls::Answer for Port {
    fn answer(&self, request: tls::Request, answering: tls::Answering) {
        let enrolment = Arc::clone(&self.1);
        self.0.spawn(async move { answering.reply(&serve::answer(&enrolment, &request).await) });
    }
}

/// A gateway's TLS port, and how pods find it.
pub(super) fn listen(
    runtime: &tokio::runtime::Runtime,
    enrolment: &Arc<Enrolment>,
    within: Duration,
) -> (tls::Listener, Target) {
    let folder = tempfile::tempdir().unwrap();
    let identity = tls::Identity::load_or_make(&folder.path().join("tls.pem")).unwrap();
    let trust = tls::Trust::Pins(identity.pin().into());
    let port = Arc::new(Port(runtime.handle().clone(), Arc::clone(enrolment)));
    let streams = tls::Streams::new(|| crate::runtime::datapath::Clock.mono(), Box::new(|| {})).unwrap();
    let limits = tls::ListenLimits { request_timeout: within, ..tls::ListenLimits::default() };
    let config = identity.server_config().unwrap();
    let listener =
        tls::Listener::start("127.0.0.1:0".parse().unwrap(), config, streams, Some(port), limits).unwrap();
    let port = listener.address().port();
    let target =
        Target { host: "127.0.0.1".into(), port, server_name: None, trust, proxy: None, fwmark: None };
    (listener, target)
}

pub(super) fn connect(target: &Target) -> (tls::Exchange, ChannelBinding) {
    let stream = tls::exchange(target, Duration::from_secs(20)).unwrap();
    let binding = ChannelBinding(stream.binding());
    (stream, binding)
}

#[test]
fn a_pod_joins_and_leaves_over_tls() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = runtime();
    let bench = runtime.block_on(async { start(&folder.path().join("leases"), config("10.100.0.0/24", "")) });
    let (_listener, target) = listen(&runtime, &bench.enrolment, Duration::from_secs(10));
    let (gateway, token) = (bench.config.gateways.as_slice()[0].clone(), bench.token());
    let join = |key: &PrivateKey| {
        let (mut stream, binding) = connect(&target);
        let host = HostInfo::new("pod-1".into(), Default::default()).unwrap();
        client::enrol(&mut stream, &binding, &gateway, &token, key, host)
    };
    let answer = join(&pod(1)).unwrap();
    assert_eq!(answer.routes, ["10.0.0.0/16".parse().unwrap()]);
    assert_eq!((answer.lease_seconds, answer.mtu, answer.keepalive_seconds), (600, 1420, 25));
    assert_eq!(answer.gateways, bench.config.gateways);
    // Time goes on between the two.
    let again = join(&pod(1)).unwrap();
    assert!(again.handshake_floor >= answer.handshake_floor);
    assert_eq!(
        warren_wire::enrolment::Answer { handshake_floor: answer.handshake_floor, ..again },
        answer,
        "a restart"
    );
    assert_ne!(join(&pod(2)).unwrap().addresses, answer.addresses);

    let (mut stream, binding) = connect(&target);
    client::release(&mut stream, &binding, &gateway, &pod(1)).unwrap();
    let (mut stream, binding) = connect(&target);
    let again = client::release(&mut stream, &binding, &gateway, &pod(1));
    assert!(matches!(again, Err(ClientError::Refused(problem)) if problem.kind.slug() == "no-lease"));
    // The answer for another gateway's key: a man in the middle with a key of his own gets nothing.
    let (mut stream, binding) = connect(&target);
    let wrong = Gateway { key: pod(9).public(), ..gateway.clone() };
    let refused = client::enrol(&mut stream, &binding, &wrong, &token, &pod(3), HostInfo::default());
    assert!(matches!(refused, Err(ClientError::Refused(problem)) if problem.kind.slug() == "proof"));
}

#[test]
fn slow_and_oversize_requests_are_ended() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = runtime();
    let bench = runtime.block_on(async { start(&folder.path().join("leases"), config("10.100.0.0/24", "")) });
    let within = Duration::from_millis(300);
    let (_listener, target) = listen(&runtime, &bench.enrolment, within);
    let answer_to = |bytes: &[u8]| {
        let (mut stream, _) = connect(&target);
        stream.write_all(bytes).unwrap();
        let mut answer = Vec::new();
        // A connection that is cut has no closing message of TLS.
        _ = std::io::Read::read_to_end(&mut stream, &mut answer);
        String::from_utf8(answer).unwrap().lines().next().unwrap_or_default().to_owned()
    };
    let head = |length: usize| {
        format!(
            "POST {ENROL_PATH} HTTP/1.1\r\nHost: g\r\nContent-Type: {MEDIA_TYPE}\r\nContent-Length: {length}\r\n"
        )
    };
    let started = Instant::now();
    assert_eq!(answer_to(head(10).as_bytes()), "", "a head without an end");
    assert_eq!(answer_to(format!("{}\r\n{{", head(100)).as_bytes()), "", "a body without an end");
    let large = format!("{}\r\n{}", head(20_000), "x".repeat(20_000));
    assert_eq!(answer_to(large.as_bytes()), "HTTP/1.1 413 Content Too Large");
    assert_eq!(answer_to(format!("{}\r\n", head(20_000_000)).as_bytes()), "HTTP/1.1 413 Content Too Large");
    let long = format!("{}X: {}\r\n\r\n", head(0), "x".repeat(20_000));
    assert_eq!(answer_to(long.as_bytes()), "HTTP/1.1 431 Request Header Fields Too Large");
    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
}
