//! What a device is told: its keys, addresses and peers.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use crate::program;

/// A private key and its public key, both in base64.
#[derive(Clone, Debug)]
pub struct KeyPair {
    /// The secret half, as configuration files have it.
    pub private: String,
    /// The half that the other side is told.
    pub public: String,
}

impl KeyPair {
    /// A new pair, made by `wg`.
    ///
    /// # Errors
    /// `wg` is missing or fails.
    pub fn generate() -> Result<KeyPair> {
        let private = wg(&["genkey"], "")?;
        let public = wg(&["pubkey"], &private)?;
        Ok(KeyPair { private, public })
    }
}

/// A new preshared key, made by `wg`.
///
/// # Errors
/// `wg` is missing or fails.
pub fn preshared_key() -> Result<String> {
    wg(&["genpsk"], "")
}

fn wg(arguments: &[&str], input: &str) -> Result<String> {
    let mut child = Command::new(program("wg")?)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start `wg`")?;
    child.stdin.take().context("no input")?.write_all(input.as_bytes())?;
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "wg {arguments:?} failed");
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// One end of a tunnel.
#[derive(Clone, Debug)]
pub struct Interface {
    /// Its keys.
    pub keys: KeyPair,
    /// The UDP port.
    pub port: u16,
    /// Addresses inside the tunnel, with prefix lengths.
    pub addresses: Vec<String>,
    /// The largest packet inside the tunnel.
    pub mtu: u16,
    /// Those it talks to.
    pub peers: Vec<Remote>,
    /// More lines for the `[Interface]` section of a wg-quick file.
    pub extra: Vec<String>,
}

/// The other end of a tunnel, as an interface knows it.
#[derive(Clone, Debug, Default)]
pub struct Remote {
    /// Its public key.
    pub public_key: String,
    /// The key that both know beside.
    pub preshared_key: Option<String>,
    /// Where it is; an end that is only called needs none.
    pub endpoint: Option<String>,
    /// The addresses behind it.
    pub allowed: Vec<String>,
    /// Seconds between packets that keep paths open.
    pub keepalive: Option<u16>,
}

impl Interface {
    /// The file that `wg setconf` and `wg syncconf` take.
    pub fn wg(&self) -> String {
        self.file(false)
    }

    /// The file that `wg-quick` takes.
    pub fn wg_quick(&self) -> String {
        self.file(true)
    }

    fn file(&self, quick: bool) -> String {
        let mut text =
            format!("[Interface]\nPrivateKey = {}\nListenPort = {}\n", self.keys.private, self.port);
        if quick {
            let _ = writeln!(text, "Address = {}\nMTU = {}", self.addresses.join(", "), self.mtu);
            for line in &self.extra {
                let _ = writeln!(text, "{line}");
            }
        }
        for peer in &self.peers {
            let _ = write!(text, "\n[Peer]\nPublicKey = {}\n", peer.public_key);
            if let Some(key) = &peer.preshared_key {
                let _ = writeln!(text, "PresharedKey = {key}");
            }
            if let Some(endpoint) = &peer.endpoint {
                let _ = writeln!(text, "Endpoint = {endpoint}");
            }
            if !peer.allowed.is_empty() {
                let _ = writeln!(text, "AllowedIPs = {}", peer.allowed.join(", "));
            }
            if let Some(seconds) = peer.keepalive {
                let _ = writeln!(text, "PersistentKeepalive = {seconds}");
            }
        }
        text
    }
}
