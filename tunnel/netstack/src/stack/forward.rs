//! What a gateway calls that ends other hosts' flows: connections it first has to make elsewhere, and answers in the
//! name of hosts that are not reached.

use super::*;

/// Echo requests that wait for [`Stack::echo_recv`]; more are dropped, as the network may.
const MAX_ECHOES: usize = 256;
/// Echo requests that wait for an answer.
const MAX_PINGS: usize = 4_096;

impl Stack {
    /// Decides on segments of unknown connections between other hosts from now on (with `accept_any`).
    pub fn set_pass(&mut self, pass: Passes) {
        self.pass = Some(pass);
    }

    /// Answers a deferred incoming connection. It is the caller's from now on: [`Event::Connected`] or [`Event::Closed`]
    /// comes next, and it is to be closed or aborted.
    pub fn admit(&mut self, now: Duration, id: StreamId) {
        self.clock(now);
        let now = self.now;
        self.call(id, |conn, _| {
            conn.listener = None;
            conn.admit(now);
        });
    }

    /// Refuses a deferred incoming connection: by a reset, as the destination itself would, or by an ICMP error. The id
    /// is void.
    pub fn deny(&mut self, now: Duration, id: StreamId, why: Option<Unreachable>) {
        self.clock(now);
        let Some(conn) = self.conn(id).filter(|conn| conn.held) else { return };
        let (local, remote, initial) = (conn.local, conn.remote, conn.rcv.initial);
        self.abort(now, id);
        match why {
            None => tcp::push(
                &mut self.control,
                Control {
                    local,
                    remote,
                    seq: 0,
                    ack: initial.wrapping_add(1),
                    flags: Flags::RST | Flags::ACK,
                    window: 0,
                    timestamps: None,
                },
            ),
            Some(why) => {
                // The SYN is not kept: its ports and sequence number are what a sender looks at (RFC 5927 §4.1).
                let mut head = [0; 20];
                head[..2].copy_from_slice(&remote.port().to_be_bytes());
                head[2..4].copy_from_slice(&local.port().to_be_bytes());
                head[4..8].copy_from_slice(&initial.to_be_bytes());
                head[12..14].copy_from_slice(&[5 << 4, Flags::SYN]);
                self.unreachable(why, remote.ip(), local.ip(), TCP, &head);
            }
        }
    }

    /// Reports to the sender of a datagram that it did not arrive.
    pub fn udp_unreachable(&mut self, now: Duration, datagram: &Datagram, why: Unreachable) {
        self.clock(now);
        let mut head = vec![0; 8];
        head[..2].copy_from_slice(&datagram.remote.port().to_be_bytes());
        head[2..4].copy_from_slice(&datagram.local.port().to_be_bytes());
        head[4..6].copy_from_slice(&(datagram.data.len() as u16 + 8).to_be_bytes());
        head.extend_from_slice(&datagram.data);
        self.unreachable(why, datagram.remote.ip(), datagram.local.ip(), UDP, &head);
    }

    /// Receives an echo request for another host.
    pub fn echo_recv(&mut self) -> Option<Echo> {
        self.echoes.pop_front()
    }

    /// Answers an echo request on behalf of the requested host.
    pub fn echo_reply(&mut self, now: Duration, echo: &Echo) {
        self.clock(now);
        self.push_raw(icmp::echo(echo.destination, echo.source, true, echo.number, &echo.data));
    }

    /// Sends an echo request, and waits for its answer until [`Stack::forget_ping`]. False if the same request waits already,
    /// too many do, the data is too long, or the families differ.
    pub fn ping(&mut self, now: Duration, ping: Ping, data: &[u8]) -> bool {
        self.clock(now);
        let fits = wire::ip_header(ping.source) + 8 + data.len() <= self.config.mtu;
        let same = ping.source.is_ipv4() == ping.destination.is_ipv4();
        if !fits || !same || self.pings.len() >= MAX_PINGS || self.pings.contains_key(&ping) {
            return false;
        }
        self.pings.insert(ping, None);
        self.push_raw(icmp::echo(ping.source, ping.destination, false, ping.number, data));
        true
    }

    /// What came back for an echo request so far.
    #[must_use]
    pub fn pong(&self, ping: &Ping) -> Option<Pong> {
        self.pings.get(ping).copied().flatten()
    }

    /// The own address for packets to a host.
    #[must_use]
    pub fn address_towards(&self, to: IpAddr) -> Option<IpAddr> {
        self.config.addresses.iter().copied().find(|own| own.is_ipv4() == to.is_ipv4())
    }

    /// Waits for an answer no longer.
    pub fn forget_ping(&mut self, ping: &Ping) {
        self.pings.remove(ping);
    }

    /// Reports to the sender that the host is unreachable.
    pub fn echo_unreachable(&mut self, now: Duration, echo: &Echo, why: Unreachable) {
        self.clock(now);
        let request = icmp::echo(echo.source, echo.destination, false, echo.number, &echo.data);
        self.push_raw(icmp::unreachable(why, echo.source, echo.destination, &request));
    }

    pub(super) fn forward_echo(&mut self, ip: &Ip<'_>, number: (u16, u16), data: &[u8]) -> Option<()> {
        if self.echoes.len() >= MAX_ECHOES {
            return None;
        }
        let echo = Echo { source: ip.source, destination: ip.destination, number, data: data.to_vec() };
        self.echoes.push_back(echo);
        if self.echoes.len() == 1 {
            self.events.push_back(Event::Echo);
        }
        Some(())
    }

    /// `payload` is what stood behind the IP header of the packet that did not arrive.
    fn unreachable(
        &mut self,
        why: Unreachable,
        source: IpAddr,
        destination: IpAddr,
        protocol: u8,
        payload: &[u8],
    ) {
        let mut whole = vec![0; wire::ip_header(source) + payload.len()];
        whole[wire::ip_header(source)..].copy_from_slice(payload);
        wire::emit_ip(&mut whole, source, destination, protocol, NOT_ECT);
        self.push_raw(icmp::unreachable(why, source, destination, &whole));
    }
}
