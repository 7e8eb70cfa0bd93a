//! Nodes, clocks, network and traffic together.

use std::net::SocketAddr;
use std::time::Duration;

use warren_proto::engine::PeerConfig;
use warren_wire::PresharedKey;

use crate::model::{Model, inner};
use crate::network::{Dice, Network};
use crate::node::{Node, Outside, key};

/// After the last fault a flow with traffic both ways may need this long: data without an answer is noticed after
/// `KEEPALIVE_TIMEOUT + REKEY_TIMEOUT`, the initiation may have to wait for `REKEY_TIMEOUT` and its jitter, and
/// both ends may have begun at once.
pub(crate) const RECOVERY: Duration = Duration::from_secs(15 + 6 + 6);

pub(crate) struct Flow {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) every: Duration,
    next: Duration,
}

pub(crate) struct World {
    pub(crate) now: Duration,
    pub(crate) dice: Dice,
    pub(crate) network: Network,
    pub(crate) model: Model,
    pub(crate) nodes: Vec<Node>,
    pub(crate) flows: Vec<Flow>,
}

impl World {
    /// Nodes that know each other as `linked` says.
    pub(crate) fn new(seed: u64, nodes: usize, linked: impl Fn(usize, usize) -> bool) -> Self {
        let mut dice = Dice::new(seed);
        let mut list: Vec<Node> =
            (0..nodes).map(|number| Node::new(&mut dice, number, outer(number, 0))).collect();
        for node in &mut list {
            let configs = (0..nodes).filter(|other| *other != node.number && linked(node.number, *other));
            let configs = configs.map(|other| PeerConfig {
                endpoint: Some(outer(other, 0)),
                allowed_ips: vec![std::net::IpAddr::V4(inner(other)).into()],
                preshared_key: psk(node.number, other),
                ..PeerConfig::new(key(other).public())
            });
            node.configure(Duration::ZERO, configs.collect());
        }
        Self {
            now: Duration::ZERO,
            dice,
            network: Network::new(),
            model: Model::default(),
            nodes: list,
            flows: Vec::new(),
        }
    }

    pub(crate) fn flow(&mut self, from: usize, to: usize, every: Duration) {
        let next = self.now + Duration::from_nanos(self.dice.below(every.as_nanos() as u64));
        self.flows.push(Flow { from, to, every, next });
    }

    pub(crate) fn run_for(&mut self, time: Duration) {
        self.run_until(self.now + time);
    }

    /// Runs everything that is due until then.
    pub(crate) fn run_until(&mut self, end: Duration) {
        loop {
            let timeouts =
                self.nodes.iter().enumerate().filter_map(|(i, node)| Some((node.engine.poll_timeout()?, i)));
            let timeout = timeouts.min();
            let flow = self.flows.iter().enumerate().map(|(i, flow)| (flow.next, i)).min();
            let arrival = self.network.next_at();
            let times = [timeout.map(|t| t.0), flow.map(|t| t.0), arrival];
            let Some(next) = times.into_iter().flatten().min().filter(|next| *next < end) else { break };
            self.now = self.now.max(next);
            if arrival == Some(next) {
                let datagram = self.network.pop().expect("it was there");
                // Whoever is at that address now.
                let to = self.nodes.iter().position(|node| node.address == datagram.to);
                if let Some(to) = to {
                    self.with(to, |node, world| node.inbound(world, datagram.from, datagram.bytes));
                }
            } else if timeout.map(|t| t.0) == Some(next) {
                self.with(timeout.map_or(0, |t| t.1), |node, world| node.timeout(world));
            } else if let Some((_, i)) = flow {
                let flow = &mut self.flows[i];
                flow.next += flow.every;
                let (from, to) = (flow.from, flow.to);
                self.packet(from, to);
            }
        }
        self.now = end;
        self.model.prune(end);
    }

    pub(crate) fn packet(&mut self, from: usize, to: usize) {
        let packet = self.model.packet(self.now, from, to);
        self.with(from, |node, world| node.outbound(world, &packet));
    }

    pub(crate) fn restart(&mut self, number: usize) {
        self.model.restarted(number);
        let now = self.now;
        self.nodes[number].restart(&mut self.dice, now);
        self.with(number, |node, world| node.outputs(world));
    }

    /// A node goes to another address.
    pub(crate) fn roam(&mut self, number: usize) {
        let port = self.dice.below(60_000) as u16;
        self.nodes[number].address = outer(number, port + 1);
    }

    /// Somebody replays a datagram of the past, perhaps from an address of his own.
    pub(crate) fn replay(&mut self, elsewhere: bool) {
        let elsewhere = elsewhere.then(|| outer(9999, 1));
        self.network.replay(&mut self.dice, self.now, elsewhere);
    }

    /// Runs without faults and checks that all flows recover in time.
    pub(crate) fn calm(&mut self, time: Duration) {
        assert!(time > RECOVERY + Duration::from_secs(2));
        self.network.faults = crate::network::Faults::NONE;
        let from = self.now + RECOVERY;
        self.run_for(time);
        // What was sent in the last second may be under way.
        self.model.all_arrived(from, self.now - Duration::from_secs(1));
    }

    fn with(&mut self, number: usize, act: impl FnOnce(&mut Node, &mut Outside<'_>)) {
        let mut outside = Outside {
            now: self.now,
            dice: &mut self.dice,
            network: &mut self.network,
            model: &mut self.model,
        };
        act(&mut self.nodes[number], &mut outside);
    }
}

/// Every third pair has a preshared key.
fn psk(a: usize, b: usize) -> Option<PresharedKey> {
    let (low, high) = (a.min(b), a.max(b));
    ((low + high) % 3 == 0).then(|| {
        let mut bytes = [7; 32];
        bytes[0] = low as u8;
        bytes[1] = high as u8;
        PresharedKey::from_bytes(bytes)
    })
}

fn outer(node: usize, port: u16) -> SocketAddr {
    let port = if port == 0 { 51820 } else { port };
    SocketAddr::from((std::net::Ipv4Addr::from(0xc000_0200 + node as u32), port))
}
