//! Arguments of `agent`, which `exec` accepts as well. Precedence: flags, then environment, then the configuration file.

use std::{convert::Infallible, net::SocketAddr, path::PathBuf, str::FromStr};

use clap::{Args, ValueEnum};
use warren_wire::{
    Pins,
    config::{Endpoint, EndpointError},
};

use super::proxies::ServiceArgs;
use crate::runtime::{
    ListenAddress, Queues, cipher, host::InterfaceName, log::LogFormat, problem::Problem, sandbox::Demand,
};

/// Arguments of `agent`.
#[derive(Debug, Clone, Args)]
pub struct AgentArgs {
    /// Configuration file in wg-quick format; `-` for standard input [default: /etc/wireguard/INTERFACE.conf]
    #[arg(long, short, value_name = "FILE", env = "WARREN_CONFIG")]
    pub config: Option<PathBuf>,
    /// Interface name [default: the name of the file without .conf]
    #[arg(long, short, value_name = "NAME", env = "WARREN_INTERFACE")]
    pub interface: Option<InterfaceName>,
    /// Device that connects the tunnel to this machine
    #[arg(long, value_enum, default_value = "auto", env = "WARREN_DEVICE")]
    pub device: DeviceChoice,
    /// MTU inside the tunnel [default: the file's MTU, else the MTU of the path to the peers minus 80]
    #[arg(long, value_name = "BYTES", env = "WARREN_MTU", value_parser = clap::value_parser!(u16).range(576..=65_455))]
    pub mtu: Option<u16>,
    /// UDP port to listen on [default: the file's ListenPort, else a free port]
    #[arg(long, value_name = "PORT", env = "WARREN_LISTEN_PORT")]
    pub listen_port: Option<u16>,
    /// Carrier for peers that have a TLS endpoint
    #[arg(long, value_enum, default_value = "auto", env = "WARREN_CARRIER")]
    pub carrier: CarrierChoice,
    /// TLS connections to a peer on a path of 5 ms or more; a gateway of an earlier version gets one
    #[arg(long, value_name = "COUNT", default_value_t = 4, env = "WARREN_TLS_CONNECTIONS", value_parser = clap::value_parser!(u8).range(1..=16))]
    pub tls_connections: u8,
    /// TLS endpoint of the peer, if the file has exactly one [default: the file's `# warren: TLSEndpoint`]
    #[arg(long, value_name = "HOST:PORT", env = "WARREN_TLS_ENDPOINT", value_parser = endpoint)]
    pub tls_endpoint: Option<Endpoint>,
    /// Pin of its public key, as sha256//BASE64, several separated by commas [default: TLSPin, else the certificate is verified]
    #[arg(long, value_name = "PIN", env = "WARREN_TLS_PIN")]
    pub tls_pin: Option<Pins>,
    /// Server name for TLS [default: TLSName, else the host of the endpoint]
    #[arg(long, value_name = "NAME", env = "WARREN_TLS_NAME")]
    pub tls_name: Option<String>,
    /// Address and TCP port on which to accept TLS connections [default: the file's `# warren: ListenTLS`, else none]
    #[arg(long, value_name = "ADDR", env = "WARREN_LISTEN_TLS")]
    pub listen_tls: Option<SocketAddr>,
    /// Certificate for --listen-tls, created with its key if missing [default: the configuration's path with .tls.pem]
    #[arg(long, value_name = "FILE", env = "WARREN_TLS_CERTIFICATE")]
    pub tls_certificate: Option<PathBuf>,
    /// Private key of the certificate, if it is in a separate file
    #[arg(long, value_name = "FILE", env = "WARREN_TLS_KEY", requires = "tls_certificate")]
    pub tls_key: Option<PathBuf>,
    /// Planned rate of this link in Mbit/s; metrics and status report how much of it is used
    #[arg(long, value_name = "MBIT", env = "WARREN_PLANNED_RATE", value_parser = clap::value_parser!(u32).range(1..))]
    pub planned_rate: Option<u32>,
    /// Address on which to serve /metrics, /healthz and /readyz, or `off` [default: 127.0.0.1:9586]
    #[arg(long, value_name = "ADDR", env = "WARREN_METRICS")]
    pub metrics: Option<ListenAddress>,
    /// Loopback address on which programs get credentials of clouds, if the gateway grants this pod's group any, or `off`
    /// [default: 127.0.0.1:9588, or a free port]
    #[arg(long, value_name = "ADDR", env = "WARREN_CREDENTIALS")]
    pub credentials: Option<ListenAddress>,
    /// Exchange no packets with other pods directly: all of them pass the gateway
    #[arg(long, env = "WARREN_GATEWAY_ONLY")]
    pub gateway_only: bool,
    /// File with an enrolment token, used instead of a configuration; WARREN_TOKEN may hold the token itself
    #[arg(long, value_name = "FILE", env = "WARREN_TOKEN_FILE", conflicts_with = "config")]
    pub token_file: Option<PathBuf>,
    /// Folder that keeps the key of an enrolled agent, so that a restarted pod gets the same address
    #[arg(long, value_name = "FOLDER", env = "WARREN_STATE")]
    pub state: Option<PathBuf>,
    /// Name of this pod in the lists of its gateways [default: the hostname]
    #[arg(long, value_name = "NAME", env = "WARREN_HOST_NAME")]
    pub host_name: Option<String>,
    /// File with the private key, used instead of the configuration's PrivateKey
    #[arg(long, value_name = "FILE", env = "WARREN_PRIVATE_KEY_FILE")]
    pub private_key_file: Option<PathBuf>,
    /// Confinement of the process with Landlock, seccomp, and without capabilities that it does not need
    #[arg(long, value_enum, default_value = "auto", env = "WARREN_SANDBOX")]
    pub sandbox: Demand,
    /// Code that encrypts packets
    #[arg(long, value_enum, default_value = "auto", env = "WARREN_CIPHER")]
    pub cipher: cipher::Demand,
    /// Queues of the TUN device, each with a thread for either direction, or auto: one for two processors, at most 8, and not more than peers
    #[arg(long, value_name = "COUNT", default_value = "auto", env = "WARREN_QUEUES")]
    pub queues: Queues,
    /// Undo the changes of a killed agent, then exit
    #[arg(long)]
    pub cleanup: bool,
    /// Format of log lines
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "human", env = "WARREN_LOG_FORMAT")]
    pub log_format: LogFormat,
    /// Log level: off, error, warn, info, debug or trace, or per module: info,warren_proto=debug
    #[arg(long, value_name = "LEVEL", env = "WARREN_LOG_LEVEL", default_value = "info")]
    pub log_level: String,
    /// Proxies and port forwards of a tunnel without an interface.
    #[command(flatten)]
    pub services: ServiceArgs,
    /// Refused: every user of the machine can read arguments.
    #[arg(long, hide = true)]
    pub private_key: Option<KeyArgument>,
}

/// The device that connects the tunnel to this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DeviceChoice {
    /// The kernel's WireGuard if available, else TUN, else a network stack in this process
    Auto,
    /// The kernel's WireGuard
    Kernel,
    /// A TUN device, with WireGuard in this process
    Tun,
    /// A network stack in this process: no interface, no privileges; programs use proxies and port forwards
    User,
    /// The kernel's network stack in a user namespace: like `user`, where unprivileged user namespaces are permitted
    Userns,
}

/// The carrier of datagrams to peers that have a TLS endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CarrierChoice {
    /// UDP, and TLS while UDP does not work
    Auto,
    /// Only UDP
    Udp,
    /// Only TLS
    Tls,
}

/// A private key in an argument: that it was there, without its value.
#[derive(Debug, Clone, Copy)]
pub struct KeyArgument;

impl FromStr for KeyArgument {
    type Err = Infallible;

    /// Accepts any value without keeping it. An error here would make clap print the value.
    fn from_str(_: &str) -> Result<Self, Infallible> {
        Ok(Self)
    }
}

fn endpoint(text: &str) -> Result<Endpoint, Problem> {
    text.parse().map_err(|error: EndpointError| Problem::new(error.what).hint(error.hint))
}
