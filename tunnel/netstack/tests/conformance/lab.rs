//! One stack and a peer that is a script: what is injected, what must leave, and when.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use warren_netstack::{Batch, CloseReason, Config, Event, Listen, ListenerId, Stack, StreamId};

use crate::segment::{ACK, PSH, SYN, Segment, ack, syn, syn_ack};

pub(crate) const STACK: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
pub(crate) const PEER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
pub(crate) const PORT: u16 = 80;
const PEER_PORT: u16 = 40_000;
/// Initial sequence number of the peer: its data soon crosses the wrap.
const PEER_ISN: u32 = 0xffff_ff00;
/// A timer of the stack may ring this much later than the standard's time.
const TOLERANCE: Duration = Duration::from_millis(1);
/// Timer rings within one wait; more are a loop.
const MOST_RINGS: usize = 1_000_000;

pub(crate) fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

pub(crate) fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// What the peer's SYN says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    pub(crate) mss: u16,
    pub(crate) scale: Option<u8>,
    pub(crate) sack: bool,
    pub(crate) timestamps: bool,
    /// Its SYN asks for explicit congestion notification.
    pub(crate) ecn: bool,
    /// Bytes; of every segment that names no other.
    pub(crate) window: u32,
}

impl Default for Peer {
    fn default() -> Self {
        Self { mss: 1_000, scale: Some(0), sack: true, timestamps: false, ecn: false, window: 60_000 }
    }
}

pub(crate) struct Lab {
    pub(crate) stack: Stack,
    pub(crate) peer: Peer,
    pub(crate) now: Duration,
    /// The stream under test.
    pub(crate) id: Option<StreamId>,
    pub(crate) listener: ListenerId,
    /// How the stream ended.
    pub(crate) closed: Option<CloseReason>,
    lines: BTreeMap<u16, Line>,
    /// Packets that are no segments to the peer.
    pub(crate) other: Vec<Vec<u8>>,
    trace: String,
    local: SocketAddr,
    /// The peer's port. A script may use several: it sends from, and expects at, the present one.
    pub(crate) port: u16,
    written: u64,
    batch: Batch,
}

/// What the peer knows of the stack at one of its ports.
#[derive(Default)]
struct Line {
    left: VecDeque<(Duration, Segment)>,
    isn: u32,
    scale: u8,
    /// The stack's latest timestamp.
    echo: u32,
}

pub(crate) fn config() -> Config {
    Config::new(vec![IpAddr::V4(STACK)], [7; 32])
}

impl Lab {
    /// A stack with this configuration that listens, and no connection. The world is an hour old.
    pub(crate) fn new(config: Config, peer: Peer) -> Self {
        let batch = Batch::new(config.mtu);
        let mut stack = Stack::new(config);
        let listener = stack.listen(Listen::port(PORT)).expect("the port is free");
        Self {
            stack,
            peer,
            now: secs(3_600),
            id: None,
            listener,
            closed: None,
            lines: BTreeMap::new(),
            other: Vec::new(),
            trace: String::new(),
            local: SocketAddr::new(IpAddr::V4(STACK), PORT),
            port: PEER_PORT,
            written: 0,
            batch,
        }
    }

    /// A connection that the peer opened, on default settings. The round trip is 20 ms.
    pub(crate) fn accepted(peer: Peer) -> Self {
        Self::accepted_by(config(), peer)
    }

    pub(crate) fn accepted_by(config: Config, peer: Peer) -> Self {
        let mut lab = Self::new(config, peer);
        lab.open();
        lab
    }

    /// The peer connects.
    pub(crate) fn open(&mut self) {
        let ecn = self.peer.ecn;
        self.inject(if ecn { syn().echo().reduced() } else { syn() });
        self.expect(if ecn { syn_ack().echo() } else { syn_ack() });
        self.wait(ms(20));
        self.inject(ack(1));
        self.id = self.stack.accept(self.listener);
        assert!(self.id.is_some(), "nothing was accepted\n{}", self.trace);
        self.poll();
    }

