//! A host with smoltcp's interface and sockets.

use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer};
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};

use crate::wire::{Wire, instant};
use crate::{Host, WINDOW};

const PORT: u16 = 5_201;
/// Buffers of an idle stream: smoltcp allocates them for the life of a socket.
const IDLE: usize = 4_096;

pub(crate) struct Theirs {
    interface: Interface,
    wire: Wire,
    sockets: SocketSet<'static>,
    stream: SocketHandle,
    sends: bool,
    received: u64,
}

impl Theirs {
    pub(crate) fn pair(seed: u64, congestion: CongestionControl, idle: usize) -> [Self; 2] {
        [0, 1].map(|side: u8| {
            let mut config = Config::new(HardwareAddress::Ip);
            config.random_seed = seed << 1 | u64::from(side);
            let mut wire = Wire::default();
            let mut interface = Interface::new(config, &mut wire, Instant::ZERO);
            // One more address than addresses can fail: the list has room for two at least.
            interface.update_ip_addrs(|all| _ = all.push(IpCidr::new(address(side), 24)));
            let mut sockets = SocketSet::new(Vec::new());
            let sends = side == 0;
            // The measured one is the first, and each listens for itself: there is no backlog.
            let mut streams = (0..=idle).map(|number| {
                let size = if number == 0 { WINDOW } else { IDLE };
                let buffer = || SocketBuffer::new(vec![0; size]);
                let mut socket = Socket::new(buffer(), buffer());
                socket.set_congestion_control(congestion);
                // The defaults delay for small devices: each would only be slower.
                socket.set_nagle_enabled(false);
                socket.set_ack_delay(Some(Duration::from_millis(10)));
                let port = PORT + number as u16;
                let opened = if sends {
                    let remote = (address(1), port);
                    socket.connect(interface.context(), remote, 49_152 + number as u16).is_ok()
                } else {
                    socket.listen(port).is_ok()
                };
                assert!(opened, "a new socket opens");
                sockets.add(socket)
            });
            let stream = streams.next().expect("one at least");
            streams.for_each(drop);
            Self { interface, wire, sockets, stream, sends, received: 0 }
        })
    }
}

impl Host for Theirs {
    fn input(&mut self, _: u64, packet: &[u8]) {
        self.wire.arrived.push_back(packet.to_vec());
    }

    fn poll(&mut self, now: u64, send: &mut dyn FnMut(&[u8])) {
        loop {
            self.interface.poll(instant(now), &mut self.wire, &mut self.sockets);
            let socket = self.sockets.get_mut::<Socket<'_>>(self.stream);
            let mut moved = 0;
            if self.sends {
                while let Ok(count @ 1..) = socket.send(|room| (room.len(), room.len())) {
                    moved += count;
                }
            } else {
                while let Ok(count @ 1..) = socket.recv(|data| (data.len(), data.len())) {
                    moved += count;
                }
                self.received += moved as u64;
            }
            let leaving = !self.wire.leaving.is_empty();
            self.wire.leaving.drain(..).for_each(|packet| send(&packet));
            if moved == 0 && !leaving {
                break;
            }
        }
    }

    fn next(&mut self, now: u64) -> Option<u64> {
        let at = self.interface.poll_at(instant(now), &self.sockets)?;
        // Microseconds: not before the next one.
        Some((at.total_micros() as u64 * 1_000).max(now + 1_000))
    }

    fn received(&self) -> u64 {
        self.received
    }
}

fn address(side: u8) -> IpAddress {
    IpAddress::v4(10, 0, 0, 1 + side)
}
