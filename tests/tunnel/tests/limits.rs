//! What a gateway refuses and what it holds back, end to end: real TLS, a real gateway, a real etcd whose every record is
//! compared before and after.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::num::NonZeroU32;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use warren_transport::tls::{Target, Trust, exchange};
use warren_tunnel_tests::fabric::TLS_PORT;
use warren_tunnel_tests::fleet::{Fleet, live, proxy};
use warren_tunnel_tests::wait_for;
use warren_wire::enrolment::{
    ChannelBinding, ENROL_PATH, Enrol, HostInfo, MEDIA_TYPE, Problem, Proof, Purpose, Version,
};
use warren_wire::token::{Claims, SigningKey, TokenId, Validity};
use warren_wire::{PrivateKey, PublicKey, Token, UnixTime};

const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 200, 0, 10);
const PATIENCE: Duration = Duration::from_secs(20);

/// Who asks a gateway over TLS, as a pod would or worse.
struct Stranger<'a> {
    fleet: &'a Fleet,
    claims: Claims,
    gateway: PublicKey,
    signer: SigningKey,
}

impl<'a> Stranger<'a> {
    fn new(fleet: &'a Fleet) -> Self {
        let claims = Token::parse(&fleet.fabric.token("gpu", &[]).unwrap()).unwrap().peek().unwrap();
        let gateway = claims.gateways.as_slice()[0].key;
        let secret = std::fs::read_to_string(fleet.fabric.folder().join("signing.key")).unwrap();
        Self { fleet, claims, gateway, signer: SigningKey::parse(secret.trim()).unwrap() }
    }

    /// A token with an edit, signed by the fabric's key.
    fn token(&self, edit: impl FnOnce(&mut Claims)) -> Token {
        let mut claims = self.claims.clone();
        edit(&mut claims);
        claims.sign(&self.signer).unwrap()
    }

    /// Sends what is made for this one connection; everything that comes back until the gateway closes it.
    fn say(&self, make: impl FnOnce(&ChannelBinding) -> Vec<u8> + Send + 'static) -> String {
        let target = Target {
            host: GATEWAY.to_string(),
            port: TLS_PORT,
            server_name: None,
            trust: Trust::Pins(self.claims.gateways.as_slice()[0].pins.clone()),
            proxy: None,
            fwmark: None,
        };
        let talk = move || {
            let mut stream = exchange(&target, PATIENCE)?;
            let bytes = make(&ChannelBinding(stream.binding()));
            // A gateway that has heard enough closes while more is sent.
            _ = stream.write_all(&bytes);
            let mut answer = Vec::new();
            _ = stream.read_to_end(&mut answer);
            Ok(String::from_utf8_lossy(&answer).into_owned())
        };
        self.fleet.pods.inside(talk).unwrap()
    }

    /// The name of the problem that a request to enrol meets; `none` if it is let in.
    fn enrol(&self, token: Token, key: PrivateKey, replayed: bool) -> String {
        let gateway = self.gateway;
        let answer = self.say(move |binding| {
            let binding = if replayed { ChannelBinding([7; 32]) } else { *binding };
            let proof = Proof::make(Purpose::Enrol, &key, &gateway, &binding).unwrap();
            let host = HostInfo::default();
            post(&Enrol { version: Version, token, public_key: key.public(), proof, host }.to_json().unwrap())
        });
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        if head.starts_with("HTTP/1.1 200") {
            return "none".to_owned();
        }
        let problem = Problem::from_json(body.as_bytes()).unwrap_or_else(|| panic!("{answer}"));
        assert!(!problem.detail.is_empty());
        problem.kind.slug().to_owned()
    }
}

