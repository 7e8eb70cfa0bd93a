//! What commands do to the engine, the data path and the carriers.

use std::{collections::BTreeMap, io, net::SocketAddr, sync::Arc};

use warren_proto::plane::{Carrier, StreamId};
use warren_transport::udp::Udp;
use warren_wire::key::{PrivateKey, PublicKey};

use super::{
    Command, FilePeer, report,
    state::{Control, now},
};
use crate::runtime::{
    log, random,
    status::Offload,
    uapi::{PeerChange, Set},
};

impl Control {
    pub(super) fn command(&mut self, command: Command) {
        match command {
            // A tunnel whose data path has ended is not alive, even though this thread is.
            Command::Ping(done) if self.datapath.failed() == 0 => _ = done.try_send(()),
            Command::Ping(_) => {}
            Command::StartHandshakes => {
                for peer in self.engine.peers(now()) {
                    if peer.endpoint.is_some() && peer.last_handshake.is_none() {
                        self.engine.want_session(now(), peer.id);
                    }
                }
            }
            Command::Get(answer) => {
                let device = self.model.device(self.datapath.udp().port(), self.engine.peers(now()));
                _ = answer.try_send(device);
            }
            Command::Set(set, answer) => _ = answer.try_send(self.set(*set)),
            Command::Status(answer) => {
                let now = now();
                let status = report::status(
                    &self.facts,
                    &self.model,
                    now,
                    (self.datapath.udp().port(), socket_offloads(self.datapath.udp())),
                    self.drops(),
                    (self.engine.peers(now), self.engine.departed(), self.engine.cipher()),
                    (&self.carriers, &self.direct, self.datapath.streams().count()),
                );
                _ = answer.try_send(status);
            }
            Command::Handshakes(answer) => {
                let peers = self.engine.peers(now()).into_iter();
                let seen = peers.filter_map(|peer| Some((peer.public_key, peer.last_handshake?))).collect();
                _ = answer.try_send(seen);
            }
            Command::LastStamp(key, answer) => _ = answer.try_send(self.engine.last_stamp(&key)),
            Command::StampFloor(wall) => self.engine.raise_stamps(wall),
            Command::Liveness(keys, answer) => {
                let now = now();
                let signs = keys.into_iter().filter_map(|key| {
                    let id = self.engine.find_peer(&key)?;
                    Some((key, self.engine.liveness(now, id)?))
                });
                _ = answer.try_send((now.mono, signs.collect()));
            }
            Command::Probe(key) => self.probe(&key),
            Command::Endpoint(peer, remote) => self.endpoint(&peer, remote),
            Command::Joined(peer, attempt, joined) => self.carriers.joined(now(), &peer, attempt, *joined),
            Command::Dialled(peer, attempt, dialled) => {
                self.carriers.dialled(now(), &peer, attempt, *dialled);
            }
            Command::Peers { gone, changed, done } => {
                let now = now();
                for key in &gone {
                    self.model.remove(&mut self.engine, key);
                }
                let carriers: Vec<_> = changed.iter().map(FilePeer::carrier).collect();
                self.model.put(&mut self.engine, now, changed);
                self.carriers.put(&mut self.engine, &carriers);
                self.sweep();
                _ = done.try_send(());
            }
            Command::Through(peers) => {
                for (key, via) in peers {
                    // A peer that has gone meanwhile needs none, and without a link its packets wait for it here.
                    _ = self.engine.set_via(&key, via.as_ref());
                }
            }
            Command::Arrived(answer) => _ = answer.try_send(std::mem::take(&mut self.arrived)),
            Command::Direct(offers) => self.set_direct(offers),
            Command::Destinations(nets, answer) => {
                let destinations = self.engine.plane().take_destinations(&nets);
                _ = answer.try_send((destinations, self.own_endpoints()));
            }
            Command::PrivateKey(key) => self.private_key(Some(key)),
            Command::Listen { port, fwmark, done } => _ = done.try_send(self.listen(port, fwmark)),
            Command::Facts(facts) => {
                self.datapath.set_mtu(facts.mtu as usize);
                self.facts = *facts;
            }
            Command::PlannedRate(mbit) => self.facts.planned_rate_mbit = mbit,
            Command::Stop => self.stop = true,
        }
    }

    fn probe(&mut self, key: &PublicKey) {
        let Some(id) = self.engine.find_peer(key) else { return };
        let Some(signs) = self.engine.liveness(now(), id) else { return };
        match signs.endpoint.filter(|endpoint| endpoint.carrier != Carrier::Stream(StreamId::NONE)) {
            Some(endpoint) if signs.session => _ = self.engine.probe(now(), id, endpoint),
            Some(_) => self.engine.want_session(now(), id),
            None => self.look_up(id),
        }
    }

