//! ICMP echo: what a stack asks for itself, and what a gateway answers in the name of others.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::net::IpAddr;
use std::time::Duration;

use warren_netstack::{Batch, Config, Echo, EchoKind, Event, Stack, UdpError};

const POD: [&str; 2] = ["10.0.0.1", "fd00::1"];
const GATEWAY: [&str; 2] = ["10.0.0.2", "fd00::2"];
const BEHIND: [&str; 2] = ["192.0.2.7", "2001:db8::7"];
const NOW: Duration = Duration::from_secs(1);

fn stack(addresses: [&str; 2], accept_any: bool) -> Stack {
    let addresses = addresses.map(|address| address.parse().unwrap());
    let mut stack = Stack::new(Config { accept_any, ..Config::new(addresses.to_vec(), [7; 32]) });
    stack.echo_open();
    stack
}

fn request(local: &str, remote: &str, length: usize) -> Echo {
    let (local, remote): (IpAddr, IpAddr) = (local.parse().unwrap(), remote.parse().unwrap());
    let data = (0..length).map(|at| at as u8).collect();
    Echo { kind: EchoKind::Request, local, remote, identifier: 0xbeef, sequence: 3, data }
}

fn answer(to: &Echo) -> Echo {
    Echo { kind: EchoKind::Reply, local: to.remote, remote: to.local, ..to.clone() }
}

/// Carries packets from one stack to the other.
fn carry(from: &mut Stack, to: &mut Stack) {
    let mut batch = Batch::new(1_420);
    from.poll(NOW, &mut batch);
    batch.iter().for_each(|packet| to.input(NOW, packet));
}

#[test]
fn a_request_is_answered_by_the_stack_that_has_the_address() {
    for family in [0, 1] {
        let (mut pod, mut gateway) = (stack(POD, false), stack(GATEWAY, true));
        let asked = request(POD[family], GATEWAY[family], 56);
        pod.echo_send(&asked).unwrap();
        carry(&mut pod, &mut gateway);
        assert_eq!((gateway.poll_event(), gateway.echo_recv()), (None, None));
        carry(&mut gateway, &mut pod);
        assert_eq!(pod.poll_event(), Some(Event::Echo));
        let came = Echo { local: asked.local, remote: asked.remote, ..answer(&asked) };
        assert_eq!((pod.echo_recv(), pod.echo_recv()), (Some(came), None));
        assert_eq!(pod.memory().buffers, 0);
    }
}

#[test]
fn a_gateway_answers_in_the_name_of_who_was_asked() {
    for family in [0, 1] {
        let (mut pod, mut gateway) = (stack(POD, false), stack(GATEWAY, true));
        let asked = request(POD[family], BEHIND[family], 1_000);
        pod.echo_send(&asked).unwrap();
        carry(&mut pod, &mut gateway);
        assert_eq!(gateway.poll_event(), Some(Event::Echo));
        let taken = gateway.echo_recv().unwrap();
        assert_eq!(taken, Echo { local: asked.remote, remote: asked.local, ..asked.clone() });
        gateway.echo_send(&Echo { kind: EchoKind::Reply, ..taken }).unwrap();
        carry(&mut gateway, &mut pod);
        let came = Echo { local: asked.local, remote: asked.remote, ..answer(&asked) };
        assert_eq!(pod.echo_recv(), Some(came));
    }
}

#[test]
fn what_nobody_asked_for_is_dropped() {
    let (mut pod, mut gateway) = (stack(POD, false), stack(GATEWAY, true));
    // A reply to an address that is not own is none of a gateway's business.
    pod.echo_send(&Echo { kind: EchoKind::Reply, ..request(POD[0], BEHIND[0], 8) }).unwrap();
    carry(&mut pod, &mut gateway);
    assert_eq!((gateway.echo_recv(), gateway.stats().dropped), (None, 1));
    // A stack that answers for itself alone takes no request to others, and one without a listener no reply.
    let mut silent = Stack::new(Config::new(vec![GATEWAY[0].parse().unwrap()], [1; 32]));
    pod.echo_send(&request(POD[0], BEHIND[0], 8)).unwrap();
    pod.echo_send(&Echo { kind: EchoKind::Reply, ..request(POD[0], GATEWAY[0], 8) }).unwrap();
    carry(&mut pod, &mut silent);
    assert_eq!((silent.echo_recv(), silent.poll_event(), silent.stats().dropped), (None, None, 2));
}

#[test]
fn queues_and_sizes_have_limits() {
    let (mut pod, mut gateway) = (stack(POD, false), stack(GATEWAY, true));
    let most = 1_420 - 20 - 8;
    pod.echo_send(&request(POD[0], BEHIND[0], most)).unwrap();
    assert_eq!(pod.echo_send(&request(POD[0], BEHIND[0], most + 1)), Err(UdpError::TooLarge(most)));
    assert_eq!(pod.echo_send(&request(POD[0], BEHIND[1], 8)), Err(UdpError::NoAddress));
    let sent = (0..1_000).take_while(|_| pod.echo_send(&request(POD[0], BEHIND[0], 8)).is_ok()).count();
    assert_eq!(pod.echo_send(&request(POD[0], BEHIND[0], 8)), Err(UdpError::Full));
    for _ in 0..=sent {
        carry(&mut pod, &mut gateway);
    }
    let taken = std::iter::from_fn(|| gateway.echo_recv()).count();
    assert!(taken < sent && gateway.stats().dropped as usize == sent + 1 - taken, "{taken} of {sent}");
    assert_eq!(gateway.memory().buffers, 0);
}
