//! The command line. Precedence everywhere: flags, then environment, then the configuration file.

mod gateway;

use std::{ffi::OsString, net::SocketAddr, path::PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};

use warren_wire::{
    Pins,
    config::{Endpoint, EndpointError},
};

pub use gateway::{AskArgs, GatewayArgs, GatewayCommand, TokenCommand, TopologyArgs};

use crate::{name::InterfaceName, problem::Problem, services::ServiceArgs};

const AGENT_HELP: &str = "\
Precedence: flags, then environment (WARREN_*), then the file.

With a token (WARREN_TOKEN, --token-file) there is no file: the agent makes a key, enrols at one of the token's gateways, and moves
to another when that one dies.

The private key comes from --private-key-file, or WARREN_PRIVATE_KEY, or the file's PrivateKey;
never from the argument list, which every user of the machine can read.

Signals: SIGTERM and SIGINT undo everything and end; SIGHUP reads the file again.";

const EXEC_HELP: &str = "\
Starts the program once a peer has answered. Where the tunnel has no interface the program finds the
proxies in HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY, in both spellings; they listen on free
ports unless --socks5 or --http-proxy name some. Standard input and output are the program's own.

Signals are passed on to the program; `warren-tunnel reload` reads the file again. As process 1 of a
container it also takes in orphans.

Exit code: the program's, or 128 and the signal's number if one ended it; 125 the tunnel did not come up,
126 the program cannot be run, 127 there is no such program.";

const GATEWAY_HELP: &str = "\
Needs no privilege: what pods send is forwarded by sockets of this process, or by the kernel where it may. docs/gateway.md is a guide.

Signals: SIGTERM and SIGINT end it; SIGHUP reads the file again: groups, sites, token keys, gateways, limits.";

const FETCH_HELP: &str = "\
What is missing or wrong is told and asked for again until it is right. Files are readable by their owner alone,
appear whole or not at all, and are left alone while nothing has changed.

Credentials are the machine's own: the role of an EC2 instance (IMDSv2), the service account of a Google instance; or
AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. For emulators: AWS_ENDPOINT_URL_SSM, AWS_EC2_METADATA_SERVICE_ENDPOINT,
CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER, GCE_METADATA_HOST.";

const TOPOLOGY_HELP: &str = "\
The description is TOML:

  topology = \"star\"                       # star, mesh or ring
  hub = \"aws\"                             # of a star
  [[sites]]
  name = \"aws\"
  key = \"...\"                             # as `warren-tunnel gateway identity` prints it
  endpoint = \"gw.aws.example.com:51820\"   # left out where nobody can reach it
  addresses = [\"10.100.0.1\"]              # what its gateway sends from
  prefixes = [\"172.16.0.0/16\"]            # what is reached through it";

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
            Command::Exec(args) => args.agent.private_key,
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
    /// Bring a tunnel up from a wg-quick file, or an enrolment token, and keep it up
    #[command(after_help = AGENT_HELP)]
    Agent(Box<AgentArgs>),
    /// Bring a tunnel up and run a program beside it, for as long as the program runs
    #[command(after_help = EXEC_HELP)]
    Exec(Box<ExecArgs>),
    /// Be the other end: take pods in, forward what their groups may reach; or ask a gateway that runs
    #[command(after_help = GATEWAY_HELP, args_conflicts_with_subcommands = true)]
    Gateway(GatewayArgs),
    /// Make what the gateways of several networks have in their files from one description: star, mesh or ring
    #[command(after_help = TOPOLOGY_HELP)]
    Topology(TopologyArgs),
    /// Make, read and revoke the tokens by which pods join
    #[command(subcommand)]
    Token(TokenCommand),
    /// Show interfaces and peers
    Status(StatusArgs),
    /// Read the configuration file of a running agent again; sessions of unchanged peers stay
    Reload(ReloadArgs),
    /// Fetch a gateway's keys and configuration from its cloud's secret store into files
    #[command(after_help = FETCH_HELP)]
    Fetch(FetchArgs),
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
    /// Be the process in a user namespace that makes an agent's sockets; its channel is standard input
    #[command(name = crate::net::HELPER, hide = true)]
    MakeSockets,
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
    /// A netstack in this process: no interface and no privileges; programs use it through proxies and forwards
    User,
    /// The kernel's own stack in a user namespace: no privileges either, but not permitted everywhere; used as `user` is
    Userns,
}

/// What moves datagrams to peers that have a TLS endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CarrierChoice {
    /// UDP, and TLS while UDP does not get through
    Auto,
    /// UDP alone
    Udp,
    /// TLS alone
    Tls,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people
    Human,
    /// One JSON object a line
    Json,
}

/// Where something is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Address {
    /// Nowhere.
    Off,
    /// There.
    On(SocketAddr),
}

/// Of metrics; loopback, since figures and public keys are not for everybody.
pub const METRICS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 9586);

