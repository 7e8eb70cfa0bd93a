//! A simulated pair of paths in virtual time: traffic both ways every 10 ms, UDP and the gateway's port up or down.

use super::*;
use warren_proto::plane::Endpoint;

const STEP: Duration = Duration::from_millis(10);
/// One way.
const DELAY: Duration = Duration::from_millis(40);

struct World {
    now: Duration,
    choice: Selector,
    udp: bool,
    gateway: bool,
    traffic: bool,
    /// Whether the peer answers data by data, or only by keepalives.
    chatty: bool,
    signs: Liveness,
    /// Answers on their way: when, by what, and whether of a handshake.
    answers: Vec<(Duration, Carrier, bool)>,
    connecting: Option<Duration>,
    open: Vec<StreamId>,
    made: u64,
    probes: u32,
    moves: Vec<(Duration, Carrier)>,
    /// The longest time without anything received.
    gap: Duration,
    last: Duration,
}

fn udp() -> Endpoint {
    Endpoint::new(([192, 0, 2, 1], 51820).into())
}

impl World {
    fn new(mode: Mode) -> Self {
        let endpoint = match mode {
            Mode::Auto => udp(),
            Mode::Stream => Endpoint::stream(udp().remote, StreamId::NONE),
        };
        Self {
            now: Duration::from_secs(1),
            choice: Selector::new(mode, 7),
            udp: true,
            gateway: true,
            traffic: true,
            chatty: true,
            signs: Liveness { endpoint: Some(endpoint), ..Liveness::default() },
            answers: Vec::new(),
            connecting: None,
            open: Vec::new(),
            made: 0,
            probes: 0,
            moves: Vec::new(),
            gap: Duration::ZERO,
            last: Duration::from_secs(1),
        }
    }

    fn works(&self, carrier: Carrier) -> bool {
        match carrier {
            Carrier::Udp => self.udp,
            Carrier::Stream(id) => self.open.contains(&id),
        }
    }

    fn send(&mut self, by: Carrier, handshake: bool, after: Duration) {
        if self.works(by) {
            self.answers.push((self.now + after, by, handshake));
        }
    }

    fn run(&mut self, seconds: f64) {
        let end = self.now + Duration::from_secs_f64(seconds);
        while self.now < end {
            self.now += STEP;
            self.step();
        }
    }

    fn step(&mut self) {
        let now = self.now;
        if self.traffic {
            self.signs.waiting.get_or_insert(now);
            if let Some(endpoint) = self.signs.endpoint {
                let handshake = !self.signs.session;
                if self.chatty || handshake {
                    self.send(endpoint.carrier, handshake, DELAY * 2);
                } else if now.as_millis().is_multiple_of(10_000) {
                    self.send(endpoint.carrier, false, DELAY * 2);
                }
            }
        }
        let (due, later): (Vec<_>, Vec<_>) = self.answers.drain(..).partition(|answer| answer.0 <= now);
        self.answers = later;
        for (_, by, handshake) in due {
            if !self.works(by) {
                continue;
            }
            self.gap = self.gap.max(now - self.last);
            self.last = now;
            self.signs.waiting = None;
            self.signs.heard = Some(now);
            self.signs.received += 1;
            self.signs.session |= handshake;
            self.signs.handshakes += u64::from(handshake);
            if self.signs.endpoint.map(|endpoint| endpoint.carrier) != Some(by) {
                self.signs.endpoint = Some(at(by));
            }
        }
        if self.connecting.is_some_and(|at| at <= now) {
            self.connecting = None;
            if self.gateway {
                self.made += 1;
                self.open.push(StreamId::new(self.made));
                self.choice.connected(StreamId::new(self.made));
            } else {
                self.choice.refused(now);
            }
        }
        if self.choice.poll_timeout() <= now {
            for action in self.choice.poll(now, &self.signs) {
                self.act(action);
            }
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Connect => {
                assert!(self.connecting.is_none() && self.open.is_empty(), "one connection at a time");
                self.connecting = Some(self.now + DELAY * 6);
            }
            Action::Close(id) => self.open.retain(|open| *open != id),
            Action::Probe => {
                self.probes += 1;
                self.send(Carrier::Udp, true, DELAY * 2);
            }
            Action::Move(to, _) => {
                self.moves.push((self.now, to));
                self.signs.endpoint = Some(at(to));
                self.send(to, true, DELAY * 2);
            }
            Action::Returned => self.moves.push((self.now, Carrier::Udp)),
            Action::Hold(id) => self.signs.endpoint = Some(at(Carrier::Stream(id))),
        }
    }

    fn lose_streams(&mut self) {
        for id in std::mem::take(&mut self.open) {
            self.choice.lost(self.now, id, true);
        }
    }

    fn on(&self) -> Carrier {
        self.choice.carrier().0
    }
}

fn at(carrier: Carrier) -> Endpoint {
    Endpoint { carrier, ..udp() }
}