    /// The stack connects; the SYN is among what left.
    pub(crate) fn connect(&mut self) {
        let remote = SocketAddr::new(IpAddr::V4(PEER), self.port);
        let id = self.stack.connect(self.now, remote).expect("connects");
        self.local = self.stack.info(id).expect("a stream").local;
        self.id = Some(id);
        self.poll();
    }

    fn stream(&self) -> StreamId {
        self.id.expect("a stream")
    }

    // ---- the application's side -------------------------------------------------------------------------------

    /// The application writes; returns what the stack took.
    pub(crate) fn write(&mut self, length: usize) -> usize {
        let bytes: Vec<u8> = (0..length as u64).map(|at| pattern(self.written + at)).collect();
        let taken = self.stack.send(self.now, self.stream(), &bytes);
        self.written += taken as u64;
        self.poll();
        taken
    }

    /// The application reads at most this much; returns what there was.
    pub(crate) fn read(&mut self, most: usize) -> usize {
        let mut bytes = vec![0; most];
        let count = self.stack.recv(self.stream(), &mut bytes).unwrap_or(0);
        self.poll();
        count
    }

    pub(crate) fn shutdown(&mut self) {
        self.stack.shutdown(self.now, self.stream());
        self.poll();
    }

    pub(crate) fn close(&mut self) {
        self.stack.close(self.now, self.stream());
        self.poll();
    }

    // ---- the peer's side --------------------------------------------------------------------------------------

    /// The peer sends this.
    #[expect(clippy::needless_pass_by_value, reason = "scripts read better without references")]
    pub(crate) fn inject(&mut self, segment: Segment) {
        let packet = self.packet(&segment);
        let _ = writeln!(self.trace, "{} < {segment}", self.clock());
        self.inject_packet(&packet);
    }

    pub(crate) fn inject_packet(&mut self, packet: &[u8]) {
        self.stack.input(self.now, packet);
        self.poll();
    }

    /// The bytes of a segment of the peer.
    pub(crate) fn packet(&self, segment: &Segment) -> Vec<u8> {
        let opening = segment.flags & SYN != 0;
        let shift = if opening { 0 } else { self.peer.scale.filter(|_| self.scale_agreed()).unwrap_or(0) };
        let window = (segment.window.unwrap_or(self.peer.window) >> shift).min(65_535) as u16;
        let mut options = Vec::new();
        if opening {
            options.extend([2, 4]);
            options.extend(self.peer.mss.to_be_bytes());
            if let Some(scale) = self.peer.scale {
                options.extend([1, 3, 3, scale]);
            }
            if self.peer.sack {
                options.extend([1, 1, 4, 2]);
            }
        }
        if self.peer.timestamps || segment.timestamps.is_some() {
            let (value, echo) = segment.timestamps.unwrap_or((
                self.now.as_millis() as u32,
                self.lines.get(&self.port).map_or(0, |line| line.echo),
            ));
            options.extend([1, 1, 8, 10]);
            options.extend(value.to_be_bytes());
            options.extend(echo.to_be_bytes());
        }
        if !segment.sacks.is_empty() {
            options.extend([1, 1, 5, 2 + 8 * segment.sacks.len() as u8]);
            for (left, right) in &segment.sacks {
                options.extend(self.own(*left).to_be_bytes());
                options.extend(self.own(*right).to_be_bytes());
            }
        }
        let acked = if segment.flags & ACK != 0 { self.own(segment.ack) } else { 0 };
        let mut tcp = Vec::new();
        tcp.extend(self.port.to_be_bytes());
        tcp.extend(self.local.port().to_be_bytes());
        tcp.extend(PEER_ISN.wrapping_add(segment.seq).to_be_bytes());
        tcp.extend(acked.to_be_bytes());
        tcp.extend([(((20 + options.len()) / 4) << 4) as u8, segment.flags]);
        tcp.extend(window.to_be_bytes());
        tcp.extend([0; 4]);
        tcp.extend(options);
        tcp.extend((0..segment.length as u64).map(|at| pattern(u64::from(segment.seq) + at)));
        with_ecn(ipv4(PEER, STACK, 6, &mut tcp, Some(16)), segment.ecn)
    }

