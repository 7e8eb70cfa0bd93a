//! Arguments for proxies and port forwards.

use std::{
    fmt, io,
    net::{SocketAddr, TcpListener, UdpSocket},
    path::PathBuf,
};

use clap::{Args, ValueEnum};
use warren_device::user::Congestion;
use warren_proxy::{Credentials, Target};

use crate::runtime::{
    ListenAddress,
    problem::{Problem, Result},
};

/// Proxies and forwards of a tunnel without an interface.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Options without an interface (--device user or userns)")]
pub struct ServiceArgs {
    /// Address of the SOCKS5 proxy (TCP and UDP), or `off` [default: 127.0.0.1:1080]
    #[arg(long, value_name = "ADDR", env = "WARREN_SOCKS5")]
    pub socks5: Option<ListenAddress>,
    /// Address of the HTTP proxy (CONNECT and plain requests), or `off` [default: 127.0.0.1:3128]
    #[arg(long, value_name = "ADDR", env = "WARREN_HTTP_PROXY")]
    pub http_proxy: Option<ListenAddress>,
    /// Address of a DNS server that uses the tunnel's servers for its names, and this machine's for others [default: off]
    #[arg(long, value_name = "ADDR", env = "WARREN_DNS")]
    pub dns: Option<ListenAddress>,
    /// Addresses of this machine that are forwarded into the tunnel.
    #[arg(
        help = "Forward an address of this machine into the tunnel: [udp:]ADDR:PORT=HOST:PORT; may be repeated"
    )]
    #[arg(long, value_name = "FROM=TO", env = "WARREN_FORWARD", value_delimiter = ',', value_parser = forward)]
    pub forward: Vec<Forward>,
    /// Ports of the tunnel's addresses that are forwarded to services of this machine.
    #[arg(
        help = "Forward a port of the tunnel's addresses to a service of this machine: [udp:]PORT=HOST:PORT; may be repeated"
    )]
    #[arg(long, value_name = "PORT=TO", env = "WARREN_REVERSE", value_delimiter = ',', value_parser = reverse)]
    pub reverse: Vec<Reverse>,
    /// Refuse destinations that are not in AllowedIPs instead of connecting to them directly
    #[arg(long, env = "WARREN_NO_DIRECT")]
    pub no_direct: bool,
    /// File with `user:password` for clients of both proxies; WARREN_PROXY_CREDENTIALS may hold the text itself
    #[arg(long, value_name = "FILE", env = "WARREN_PROXY_CREDENTIALS_FILE")]
    pub proxy_credentials_file: Option<PathBuf>,
    /// Congestion control of TCP inside the tunnel. `userns` uses that of the kernel if it lacks this one
    #[arg(long, value_enum, default_value = "bbr", env = "WARREN_CONGESTION")]
    pub congestion: CongestionChoice,
    /// Whether programs run inside the tunnel's network, and need names and a proxy there.
    #[arg(skip)]
    pub inside: bool,
}

/// Congestion control of TCP inside the tunnel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum CongestionChoice {
    /// Keeps its rate on long paths that lose packets
    #[default]
    Bbr,
    /// The default of Linux
    Cubic,
}

impl From<CongestionChoice> for Congestion {
    fn from(choice: CongestionChoice) -> Self {
        match choice {
            CongestionChoice::Bbr => Self::Bbr,
            CongestionChoice::Cubic => Self::Cubic,
        }
    }
}

/// What a forward carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// TCP connections.
    Tcp,
    /// UDP datagrams.
    Udp,
}

/// A forward from an address of this machine into the tunnel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forward {
    /// What it carries.
    pub protocol: Protocol,
    /// The address to which programs connect.
    pub at: SocketAddr,
    /// The destination.
    pub to: Target,
}

/// A forward from a port of our tunnel addresses to this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reverse {
    /// What it carries.
    pub protocol: Protocol,
    /// The port, on all our tunnel addresses.
    pub port: u16,
    /// The destination.
    pub to: Target,
}

impl ServiceArgs {
    /// Whether any option needs a tunnel without an interface.
    pub(crate) fn requested(&self) -> bool {
        let on = |address: Option<ListenAddress>| matches!(address, Some(ListenAddress::At(_)));
        on(self.socks5)
            || on(self.http_proxy)
            || on(self.dns)
            || !self.forward.is_empty()
            || !self.reverse.is_empty()
    }

    /// Sets `at` as the default address of both proxies.
    pub(crate) fn or_proxies(&mut self, at: ListenAddress) {
        self.socks5 = self.socks5.or(Some(at));
        self.http_proxy = self.http_proxy.or(Some(at));
    }