#[test]
fn udp_that_answers_makes_no_connection() {
    let mut world = World::new(Mode::Auto);
    world.run(60.0);
    assert_eq!((world.on(), world.made, world.probes), (Carrier::Udp, 0, 0));
    assert_eq!(world.choice.carrier().1, Reason::UdpAnswers);
}

#[test]
fn blocked_udp_is_left_within_a_second() {
    let mut world = World::new(Mode::Auto);
    world.udp = false;
    world.run(1.5);
    assert_eq!(world.choice.carrier(), (Carrier::Stream(StreamId::new(1)), Reason::UdpSilent));
    assert!(world.gap < Duration::from_secs(1), "{:?}", world.gap);
}

#[test]
fn udp_lost_in_mid_transfer_stops_it_for_less_than_two_seconds_and_is_returned_to() {
    let mut world = World::new(Mode::Auto);
    world.run(20.0);
    world.udp = false;
    world.run(10.0);
    assert_eq!(world.on(), Carrier::Stream(StreamId::new(1)));
    assert!(world.gap < Duration::from_secs(2), "{:?}", world.gap);
    world.udp = true;
    world.run(31.0);
    assert_eq!(world.choice.carrier(), (Carrier::Udp, Reason::UdpAnswers));
    assert_eq!(world.moves.len(), 2, "{:?}", world.moves);
    world.run(6.0);
    assert!(world.open.is_empty(), "the connection is closed when UDP has proved itself");
    assert!(world.gap < Duration::from_secs(2), "returning stops nothing: {:?}", world.gap);
}

#[test]
fn a_flow_that_only_goes_out_is_probed_less_and_less_and_never_moved() {
    let mut world = World::new(Mode::Auto);
    world.run(1.0);
    world.chatty = false;
    world.run(600.0);
    assert!(world.moves.is_empty());
    assert!((5..=80).contains(&world.probes), "{}", world.probes);
    assert!(world.open.is_empty());
}

#[test]
fn flickering_udp_is_trusted_less_and_less() {
    let mut world = World::new(Mode::Auto);
    world.run(5.0);
    for _ in 0..60 {
        world.udp = false;
        world.run(5.0);
        world.udp = true;
        world.run(15.0);
    }
    let count = world.moves.len();
    assert!((4..=16).contains(&count), "{count} moves in twenty minutes");
    world.run(1000.0);
    assert_eq!(world.on(), Carrier::Udp, "but not never");
}

#[test]
fn a_lost_connection_is_made_again_and_a_gateway_that_is_away_asked_less_and_less() {
    let mut world = World::new(Mode::Auto);
    world.udp = false;
    world.run(5.0);
    world.gap = Duration::ZERO;
    world.lose_streams();
    world.run(3.0);
    assert!(matches!(world.on(), Carrier::Stream(_)));
    assert_eq!(world.choice.connects(), 2);
    assert!(world.gap < Duration::from_secs(1), "{:?}", world.gap);

    world.gateway = false;
    world.lose_streams();
    world.run(300.0);
    assert_eq!(world.choice.connects(), 2);
    world.gateway = true;
    world.run(40.0);
    assert!(matches!(world.on(), Carrier::Stream(_)));
}

#[test]
fn a_connection_alone_never_touches_udp() {
    let mut world = World::new(Mode::Stream);
    world.run(10.0);
    assert_eq!(world.choice.carrier(), (Carrier::Stream(StreamId::new(1)), Reason::Configured));
    world.lose_streams();
    world.run(1.0);
    assert_eq!(world.choice.carrier(), (Carrier::Stream(StreamId::new(2)), Reason::Configured));
    assert_eq!(world.probes, 0);
}

#[test]
fn a_late_datagram_does_not_lead_astray() {
    let mut world = World::new(Mode::Auto);
    world.udp = false;
    world.run(2.0);
    world.signs.endpoint = Some(udp());
    world.traffic = false;
    world.run(0.5);
    assert!(matches!(world.signs.endpoint.unwrap().carrier, Carrier::Stream(_)));
}

#[test]
fn random_paths_end_where_something_works() {
    for seed in 0..300u64 {
        let mut world = World::new(Mode::Auto);
        let mut random = Selector::new(Mode::Auto, seed);
        for _ in 0..40 {
            let dice = random.jitter(Duration::from_secs(1)).as_micros();
            world.udp = dice.is_multiple_of(2);
            world.gateway = dice.is_multiple_of(3) || world.udp;
            world.chatty = !dice.is_multiple_of(5);
            if dice.is_multiple_of(7) {
                world.lose_streams();
            }
            world.run(dice as f64 / 2e5);
        }
        (world.udp, world.gateway, world.chatty) = (seed % 2 == 0, seed % 2 == 1, true);
        if !world.gateway {
            world.lose_streams();
        }
        world.run(45.0);
        world.gap = Duration::ZERO;
        world.run(5.0);
        assert!(world.gap < Duration::from_millis(100), "seed {seed}: {:?}", world.gap);
        assert!(world.open.len() <= 1);
    }
}