/// Arguments of `agent`.
#[derive(Debug, Clone, Args)]
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
    /// What moves datagrams to peers that have a TLS endpoint
    #[arg(long, value_enum, default_value = "auto", env = "WARREN_CARRIER")]
    pub carrier: CarrierChoice,
    /// Where the only peer of the file takes TLS connections [default: the file's `# warren: TLSEndpoint`]
    #[arg(long, value_name = "HOST:PORT", env = "WARREN_TLS_ENDPOINT", value_parser = endpoint)]
    pub tls_endpoint: Option<Endpoint>,
    /// What it is known by: sha256// and base64 of its key's hash; several by commas [default: TLSPin, else a certificate for its name]
    #[arg(long, value_name = "PIN", env = "WARREN_TLS_PIN")]
    pub tls_pin: Option<Pins>,
    /// The name that is asked for instead of the endpoint's [default: TLSName]
    #[arg(long, value_name = "NAME", env = "WARREN_TLS_NAME")]
    pub tls_name: Option<String>,
    /// Address and TCP port that takes TLS connections [default: the file's `# warren: ListenTLS`, else none]
    #[arg(long, value_name = "ADDR", env = "WARREN_LISTEN_TLS")]
    pub listen_tls: Option<SocketAddr>,
    /// Certificate of that port; made with its key if it is missing [default: the configuration's name with .tls.pem]
    #[arg(long, value_name = "FILE", env = "WARREN_TLS_CERTIFICATE")]
    pub tls_certificate: Option<PathBuf>,
    /// Its private key, if that is in a file of its own
    #[arg(long, value_name = "FILE", env = "WARREN_TLS_KEY", requires = "tls_certificate")]
    pub tls_key: Option<PathBuf>,
    /// Rate that was planned for this link: metrics and status show how much of it is used
    #[arg(long, value_name = "MBIT", env = "WARREN_PLANNED_RATE", value_parser = clap::value_parser!(u32).range(1..))]
    pub planned_rate: Option<u32>,
    /// Where Prometheus finds metrics, /healthz and /readyz; `off` for nowhere [default: 127.0.0.1:9586]
    #[arg(long, value_name = "ADDR", env = "WARREN_METRICS", value_parser = address)]
    pub metrics: Option<Address>,
    /// File with an enrolment token, in place of a configuration; or the token in WARREN_TOKEN
    #[arg(long, value_name = "FILE", env = "WARREN_TOKEN_FILE", conflicts_with = "config")]
    pub token_file: Option<PathBuf>,
    /// Folder in which the key of an enrolled agent is kept: with it a restarted pod gets its address back
    #[arg(long, value_name = "FOLDER", env = "WARREN_STATE")]
    pub state: Option<PathBuf>,
    /// How gateways call this pod [default: the host's name]
    #[arg(long, value_name = "NAME", env = "WARREN_HOST_NAME")]
    pub host_name: Option<String>,
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
    /// What programs reach the tunnel by where it has no interface.
    #[command(flatten)]
    pub services: ServiceArgs,
    /// Refused: see [`Cli::refuse_keys`].
    #[arg(long, hide = true, value_parser = not_a_key)]
    private_key: Option<GivenKey>,
}

/// Arguments of `exec`.
#[derive(Debug, Args)]
pub struct ExecArgs {
    /// Longest wait for a peer's answer before the program is started; 0 starts it at once
    #[arg(long, value_name = "SECONDS", env = "WARREN_WAIT", default_value = "30", value_parser = clap::value_parser!(u64).range(0..=3600))]
    pub wait: u64,
    /// The tunnel.
    #[command(flatten)]
    pub agent: AgentArgs,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
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

/// Arguments of `fetch`.
#[derive(Debug, Args)]
pub struct FetchArgs {
    /// List of files: folder, and for each its name, where it comes from, and what it holds
    #[arg(long, short, value_name = "FILE", default_value = "/etc/warren/fetch.toml")]
    pub config: PathBuf,
    /// End after this time if something is still missing; 0 never does
    #[arg(long, value_name = "SECONDS", default_value = "0")]
    pub give_up_after: u64,
    /// How log lines look
    #[arg(long, value_enum, default_value = "human", env = "WARREN_LOG_FORMAT")]
    pub log_format: LogFormat,
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

fn endpoint(text: &str) -> Result<Endpoint, Problem> {
    text.parse().map_err(|error: EndpointError| Problem::new(error.what).hint(error.hint))
}

/// An address with a port, or `off`.
///
/// # Errors
/// Neither.
pub fn address(text: &str) -> Result<Address, Problem> {
    if text == "off" {
        return Ok(Address::Off);
    }
    text.parse().map(Address::On).map_err(|_| {
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
        for of in [
            "", "agent", "exec", "gateway", "topology", "token", "status", "reload", "fetch", "genkey",
            "pubkey", "doctor",
        ] {
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
    fn services_can_be_off() {
        assert_eq!(address("off"), Ok(Address::Off));
        assert_eq!(address("[::1]:9"), Ok(Address::On("[::1]:9".parse().unwrap())));
        insta::assert_snapshot!(address("localhost").unwrap_err());
    }
}
