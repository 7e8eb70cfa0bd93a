//! Servers that say who they are and whom they see.

use std::fmt::Debug;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use anyhow::Result;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UdpSocket};

use super::{Lab, Node};

/// What a probe sends.
pub(super) const QUESTION: &[u8] = b"WARREN?\n";

/// Decides about requests of HTTP.
pub trait Gate: Debug + Send + Sync {
    /// The whole answer to a request with this head that is refused. None lets it pass.
    fn refuses(&self, head: &str, peer: SocketAddr) -> Option<String>;
}

impl Lab {
    /// Serves TCP and UDP on these addresses and ports of a node: a probe learns the node's name and the client's address, and
    /// a client of HTTP gets the same as a page.
    ///
    /// # Errors
    /// An address is not the node's.
    pub fn respond(&self, node: &Node, addresses: &[IpAddr], ports: &[u16]) -> Result<()> {
        self.respond_with(node, addresses, ports, None)
    }

    /// The same with a gate, which may refuse requests of HTTP.
    ///
    /// # Errors
    /// An address is not the node's.
    pub fn respond_with(
        &self,
        node: &Node,
        addresses: &[IpAddr],
        ports: &[u16],
        gate: Option<&Arc<dyn Gate>>,
    ) -> Result<()> {
        let all =
            addresses.iter().flat_map(|address| ports.iter().map(|port| SocketAddr::new(*address, *port)));
        let (tcp, udp) = self.listen(node, &all.collect::<Vec<_>>())?;
        for listener in tcp {
            self.runtime().spawn(streams(listener, node.name().to_owned(), gate.cloned()));
        }
        for socket in udp {
            self.runtime().spawn(datagrams(socket, node.name().to_owned()));
        }
        Ok(())
    }
}

async fn streams(listener: TcpListener, name: String, gate: Option<Arc<dyn Gate>>) {
    while let Ok((stream, peer)) = listener.accept().await {
        let (text, gate) = (format!("{name} {peer}\n"), gate.clone());
        // A client that goes away sees for itself that it got no answer.
        tokio::spawn(async move { answer(stream, &text, peer, gate.as_deref()).await.ok() });
    }
}

async fn answer(
    mut stream: TcpStream,
    text: &str,
    peer: SocketAddr,
    gate: Option<&dyn Gate>,
) -> std::io::Result<()> {
    let mut buffer = vec![0; 4096];
    let length = stream.read(&mut buffer).await?;
    let head = String::from_utf8_lossy(&buffer[..length]);
    let said = if buffer[..length] == *QUESTION {
        text.to_owned()
    } else if let Some(refusal) = gate.and_then(|gate| gate.refuses(&head, peer)) {
        refusal
    } else {
        let length = text.len();
        format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{text}")
    };
    stream.write_all(said.as_bytes()).await?;
    stream.shutdown().await
}

async fn datagrams(socket: UdpSocket, name: String) {
    let mut buffer = vec![0; 4096];
    loop {
        // An error reports that an earlier answer could not be delivered.
        if let Ok((_, peer)) = socket.recv_from(&mut buffer).await {
            let _ = socket.send_to(format!("{name} {peer}\n").as_bytes(), peer).await;
        }
    }
}
