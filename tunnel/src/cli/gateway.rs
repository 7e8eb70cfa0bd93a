//! Arguments of gateways, tokens and topologies.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use warren_wire::gateway::Period;
use warren_wire::token::{TokenId, USES_DEFAULT};
use warren_wire::{Name, PublicKey};

use super::help;
use crate::runtime::{ListenAddress, Queues, cipher, log::LogFormat, sandbox::Demand};

/// Arguments of `gateway`.
#[derive(Debug, Args)]
pub struct GatewayArgs {
    /// Configuration file of the gateway
    #[arg(long, short, value_name = "FILE", env = "WARREN_GATEWAY_CONFIG", default_value = GATEWAY_FILE)]
    pub config: PathBuf,
    /// Address on which to serve /metrics, /healthz, /readyz and the page for operators, or `off` [default: the file's, else 127.0.0.1:9586]
    #[arg(long, value_name = "ADDR", env = "WARREN_METRICS")]
    pub metrics: Option<ListenAddress>,
    /// Confinement of the process with Landlock, seccomp, and without capabilities that it does not need [default: the file's, else auto]
    #[arg(long, value_enum, env = "WARREN_SANDBOX")]
    pub sandbox: Option<Demand>,
    /// Code that encrypts packets
    #[arg(long, value_enum, default_value = "auto", env = "WARREN_CIPHER")]
    pub cipher: cipher::Demand,
    /// Queues of the TUN device where the kernel forwards, each with a thread for either direction, or auto: one for two processors, at most 8
    #[arg(long, value_name = "COUNT", default_value = "auto", env = "WARREN_QUEUES")]
    pub queues: Queues,
    /// Format of log lines
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "human", env = "WARREN_LOG_FORMAT")]
    pub log_format: LogFormat,
    /// Log level: off, error, warn, info, debug or trace, or per module: info,warren_proto=debug
    #[arg(long, value_name = "LEVEL", env = "WARREN_LOG_LEVEL", default_value = "info")]
    pub log_level: String,
    /// The request to a running gateway; without one, this process is a gateway.
    #[command(subcommand)]
    pub command: Option<GatewayCommand>,
}

/// Default path of the configuration file.
const GATEWAY_FILE: &str = "/etc/warren/gateway.toml";

/// The subcommands of `gateway`.
#[derive(Debug, Subcommand)]
pub enum GatewayCommand {
    /// Check a configuration file and the files that it names, without starting or changing anything
    #[command(after_help = help::GATEWAY_CHECK)]
    Check {
        /// Configuration file of the gateway [default: WARREN_GATEWAY_CONFIG, else /etc/warren/gateway.toml]
        file: Option<PathBuf>,
    },
    /// Show the state of the gateway: keys, ports, store, leases, traffic
    #[command(after_help = help::GATEWAY_STATUS)]
    Status(AdminArgs),
    /// List all leases: address, state, group, host, expiry, traffic
    #[command(after_help = help::GATEWAY_PEERS)]
    Peers(AdminArgs),
    /// End a peer's lease immediately at all gateways, and block its key for a time, and its token for new keys
    #[command(after_help = help::GATEWAY_EVICT)]
    Evict {
        /// Public key of the peer, as printed by `gateway peers`
        #[arg(required_unless_present = "token")]
        key: Option<PublicKey>,
        /// End all leases of the token with this ID instead, and block the token
        // Base64url: one ID in 64 begins with a hyphen.
        #[arg(long, value_name = "ID", conflicts_with = "key", allow_hyphen_values = true)]
        token: Option<TokenId>,
        /// How long to block, such as 30m, 12h or 7d
        #[arg(long = "for", value_name = "TIME", default_value = "24h")]
        time: Period,
        /// The gateway, and the output format.
        #[command(flatten)]
        admin: AdminArgs,
    },
    /// Unblock an evicted peer or token
    #[command(after_help = help::GATEWAY_READMIT)]
    Readmit {
        /// Public key of the peer
        #[arg(required_unless_present = "token")]
        key: Option<PublicKey>,
        /// ID of an evicted or revoked token
        #[arg(long, value_name = "ID", conflicts_with = "key", allow_hyphen_values = true)]
        token: Option<TokenId>,
        /// The gateway, and the output format.
        #[command(flatten)]
        admin: AdminArgs,
    },
    /// Refuse new peers and move existing ones to other gateways, before stopping this gateway
    #[command(after_help = help::GATEWAY_DRAIN)]
    Drain {
        /// Accept new peers again
        #[arg(long)]
        undo: bool,
        /// Keep existing peers
        #[arg(long, conflicts_with = "undo")]
        stay: bool,
        /// The gateway, and the output format.
        #[command(flatten)]
        admin: AdminArgs,
    },
    /// Reload the configuration file
    #[command(after_help = help::GATEWAY_RELOAD)]
    Reload(AdminArgs),
    /// Prints what enrolment tokens say about a gateway.
    #[command(
        about = "Print the [[gateways]] entry of a gateway from its key files, and create missing ones"
    )]
    #[command(after_help = help::GATEWAY_IDENTITY)]
    Identity {
        /// File with the WireGuard private key
        #[arg(long, value_name = "FILE", default_value = "/etc/warren/gateway.key")]
        key: PathBuf,
        /// File with the TLS certificate and its private key
        #[arg(long, value_name = "FILE", default_value = "/etc/warren/gateway.tls.pem")]
        certificate: PathBuf,
    },
}

