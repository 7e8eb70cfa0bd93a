//! Where the plugin listens: a Unix socket, or loopback TCP on Windows.
//!
//! Source: HashiCorp's go-plugin, which uses the same networks and the same range of ports. The variable
//! `TF_PROVIDER_NETWORK=tcp` selects TCP on other systems, where a Unix socket is not possible.

use std::io;
use std::net::Ipv4Addr;
use std::ops::RangeInclusive;

use tokio::net::{TcpListener, TcpStream};
#[cfg(unix)]
use tokio::net::{UnixListener, UnixStream};

use crate::handshake::Address;
#[cfg(unix)]
use crate::serve::socket_dir::SocketDir;

/// An accepted connection.
#[cfg(unix)]
pub(crate) type Stream = tokio_util::either::Either<UnixStream, TcpStream>;
/// An accepted connection.
#[cfg(not(unix))]
pub(crate) type Stream = TcpStream;

/// A socket that listens.
pub(crate) enum Listener {
    #[cfg(unix)]
    Unix(UnixListener),
    Tcp(TcpListener),
}

/// What must live as long as the socket.
#[derive(Debug, Default)]
pub(crate) struct Guard {
    #[cfg(unix)]
    _directory: Option<SocketDir>,
}

/// Listens where the client and the system expect it. A developer's process (`debug`) has no TLS, so it stays on a
/// Unix socket wherever there are any.
pub(crate) async fn listen(
    debug: bool,
    environment: impl Fn(&str) -> Option<String>,
) -> io::Result<(Listener, Address, Guard)> {
    #[cfg(unix)]
    if debug || environment("TF_PROVIDER_NETWORK").as_deref() != Some("tcp") {
        return unix(environment("PLUGIN_UNIX_SOCKET_DIR"));
    }
    #[cfg(not(unix))]
    let _no_other_network_here = debug;
    let (listener, address) = tcp(&environment).await?;
    Ok((listener, address, Guard::default()))
}

#[cfg(unix)]
fn unix(parent: Option<String>) -> io::Result<(Listener, Address, Guard)> {
    let directory = SocketDir::create(parent.map(Into::into))?;
    let listener = UnixListener::bind(directory.socket())?;
    let address = Address::Unix(directory.socket());
    Ok((Listener::Unix(listener), address, Guard { _directory: Some(directory) }))
}

/// The first free port of the range that the client asks for, or any port.
async fn tcp(environment: &impl Fn(&str) -> Option<String>) -> io::Result<(Listener, Address)> {
    let mut last = None;
    for port in ports(environment)? {
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await {
            Ok(listener) => {
                let address = Address::Tcp(listener.local_addr()?);
                return Ok((Listener::Tcp(listener), address));
            }
            Err(error) => last = Some((port, error)),
        }
    }
    Err(match last {
        Some((port, error)) => io::Error::new(
            error.kind(),
            format!(
                "no free port on 127.0.0.1 in the range PLUGIN_MIN_PORT to PLUGIN_MAX_PORT; {port}: {error}"
            ),
        ),
        None => io::Error::other("PLUGIN_MIN_PORT is greater than PLUGIN_MAX_PORT"),
    })
}

fn ports(environment: &impl Fn(&str) -> Option<String>) -> io::Result<RangeInclusive<u16>> {
    let port = |name: &str| match environment(name).filter(|text| !text.is_empty()) {
        None => Ok(0),
        Some(text) => text
            .parse::<u16>()
            .map_err(|_| io::Error::other(format!("{name} is {text:?}, which is not a port number"))),
    };
    Ok(port("PLUGIN_MIN_PORT")?..=port("PLUGIN_MAX_PORT")?)
}

impl Listener {
    /// The next connection.
    pub(crate) async fn accept(&self) -> io::Result<Stream> {
        match self {
            #[cfg(unix)]
            Listener::Unix(listener) => Ok(Stream::Left(listener.accept().await?.0)),
            Listener::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                // Messages are small and wait for answers.
                stream.set_nodelay(true)?;
                #[cfg(unix)]
                let stream = Stream::Right(stream);
                Ok(stream)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(least: &str, most: &str) -> io::Result<RangeInclusive<u16>> {
        ports(&|name: &str| Some(if name == "PLUGIN_MIN_PORT" { least } else { most }.to_owned()))
    }

    #[test]
    fn the_range_of_ports_comes_from_the_client() {
        assert_eq!(range("10000", "25000").unwrap(), 10_000..=25_000);
        assert_eq!(range("", "").unwrap(), 0..=0);
        assert_eq!(ports(&|_: &str| None).unwrap(), 0..=0);
        let error = range("10000", "70000").unwrap_err().to_string();
        assert_eq!(error, "PLUGIN_MAX_PORT is \"70000\", which is not a port number");
    }

    #[tokio::test]
    async fn a_port_in_use_is_passed_over() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = taken.local_addr().unwrap().port();
        let only = |_: &str| Some(port.to_string());
        let error = tcp(&only).await.err().unwrap().to_string();
        assert!(error.contains("no free port on 127.0.0.1"), "{error}");
        let more = |name: &str| {
            let last = port.saturating_add(200);
            Some(if name == "PLUGIN_MIN_PORT" { port } else { last }.to_string())
        };
        let (_listener, address) = tcp(&more).await.unwrap();
        let Address::Tcp(address) = address else { panic!("{address:?}") };
        assert!(address.port() > port && address.ip().is_loopback(), "{address}");
    }

    #[tokio::test]
    async fn a_range_without_ports_is_an_error() {
        let reversed = |name: &str| Some(if name == "PLUGIN_MIN_PORT" { "2" } else { "1" }.to_owned());
        let error = tcp(&reversed).await.err().unwrap().to_string();
        assert_eq!(error, "PLUGIN_MIN_PORT is greater than PLUGIN_MAX_PORT");
    }
}
