//! The command line. Precedence everywhere: flags, then environment, then the configuration file.

mod gateway;
mod help;

use std::{ffi::OsString, net::SocketAddr, path::PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};

use warren_wire::{
    Pins,
    config::{Endpoint, EndpointError},
};

pub use gateway::{AskArgs, GatewayArgs, GatewayCommand, TokenCommand, TopologyArgs};

use crate::{name::InterfaceName, problem::Problem, services::ServiceArgs};

/// WireGuard tunnels for machines and pods: agent and gateway in one binary
#[derive(Debug, Parser)]
#[command(
    name = "warren-tunnel",
    version,
    max_term_width = 100,
    propagate_version = true,
    after_help = help::MAIN
)]
pub struct Cli {
    /// The subcommand.
    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// Refuses private keys in arguments, which every user of the machine can read.
    ///
    /// # Errors
    /// When an argument is a private key.
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
                Err(Problem::new("refusing a private key as an argument: every user of this machine can read it").hint(
                    "generate a new key, since this one is exposed, and pass it in the file's PrivateKey, with --private-key-file or in \
                     WARREN_PRIVATE_KEY (pubkey: on standard input)",
                ))
            }
        }
    }
}

/// Marks that a key was given, without its value.
#[derive(Debug, Clone, Copy)]
struct GivenKey;

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a tunnel from a wg-quick file or an enrolment token
    #[command(after_help = help::AGENT)]
    Agent(Box<AgentArgs>),
    /// Run a command with a tunnel that lasts as long as the command
    #[command(after_help = help::EXEC)]
    Exec(Box<ExecArgs>),
    /// Run a gateway, which admits pods and forwards their traffic, or manage a running one
    #[command(after_help = help::GATEWAY, args_conflicts_with_subcommands = true)]
    Gateway(GatewayArgs),
    /// Generate the configuration that connects the gateways of several networks as a star, mesh or ring
    #[command(after_help = help::TOPOLOGY)]
    Topology(TopologyArgs),
    /// Create, inspect and revoke enrolment tokens for pods
    #[command(subcommand, after_help = help::TOKEN)]
    Token(TokenCommand),
    /// Show the state of running tunnels and their peers
    #[command(after_help = help::STATUS)]
    Status(StatusArgs),
    /// Reload the configuration file of a running agent; unchanged peers keep their sessions
    #[command(after_help = help::RELOAD)]
    Reload(ReloadArgs),
    /// Write a gateway's keys and configuration from a cloud's secret store to files
    #[command(after_help = help::FETCH)]
    Fetch(FetchArgs),
    /// Generate a private key
    #[command(after_help = help::GENKEY)]
    Genkey(OutArgs),
    /// Generate a preshared key
    #[command(after_help = help::GENPSK)]
    Genpsk(OutArgs),
    /// Print the public key of the private key on standard input
    #[command(after_help = help::PUBKEY)]
    Pubkey(PubkeyArgs),
    /// Check what a tunnel can use on this machine, what is missing and how to fix it
    #[command(after_help = help::DOCTOR)]
    Doctor(DoctorArgs),
    /// Create sockets for an agent in a user namespace; used by the agent itself, which talks to it over standard input
    #[command(name = crate::net::HELPER, hide = true)]
    MakeSockets,
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

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Human-readable text
    Human,
    /// One JSON object per line
    Json,
}

/// The address of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Address {
    /// The service is off.
    Off,
    /// The address to listen on.
    On(SocketAddr),
}

/// Default address of the metrics. Loopback, since they reveal traffic and public keys.
pub const METRICS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 9586);

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
    #[arg(long, value_name = "ADDR", env = "WARREN_METRICS", value_parser = address)]
    pub metrics: Option<Address>,
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
    /// Refused: see [`Cli::refuse_keys`].
    #[arg(long, hide = true, value_parser = not_a_key)]
    private_key: Option<GivenKey>,
}

/// Arguments of `exec`.
#[derive(Debug, Args)]
pub struct ExecArgs {
    /// Timeout for the first answer of a peer; 0 starts the command immediately
    #[arg(long, value_name = "SECONDS", env = "WARREN_WAIT", default_value = "30", value_parser = clap::value_parser!(u64).range(0..=3600))]
    pub wait: u64,
    /// The tunnel.
    #[command(flatten)]
    pub agent: AgentArgs,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Arguments of `status`.
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Show only this interface
    pub interface: Option<InterfaceName>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Seconds between the two readings from which rates are computed; 0 for one reading without rates
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = clap::value_parser!(u64).range(0..=60))]
    pub interval: u64,
}

/// Arguments of `reload`.
#[derive(Debug, Args)]
pub struct ReloadArgs {
    /// Interface of the agent [default: the only running one]
    pub interface: Option<InterfaceName>,
}