    fn scale_agreed(&self) -> bool {
        self.peer.scale.is_some()
    }

    fn own(&self, offset: u32) -> u32 {
        self.lines.get(&self.port).map_or(0, |line| line.isn).wrapping_add(offset)
    }

    fn line(&mut self) -> &mut Line {
        self.lines.entry(self.port).or_default()
    }

    // ---- what leaves ------------------------------------------------------------------------------------------

    /// The next segment has left already and is this one.
    #[expect(clippy::needless_pass_by_value, reason = "scripts read better without references")]
    pub(crate) fn expect(&mut self, want: Segment) -> Segment {
        let Some((_, seen)) = self.line().left.pop_front() else {
            panic!("nothing left, but expected\n    {want}\n{}", self.trace)
        };
        assert!(want.admits(&seen), "expected\n    {want}\nbut there left\n    {seen}\n{}", self.trace);
        seen
    }

    /// The next segment leaves after this time, to the millisecond, and is this one.
    pub(crate) fn expect_after(&mut self, time: Duration, want: Segment) -> Segment {
        let due = self.now + time;
        self.silence(time.saturating_sub(ms(1)));
        self.advance(due + TOLERANCE, true);
        let Some((at, _)) = self.line().left.front().cloned() else {
            panic!("nothing left at {}, but expected\n    {want}\n{}", millis(due), self.trace)
        };
        assert!(at <= due + TOLERANCE);
        self.expect(want)
    }

    /// Nothing has left that was not expected.
    pub(crate) fn nothing(&mut self) {
        if let Some((at, seen)) = self.line().left.front().cloned() {
            panic!("expected nothing, but at {} there left\n    {seen}\n{}", millis(at), self.trace)
        }
    }

    /// Nothing leaves for this time.
    pub(crate) fn silence(&mut self, time: Duration) {
        self.nothing();
        self.advance(self.now + time, false);
        self.nothing();
    }

    /// Time passes; what leaves meanwhile can be expected afterwards.
    pub(crate) fn wait(&mut self, time: Duration) {
        self.advance(self.now + time, false);
    }

    /// Everything that has left and was not expected, with its time.
    pub(crate) fn drain(&mut self) -> Vec<(Duration, Segment)> {
        self.line().left.drain(..).collect()
    }

    pub(crate) fn trace(&self) -> &str {
        &self.trace
    }

    fn advance(&mut self, until: Duration, first: bool) {
        for _ in 0..MOST_RINGS {
            if first && !self.line().left.is_empty() {
                return;
            }
            match self.stack.next_timeout() {
                Some(at) if at <= until => self.now = self.now.max(at),
                _ => {
                    self.now = until;
                    return self.poll();
                }
            }
            self.poll();
        }
        panic!("a timer that never rests\n{}", self.trace);
    }

    fn poll(&mut self) {
        loop {
            self.batch.clear();
            self.stack.poll(self.now, &mut self.batch);
            let packets: Vec<Vec<u8>> = self.batch.iter().map(<[u8]>::to_vec).collect();
            for packet in &packets {
                match self.parse(packet) {
                    Some((port, segment)) => {
                        let _ = writeln!(self.trace, "{} > {segment}", self.clock());
                        let line = self.lines.entry(port).or_default();
                        line.left.push_back((self.now, segment));
                    }
                    None => self.other.push(packet.clone()),
                }
            }
            if !self.batch.is_full() {
                break;
            }
        }
        while let Some(event) = self.stack.poll_event() {
            if let Event::Closed(_, reason) = event {
                let _ = writeln!(self.trace, "{} closed: {reason}", self.clock());
                self.closed = Some(reason);
            }
        }
    }

