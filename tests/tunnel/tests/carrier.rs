//! A tunnel that goes by TLS where UDP does not get through.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use warren_tunnel_tests::traffic::Stream;
use warren_tunnel_tests::wire::{drop_udp, pass_udp, slow};
use warren_tunnel_tests::{
    Device, Family, Impairment, Implementation, Interface, LongWire, Namespace, Pair, Settings, Side,
    wait_for,
};

const TLS: &str = "10.200.0.2:443";
const LONG: Duration = Duration::from_secs(60);

/// An agent on the left that knows both ways to a gateway on the right.
struct Lab {
    agent: Device,
    gateway: Option<Device>,
    interfaces: [Interface; 2],
    hosts: [Arc<Namespace>; 2],
    folder: tempfile::TempDir,
    _wire: Option<LongWire>,
}

impl Lab {
    fn start(carrier: &str, blocked: bool) -> Self {
        Self::with_pin(carrier, blocked, None)
    }

    fn with_pin(carrier: &str, blocked: bool, pin: Option<&str>) -> Self {
        let hosts = Pair::hosts().unwrap();
        if blocked {
            drop_udp(&hosts).unwrap();
        }
        Self::between(hosts, None, &["--carrier", carrier], pin)
    }

    /// Twenty milliseconds away, by TLS.
    fn distant(arguments: &[&str]) -> Self {
        let impairment = Impairment { delay: Duration::from_millis(10), rate: 300, loss: 0.0 };
        let (hosts, wire) = Pair::distant_hosts(impairment).unwrap();
        Self::between(hosts, Some(wire), &[&["--carrier", "tls"], arguments].concat(), None)
    }

    fn between(
        hosts: [Arc<Namespace>; 2],
        wire: Option<LongWire>,
        arguments: &[&str],
        pin: Option<&str>,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings { initiator: Some(Side::Left), ..Settings::default() };
        let mut interfaces = Pair::interfaces(&settings).unwrap();
        interfaces[1].extra.push(format!("# warren: ListenTLS = {TLS}"));
        let (gateway, own) =
            Device::tls_gateway(&hosts[1], &interfaces[1], &folder.path().join("tls.pem")).unwrap();
        let pin = pin.unwrap_or(&own);
        let arguments = [arguments, &["--tls-endpoint", TLS, "--tls-pin", pin]].concat();
        let agent =
            Device::start_with(&Implementation::WarrenTunnel, &hosts[0], &interfaces[0], &arguments).unwrap();
        Lab { agent, gateway: Some(gateway), interfaces, hosts, folder, _wire: wire }
    }

    fn host(&self, side: Side) -> &Arc<Namespace> {
        &self.hosts[side as usize]
    }

    fn restart_gateway(&mut self) {
        self.gateway = None;
        let certificate = self.folder.path().join("tls.pem");
        let (gateway, _) = Device::tls_gateway(&self.hosts[1], &self.interfaces[1], &certificate).unwrap();
        self.gateway = Some(gateway);
    }

    fn meet(&self) {
        let to = Side::Right.inner(Family::V4).to_string();
        let met = wait_for(LONG, "answer through the tunnel", || {
            Ok(self.host(Side::Left).run("ping", &["-c1", "-W1", &to]).ok())
        });
        met.unwrap_or_else(|error| panic!("{error}\n{}\n{}", self.agent.log(), self.log(Side::Right)));
    }

    fn log(&self, side: Side) -> String {
        match side {
            Side::Left => self.agent.log(),
            Side::Right => self.gateway.as_ref().unwrap().log(),
        }
    }

    fn stream(&self, from: Side, length: u64) -> Stream {
        let to = from.other().inner(Family::V4);
        Stream::start(self.host(from), self.host(from.other()), to, length).unwrap()
    }

    fn status(&self, side: Side) -> Value {
        let device = match side {
            Side::Left => &self.agent,
            Side::Right => self.gateway.as_ref().unwrap(),
        };
        let program = Implementation::WarrenTunnel.path().unwrap();
        let text =
            self.host(side).run(program, &["status", device.name(), "--json", "--interval", "0"]).unwrap();
        let json: Value = serde_json::from_str(&text).unwrap();
        if json.is_array() { json[0].clone() } else { json }
    }

