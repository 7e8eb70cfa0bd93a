//! The command line. Precedence everywhere: flags, then environment, then the configuration file.

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::{name::InterfaceName, problem::Problem};

const AGENT_HELP: &str = "\
Precedence: flags, then environment (WARREN_*), then the file.

The private key comes from --private-key-file, or WARREN_PRIVATE_KEY, or the file's PrivateKey;
never from the argument list, which every user of the machine can read.

Signals: SIGTERM and SIGINT undo everything and end; SIGHUP reads the file again.";

/// WireGuard in user space, or by the kernel where it can.
#[derive(Debug, Parser)]
#[command(name = "warren-tunnel", version, max_term_width = 100, propagate_version = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// Every user of a machine can read the arguments of every process: a key has no place there.
    ///
    /// # Errors
    /// When there is one all the same.
    pub fn refuse_keys(&self) -> Result<(), Problem> {
        let given = match &self.command {
            Command::Agent(args) => args.private_key,
            Command::Pubkey(args) => args.key,
            _ => None,
        };
        match given {
            None => Ok(()),
            Some(GivenKey) => {
                Err(Problem::new("a private key in the argument list can be read by every user of this machine").hint(
                    "use the file's PrivateKey, --private-key-file, or WARREN_PRIVATE_KEY; pubkey reads standard input. \
                     The key has been seen: make a new one",
                ))
            }
        }
    }
}

/// That a key was given, not which.
#[derive(Debug, Clone, Copy)]
struct GivenKey;

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Bring a tunnel up from a wg-quick file and keep it up
    #[command(after_help = AGENT_HELP)]
    Agent(Box<AgentArgs>),
    /// Show interfaces and peers
    Status(StatusArgs),
    /// Read the configuration file of a running agent again; sessions of unchanged peers stay
    Reload(ReloadArgs),
    /// Make a private key, to standard output
    #[command(
        after_help = "Keep it readable by you alone: `umask 077; warren-tunnel genkey > wg0.key`, or --out."
    )]
    Genkey(OutArgs),
    /// Make a preshared key, to standard output
    Genpsk(OutArgs),
    /// Print the public key of the private key on standard input
    Pubkey(PubkeyArgs),
    /// Look at this machine: what a tunnel would use here, what is missing and why
    #[command(
        after_help = "Exit code: 0 all is well, 1 a tunnel would run with limits, 2 a tunnel cannot run here."
    )]
    Doctor(DoctorArgs),
}

/// Who moves the packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DeviceChoice {
    /// The kernel's WireGuard if there is one, else TUN, else the netstack of this process
    Auto,
    /// The kernel's WireGuard
    Kernel,
    /// A TUN device and our own data path
    Tun,
    /// A netstack in this process: no interface and no privileges; programs use it through forwards
    User,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people
    Human,
    /// One JSON object a line
    Json,
}

/// Where metrics are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricsAddress {
    /// Nowhere.
    Off,
    /// There.
    On(SocketAddr),
}

impl MetricsAddress {
    /// Loopback: figures and public keys are not for everybody.
    pub const DEFAULT: SocketAddr =
        SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 9586);
}

/// Arguments of `agent`.
#[derive(Debug, Args)]
pub struct AgentArgs {
    /// wg-quick file; `-` is standard input [default: /etc/wireguard/INTERFACE.conf]
    #[arg(long, short, value_name = "FILE", env = "WARREN_CONFIG")]
    pub config: Option<PathBuf>,
    /// Name of the interface [default: the file's name without .conf]
    #[arg(long, short, value_name = "NAME", env = "WARREN_INTERFACE")]
    pub interface: Option<InterfaceName>,
    /// Who moves the packets
    #[arg(long, value_enum, default_value = "auto", env = "WARREN_DEVICE")]
    pub device: DeviceChoice,
    /// Largest packet inside the tunnel [default: the file's MTU, else that of the way to the peers less 80]
    #[arg(long, value_name = "BYTES", env = "WARREN_MTU", value_parser = clap::value_parser!(u16).range(576..=65_455))]
    pub mtu: Option<u16>,
    /// UDP port to listen on [default: the file's ListenPort, else chosen by the kernel]
    #[arg(long, value_name = "PORT", env = "WARREN_LISTEN_PORT")]
    pub listen_port: Option<u16>,
    /// Rate that was planned for this link: metrics and status show how much of it is used
    #[arg(long, value_name = "MBIT", env = "WARREN_PLANNED_RATE", value_parser = clap::value_parser!(u32).range(1..))]
    pub planned_rate: Option<u32>,
    /// Where Prometheus finds metrics, /healthz and /readyz; `off` for nowhere [default: 127.0.0.1:9586]
    #[arg(long, value_name = "ADDR", env = "WARREN_METRICS", value_parser = metrics_address)]
    pub metrics: Option<MetricsAddress>,
    /// Local address whose connections go on through the tunnel; may be repeated. Only without an interface
    #[arg(long, value_name = "LISTEN=TO", env = "WARREN_FORWARD", value_delimiter = ',', value_parser = forward)]
    pub forward: Vec<Forward>,
    /// File with the private key, in place of the configuration's PrivateKey
    #[arg(long, value_name = "FILE", env = "WARREN_PRIVATE_KEY_FILE")]
    pub private_key_file: Option<PathBuf>,
    /// Undo what an agent that was killed has left, and end
    #[arg(long)]
    pub cleanup: bool,
    /// How log lines look
    #[arg(long, value_enum, default_value = "human", env = "WARREN_LOG_FORMAT")]
    pub log_format: LogFormat,
    /// off, error, warn, info, debug or trace; also by module: info,warren_proto=debug
    #[arg(long, value_name = "LEVEL", env = "WARREN_LOG_LEVEL", default_value = "info")]
    pub log_level: String,
    /// Refused: see [`Cli::refuse_keys`].
    #[arg(long, hide = true, value_parser = not_a_key)]
    private_key: Option<GivenKey>,
}