fn post(body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST {ENROL_PATH} HTTP/1.1\r\nHost: g\r\nContent-Type: {MEDIA_TYPE}\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

fn key(number: u8) -> PrivateKey {
    PrivateKey::from_random([number; 32])
}

fn now() -> UnixTime {
    UnixTime::from_epoch(SystemTime::now().duration_since(UNIX_EPOCH).unwrap())
}

#[test]
fn what_is_refused_has_a_name_and_changes_nothing() {
    let fleet = Fleet::new(1).unwrap();
    fleet.fabric.configure(0, &[("[limits]", "[limits]\nrequest_timeout = \"2s\"")]).unwrap();
    let gateway = fleet.gateway(0).unwrap();
    let stranger = Stranger::new(&fleet);
    let id = |number: u8| TokenId::from_random([number; 16]);
    // What the cases need: a pod that is there, one that is kept out, a token that is used up, one that is revoked.
    let first = || Ok((stranger.enrol(stranger.token(|_| ()), key(1), false) == "none").then_some(()));
    wait_for(PATIENCE, "lease store", first).unwrap();
    let once = stranger.token(|claims| (claims.id, claims.uses) = (id(2), NonZeroU32::new(1)));
    assert_eq!(stranger.enrol(once.clone(), key(2), false), "none");
    gateway.run(&["gateway", "evict", &key(3).public().to_string()]).unwrap();
    gateway.run(&["token", "revoke", &id(4).to_string()]).unwrap();

    let before = (fleet.contents().unwrap(), gateway.run(&["gateway", "peers", "--json"]).unwrap());
    let (present, hour) = (now(), Duration::from_secs(3600));
    let past = Validity::new(UnixTime::from_secs(1_700_000_000), UnixTime::from_secs(1_700_000_060)).unwrap();
    let future = Validity::new(present.plus(hour), present.plus(hour * 2)).unwrap();
    let forged = stranger.claims.sign(&SigningKey::from_random([9; 32])).unwrap();
    let cases = [
        ("token-forged", stranger.enrol(forged, key(10), false)),
        (
            "token-fabric",
            stranger.enrol(stranger.token(|claims| claims.fabric = "other".parse().unwrap()), key(10), false),
        ),
        ("proof", stranger.enrol(stranger.token(|_| ()), key(10), true)),
        ("token-used-up", stranger.enrol(once, key(10), false)),
        // For a minute after its start, a gateway of several doubts its clock.
        ("busy", stranger.enrol(stranger.token(|claims| claims.validity = past), key(10), false)),
        ("token-early", stranger.enrol(stranger.token(|claims| claims.validity = future), key(10), false)),
        ("token-revoked", stranger.enrol(stranger.token(|claims| claims.id = id(4)), key(10), false)),
        ("evicted", stranger.enrol(stranger.token(|_| ()), key(3), false)),
        (
            "group",
            stranger.enrol(stranger.token(|claims| claims.group = "admins".parse().unwrap()), key(10), false),
        ),
    ];
    for (expected, found) in cases {
        assert_eq!(found, expected);
    }
    let large = stranger.say(|_| post(&vec![b' '; 20_000]));
    assert!(large.starts_with("HTTP/1.1 413 "), "{large}");
    let announced = stranger.say(|_| format!("POST {ENROL_PATH} HTTP/1.1\r\nHost: g\r\nContent-Type: {MEDIA_TYPE}\r\nContent-Length: 99999999999\r\n\r\n").into_bytes());
    assert!(announced.starts_with("HTTP/1.1 413 "), "{announced}");
    // Half a head and half a body: the connection is closed without an answer, and nobody else waits for it.
    for (what, bytes) in
        [("head", &b"POST /v1/enrol HTTP/1.1\r\nHost:"[..]), ("body", &post(&[b' '; 100])[..180])]
    {
        let (begun, bytes) = (Instant::now(), bytes.to_vec());
        assert_eq!(stranger.say(move |_| bytes), "", "half a {what}");
        println!("half a {what}: closed after {:?}", begun.elapsed());
    }
    let after = (fleet.contents().unwrap(), gateway.run(&["gateway", "peers", "--json"]).unwrap());
    assert_eq!(before.0, after.0, "a record has changed");
    assert_eq!(before.1, after.1, "a peer has changed");
    assert_eq!(live(&gateway).unwrap().len(), 2);
    assert_eq!(stranger.enrol(stranger.token(|_| ()), key(10), false), "none");
}

/// Bytes of one answer.
const BYTES: usize = 3_000_000;
/// What is allowed, and that in bytes a second.
const MBIT: usize = 16;
const RATE: usize = MBIT * 125_000;

/// Fetches an answer of [`BYTES`] by a pod's proxy.
fn fetch(fleet: &Fleet, number: u16) -> thread::JoinHandle<anyhow::Result<Duration>> {
    let through = proxy(number);
    fleet
        .pods
        .thread(move || {
            let begun = Instant::now();
            let mut stream = TcpStream::connect(through)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream
                .write_all(b"GET http://10.50.0.2:8001/ HTTP/1.1\r\nHost: s\r\nConnection: close\r\n\r\n")?;
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer)?;
            anyhow::ensure!(answer.len() > BYTES, "{} bytes came", answer.len());
            Ok(begun.elapsed())
        })
        .unwrap()
}

/// Faster than this nobody can have got so many bytes: what is let through at once is less than a tenth of them.
fn least(bytes: usize) -> Duration {
    Duration::from_secs_f64(bytes as f64 * 0.9 / RATE as f64)
}

#[test]
fn a_rate_holds_for_each_peer_and_for_a_group_together() {
    let fleet = Fleet::new(1).unwrap();
    let groups = format!(
        "[groups.each]\npeer_rate_mbit = {MBIT}\n[[groups.each.allow]]\nto = [\"10.50.0.2/32\"]\n\
         [groups.together]\nrate_mbit = {MBIT}\n[[groups.together.allow]]\nto = [\"10.50.0.2/32\"]\n[groups.gpu]"
    );
    fleet.fabric.configure(0, &[("[groups.gpu]", &groups)]).unwrap();
    let _gateway = fleet.gateway(0).unwrap();
    let listener = fleet.server.inside(|| Ok(TcpListener::bind("10.50.0.2:8001")?)).unwrap();
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            thread::spawn(move || {
                _ = stream.read(&mut [0; 1024]);
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {BYTES}\r\nConnection: close\r\n\r\n");
                _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&vec![b'x'; BYTES]));
            });
        }
    });
    let mut number = 0;
    let mut pod = |group: &str| {
        number += 1;
        (number, fleet.pod(number, &fleet.fabric.token(group, &[]).unwrap()).unwrap())
    };
    let pods = [pod("each"), pod("each"), pod("together"), pod("together"), pod("gpu")];
    let time = |which: &[usize]| {
        let begun = Instant::now();
        let fetches: Vec<_> = which.iter().map(|index| fetch(&fleet, pods[*index].0)).collect();
        let each: Vec<Duration> = fetches.into_iter().map(|fetch| fetch.join().unwrap().unwrap()).collect();
        (begun.elapsed(), each)
    };
    let (_, alone) = time(&[4]);
    let (_, each) = time(&[0, 1]);
    let (both, _) = time(&[2, 3]);
    println!(
        "{BYTES} bytes at {MBIT} Mbit/s: without a rate {alone:?}, two with one each {each:?}, two of a group {both:?}"
    );
    assert!(each.iter().all(|time| *time >= least(BYTES)), "{each:?}");
    assert!(both >= least(2 * BYTES), "{both:?}");
}