    /// Applies a resolved address, unless the peer has been seen at another one meanwhile.
    fn endpoint(&mut self, key: &PublicKey, remote: SocketAddr) {
        if self.carriers.note_udp(key, Some(remote)) {
            return;
        }
        let Some(status) = self.engine.find_peer(key).and_then(|id| self.engine.peer(now(), id)) else {
            return;
        };
        let attempts = self.attempts.get(&status.id);
        if self.model.name(key).is_none()
            || attempts.is_some_and(|attempts| attempts.up && attempts.initiations == 0)
        {
            return;
        }
        if status.endpoint.map(|endpoint| endpoint.remote) == Some(remote) {
            return;
        }
        tracing::info!(peer = %key, endpoint = %remote, "endpoint resolved");
        let change = PeerChange { endpoint: Some(remote), ..PeerChange::of(*key) };
        let name = self.model.name(key).cloned();
        self.model.change(&mut self.engine, now(), &change);
        self.model.rename(key, name);
        let waiting = self.engine.plane().peer(status.id).is_some_and(|peer| peer.has_staged());
        if status.persistent_keepalive.is_some() || waiting {
            // A handshake that was due while the address was unknown starts now.
            self.engine.want_session(now(), status.id);
        }
    }

    fn private_key(&mut self, key: Option<PrivateKey>) {
        let engine_key = match &key {
            Some(key) => key.clone(),
            // No key: use a random one, which no peer knows.
            None => match random() {
                Ok(bytes) => PrivateKey::from_random(*bytes),
                Err(problem) => return log::warn(&problem),
            },
        };
        let own = engine_key.public();
        self.model.private_key = key;
        self.engine.set_private_key(now(), engine_key);
        self.model.remove(&mut self.engine, &own);
        self.sweep();
    }

    fn set(&mut self, set: Set) -> i32 {
        if let Some(key) = set.private_key {
            self.private_key(key);
        }
        if (set.listen_port.is_some() || set.fwmark.is_some())
            && let Err(error) = self.listen(set.listen_port, set.fwmark)
        {
            tracing::warn!(%error, "control request refused: listen_port or fwmark");
            return error.raw_os_error().unwrap_or(libc::EIO);
        }
        let now = now();
        if set.replace_peers {
            self.model.clear(&mut self.engine, now);
        }
        for change in &set.peers {
            self.model.change(&mut self.engine, now, change);
        }
        self.sweep();
        0
    }

    fn listen(&mut self, port: Option<u16>, fwmark: Option<u32>) -> io::Result<()> {
        if let Some(mark) = fwmark {
            self.datapath.udp().set_fwmark(mark)?;
            self.model.fwmark = (mark != 0).then_some(mark);
        }
        let bound = self.datapath.udp().port();
        if let Some(port) = port.filter(|port| *port != bound) {
            let mut udp = Udp::bind(port, self.model.fwmark)?;
            udp.widen(self.datapath.udp().queues())?;
            self.datapath
                .rebind(Arc::new(udp))
                .map_err(|problem| io::Error::other(problem.what().to_owned()))?;
            tracing::info!(port = self.datapath.udp().port(), "listening on another port");
        }
        Ok(())
    }

    /// Removes the state of peers that no longer exist.
    fn sweep(&mut self) {
        let plane = self.engine.plane();
        self.attempts.retain(|id, _| plane.peer(*id).is_some());
        self.carriers.sweep(&self.engine);
    }

    fn drops(&self) -> BTreeMap<String, u64> {
        let plane = self.engine.plane();
        let mut drops: BTreeMap<String, u64> =
            plane.drops().list().into_iter().map(|(reason, n)| (reason.name().to_owned(), n)).collect();
        if self.overrun > 0 {
            drops.insert("handshake_overrun".into(), self.overrun);
        }
        drops
    }
}

fn socket_offloads(udp: &Udp) -> Vec<Offload> {
    let offload = udp.capabilities();
    let families = udp.families();
    let one = |name: &str, on: bool, does: &str, why: &str| Offload {
        name: name.into(),
        on,
        why: if on { does } else { why }.into(),
    };
    vec![
        one(
            "udp_gso",
            offload.gso,
            "sends many datagrams per call",
            "UDP_SEGMENT needs Linux 4.18, or a network device refused it",
        ),
        one("udp_gro", offload.gro, "receives many datagrams per call", "UDP_GRO needs Linux 5.0"),
        one("udp_ipv6", families.v6, "outer IPv6", "this machine has no IPv6"),
    ]
}
