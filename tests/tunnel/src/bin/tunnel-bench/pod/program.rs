//! Programs that end a tunnel in their own process, each with ports of loopback that lead through it.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;
use warren_tunnel_tests::{
    Daemon, Family, Implementation, Interface, Side, WIREPROXY, from_environment, program,
};

use super::PORTS;

/// The user that owns nothing.
const NOBODY: u32 = 65534;

/// A program that is measured.
pub(crate) enum Program {
    /// Ours, which ends in its netstack.
    WarrenTunnel,
    /// Ours, which ends in the kernel's stack in a user namespace.
    WarrenUserns,
    /// A released crate.
    Onetun,
    /// `wireproxy`, or another build of it: `WARREN_BENCH_PEER_WIREPROXY_<NAME>=/path`.
    Wireproxy { name: String, path: Option<PathBuf> },
}

/// A program that only has to be started.
pub(crate) struct Prepared {
    command: Command,
    folder: TempDir,
}

impl Program {
    /// Those that were named, or all.
    pub(crate) fn chosen(names: &[String]) -> Result<Vec<Program>> {
        let mut all = vec![Program::WarrenTunnel, Program::WarrenUserns, Program::Onetun];
        let added = from_environment().filter(|(name, _)| name.starts_with(WIREPROXY));
        all.extend(added.map(|(name, path)| Program::Wireproxy { name, path: Some(path) }));
        if !all.iter().any(|one| one.name() == WIREPROXY) {
            all.push(Program::Wireproxy { name: WIREPROXY.to_owned(), path: None });
        }
        if let Some(unknown) = names.iter().find(|name| !all.iter().any(|one| one.name() == *name)) {
            bail!(
                "no program for a pod is called `{unknown}`\nHint: warren-tunnel, warren-userns, onetun, wireproxy, or \
                 WARREN_BENCH_PEER_WIREPROXY_<NAME>"
            );
        }
        all.retain(|one| names.is_empty() || names.iter().any(|name| one.name() == name));
        Ok(all)
    }

    pub(crate) fn name(&self) -> &str {
        match self {
            Program::WarrenTunnel => "warren-tunnel",
            Program::WarrenUserns => "warren-userns",
            Program::Onetun => "onetun",
            Program::Wireproxy { name, .. } => name,
        }
    }

    pub(crate) fn path(&self) -> Result<PathBuf> {
        match self {
            Program::WarrenTunnel | Program::WarrenUserns => Implementation::WarrenTunnel.path(),
            Program::Onetun => program("onetun"),
            Program::Wireproxy { path, .. } => path.clone().map_or_else(|| program(WIREPROXY), Ok),
        }
    }

    /// Whether it has another carrier than UDP.
    pub(crate) fn knows_tls(&self) -> bool {
        matches!(self, Program::WarrenTunnel | Program::WarrenUserns)
    }

    /// Writes what it is configured by. The gateway is at `endpoint`, which is its TLS port where its `pin` is given.
    pub(crate) fn prepare(
        &self,
        interface: &Interface,
        endpoint: SocketAddr,
        pin: Option<&str>,
    ) -> Result<Prepared> {
        let folder = tempfile::Builder::new().prefix("warren-pod-").tempdir()?;
        chown(folder.path(), Some(NOBODY), Some(NOBODY))?;
        let inner = Side::Right.inner(Family::V4);
        let peer = interface.peers.first().context("an interface without a peer")?;
        let mut command = Command::new(self.path()?);
        match self {
            Program::WarrenTunnel | Program::WarrenUserns => {
                let mut interface = interface.clone();
                interface.port = 0;
                interface.peers[0].endpoint = Some(endpoint.to_string());
                let file = secret(folder.path(), "pod.conf", &interface.wg_quick())?;
                let forwards: Vec<String> =
                    PORTS.iter().map(|port| format!("127.0.0.1:{port}={inner}:{port}")).collect();
                let device = if matches!(self, Program::WarrenTunnel) { "user" } else { "userns" };
                command.args(["agent", "--device", device, "--metrics", "off", "--socks5", "off"]);
                command.args(["--http-proxy", "off", "--forward", &forwards.join(",")]);
                command.arg("--config").arg(file);
                if let Some(pin) = pin {
                    let endpoint = endpoint.to_string();
                    command.args(["--carrier", "tls", "--tls-endpoint", &endpoint, "--tls-pin", pin]);
                }
            }
            Program::Onetun => {
                let file = secret(folder.path(), "key", &interface.keys.private)?;
                command.args(PORTS.map(|port| format!("127.0.0.1:{port}:{inner}:{port}")));
                command.args(["--endpoint-addr", &endpoint.to_string()]);
                command.args(["--endpoint-public-key", &peer.public_key]);
                command.arg("--private-key-file").arg(file);
                command.args(["--source-peer-ip", &Side::Left.inner(Family::V4).to_string()]);
                command.args(["--max-transmission-unit", &interface.mtu.to_string()]);
            }
            Program::Wireproxy { .. } => {
                let mut text = format!(
                    "[Interface]\nPrivateKey = {}\nAddress = {}/32\nMTU = {}\n\n[Peer]\nPublicKey = {}\nEndpoint = {endpoint}\nAllowedIPs = {inner}/32\n",
                    interface.keys.private,
                    Side::Left.inner(Family::V4),
                    interface.mtu,
                    peer.public_key,
                );
                for port in PORTS {
                    text += &format!(
                        "\n[TCPClientTunnel]\nBindAddress = 127.0.0.1:{port}\nTarget = {inner}:{port}\n"
                    );
                }
                command.arg("--config").arg(secret(folder.path(), "wireproxy.conf", &text)?);
            }
        }
        command.env("XDG_RUNTIME_DIR", folder.path()).env("TMPDIR", folder.path());
        command.current_dir("/").uid(NOBODY).gid(NOBODY);
        Ok(Prepared { command, folder })
    }
}

impl Prepared {
    /// Starts it where the calling thread lives. It runs as nobody.
    pub(crate) fn start(mut self) -> Result<Daemon> {
        let daemon = Daemon::start(&mut self.command)?;
        Ok(daemon.keep(self.folder))
    }
}

fn secret(folder: &Path, name: &str, text: &str) -> Result<PathBuf> {
    let path = folder.join(name);
    fs::write(&path, text)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
    chown(&path, Some(NOBODY), Some(NOBODY))?;
    Ok(path)
}