/// Arguments of `status`.
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Only this interface
    pub interface: Option<InterfaceName>,
    /// For programs
    #[arg(long)]
    pub json: bool,
    /// Seconds between the two looks from which rates are computed; 0 is one look without rates
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = clap::value_parser!(u64).range(0..=60))]
    pub interval: u64,
}

/// Arguments of `reload`.
#[derive(Debug, Args)]
pub struct ReloadArgs {
    /// Interface of the agent [default: the only one]
    pub interface: Option<InterfaceName>,
}

/// Where a new key goes.
#[derive(Debug, Args)]
pub struct OutArgs {
    /// Write to a new file that its owner alone can read
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Arguments of `pubkey`.
#[derive(Debug, Args)]
pub struct PubkeyArgs {
    /// Refused: see [`Cli::refuse_keys`].
    #[arg(hide = true, value_parser = not_a_key)]
    key: Option<GivenKey>,
}

/// Arguments of `doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// For programs
    #[arg(long)]
    pub json: bool,
    /// Look at the way to the peers of this file too
    #[arg(long, short, value_name = "FILE", env = "WARREN_CONFIG")]
    pub config: Option<PathBuf>,
}

/// From an address of this machine to one inside the tunnel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Forward {
    /// Where programs connect.
    pub listen: SocketAddr,
    /// Where their connections end.
    pub to: SocketAddr,
}

fn forward(text: &str) -> Result<Forward, Problem> {
    let parsed = text
        .split_once('=')
        .and_then(|(listen, to)| Some(Forward { listen: listen.parse().ok()?, to: to.parse().ok()? }));
    parsed.ok_or_else(|| {
        Problem::new("not two addresses with ports").hint("for example 127.0.0.1:8080=10.0.0.5:80")
    })
}

fn metrics_address(text: &str) -> Result<MetricsAddress, Problem> {
    if text == "off" {
        return Ok(MetricsAddress::Off);
    }
    text.parse().map(MetricsAddress::On).map_err(|_| {
        Problem::new("neither an address with a port nor `off`")
            .hint("for example 127.0.0.1:9586, or [::1]:9586")
    })
}

/// The value is not looked at, and by being no error here it is not repeated by clap.
#[expect(clippy::unnecessary_wraps, reason = "the shape of a parser of values")]
fn not_a_key(_: &str) -> Result<GivenKey, Problem> {
    Ok(GivenKey)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn help(of: &str) -> String {
        let mut command = Cli::command();
        let command = if of.is_empty() { &mut command } else { command.find_subcommand_mut(of).unwrap() };
        command.clone().term_width(100).render_long_help().to_string()
    }

    #[test]
    fn help_is_as_documented() {
        Cli::command().debug_assert();
        for of in ["", "agent", "status", "reload", "genkey", "pubkey", "doctor"] {
            insta::assert_snapshot!(format!("help_{of}"), help(of));
        }
    }

    #[test]
    fn a_key_in_the_argument_list_is_refused_and_not_repeated() {
        let key = "qOV1PxhHpRWQrXlTI0I4QKMKVJ2TWMRwGQ3qRtT7XXw=";
        for arguments in [&["agent", "--private-key", key][..], &["pubkey", key]] {
            let cli = Cli::try_parse_from(["warren-tunnel"].iter().chain(arguments)).unwrap();
            assert!(!format!("{cli:?}").contains(key));
            insta::assert_snapshot!("refused_key", cli.refuse_keys().unwrap_err());
        }
    }

    #[test]
    fn metrics_can_be_off() {
        assert_eq!(metrics_address("off"), Ok(MetricsAddress::Off));
        assert_eq!(metrics_address("[::1]:9"), Ok(MetricsAddress::On("[::1]:9".parse().unwrap())));
        insta::assert_snapshot!(metrics_address("localhost").unwrap_err());
    }
}