    fn parse(&mut self, packet: &[u8]) -> Option<(u16, Segment)> {
        if packet[0] != 0x45 || packet[9] != 6 {
            return None;
        }
        let tcp = &packet[20..];
        let word = |at: usize| u32::from_be_bytes([tcp[at], tcp[at + 1], tcp[at + 2], tcp[at + 3]]);
        let half = |bytes: &[u8], at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        if packet[16..20] != PEER.octets() {
            return None;
        }
        let port = half(tcp, 2);
        let line = self.lines.entry(port).or_default();
        let header = usize::from(tcp[12] >> 4) * 4;
        let opening = tcp[13] & SYN != 0;
        if opening {
            line.isn = word(4);
            line.scale = 0;
        }
        let mut segment = Segment {
            flags: tcp[13] & !PSH,
            seq: word(4).wrapping_sub(line.isn),
            length: tcp.len() - header,
            sack_permitted: Some(false),
            ecn: packet[1] & 3,
            ..Segment::default()
        };
        if segment.flags & ACK != 0 {
            segment.ack = word(8).wrapping_sub(PEER_ISN);
        }
        let mut options = &tcp[20..header];
        while let [kind, rest @ ..] = options {
            if *kind == 1 {
                options = rest;
                continue;
            }
            let length = usize::from(rest[0]);
            let body = &options[2..length];
            let number = |at: usize| u32::from_be_bytes([body[at], body[at + 1], body[at + 2], body[at + 3]]);
            match kind {
                2 => segment.mss = Some(half(body, 0)),
                3 => segment.scale = Some(body[0]),
                4 => segment.sack_permitted = Some(true),
                5 => {
                    for at in (0..body.len()).step_by(8) {
                        segment
                            .sacks
                            .push((number(at).wrapping_sub(PEER_ISN), number(at + 4).wrapping_sub(PEER_ISN)));
                    }
                }
                8 => {
                    segment.timestamps = Some((number(0), number(4)));
                    line.echo = number(0);
                }
                other => panic!("option {other}"),
            }
            options = &options[length..];
        }
        if let Some(scale) = segment.scale.filter(|_| self.peer.scale.is_some()) {
            line.scale = scale;
        }
        let shift = if opening { 0 } else { line.scale };
        segment.window = Some(u32::from(half(tcp, 14)) << shift);
        for (at, byte) in tcp[header..].iter().enumerate() {
            let offset = u64::from(segment.seq) + at as u64;
            assert_eq!(*byte, pattern(offset - 1), "the byte at {offset}\n{}", self.trace);
        }
        Some((port, segment))
    }

    fn clock(&self) -> String {
        millis(self.now)
    }
}

fn millis(at: Duration) -> String {
    let since = at.saturating_sub(secs(3_600));
    format!("{:>9}.{:03} ms", since.as_millis(), since.as_micros() % 1_000)
}

/// The byte at an offset of a stream.
fn pattern(offset: u64) -> u8 {
    (offset % 251) as u8
}

/// An IPv4 packet; `check` is where the payload has its checksum.
pub(crate) fn ipv4(
    from: Ipv4Addr,
    to: Ipv4Addr,
    protocol: u8,
    payload: &mut [u8],
    check: Option<usize>,
) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, protocol, 0, 0];
    packet.extend(from.octets());
    packet.extend(to.octets());
    packet[2..4].copy_from_slice(&(20 + payload.len() as u16).to_be_bytes());
    let sum = checksum(&packet, 0);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    if let Some(at) = check {
        let pseudo = checksum_part(&packet[12..20]) + u32::from(protocol) + payload.len() as u32;
        let sum = checksum(payload, pseudo);
        payload[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    }
    packet.extend_from_slice(payload);
    packet
}

/// A packet with these ECN bits.
pub(crate) fn with_ecn(mut packet: Vec<u8>, bits: u8) -> Vec<u8> {
    packet[1] |= bits;
    packet[10..12].fill(0);
    let sum = checksum(&packet[..20], 0);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet
}

fn checksum_part(bytes: &[u8]) -> u32 {
    bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0))).sum()
}

fn checksum(bytes: &[u8], start: u32) -> u16 {
    let mut total = start + checksum_part(bytes);
    while total >> 16 != 0 {
        total = (total & 0xffff) + (total >> 16);
    }
    !(total as u16)
}
