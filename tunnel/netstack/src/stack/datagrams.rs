//! What the application calls for datagrams.

use super::*;

impl Stack {
    /// A UDP socket on one address or all, on a port or (0) any free one.
    ///
    /// # Errors
    /// The port is in use.
    pub fn udp_bind(&mut self, address: Option<IpAddr>, port: u16) -> Result<SocketId, UdpError> {
        if port != 0 {
            return self.udp.bind(address, port);
        }
        for _ in 0..256 {
            let port = self.ports.any();
            if let Ok(id) = self.udp.bind(address, port) {
                return Ok(id);
            }
        }
        Err(UdpError::InUse)
    }

    /// Binds the socket that receives all datagrams without another socket, for any address and port (with `accept_any`).
    ///
    /// # Errors
    /// There is one already.
    pub fn udp_bind_any(&mut self) -> Result<SocketId, UdpError> {
        self.udp.bind(None, 0)
    }

    /// The socket's port.
    #[must_use]
    pub fn udp_port(&self, id: SocketId) -> Option<u16> {
        self.udp.port(id)
    }

    /// Sends from the socket's own address.
    ///
    /// # Errors
    /// The datagram is too large, the queue is full, or there is no address of that family.
    pub fn udp_send_to(&mut self, id: SocketId, remote: SocketAddr, data: &[u8]) -> Result<(), UdpError> {
        let port = self.udp.port(id).ok_or(UdpError::Closed)?;
        let own = self.udp.address(id).filter(|own| own.is_ipv4() == remote.is_ipv4());
        let address = own.or_else(|| self.source(remote)).ok_or(UdpError::NoAddress)?;
        self.udp_send_from(id, SocketAddr::new(address, port), remote, data)
    }

    /// Sends from this address: the answer of a gateway that took a datagram for somebody else.
    ///
    /// # Errors
    /// The datagram is too large, the queue is full, or the families differ.
    pub fn udp_send_from(
        &mut self,
        id: SocketId,
        local: SocketAddr,
        remote: SocketAddr,
        data: &[u8],
    ) -> Result<(), UdpError> {
        if local.is_ipv4() != remote.is_ipv4() {
            return Err(UdpError::NoAddress);
        }
        let mtu = self.path_mtu(remote.ip());
        self.udp.send(&mut self.pool, id, Datagram { local, remote, data: data.to_vec() }, mtu)
    }

    /// Receives a datagram.
    pub fn udp_recv_from(&mut self, id: SocketId) -> Option<Datagram> {
        self.udp.receive(&mut self.pool, id)
    }

    /// What ICMP said of a datagram that was sent from this socket (RFC 1122 §4.1.3.3), oldest first.
    pub fn udp_undelivered(&mut self, id: SocketId) -> Option<Undelivered> {
        self.udp.undelivered(id)
    }

    /// Closes a socket.
    pub fn udp_close(&mut self, id: SocketId) {
        self.udp.close(&mut self.pool, id);
    }
}