/// The gateway to send a request to, and the output format.
#[derive(Debug, Clone, Args)]
pub struct AdminArgs {
    /// Control socket of the gateway [default: that of the only gateway of this user]
    #[arg(long, value_name = "FILE", env = "WARREN_GATEWAY_SOCKET")]
    pub socket: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The subcommands of `token`.
#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Create a token for a group of a gateway's configuration
    #[command(after_help = help::TOKEN_CREATE)]
    Create {
        /// Configuration file of a gateway, with fabric, groups and gateways
        #[arg(long, short, value_name = "FILE", env = "WARREN_GATEWAY_CONFIG", default_value = GATEWAY_FILE)]
        config: PathBuf,
        /// Group of the peers that enrol with the token
        #[arg(long, value_name = "NAME")]
        group: Name,
        /// Validity of the token, such as 30m, 12h or 90d; at most 400d
        #[arg(long, value_name = "TIME", default_value = "1h")]
        valid: Period,
        /// Number of peers that may enrol with the token. A host that returns with another key counts once
        #[arg(long, value_name = "COUNT", default_value_t = USES_DEFAULT)]
        uses: NonZeroU32,
        /// Longest life of a lease, such as 12h or 7d [default: that of the gateway]
        #[arg(long, value_name = "TIME")]
        max_lease: Option<Period>,
        /// File with the signing key, used instead of WARREN_SIGNING_KEY
        #[arg(long, value_name = "FILE", env = "WARREN_SIGNING_KEY_FILE")]
        key_file: Option<PathBuf>,
        /// Write to a new file of mode 0600 instead of standard output
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Show the content of a token
    #[command(after_help = help::TOKEN_INSPECT)]
    Inspect {
        /// File with the token; `-` for standard input
        file: Option<PathBuf>,
        /// Configuration file of a gateway, whose token_keys verify the signature
        #[arg(long, short, value_name = "FILE")]
        config: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Generate a key that signs tokens, and print its public key for `token_keys`
    #[command(after_help = help::TOKEN_KEYGEN)]
    Keygen {
        /// New file of mode 0600 for the signing key
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
    /// Revoke a token at all gateways
    #[command(after_help = help::TOKEN_REVOKE)]
    Revoke {
        /// ID of the token, as printed by `token inspect`
        // Base64url: one ID in 64 begins with a hyphen.
        #[arg(allow_hyphen_values = true)]
        id: TokenId,
        /// Also end the leases of peers that enrolled with it
        #[arg(long)]
        peers: bool,
        /// The gateway, and the output format.
        #[command(flatten)]
        admin: AdminArgs,
    },
}

/// Arguments of `topology`.
#[derive(Debug, Args)]
pub struct TopologyArgs {
    /// Description of the sites
    pub file: PathBuf,
    /// Print only the configuration of this site
    #[arg(long, value_name = "NAME")]
    pub site: Option<Name>,
}
