//! Arguments of the commands that run once, and of `exec`.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use clap::Args;

use warren_sync::Location;

use crate::{
    agent::{AgentArgs, KeyArgument},
    runtime::{host::InterfaceName, log::LogFormat, uapi::PONG_TIMEOUT_MAX},
};

/// Arguments of `exec`.
#[derive(Debug, Args)]
pub struct ExecArgs {
    /// Timeout for enrolling and for the first answer of a peer; 0 tries once to enrol and does not wait for a peer
    #[arg(long, value_name = "SECONDS", env = "WARREN_WAIT", default_value = "30", value_parser = clap::value_parser!(u64).range(0..=3600))]
    pub wait: u64,
    /// Run the command inside the tunnel's network, where its plain sockets use the tunnel; needs unprivileged user namespaces
    #[arg(long, env = "WARREN_TRANSPARENT")]
    pub transparent: bool,
    /// Copy a folder with `sync` before the command starts, as SOURCE=DEST; the last `=` separates. Repeatable
    #[arg(long, value_name = "SOURCE=DEST", value_parser = sync_in)]
    pub sync_in: Vec<(Location, Location)>,
    /// Copy a folder with `sync` after the command has ended, as SOURCE=DEST; the first `=` separates. Repeatable
    #[arg(long, value_name = "SOURCE=DEST", value_parser = sync_out)]
    pub sync_out: Vec<(Location, Location)>,
    /// The tunnel.
    #[command(flatten)]
    pub agent: AgentArgs,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Arguments of the command by which this program enters the network of a tunnel.
#[derive(Debug, Args)]
pub struct EnterArgs {
    /// A process in that network
    pub process: u32,
    /// The file that programs shall see as /etc/resolv.conf
    pub resolver: PathBuf,
    /// The file that programs shall see as /etc/hosts
    pub hosts: PathBuf,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

fn sync_in(text: &str) -> Result<(Location, Location), String> {
    pair(text.rsplit_once('='))
}

fn sync_out(text: &str) -> Result<(Location, Location), String> {
    pair(text.split_once('='))
}

fn pair(both: Option<(&str, &str)>) -> Result<(Location, Location), String> {
    let (source, dest) = both.ok_or("write SOURCE=DEST")?;
    let read = |text: &str| text.parse::<Location>().map_err(|error| format!("`{text}`: {error}"));
    Ok((read(source)?, read(dest)?))
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

/// Arguments of `logs`.
#[derive(Debug, Args)]
pub struct LogsArgs {
    /// CloudWatch Logs log group
    #[arg(long, value_name = "NAME")]
    pub group: String,
    /// File that keeps the position in the journal
    #[arg(long, value_name = "FILE", default_value = "/var/lib/warren-logs/cursor")]
    pub state: PathBuf,
    /// Format of log lines
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "human", env = "WARREN_LOG_FORMAT")]
    pub log_format: LogFormat,
}

/// Arguments of `attach-volume`.
#[derive(Debug, Args)]
pub struct AttachArgs {
    /// ID of the EBS volume
    pub volume: String,
    /// Exit with an error if the volume is not attached after this time; 0 retries forever
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
    /// Refused: every user of the machine can read arguments.
    #[arg(hide = true)]
    pub key: Option<KeyArgument>,
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
    /// Also test the gateways of the enrolment token in this file; WARREN_TOKEN may hold the token itself
    #[arg(long, value_name = "FILE", env = "WARREN_TOKEN_FILE")]
    pub token_file: Option<PathBuf>,
}

/// Arguments of `ping`.
#[derive(Debug, Args)]
pub struct PingArgs {
    /// Name, which the gateway resolves, or address
    #[arg(value_name = "DESTINATION")]
    pub destination: String,
    /// Interface of the agent [default: the only running one]
    #[arg(long, value_name = "NAME")]
    pub interface: Option<InterfaceName>,
    /// Number of echo requests [default: until Ctrl-C]
    #[arg(long, short, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Seconds between two requests, from 0.1 to 3600
    #[arg(long, short, value_name = "SECONDS", default_value = "1", value_parser = interval)]
    pub interval: Duration,
    /// Bytes of data in a request; with the headers at most the MTU of the tunnel
    #[arg(long, short, value_name = "BYTES", default_value = "56")]
    pub size: u16,
    /// Timeout for each answer in seconds, from 0.1 to 10
    #[arg(long, short = 'W', value_name = "SECONDS", default_value = "4", value_parser = pong_timeout)]
    pub timeout: Duration,
    /// Print a line of JSON for each request, and one with the summary
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `netcheck`.
#[derive(Debug, Args)]
pub struct NetcheckArgs {
    /// Measure the gateways of the running agent of this interface [default: those of a file or token, else of the only agent]
    pub interface: Option<InterfaceName>,
    /// Measure the peers of this configuration file
    #[arg(long, value_name = "FILE", env = "WARREN_CONFIG")]
    pub config: Option<PathBuf>,
    /// Measure the gateways of the enrolment token in this file; WARREN_TOKEN may hold the token itself
    #[arg(long, value_name = "FILE", env = "WARREN_TOKEN_FILE")]
    pub token_file: Option<PathBuf>,
    /// Number of probes by each carrier, from 1 to 20
    #[arg(long, value_name = "COUNT", default_value = "5", value_parser = clap::value_parser!(u8).range(1..=20))]
    pub count: u8,
    /// Timeout for each answer in seconds, from 0.1 to 10
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = pong_timeout)]
    pub timeout: Duration,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

fn interval(text: &str) -> Result<Duration, String> {
    seconds(text, Duration::from_secs(3600))
}

fn pong_timeout(text: &str) -> Result<Duration, String> {
    seconds(text, PONG_TIMEOUT_MAX)
}

/// Seconds, which may have a fraction.
fn seconds(text: &str, most: Duration) -> Result<Duration, String> {
    let time = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.filter(|time| (Duration::from_millis(100)..=most).contains(time))
        .ok_or_else(|| format!("write seconds from 0.1 to {}", most.as_secs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_have_fractions_and_bounds() {
        assert_eq!(interval("0.25").unwrap(), Duration::from_millis(250));
        assert_eq!(pong_timeout("10").unwrap(), PONG_TIMEOUT_MAX);
        for text in ["0", "0.05", "10.1", "-1", "nan", "inf", "1s", ""] {
            assert_eq!(pong_timeout(text).unwrap_err(), "write seconds from 0.1 to 10", "{text}");
        }
    }

    #[test]
    fn names_of_partitions_contain_the_separator() {
        let text = |(source, dest): (Location, Location)| format!("{source} {dest}");
        assert_eq!(sync_in("s3://b/day=7/=/data").map(text).unwrap(), "s3://b/day=7 /data");
        assert_eq!(sync_out("/out=s3://b/day=7/").map(text).unwrap(), "/out s3://b/day=7");
        assert_eq!(sync_in("s3://b/x").unwrap_err(), "write SOURCE=DEST");
        assert!(sync_out("=s3://b/x").unwrap_err().contains("empty"));
    }
}