    /// Kind and reason.
    fn carrier(&self) -> (String, String) {
        let status = self.status(Side::Left);
        let carrier = &status["peers"][0]["carrier"];
        let text = |name: &str| carrier[name].as_str().unwrap_or_default().to_owned();
        (text("kind"), text("why"))
    }

    fn wait_for_carrier(&self, kind: &str) {
        wait_for(LONG, kind, || Ok((self.carrier().0 == kind).then_some(())))
            .unwrap_or_else(|error| panic!("{error}\n{}", self.agent.log()));
    }
}

/// The longest time without a byte until `share` of the stream is there.
fn longest_pause(lab: &Lab, stream: &Stream, length: u64, share: f64) -> Duration {
    let (mut last, mut seen, mut longest) = (Instant::now(), stream.arrived(), Duration::ZERO);
    while (stream.arrived() as f64) < share * length as f64 {
        let now = stream.arrived();
        if now != seen {
            (seen, last) = (now, Instant::now());
        }
        longest = longest.max(last.elapsed());
        let logs = || format!("agent:\n{}\ngateway:\n{}", lab.log(Side::Left), lab.log(Side::Right));
        assert!(longest < LONG, "the transfer stands still; carrier {:?}; {}", lab.carrier(), logs());
        std::thread::sleep(Duration::from_millis(1));
    }
    longest
}

#[test]
fn udp_that_works_is_used_and_nothing_else() {
    let lab = Lab::start("auto", false);
    lab.meet();
    lab.stream(Side::Left, 20_000_000).finish().unwrap();
    lab.stream(Side::Right, 20_000_000).finish().unwrap();
    assert_eq!(lab.carrier(), ("udp".into(), "UDP answers".into()));
    assert_eq!(lab.status(Side::Right)["tls"]["tunnels"], 0);
}

#[test]
fn tls_carries_it_where_udp_is_dropped_from_the_start() {
    let lab = Lab::start("auto", true);
    let begun = Instant::now();
    lab.meet();
    println!("first answer over TLS after {:?}", begun.elapsed());
    assert_eq!(lab.carrier(), ("tls".into(), "UDP does not answer".into()));
    for side in [Side::Left, Side::Right] {
        let seconds = lab.stream(side, 50_000_000).finish().unwrap();
        println!("{side:?} sends 50 MB over TLS in {seconds:.2} s");
    }
    let peer = &lab.status(Side::Right)["peers"][0];
    assert_eq!(peer["carrier"]["kind"], "tls");
    assert_eq!(lab.status(Side::Right)["tls"]["connections"], 1);
    assert!(lab.status(Side::Left)["peers"][0]["carrier"]["rtt"].as_f64().is_some());
}

#[test]
fn a_transfer_goes_on_when_udp_is_lost_and_when_it_returns() {
    let lab = Lab::start("auto", false);
    lab.meet();
    slow(&lab.hosts).unwrap();
    for from in [Side::Left, Side::Right] {
        let length = 40_000_000;
        let stream = lab.stream(from, length);
        stream.reached(0.2).unwrap();
        drop_udp(&lab.hosts).unwrap();
        let pause = longest_pause(&lab, &stream, length, 0.7);
        println!("{from:?} sends, UDP is lost: {pause:?} without data");
        assert_eq!(lab.carrier().0, "tls", "{}", lab.agent.log());
        assert!(pause < Duration::from_secs(10), "{pause:?}\n{}", lab.agent.log());
        pass_udp(&lab.hosts).unwrap();
        stream.finish().unwrap();
        let begun = Instant::now();
        lab.wait_for_carrier("udp");
        println!("UDP is used again {:?} after the end of the transfer", begun.elapsed());
        lab.stream(from, 5_000_000).finish().unwrap();
    }
}

#[test]
fn a_gateway_that_is_started_again_is_found_again() {
    let mut lab = Lab::start("tls", false);
    lab.meet();
    assert_eq!(lab.carrier(), ("tls".into(), "configured".into()));
    lab.restart_gateway();
    lab.meet();
    lab.stream(Side::Right, 5_000_000).finish().unwrap();
    assert!(lab.status(Side::Left)["peers"][0]["carrier"]["connections"].as_u64() >= Some(2));
    assert!(lab.agent.log().contains("TLS connection lost"), "{}", lab.agent.log());
}