/// Arguments of `fetch`.
#[derive(Debug, Args)]
pub struct FetchArgs {
    /// List of files to fetch: the folder, and the name, source and content type of each file
    #[arg(long, short, value_name = "FILE", default_value = "/etc/warren/fetch.toml")]
    pub config: PathBuf,
    /// Exit with an error if values are still missing after this time; 0 retries forever
    #[arg(long, value_name = "SECONDS", default_value = "0")]
    pub give_up_after: u64,
    /// Format of log lines
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "human", env = "WARREN_LOG_FORMAT")]
    pub log_format: LogFormat,
}

/// Arguments of `genkey` and `genpsk`.
#[derive(Debug, Args)]
pub struct OutArgs {
    /// Write to a new file of mode 0600 instead of standard output
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
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Also test the path to the peers of this configuration file
    #[arg(long, short, value_name = "FILE", env = "WARREN_CONFIG")]
    pub config: Option<PathBuf>,
}

fn endpoint(text: &str) -> Result<Endpoint, Problem> {
    text.parse().map_err(|error: EndpointError| Problem::new(error.what).hint(error.hint))
}

/// Parses an address with a port, or `off`.
///
/// # Errors
/// When it is neither.
pub fn address(text: &str) -> Result<Address, Problem> {
    if text == "off" {
        return Ok(Address::Off);
    }
    text.parse().map(Address::On).map_err(|_| {
        Problem::new("expected an address with a port, or `off`")
            .hint("use, for example, 127.0.0.1:9586 or [::1]:9586")
    })
}

/// Accepts any value without keeping it. An error here would make clap print the value.
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

    /// All commands that users see, with their full names.
    fn visible() -> Vec<(String, clap::Command)> {
        let mut root = Cli::command();
        root.build();
        let mut rest = vec![("warren-tunnel".to_owned(), root)];
        let mut found = Vec::new();
        while let Some((name, command)) = rest.pop() {
            let below =
                command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help");
            rest.extend(below.map(|below| (format!("{name} {}", below.get_name()), below.clone())));
            found.push((name, command));
        }
        found
    }

    #[test]
    fn every_command_and_argument_has_help_and_every_command_has_examples() {
        let commands = visible();
        assert!(commands.len() > 20, "{}", commands.len());
        for (name, command) in &commands {
            assert!(command.get_about().is_some(), "{name}: no description");
            let help = command.clone().render_long_help().to_string();
            assert!(help.contains("\nExamples:\n"), "{name}: no examples");
            for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
                let text = argument.get_help().map(ToString::to_string).unwrap_or_default();
                assert!(!text.is_empty(), "{name}: no help for {}", argument.get_id());
                assert!(!text.ends_with('.'), "{name}: the help of {} ends in a period", argument.get_id());
            }
        }
    }

    #[test]
    fn every_example_is_accepted() {
        for (name, command) in visible() {
            let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let (_, examples) = text.split_once("Examples:\n").unwrap();
            for line in examples.lines() {
                assert!(line.len() <= 100 && (line.is_empty() || line.starts_with("  ")), "{name}: {line}");
            }
            let commands: Vec<&str> =
                examples.lines().map(str::trim).filter(|line| line.starts_with("warren-tunnel ")).collect();
            assert!(commands.iter().any(|command| command.contains(&name)), "{name}: {examples}");
            for part in commands.iter().flat_map(|command| command.split(" && ")) {
                let words = part.split('<').next().unwrap().split_whitespace();
                if let Err(error) = Cli::try_parse_from(words) {
                    panic!("{name}: {part}: {error}");
                }
            }
        }
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
    fn a_token_id_may_begin_with_a_hyphen() {
        let id = warren_wire::token::TokenId::from_random([0xf8; 16]).to_string();
        assert!(id.starts_with('-'));
        for words in [["revoke", &id, "--peers"], ["revoke", "--peers", &id]] {
            let cli = Cli::try_parse_from(["warren-tunnel", "token"].iter().chain(&words)).unwrap();
            let Command::Token(TokenCommand::Revoke { id: parsed, peers, .. }) = cli.command else {
                panic!("revoke")
            };
            assert_eq!((parsed.to_string(), peers), (id.clone(), true));
        }
        let refused = Cli::try_parse_from(["warren-tunnel", "token", "revoke", "--peer"]).unwrap_err();
        insta::assert_snapshot!("revoke_without_id", refused);
    }

    #[test]
    fn services_can_be_off() {
        assert_eq!(address("off"), Ok(Address::Off));
        assert_eq!(address("[::1]:9"), Ok(Address::On("[::1]:9".parse().unwrap())));
        insta::assert_snapshot!(address("localhost").unwrap_err());
    }
}
