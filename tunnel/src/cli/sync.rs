//! Arguments of `sync`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser};
use warren_sync::Location;

/// Arguments of `sync`.
#[derive(Debug, Args)]
pub struct SyncArgs {
    /// Folder to read: s3://BUCKET/FOLDER, gs://BUCKET/FOLDER, file:///PATH or a path
    pub source: Location,
    /// Folder to write, in the same forms
    pub dest: Location,
    /// Transfer only names that match; a pattern with a slash is compared with the whole name. Repeatable
    #[arg(long, value_name = "PATTERN")]
    pub include: Vec<String>,
    /// Do not transfer, and do not delete, names that match; wins over --include. Repeatable
    #[arg(long, value_name = "PATTERN")]
    pub exclude: Vec<String>,
    /// Print what would be transferred and deleted, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Delete at the destination what the source does not have
    #[arg(long)]
    pub delete: bool,
    /// Connect without the tunnel's proxy, and ignore HTTPS_PROXY
    #[arg(long)]
    pub direct: bool,
    /// Limit the rate, in bytes per second: 500K, 20M or 1G
    #[arg(long, value_name = "BYTES")]
    pub rate: Option<Bytes>,
    /// Most requests at the same time; their number adapts to what the path carries
    #[arg(long, value_name = "COUNT", default_value = "256", value_parser = connections)]
    pub connections: usize,
    /// Size of a part: 8M, at most 96M [default: 8M]
    #[arg(long, value_name = "BYTES", value_parser = part)]
    pub part_size: Option<Bytes>,
    /// Folder for the state of uploads [default: $XDG_STATE_HOME/warren-tunnel/sync]
    #[arg(long, value_name = "DIR", env = "WARREN_SYNC_STATE")]
    pub state: Option<PathBuf>,
    /// Upload each complete checkpoint in SOURCE, a folder of this machine, until SIGTERM or SIGINT
    #[arg(long, conflicts_with_all = ["delete", "dry_run"])]
    pub watch: bool,
    /// File that is written last into the folder of a checkpoint [default: recognise completeness by a quiet period]
    #[arg(long, value_name = "NAME", requires = "watch")]
    pub marker: Option<String>,
    /// Time without changes after which a checkpoint without a marker is complete
    #[arg(long, value_name = "SECONDS", requires = "watch", default_value = "10", value_parser = clap::value_parser!(u64).range(0..=3600))]
    pub quiet_period: u64,
    /// Time for uploads after SIGTERM
    #[arg(long, value_name = "SECONDS", requires = "watch", default_value = "25", value_parser = clap::value_parser!(u64).range(0..=3600))]
    pub grace: u64,
    /// Delete complete checkpoints at the destination beyond the newest COUNT
    #[arg(long, value_name = "COUNT", requires = "watch", value_parser = clap::value_parser!(u32).range(1..))]
    pub keep: Option<u32>,
    /// Print errors only
    #[arg(long, conflicts_with_all = ["json", "dry_run"])]
    pub quiet: bool,
    /// Print JSON lines, as without a terminal
    #[arg(long)]
    pub json: bool,
}

/// The arguments alone.
#[derive(Parser)]
struct Alone {
    #[command(flatten)]
    sync: SyncArgs,
}

impl SyncArgs {
    /// One transfer with the defaults that prints errors only.
    ///
    /// # Errors
    /// A variable of the environment that has an argument's value is not valid.
    pub fn between(source: &Location, dest: &Location) -> Result<Self, clap::Error> {
        let ends = [source, dest].map(|end| match end {
            Location::Folder(path) => path.clone().into_os_string(),
            other => other.to_string().into(),
        });
        let words = ["sync", "--quiet", "--"].map(OsString::from).into_iter().chain(ends);
        Alone::try_parse_from(words).map(|alone| alone.sync)
    }
}

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl FromStr for Bytes {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        const WRITE: &str = "write a number of bytes above 0, such as 500K, 20M or 1G";
        let units = [("K", 10), ("M", 20), ("G", 30)];
        let unit = units.iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, *shift)));
        let (digits, shift) = unit.unwrap_or((text, 0));
        let number: u64 = digits.parse().map_err(|_| WRITE)?;
        number.checked_mul(1 << shift).filter(|bytes| *bytes > 0).map(Self).ok_or(WRITE)
    }
}

fn connections(text: &str) -> Result<usize, &'static str> {
    text.parse().ok().filter(|count| (1..=256).contains(count)).ok_or("write a number from 1 to 256")
}

fn part(text: &str) -> Result<Bytes, &'static str> {
    let bytes: Bytes = text.parse()?;
    let fits = (64 << 10..=warren_sync::parts::LARGEST).contains(&bytes.0);
    if fits { Ok(bytes) } else { Err("write a size from 64K to 96M") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        assert_eq!("20M".parse(), Ok(Bytes(20 << 20)));
        assert_eq!("7".parse(), Ok(Bytes(7)));
        for wrong in ["", "0", "M", "1.5M", "-1", "99999999999G"] {
            assert!(wrong.parse::<Bytes>().is_err(), "{wrong}");
        }
        assert!(part("97M").is_err() && part("1K").is_err() && part("96M").is_ok());
        assert!(connections("0").is_err() && connections("257").is_err() && connections("1").is_ok());
    }
}
