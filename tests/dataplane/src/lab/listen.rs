//! The sockets of servers on nodes.

use std::net::SocketAddr;

use anyhow::{Context as _, Result};
use tokio::net::{TcpListener, UdpSocket};

use super::{Lab, Node};

/// Connections that wait to be accepted. The standard library asks for 128, and the kernel drops the SYNs beyond them.
const BACKLOG: i32 = 4096;

impl Lab {
    /// Listens for TCP and UDP at these addresses of a node.
    pub(super) fn listen(
        &self,
        node: &Node,
        addresses: &[SocketAddr],
    ) -> Result<(Vec<TcpListener>, Vec<UdpSocket>)> {
        let (mut tcp, mut udp) = (Vec::new(), Vec::new());
        node.inside(|| {
            for at in addresses {
                let listener = std::net::TcpListener::bind(at).with_context(|| format!("TCP {at}"))?;
                let socket = std::net::UdpSocket::bind(at).with_context(|| format!("UDP {at}"))?;
                rustix::net::listen(&listener, BACKLOG)?;
                listener.set_nonblocking(true)?;
                socket.set_nonblocking(true)?;
                tcp.push(listener);
                udp.push(socket);
            }
            Ok(())
        })?;
        let _inside = self.runtime().enter();
        let tcp = tcp.into_iter().map(TcpListener::from_std).collect::<Result<_, _>>()?;
        let udp = udp.into_iter().map(UdpSocket::from_std).collect::<Result<_, _>>()?;
        Ok((tcp, udp))
    }
}
