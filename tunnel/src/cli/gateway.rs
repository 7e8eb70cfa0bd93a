//! Arguments of gateways, tokens and topologies.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use warren_wire::gateway::Period;
use warren_wire::token::TokenId;
use warren_wire::{Name, PublicKey};

use super::{Address, LogFormat, address};

/// Arguments of `gateway`.
#[derive(Debug, Args)]
pub struct GatewayArgs {
    /// The gateway's file
    #[arg(long, short, value_name = "FILE", env = "WARREN_GATEWAY_CONFIG", default_value = GATEWAY_FILE)]
    pub config: PathBuf,
    /// Where Prometheus finds metrics, /healthz and /readyz; `off` for nowhere [default: the file's, else 127.0.0.1:9586]
    #[arg(long, value_name = "ADDR", env = "WARREN_METRICS", value_parser = address)]
    pub metrics: Option<Address>,
    /// How log lines look
    #[arg(long, value_enum, default_value = "human", env = "WARREN_LOG_FORMAT")]
    pub log_format: LogFormat,
    /// off, error, warn, info, debug or trace; also by module: info,warren_proto=debug
    #[arg(long, value_name = "LEVEL", env = "WARREN_LOG_LEVEL", default_value = "info")]
    pub log_level: String,
    /// What is asked of a gateway that runs; without, this process is one.
    #[command(subcommand)]
    pub ask: Option<GatewayCommand>,
}

/// Where the gateway's file is looked for.
const GATEWAY_FILE: &str = "/etc/warren/gateway.toml";

/// What can be asked of a gateway.
#[derive(Debug, Subcommand)]
pub enum GatewayCommand {
    /// Check a gateway's file and the files that it names; starts and changes nothing
    Check {
        /// The file [default: --config's]
        file: Option<PathBuf>,
    },
    /// How it does
    Status(AskArgs),
    /// All leases: who has which address, and since when
    Peers(AskArgs),
    /// End a peer's lease at once, at all gateways, and keep its key out
    Evict {
        /// Its public key, as `peers` prints it
        key: PublicKey,
        /// For how long: 30m, 12h, 7d
        #[arg(long = "for", value_name = "TIME", default_value = "24h")]
        time: Period,
        /// Which gateway is asked.
        #[command(flatten)]
        ask: AskArgs,
    },
    /// Let an evicted key in again
    Readmit {
        /// Its public key
        key: PublicKey,
        /// Which gateway is asked.
        #[command(flatten)]
        ask: AskArgs,
    },
    /// Take no new peers and send those that are here to the other gateways, before this one is ended
    Drain {
        /// Take new peers again
        #[arg(long)]
        undo: bool,
        /// Let the peers that are here stay
        #[arg(long, conflicts_with = "undo")]
        stay: bool,
        /// Which gateway is asked.
        #[command(flatten)]
        ask: AskArgs,
    },
    /// Read the file again
    Reload(AskArgs),
    /// Print a gateway's [[gateways]] entry from its files; keys that are missing are made
    Identity {
        /// File with the WireGuard key
        #[arg(long, value_name = "FILE", default_value = "/etc/warren/gateway.key")]
        key: PathBuf,
        /// File with the TLS certificate and its key
        #[arg(long, value_name = "FILE", default_value = "/etc/warren/gateway.tls.pem")]
        certificate: PathBuf,
    },
}

/// Which gateway is asked, and how it answers.
#[derive(Debug, Clone, Args)]
pub struct AskArgs {
    /// Its control socket [default: that of the only gateway of this user]
    #[arg(long, value_name = "FILE", env = "WARREN_GATEWAY_SOCKET")]
    pub socket: Option<PathBuf>,
    /// For programs
    #[arg(long)]
    pub json: bool,
}

/// What can be done with tokens.
#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Make a token from a gateway's file, signed by a key of WARREN_SIGNING_KEY or a file
    Create {
        /// File with fabric, groups and gateways
        #[arg(long, short, value_name = "FILE", env = "WARREN_GATEWAY_CONFIG", default_value = GATEWAY_FILE)]
        config: PathBuf,
        /// The group that peers come into
        #[arg(long, value_name = "NAME")]
        group: Name,
        /// For how long it admits: 30m, 12h, 90d, at most 400 days
        #[arg(long, value_name = "TIME", default_value = "24h")]
        valid: Period,
        /// How many peers may join with it [default: any number]
        #[arg(long, value_name = "COUNT")]
        uses: Option<NonZeroU32>,
        /// File with the signing key, in place of WARREN_SIGNING_KEY
        #[arg(long, value_name = "FILE", env = "WARREN_SIGNING_KEY_FILE")]
        key_file: Option<PathBuf>,
        /// Write to a new file that its owner alone can read
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Show what a token says; it is read from a file, WARREN_TOKEN, or standard input
    Inspect {
        /// File with the token; `-` is standard input
        file: Option<PathBuf>,
        /// Gateway's file with the keys that its signature is checked with
        #[arg(long, short, value_name = "FILE")]
        config: Option<PathBuf>,
        /// For programs
        #[arg(long)]
        json: bool,
    },
    /// Make a key that signs tokens; its public half is printed for `token_keys`
    Keygen {
        /// New file for the secret half, which its owner alone can read
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
    /// Make a token worthless, at all gateways
    Revoke {
        /// Its id, as `token inspect` prints it
        id: TokenId,
        /// End the peers that came with it too
        #[arg(long)]
        peers: bool,
        /// Which gateway is asked.
        #[command(flatten)]
        ask: AskArgs,
    },
}

/// Arguments of `topology`.
#[derive(Debug, Args)]
pub struct TopologyArgs {
    /// The description
    pub file: PathBuf,
    /// Print only what goes into this site's file
    #[arg(long, value_name = "NAME")]
    pub site: Option<Name>,
}
