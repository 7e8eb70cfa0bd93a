//! The command line. Precedence everywhere: flags, then environment, then the configuration file.

mod args;
mod gateway;
mod help;
mod sync;
#[cfg(test)]
mod tests;

use clap::{Parser, Subcommand};

pub use args::{
    AttachArgs, DoctorArgs, EnterArgs, ExecArgs, FetchArgs, LogsArgs, NetcheckArgs, OutArgs, PingArgs,
    PubkeyArgs, ReloadArgs, StatusArgs,
};
pub use gateway::{AdminArgs, GatewayArgs, GatewayCommand, TokenCommand, TopologyArgs};
pub use sync::{Bytes, SyncArgs};

use crate::{
    agent::{AgentArgs, KeyArgument},
    runtime::{net, problem::Problem},
};

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
            Some(KeyArgument) => {
                Err(Problem::new("refusing a private key as an argument: every user of this machine can read it").hint(
                    "generate a new key, since this one is exposed, and pass it in the file's PrivateKey, with --private-key-file or in \
                     WARREN_PRIVATE_KEY (pubkey: on standard input)",
                ))
            }
        }
    }
}

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
    /// Send echo requests through the tunnel of a running agent
    #[command(after_help = help::PING)]
    Ping(PingArgs),
    /// Measure latency and loss to each gateway over UDP and TLS, and show which an agent would use
    #[command(after_help = help::NETCHECK)]
    Netcheck(NetcheckArgs),
    /// Reload the configuration file of a running agent; unchanged peers keep their sessions
    #[command(after_help = help::RELOAD)]
    Reload(ReloadArgs),
    /// Transfer datasets and checkpoints between object storage and folders; an interrupted transfer continues
    #[command(after_help = help::SYNC)]
    Sync(Box<SyncArgs>),
    /// Write a gateway's keys and configuration from a cloud's secret store to files
    #[command(after_help = help::FETCH)]
    Fetch(FetchArgs),
    /// Send the journal of a gateway's units to CloudWatch Logs
    #[command(after_help = help::LOGS)]
    Logs(LogsArgs),
    /// Attach an EBS volume to this EC2 instance and print its device
    #[command(after_help = help::ATTACH_VOLUME)]
    AttachVolume(AttachArgs),
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
    #[command(name = net::HELPER, hide = true)]
    MakeSockets,
    /// Run a command in the network of a tunnel; used by `exec` itself
    #[command(name = net::ENTER, hide = true)]
    EnterNetwork(EnterArgs),
}