    /// Checks that the requested addresses are free.
    ///
    /// # Errors
    /// One is in use.
    pub(crate) fn check_addresses(&self) -> Result<()> {
        let named = [
            ("SOCKS5 proxy", "--socks5", Protocol::Tcp, self.socks5),
            ("HTTP proxy", "--http-proxy", Protocol::Tcp, self.http_proxy),
            ("DNS server", "--dns", Protocol::Udp, self.dns),
        ];
        let named = named.into_iter().filter_map(|(what, flag, protocol, address)| match address {
            Some(ListenAddress::At(at)) => Some((what, flag, protocol, at)),
            _ => None,
        });
        let forwards = self.forward.iter();
        let forwards = forwards.map(|forward| ("port forward", "--forward", forward.protocol, forward.at));
        for (what, flag, protocol, at) in named.chain(forwards) {
            let bound = match protocol {
                Protocol::Tcp => TcpListener::bind(at).map(drop),
                Protocol::Udp => UdpSocket::bind(at).map(drop),
            };
            bound.map_err(|error| cannot_listen(what, flag, at, &error))?;
        }
        Ok(())
    }

    /// The credentials required from clients, if any.
    ///
    /// # Errors
    /// When they cannot be read or parsed. The error does not contain them.
    pub(crate) fn credentials(&self) -> Result<Option<Credentials>> {
        let failed = |name: String, error: &dyn fmt::Display| {
            Problem::new(format!("{name}: {error}")).hint("use one line of the form user:password")
        };
        if let Some(path) = &self.proxy_credentials_file {
            let name = format!("proxy credentials {}", path.display());
            return Credentials::read(path).map(Some).map_err(|error| failed(name, &error));
        }
        let Ok(text) = std::env::var("WARREN_PROXY_CREDENTIALS").map(zeroize::Zeroizing::new) else {
            return Ok(None);
        };
        let parsed = Credentials::parse(&text);
        parsed.map(Some).map_err(|error| failed("WARREN_PROXY_CREDENTIALS".into(), &error))
    }
}

/// A service whose address is in use, for example.
pub(super) fn cannot_listen(what: &str, flag: &str, at: SocketAddr, error: &io::Error) -> Problem {
    Problem::new(format!("{what} cannot listen on {at}: {error}"))
        .hint(format!("choose another address with {flag}"))
}

/// Splits off the prefix `udp:` or `tcp:`; the default is TCP.
fn protocol(text: &str) -> (Protocol, &str) {
    match (text.strip_prefix("udp:"), text.strip_prefix("tcp:")) {
        (Some(rest), _) => (Protocol::Udp, rest),
        (_, Some(rest)) => (Protocol::Tcp, rest),
        _ => (Protocol::Tcp, text),
    }
}

fn forward(text: &str) -> Result<Forward> {
    let (protocol, rest) = protocol(text);
    let parsed = rest
        .split_once('=')
        .and_then(|(at, to)| Some(Forward { protocol, at: at.parse().ok()?, to: to.parse().ok()? }));
    parsed.ok_or_else(|| {
        Problem::new("expected [udp:]ADDR:PORT=HOST:PORT")
            .hint("use, for example, 127.0.0.1:5432=db.internal:5432 or udp:127.0.0.1:53=10.0.0.2:53")
    })
}

fn reverse(text: &str) -> Result<Reverse> {
    let (protocol, rest) = protocol(text);
    let parsed = rest.split_once('=').and_then(|(port, to)| {
        let port = port.parse().ok().filter(|port| *port != 0)?;
        Some(Reverse { protocol, port, to: to.parse().ok()? })
    });
    parsed.ok_or_else(|| {
        Problem::new("expected [udp:]PORT=HOST:PORT").hint("use, for example, 8080=127.0.0.1:80")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forwards_are_read() {
        let forward_of = |text| forward(text).unwrap();
        assert_eq!(forward_of("udp:127.0.0.1:53=[fd00::1]:53").protocol, Protocol::Udp);
        let named = forward_of("[::1]:5432=db.internal:5432");
        assert_eq!((named.protocol, named.to.to_string()), (Protocol::Tcp, "db.internal:5432".to_owned()));
        assert_eq!(reverse("tcp:8080=127.0.0.1:80").unwrap().port, 8080);
        let messages = [forward("8080=1.2.3.4:80"), forward("127.0.0.1:80"), forward("127.0.0.1:80=host")]
            .map(|refused| refused.unwrap_err().to_string());
        let reversed =
            [reverse("0=127.0.0.1:80"), reverse("x")].map(|refused| refused.unwrap_err().to_string());
        insta::assert_snapshot!([messages.join("\n"), reversed.join("\n")].join("\n"));
    }
}
