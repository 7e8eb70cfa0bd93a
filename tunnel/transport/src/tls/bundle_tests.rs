//! Several connections of one tunnel, over loopback.

use super::tests::*;
use super::*;
use std::sync::Arc;

/// A tunnel that the gateway knows, with `count` connections.
struct Tunnel {
    gateway: Gateway,
    client: Arc<Streams>,
    bundle: Arc<Bundle>,
}

fn tunnel(count: usize) -> Tunnel {
    let gateway = gateway();
    let client = streams();
    let to = client.adopt(dial(&target(&gateway)).unwrap()).unwrap();
    let bundle = client.get(id(to)).unwrap();
    let tunnel = Tunnel { gateway, client, bundle };
    eventually(|| tunnel.gateway.streams.count() == 1);
    tunnel.there().prove();
    (1..count).for_each(|_| tunnel.widen().unwrap());
    eventually(|| tunnel.there().count() == count);
    tunnel
}

impl Tunnel {
    /// The gateway's end.
    fn there(&self) -> Arc<Bundle> {
        let all = self.gateway.streams.stats();
        assert_eq!(all.len(), 1, "{all:?}");
        self.gateway.streams.get(all[0].id).unwrap()
    }

    fn widen(&self) -> Result<(), DialError> {
        let opened = dial_another(&target(&self.gateway), &self.bundle)?;
        assert_eq!(self.client.adopt(opened).unwrap(), self.bundle.endpoint());
        Ok(())
    }

    fn refused(&self) -> u64 {
        refused(&self.gateway, "other_connections")
    }
}

fn status(result: Result<(), DialError>) -> u16 {
    match result {
        Err(DialError::NoGateway { status, .. }) => status,
        other => panic!("{other:?}"),
    }
}

#[test]
fn flows_are_spread_over_connections_and_come_from_one_peer() {
    let tunnel = tunnel(4);
    let mut there = receiving(&tunnel.gateway.streams);
    for round in 0..50 {
        for flow in 0..8 {
            assert!(tunnel.bundle.send(clock(), flow, &message(round * 8 + flow, 100), 100));
        }
    }
    let came = there.datagrams(400);
    let from = tunnel.there().endpoint();
    assert!(came.iter().all(|(at, _)| *at == from), "all from one endpoint");
    // Each flow in its order.
    let numbers: Vec<u8> = came.iter().map(|(_, datagram)| datagram[1]).collect();
    for flow in 0..8 {
        let sent = (0..50).map(|round| message(round * 8 + flow, 2)[1]);
        let of_flow: Vec<u8> = sent.collect();
        let mut rest = numbers.iter();
        assert!(of_flow.iter().all(|number| rest.any(|came| came == number)), "flow {flow}");
    }
    let used = tunnel.there().members().iter().filter(|member| member.has_received()).count();
    assert_eq!(used, 4);
    assert_eq!(tunnel.gateway.listener.stats().tunnels, 4);
}

#[test]
fn the_loss_of_all_connections_but_one_ends_no_tunnel() {
    let tunnel = tunnel(3);
    let stop = pump(&tunnel.gateway, true);
    let mut here = receiving(&tunnel.client);
    let from = tunnel.there().endpoint();
    for left in [2, 1] {
        // The first, whose endpoint the tunnel has.
        tunnel.there().members()[0].close();
        eventually(|| tunnel.there().count() == left);
        let flows = 0..8;
        flows.clone().for_each(|flow| assert!(tunnel.there().send(clock(), flow, &message(flow, 100), 100)));
        let came = here.datagrams(flows.len());
        assert!(came.iter().all(|(at, _)| *at == tunnel.bundle.endpoint()));
    }
    assert_eq!(tunnel.there().endpoint(), from);
    assert_eq!(tunnel.gateway.streams.take_closed(), []);
    eventually(|| tunnel.bundle.count() == 1 || here.receiver.receive_now().is_err());
    // Another takes their place.
    tunnel.widen().unwrap();
    eventually(|| tunnel.there().count() == 2);
    let last = tunnel.there();
    last.members().iter().for_each(|member| member.close());
    eventually(|| tunnel.gateway.streams.count() == 0);
    assert_eq!(tunnel.gateway.streams.take_closed().len(), 1, "its end is reported once");
    assert!(!last.send(clock(), 0, &message(1, 100), 100));
    assert_eq!(status(tunnel.widen()), 409);
    rustix::io::write(&stop, &1u64.to_ne_bytes()).unwrap();
}

#[test]
fn nobody_joins_a_tunnel_of_another_or_of_a_stranger() {
    let tunnel = tunnel(1);
    // A token that nobody told it.
    let other = gateway();
    let own = streams();
    let to = own.adopt(dial(&target(&other)).unwrap()).unwrap();
    let stranger = own.get(id(to)).unwrap();
    let joined = dial_another(&target(&tunnel.gateway), &stranger).map(drop);
    assert_eq!(status(joined), 409);
    assert_eq!(tunnel.there().count(), 1);
    // Its own, but no authentic message has arrived there.
    eventually(|| other.streams.count() == 1);
    assert_eq!(status(dial_another(&target(&other), &stranger).map(drop)), 409);
    assert_eq!(other.streams.stats()[0].connections, 1);
}

#[test]
fn a_peer_of_an_earlier_version_has_one_connection() {
    let gateway = gateway();
    let _stop = pump(&gateway, true);
    let _held = raw(&gateway);
    eventually(|| gateway.streams.count() == 1);
    assert_eq!(gateway.streams.get(gateway.streams.stats()[0].id).unwrap().most(), 1);
}

#[test]
fn further_connections_have_a_budget_of_their_own() {
    let tunnel = tunnel(1);
    let limits = ListenLimits { tunnels_of_one: 2, ..ListenLimits::default() };
    tunnel.gateway.listener.set_limits(limits);
    for _ in 0..2 {
        tunnel.widen().unwrap();
    }
    assert_eq!(status(tunnel.widen()), 409);
    assert_eq!(tunnel.refused(), 1);
    // They took no room from tunnels.
    let second = raw(&tunnel.gateway);
    eventually(|| tunnel.gateway.streams.count() == 2);
    drop(second);
    tunnel.gateway.listener.set_limits(ListenLimits::default());
    let most = super::limits::CONNECTIONS;
    for _ in 3..most {
        tunnel.widen().unwrap();
    }
    eventually(|| tunnel.gateway.streams.stats().iter().any(|stats| stats.connections == most));
    assert_eq!(status(tunnel.widen()), 409);
}

#[test]
fn a_connection_that_takes_no_more_is_passed_over() {
    let tunnel = tunnel(2);
    // Nobody reads at the other end: the first fills, then the second.
    let first = &tunnel.bundle.members()[0];
    while !first.is_congested() {
        assert!(tunnel.bundle.send(clock(), 0, &message(1, 1400), 1400));
    }
    let second = Arc::clone(&tunnel.bundle.members()[1]);
    assert!(!second.is_congested());
    let mut there = receiving(&tunnel.gateway.streams);
    assert!(tunnel.bundle.send(clock(), 0, &message(250, 1000), 1000));
    let overtook = std::thread::spawn(move || {
        loop {
            if there.datagrams(1)[0].1.len() == 1000 {
                return;
            }
        }
    });
    eventually(|| overtook.is_finished());
}