/// Waits until both ends have so many connections.
fn wait_for_connections(lab: &Lab, count: u64) {
    for side in [Side::Left, Side::Right] {
        let open = || lab.status(side)["peers"][0]["carrier"]["open"].as_u64();
        wait_for(LONG, "connections", || Ok((open() == Some(count)).then_some(()))).unwrap_or_else(|error| {
            panic!("{error}: {side:?} has {:?} of {count}\n{}", open(), lab.agent.log())
        });
    }
}

#[test]
fn a_long_path_has_several_connections_and_the_loss_of_one_interrupts_nothing() {
    let lab = Lab::distant(&[]);
    lab.meet();
    wait_for_connections(&lab, 4);
    assert_eq!(lab.status(Side::Right)["tls"]["connections"], 1, "one tunnel");
    let length = 60_000_000;
    let stream = lab.stream(Side::Right, length);
    stream.reached(0.1).unwrap();
    // All but the first are ended, one after another, with what TCP does when a middlebox forgets a connection.
    let shown = lab.host(Side::Left).run("ss", &["-Htn", "dport", "=", ":443"]).unwrap();
    let local = |line: &str| line.split_whitespace().nth(3)?.rsplit(':').next()?.parse::<u16>().ok();
    let ports: Vec<u16> = shown.lines().filter_map(local).collect();
    assert_eq!(ports.len(), 4, "{shown}");
    let rules = format!(
        "add table inet lab; \
         add chain inet lab in {{ type filter hook input priority 0; }}; \
         add rule inet lab in tcp sport {{ {}, {} }} reject with tcp reset",
        ports[0], ports[1]
    );
    lab.host(Side::Right).run("nft", &[&rules]).unwrap();
    let pause = longest_pause(&lab, &stream, length, 0.95);
    println!("two of four connections are reset: {pause:?} without data");
    stream.finish().unwrap();
    assert!(!lab.agent.log().contains("TLS connection lost"), "{}", lab.agent.log());
    wait_for_connections(&lab, 4);
    lab.meet();
}

#[test]
fn an_end_with_one_connection_meets_one_with_several() {
    let lab = Lab::distant(&["--tls-connections", "1"]);
    lab.meet();
    lab.stream(Side::Left, 5_000_000).finish().unwrap();
    // Longer than it takes to know that the path is long, and to connect.
    std::thread::sleep(Duration::from_secs(2));
    wait_for_connections(&lab, 1);
}

#[test]
fn a_gateway_with_another_key_is_refused() {
    let other = "sha256//ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs=";
    let lab = Lab::with_pin("tls", false, Some(other));
    let story = wait_for(LONG, "refusal", || {
        Ok(lab.agent.log().lines().find(|line| line.contains("no TLS connection")).map(str::to_owned))
    });
    let story = story.unwrap();
    println!("{story}");
    assert!(story.contains("is not the pinned gateway") && story.contains(other), "{story}");
    assert!(story.contains("the connection is intercepted"), "{story}");
    let to = Side::Right.inner(Family::V4).to_string();
    assert!(lab.host(Side::Left).run("ping", &["-c1", "-W1", &to]).is_err());
}

#[test]
fn hostile_clients_do_not_disturb_honest_ones() {
    let lab = Lab::start("tls", false);
    lab.meet();
    let stream = lab.stream(Side::Left, 50_000_000);
    let crowd = lab.host(Side::Left).inside(|| {
        let address: SocketAddr = TLS.parse()?;
        let mut crowd = Vec::new();
        for turn in 0..200_u8 {
            let mut client = TcpStream::connect(address)?;
            // Garbage, the beginning of a handshake, or nothing at all; then silence.
            let _ = match turn % 3 {
                0 => client.write_all(&[turn; 300]),
                1 => client.write_all(&[22, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]),
                _ => Ok(()),
            };
            crowd.push(client);
        }
        Ok(crowd)
    });
    stream.finish().unwrap();
    let tls = |name: &str| lab.status(Side::Right)["tls"][name].as_u64().unwrap();
    wait_for(LONG, "end of the crowd", || Ok((tls("failed") + tls("limited") >= 200).then_some(()))).unwrap();
    assert!(tls("limited") > 0, "one address does not get all places");
    for mut client in crowd.unwrap() {
        let _ = client.shutdown(Shutdown::Write);
        // Whatever it was, it has been closed.
        let _ = client.read_to_end(&mut Vec::new());
    }
    assert_eq!(tls("connections"), 1);
    lab.meet();
}
