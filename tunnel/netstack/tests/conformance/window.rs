//! What the stack promises to receive: RFC 9293 §3.8.6, RFC 7323 §2.3 and §2.4.

use warren_netstack::StreamId;

use crate::lab::{Lab, Peer, config, ms, secs};
use crate::segment::{Segment, ack, data, syn};

/// A peer that fills every window and an application that does not read.
struct Filler {
    port: u16,
    sent: u32,
    right: u32,
    acked: u32,
}

impl Filler {
    fn new(port: u16) -> Self {
        Self { port, sent: 1, right: 60_001, acked: 1 }
    }

    fn hear(&mut self, seen: &Segment) {
        self.acked = self.acked.max(seen.ack);
        self.right = seen.ack + seen.window.unwrap_or(0);
    }

    /// Sends while the window allows, at most this much.
    fn fill(&mut self, lab: &mut Lab, most: u32) {
        let end = self.sent.saturating_add(most);
        while self.sent < end && self.sent + 1_000 <= self.right {
            lab.inject(data(self.sent, 1_000));
            self.sent += 1_000;
            for (_, seen) in lab.drain() {
                self.hear(&seen);
            }
        }
    }
}

/// RFC 9293 §3.8.6: the right edge does not move to the left, whatever the sizes of segments and the scale of the window.
#[test]
fn the_right_edge_does_not_move_to_the_left() {
    let mut lab = Lab::accepted(Peer { scale: Some(0), ..Peer::default() });
    let (mut seq, mut right, mut moved) = (1, 0, 0);
    for round in 0..200_u32 {
        let length = 300 + round * 37 % 700;
        lab.inject(data(seq, length as usize));
        seq += length;
        lab.wait(ms(50));
        for (_, seen) in lab.drain() {
            let edge = seen.ack + seen.window.unwrap_or(0);
            moved += u32::from(edge < right);
            right = edge;
        }
        if round % 3 == 0 {
            lab.read(1_500);
        }
    }
    assert_eq!(moved, 0, "the edge moved to the left");
}

/// RFC 9293 §3.8.6: what one stream was promised is not discarded; the window shrinks to zero and opens again.
#[test]
fn a_stalled_reader_closes_the_window_without_a_loss() {
    let mut lab = Lab::accepted(Peer { scale: Some(0), ..Peer::default() });
    let mut peer = Filler::new(lab.port);
    let mut read = 0;
    // A fast reader first, so that the window is as large as it gets.
    for _ in 0..400 {
        peer.fill(&mut lab, 300_000);
        lab.wait(ms(20));
        read += lab.read(16 << 20);
        for (_, seen) in lab.drain() {
            peer.hear(&seen);
        }
    }
    peer.fill(&mut lab, u32::MAX / 4);
    lab.wait(ms(100));
    for (_, seen) in lab.drain() {
        peer.hear(&seen);
    }
    assert_eq!(peer.acked, peer.sent, "everything inside the window was kept");
    assert!(peer.right < peer.sent + 3_000, "the window is closed: {} of {}", peer.right, peer.sent);
    assert!(read > 1_000_000);
    while lab.read(65_536) > 0 {}
    let update = lab.drain().pop().expect("a window update").1;
    assert!(update.window.is_some_and(|window| window > 100_000), "{update}");
}

/// Peers of as many connections, each with its stream, on a stack with this much memory.
fn crowd(budget: usize, count: u16) -> (Lab, Vec<(Filler, Option<StreamId>)>) {
    let mut config = config();
    config.budget_bytes = budget;
    let mut lab = Lab::new(config, Peer { scale: Some(0), ..Peer::default() });
    let mut peers = Vec::new();
    for port in 40_000..40_000 + count {
        lab.port = port;
        lab.inject(syn());
        let (_, answer) = lab.drain().pop().expect("an answer to the SYN");
        lab.wait(ms(20));
        lab.inject(ack(1));
        let mut peer = Filler::new(port);
        peer.hear(&answer);
        for (_, seen) in lab.drain() {
            peer.hear(&seen);
        }
        peers.push((peer, lab.stack.accept(lab.listener)));
    }
    (lab, peers)
}

