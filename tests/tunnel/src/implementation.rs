//! Programs that speak WireGuard.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};

use crate::program;

/// Names a binary of ours to use instead of the one built beside the tests.
const OURS: &str = "WARREN_TUNNEL";

/// Begins the variables that add a program: `WARREN_BENCH_PEER_<NAME>=/path`.
const ANY: &str = "WARREN_BENCH_PEER_";

/// A program that speaks WireGuard in user space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Implementation {
    /// Ours.
    WarrenTunnel,
    /// Debian's `wireguard-go`.
    WireguardGo,
    /// Cloudflare's, from crates.io.
    BoringtunCli,
    /// Mullvad's, from crates.io.
    GotatunCli,
    /// Any program that is started as `wireguard-go` is.
    Binary {
        /// What tables call it.
        name: String,
        /// Where it is.
        path: PathBuf,
    },
}

impl Implementation {
    /// The one called `name`.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn named(name: &str) -> Result<Implementation> {
        Ok(match name {
            "warren-tunnel" => Implementation::WarrenTunnel,
            "wireguard-go" => Implementation::WireguardGo,
            "boringtun-cli" => Implementation::BoringtunCli,
            "gotatun-cli" => Implementation::GotatunCli,
            other => match Implementation::from_environment().into_iter().find(|found| found.name() == other)
            {
                Some(found) => found,
                None => bail!(
                    "no WireGuard program is called `{other}`\nHint: warren-tunnel, wireguard-go, boringtun-cli, \
                     gotatun-cli, or set {ANY}{}=/path",
                    other.to_uppercase().replace('-', "_")
                ),
            },
        })
    }

    /// The programs that the environment adds, by `WARREN_BENCH_PEER_<NAME>=/path`.
    pub fn from_environment() -> Vec<Implementation> {
        let mut found: Vec<Implementation> = std::env::vars()
            .filter_map(|(variable, path)| {
                let name = variable.strip_prefix(ANY)?.to_lowercase().replace('_', "-");
                Some(Implementation::Binary { name, path: path.into() })
            })
            .collect();
        found.sort_by_key(|one| one.name().to_owned());
        found
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        match self {
            Implementation::WarrenTunnel => "warren-tunnel",
            Implementation::WireguardGo => "wireguard-go",
            Implementation::BoringtunCli => "boringtun-cli",
            Implementation::GotatunCli => "gotatun-cli",
            Implementation::Binary { name, .. } => name,
        }
    }

    /// Its binary, installed first if it is missing.
    ///
    /// # Errors
    /// It is missing and cannot be installed.
    pub fn path(&self) -> Result<PathBuf> {
        match self {
            Implementation::WarrenTunnel => ours(),
            Implementation::Binary { name, path } => {
                ensure!(path.is_file(), "{name}: there is no {}", path.display());
                Ok(path.clone())
            }
            known => program(known.name()),
        }
    }

    /// The arguments with which it serves `interface` in the foreground, configured from a file or not at all.
    pub(crate) fn arguments(&self, interface: &str, config: &Path) -> Vec<String> {
        let words: &[&str] = match self {
            Implementation::WarrenTunnel => {
                return ["agent", "--config", &config.display().to_string(), "--interface", interface]
                    .map(str::to_owned)
                    .to_vec();
            }
            Implementation::WireguardGo | Implementation::Binary { .. } => &["-f", interface],
            Implementation::BoringtunCli | Implementation::GotatunCli => {
                &["--foreground", "--disable-drop-privileges", interface]
            }
        };
        words.iter().map(|word| (*word).to_owned()).collect()
    }
}

/// The binary beside the program that runs, or the one that the environment names.
fn ours() -> Result<PathBuf> {
    let path = match std::env::var_os(OURS) {
        Some(path) => PathBuf::from(path),
        None => std::env::current_exe()?
            .ancestors()
            .find(|folder| ["debug", "release", "tunnel"].iter().any(|profile| folder.ends_with(profile)))
            .with_context(|| format!("this program does not lie in a build folder; set {OURS}"))?
            .join("warren-tunnel"),
    };
    ensure!(
        path.is_file(),
        "no tunnel at {}\nHint: `cargo build -p warren-tunnel` makes it, `cargo xtask test` does so by itself",
        path.display()
    );
    Ok(path)
}
