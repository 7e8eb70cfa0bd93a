//! Programs that speak WireGuard.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::program;

/// Names a binary of ours to use instead of the one built beside the tests.
const OURS: &str = "WARREN_TUNNEL";

/// Begins the variables that add a program, or replace a known one: `WARREN_BENCH_PEER_<NAME>=/path`.
const ANY: &str = "WARREN_BENCH_PEER_";

/// Begins the names of programs for pods, which serve no TUN device.
pub const WIREPROXY: &str = "wireproxy";

/// A program that speaks WireGuard in user space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Implementation {
    /// Ours.
    WarrenTunnel,
    /// Debian's `wireguard-go`.
    WireguardGo,
    /// The newest `wireguard-go`, which offloads segmentation.
    WireguardGoNew,
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
    /// All that serve a TUN device, with those that the environment adds.
    pub fn all() -> Vec<Implementation> {
        let known = [
            Implementation::WarrenTunnel,
            Implementation::BoringtunCli,
            Implementation::GotatunCli,
            Implementation::WireguardGo,
            Implementation::WireguardGoNew,
        ];
        let mut all = known.to_vec();
        let added = from_environment().filter(|(name, _)| !known.iter().any(|one| one.name() == name));
        let added = added.filter(|(name, _)| !name.starts_with(WIREPROXY));
        all.extend(added.map(|(name, path)| Implementation::Binary { name, path }));
        all
    }

    /// The one called `name`.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn named(name: &str) -> Result<Implementation> {
        let all = Implementation::all();
        let names: Vec<String> = all.iter().map(|one| one.name().to_owned()).collect();
        all.into_iter().find(|one| one.name() == name).with_context(|| {
            let variable = name.to_uppercase().replace('-', "_");
            format!(
                "no WireGuard program is called `{name}`\nHint: {}, or set {ANY}{variable}=/path",
                names.join(", ")
            )
        })
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        match self {
            Implementation::WarrenTunnel => "warren-tunnel",
            Implementation::WireguardGo => "wireguard-go",
            Implementation::WireguardGoNew => "wireguard-go-new",
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
            known => match from_environment().find(|(name, _)| name == known.name()) {
                Some((name, path)) => Implementation::Binary { name, path }.path(),
                None => program(known.name()),
            },
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
            Implementation::WireguardGo | Implementation::WireguardGoNew | Implementation::Binary { .. } => {
                &["-f", interface]
            }
            Implementation::BoringtunCli | Implementation::GotatunCli => {
                &["--foreground", "--disable-drop-privileges", interface]
            }
        };
        words.iter().map(|word| (*word).to_owned()).collect()
    }
}

/// The programs that the environment names, by name.
pub fn from_environment() -> impl Iterator<Item = (String, PathBuf)> {
    let mut found: Vec<(String, PathBuf)> = std::env::vars()
        .filter_map(|(variable, path)| {
            let name = variable.strip_prefix(ANY)?.to_lowercase().replace('_', "-");
            Some((name, path.into()))
        })
        .collect();
    found.sort();
    found.into_iter()
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
