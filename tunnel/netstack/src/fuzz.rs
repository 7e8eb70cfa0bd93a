//! Entry points for fuzzing: any bytes, no panic, bounded memory. Compiled for tests and libFuzzer only.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use crate::batch::Batch;
use crate::wire::{Flags, Options, Tcp, emit_tcp};
use crate::{Config, Listen, Stack};

const OWN: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const PEER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const BUDGET: usize = 256 * 1024;

fn stack() -> Stack {
    let mut config = Config::new(vec![OWN, IpAddr::V6(std::net::Ipv6Addr::LOCALHOST)], [3; 32]);
    config.budget_bytes = BUDGET;
    config.accept_any = true;
    config.max_half_open = 8;
    let mut stack = Stack::new(config);
    stack.listen(Listen::any());
    let _ = stack.udp_bind_any();
    stack
}

/// Packets cut from `data` by a length byte each, as they are.
pub fn packets(data: &[u8]) {
    let mut stack = stack();
    let mut out = Batch::new(1_420);
    let mut rest = data;
    let mut now = Duration::from_secs(1);
    while let Some((&length, tail)) = rest.split_first() {
        let (packet, tail) = tail.split_at(tail.len().min(usize::from(length)));
        stack.input(now, packet);
        now += Duration::from_millis(7);
        out.clear();
        stack.poll(now, &mut out);
        rest = tail;
    }
    check(&stack);
}

/// Well-formed TCP segments whose every field comes from `data`, against a connection made from our side.
pub fn segments(data: &[u8]) {
    let mut stack = stack();
    let mut out = Batch::new(1_420);
    let mut forged = Batch::new(1_420);
    let mut now = Duration::from_secs(1);
    let local = SocketAddr::new(OWN, 5_000);
    let Ok(stream) = stack.connect_from(now, local, SocketAddr::new(PEER, 80)) else { return };
    let (mut seq, mut ack) = (0x7fff_ff00_u32, 0_u32);
    for step in data.chunks(12) {
        let mut bytes = [0; 12];
        bytes[..step.len()].copy_from_slice(step);
        let [flags, ds, da, window, length, shape, sack, wait, act, scale, mss, ts] = bytes;
        out.clear();
        stack.poll(now, &mut out);
        if let Some(last) = out.iter().filter(|packet| packet[9] == 6).last() {
            let word = |at: usize| u32::from_be_bytes([last[at], last[at + 1], last[at + 2], last[at + 3]]);
            ack = word(24).wrapping_add(u32::from(last[33] & 3 != 0));
        }
        let near = |base: u32, delta: u8| {
            base.wrapping_add(u32::from(delta).wrapping_mul(u32::from(delta)) >> (delta & 7))
        };
        let mut options = Options::default();
        if shape & 1 != 0 {
            options.timestamps = Some((u32::from(ts) << (ts & 15), u32::from(ts)));
        }
        if shape & 2 != 0 {
            for block in 0..u32::from(sack & 3) {
                options.push_sack((
                    near(ack, sack).wrapping_sub(block * 700),
                    near(ack, sack >> 1).wrapping_add(block),
                ));
            }
        }
        if flags & Flags::SYN != 0 {
            options.mss = Some(u16::from(mss) << (mss & 7));
            options.scale = Some(scale);
            options.sack_permitted = shape & 4 != 0;
        }
        let head = Tcp {
            source_port: 80,
            destination_port: if shape & 128 != 0 { u16::from(mss) } else { 5_000 },
            seq: near(seq, ds),
            ack: near(ack, da).wrapping_sub(u32::from(shape >> 6) * 300),
            flags: Flags(flags),
            window: u16::from(window) << (window & 7),
            options,
            ecn: scale & 3,
            payload: &[],
        };
        let length = usize::from(length) * usize::from(shape >> 5 & 3) * 2;
        forged.clear();
        emit_tcp(&mut forged, PEER, OWN, &head, length.min(1_300), |payload| payload.fill(act));
        for packet in forged.iter() {
            stack.input(now, packet);
        }
        seq = near(seq, ds).wrapping_add(length as u32 + u32::from(flags & 3 != 0));
        match act % 8 {
            0 => {
                stack.send(now, stream, &[act; 3_000]);
            }
            1 => stack.shutdown(now, stream),
            2 | 3 => {
                let mut peeked = [0; 900];
                let seen = stack.peek(stream, &mut peeked);
                let mut first = None;
                let taken = stack.recv_with(stream, |chunk| {
                    let length = chunk.len().min(peeked.len());
                    first.get_or_insert(chunk[..length] == peeked[..length]);
                    chunk.len() / 2 + 1
                });
                assert!(first != Some(false), "peeking and reading differ");
                assert_eq!(seen.is_ok_and(|seen| seen > 0), taken.is_ok_and(|taken| taken > 0));
            }
            4 if wait == 255 => stack.abort(now, stream),
            _ => {}
        }
        now += Duration::from_micros(u64::from(wait) * u64::from(wait) * 20);
        while stack.poll_event().is_some() {}
        check(&stack);
    }
}

fn check(stack: &Stack) {
    let memory = stack.memory();
    assert!(memory.buffers_peak <= BUDGET, "over budget: {memory:?}");
    assert!(memory.total <= 8 * BUDGET, "unbounded: {memory:?}");
}

#[cfg(test)]
mod tests {
    use warren_netstack_sim::Rng;

    #[test]
    fn arbitrary_bytes_do_no_harm() {
        let mut rng = Rng(9);
        for _ in 0..3_000 {
            let length = rng.below(600) as usize;
            let mut data: Vec<u8> = (0..length).map(|_| rng.draw() as u8).collect();
            super::segments(&data);
            for byte in data.iter_mut().step_by(41) {
                *byte = rng.pick(&[0x45, 0x60, 20, 40, 6, 17, 1, 58]);
            }
            super::packets(&data);
        }
    }
}
