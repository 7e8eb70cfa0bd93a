//! Port 443 of a node: TLS ends there, and what is inside goes to a server on this machine.

use std::net::{IpAddr, SocketAddr, TcpListener as StdListener};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use tokio::io::{BufReader, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::{Authority, head};
use crate::lab::{Gate, Lab, Node};

const PORT: u16 = 443;

/// Names, and the server of plain HTTP that answers for them.
#[derive(Clone, Debug)]
pub struct Site {
    names: Vec<String>,
    upstream: SocketAddr,
    gate: Option<Arc<dyn Gate>>,
}

impl Site {
    /// A site. A name that begins with `*.` stands for one label more.
    pub fn new(names: &[&str], upstream: SocketAddr) -> Site {
        Site { names: names.iter().map(|name| (*name).to_owned()).collect(), upstream, gate: None }
    }

    /// The same behind a gate, which may refuse requests. There is one request for each connection then.
    #[must_use]
    pub fn behind(mut self, gate: Arc<dyn Gate>) -> Site {
        self.gate = Some(gate);
        self
    }

    fn has(&self, asked: &str) -> bool {
        let above = asked.split_once('.').map(|(_, above)| above);
        self.names
            .iter()
            .any(|name| name == asked || name.strip_prefix("*.").is_some_and(|rest| Some(rest) == above))
    }
}

impl Lab {
    /// Serves sites on port 443 of these addresses of a node. The client names the site in its TLS handshake; a connection for
    /// another name is closed.
    ///
    /// # Errors
    /// An address is not the node's, or something listens there already.
    pub fn serve_tls(
        &self,
        node: &Node,
        addresses: &[IpAddr],
        authority: &Authority,
        sites: &[Site],
    ) -> Result<()> {
        let names = sites.iter().flat_map(|site| site.names.iter().cloned()).collect();
        let acceptor = TlsAcceptor::from(authority.server(names)?);
        let sites: Arc<[Site]> = sites.into();
        let listeners = node.inside(|| {
            let open = |address: &IpAddr| -> Result<StdListener> {
                let at = SocketAddr::new(*address, PORT);
                let listener =
                    StdListener::bind(at).with_context(|| format!("{at} on node {}", node.name()))?;
                listener.set_nonblocking(true)?;
                Ok(listener)
            };
            addresses.iter().map(open).collect::<Result<Vec<_>>>()
        })?;
        let _inside = self.runtime().enter();
        for listener in listeners {
            let listener = TcpListener::from_std(listener)?;
            let (acceptor, sites) = (acceptor.clone(), Arc::clone(&sites));
            self.runtime().spawn(async move {
                while let Ok((stream, peer)) = listener.accept().await {
                    // A client that goes away sees for itself that it got no answer.
                    tokio::spawn(relayed(stream, peer, acceptor.clone(), Arc::clone(&sites)));
                }
            });
        }
        Ok(())
    }
}

async fn relayed(
    stream: TcpStream,
    peer: SocketAddr,
    acceptor: TlsAcceptor,
    sites: Arc<[Site]>,
) -> std::io::Result<()> {
    let mut inner = acceptor.accept(stream).await?;
    let asked = inner.get_ref().1.server_name().unwrap_or_default().to_lowercase();
    let Some(site) = sites.iter().find(|site| site.has(&asked)) else { return Ok(()) };
    let Some(gate) = &site.gate else {
        let mut outer = TcpStream::connect(site.upstream).await?;
        return copy_bidirectional(&mut inner, &mut outer).await.map(drop);
    };
    let mut inner = BufReader::new(inner);
    let Some(head) = head::read(&mut inner).await? else { return Ok(()) };
    match gate.refuses(&head, peer) {
        Some(refusal) => head::answer(inner, &refusal).await,
        None => head::pass(inner, &head, site.upstream).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wildcard_stands_for_one_label() -> Result<()> {
        let site = Site::new(&["s3.example", "*.s3.example"], "127.0.0.1:1".parse()?);
        assert!(site.has("s3.example") && site.has("bucket.s3.example"));
        assert!(!site.has("a.bucket.s3.example") && !site.has("example") && !site.has("xs3.example"));
        Ok(())
    }
}