/// RFC 9293 §3.8.6: streams together want more than there is. Each may fill what it was promised, to the last byte.
#[test]
fn nothing_inside_an_announced_window_is_discarded() {
    let (mut lab, mut peers) = crowd(256 << 10, 60);
    for (peer, _) in &mut peers {
        lab.port = peer.port;
        peer.fill(&mut lab, u32::MAX / 4);
        if peer.sent < peer.right {
            lab.inject(data(peer.sent, (peer.right - peer.sent) as usize));
            peer.sent = peer.right;
        }
    }
    lab.wait(ms(100));
    for (peer, _) in &mut peers {
        lab.port = peer.port;
        for (_, seen) in lab.drain() {
            peer.hear(&seen);
        }
        assert_eq!(peer.acked, peer.sent, "the peer at {}", peer.port);
    }
    assert_eq!(lab.stack.stats().discarded, 0);
    let memory = lab.stack.memory();
    assert!(memory.buffers + memory.promised <= 256 << 10, "{memory:?}");
}

/// RFC 9293 §3.8.6: who comes when the memory is promised to others hears of a zero window, and of room as soon as there is.
#[test]
fn streams_that_share_too_little_hear_of_a_zero_window() {
    let (mut lab, mut peers) = crowd(256 << 10, 60);
    let closed = peers.iter().filter(|(peer, _)| peer.right == peer.acked).count();
    assert!(closed > 0, "the scenario asks for more than there is");
    for (peer, _) in &mut peers {
        lab.port = peer.port;
        peer.fill(&mut lab, u32::MAX / 4);
    }
    // All applications read at last: each peer hears of room without asking.
    for (peer, id) in &peers {
        lab.port = peer.port;
        lab.id = *id;
        while lab.read(65_536) > 0 {}
    }
    // Those that were first end, which frees what was promised to them.
    for (_, id) in &peers[..40] {
        lab.stack.abort(lab.now, id.expect("accepted"));
    }
    lab.wait(ms(300));
    for (peer, _) in &mut peers[40..] {
        lab.port = peer.port;
        for (_, seen) in lab.drain() {
            peer.hear(&seen);
        }
        assert!(
            peer.right >= peer.acked + 1_000,
            "{} still believes in a window of {}",
            peer.port,
            peer.right - peer.acked
        );
    }
}

/// RFC 9293 §3.8.6: a stream that is much faster than others leaves them room, and hears of a smaller window only as it uses its own.
#[test]
fn a_fast_stream_leaves_room_for_others() {
    let (mut lab, mut peers) = crowd(4 << 20, 8);
    let mut edges = vec![0; peers.len()];
    for round in 0..600 {
        for (place, (peer, id)) in peers.iter_mut().enumerate() {
            lab.port = peer.port;
            lab.id = *id;
            // The first is alone for a while, then all want as much as they get.
            if place == 0 || round >= 100 {
                peer.fill(&mut lab, u32::MAX / 4);
            }
            while lab.read(1 << 20) > 0 {}
            for (_, seen) in lab.drain() {
                peer.hear(&seen);
            }
            assert!(peer.right >= edges[place], "the edge moved to the left");
            edges[place] = peer.right;
        }
        lab.wait(ms(20));
    }
    let windows: Vec<u32> = peers.iter().map(|(peer, _)| peer.right - peer.acked).collect();
    let (least, most) = (windows.iter().min().expect("eight"), windows.iter().max().expect("eight"));
    assert!(*least > 100_000 && *most < 3 * least, "{windows:?}");
}

/// RFC 9293 §3.8.6.1 and §3.10.7.4: a probe of a zero window is answered.
#[test]
fn probes_of_a_zero_window_are_answered() {
    let mut config = config();
    config.max_window = 4_096;
    let mut lab = Lab::accepted_by(config, Peer::default());
    let mut peer = Filler::new(lab.port);
    peer.right = 4_097;
    peer.fill(&mut lab, u32::MAX / 4);
    lab.wait(secs(1));
    lab.drain();
    let sent = peer.sent;
    lab.inject(data(sent, 1_000));
    let seen = lab.drain().pop().expect("an answer").1;
    assert!(seen.ack >= sent, "{seen}");
    lab.wait(ms(100));
    lab.inject(ack(1).seq(sent - 1));
    assert_eq!(lab.drain().len(), 1, "{}", lab.trace());
}

/// RFC 9293 §3.8.6: the peer took its window back and dropped what was in flight; its update is used at once, not at the next
/// timeout, and the segments are as large as before.
#[test]
fn a_window_that_opens_again_is_used_at_once() {
    let mut lab = Lab::accepted(Peer { mss: 1_380, ..Peer::default() });
    lab.write(5_000);
    lab.wait(ms(20));
    lab.drain();
    let end = lab.now + secs(300);
    while lab.now < end {
        lab.inject(ack(1).window(0));
        lab.wait(ms(500));
    }
    assert_eq!(lab.closed, None, "{}", lab.trace());
    lab.drain();
    lab.inject(ack(1).window(60_000));
    lab.wait(ms(0));
    lab.expect(data(1, 1_380));
}
