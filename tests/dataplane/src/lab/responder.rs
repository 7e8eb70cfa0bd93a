//! Servers that say who they are and whom they see.

use std::net::{IpAddr, SocketAddr};

use anyhow::Result;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UdpSocket};

use super::{Lab, Node};

/// What a probe sends.
pub(super) const QUESTION: &[u8] = b"WARREN?\n";

impl Lab {
    /// Serves TCP and UDP on these addresses and ports of a node: a probe learns the node's name and the client's address, and
    /// a client of HTTP gets the same as a page.
    ///
    /// # Errors
    /// An address is not the node's.
    pub fn respond(&self, node: &Node, addresses: &[IpAddr], ports: &[u16]) -> Result<()> {
        let all =
            addresses.iter().flat_map(|address| ports.iter().map(|port| SocketAddr::new(*address, *port)));
        let (tcp, udp) = self.listen(node, &all.collect::<Vec<_>>())?;
        for listener in tcp {
            self.runtime().spawn(streams(listener, node.name().to_owned()));
        }
        for socket in udp {
            self.runtime().spawn(datagrams(socket, node.name().to_owned()));
        }
        Ok(())
    }
}

async fn streams(listener: TcpListener, name: String) {
    while let Ok((stream, peer)) = listener.accept().await {
        let text = format!("{name} {peer}\n");
        // A client that goes away sees for itself that it got no answer.
        tokio::spawn(async move { answer(stream, &text).await.ok() });
    }
}

async fn answer(mut stream: TcpStream, text: &str) -> std::io::Result<()> {
    let mut buffer = vec![0; 4096];
    let length = stream.read(&mut buffer).await?;
    let said = if buffer[..length] == *QUESTION {
        text.to_owned()
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
