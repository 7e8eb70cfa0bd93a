//! A WireGuard program at work on one interface.

use std::fs;
use std::net::SocketAddr;
use std::ops::Deref;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use ipnet::IpNet;
use tempfile::TempDir;

use crate::namespace::run;
use crate::{Daemon, Implementation, Interface, Namespace, program, wait_for};

static COUNTER: AtomicU32 = AtomicU32::new(0);

/// A program that serves an interface; dereferences to its process.
#[derive(Debug)]
pub struct Device {
    daemon: Daemon,
    implementation: Implementation,
    host: Arc<Namespace>,
    name: String,
    folder: TempDir,
}

/// A line of `wg show <interface> dump`: a peer as the device sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerState {
    /// Its public key in base64.
    pub public_key: String,
    /// Its preshared key, if it has one.
    pub preshared_key: Option<String>,
    /// Where it was last heard, or is believed to be.
    pub endpoint: Option<SocketAddr>,
    /// The addresses behind it.
    pub allowed: Vec<String>,
    /// Seconds since the UNIX epoch; 0 where there was none.
    pub last_handshake: u64,
    /// Bytes received and sent.
    pub bytes: (u64, u64),
    /// Seconds between keepalives.
    pub keepalive: Option<u16>,
}

impl Device {
    /// Starts `implementation` on `host`, configures it, and waits until the interface is up.
    ///
    /// # Errors
    /// The program is missing, ends, or does not come up; the error has its log.
    pub fn start(
        implementation: &Implementation,
        host: &Arc<Namespace>,
        interface: &Interface,
    ) -> Result<Device> {
        // User-space sockets are in one folder for all network namespaces, so names are the machine's.
        let name = format!("wl{:x}-{}", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed));
        let folder = tempfile::Builder::new().prefix("warren-lab-").tempdir()?;
        Device::start_as(implementation, host, interface, name, folder, &[])
    }

    /// Like [`Device::start`], with more arguments.
    ///
    /// # Errors
    /// As there.
    pub fn start_with(
        implementation: &Implementation,
        host: &Arc<Namespace>,
        interface: &Interface,
        arguments: &[&str],
    ) -> Result<Device> {
        let name = format!("wl{:x}-{}", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed));
        let folder = tempfile::Builder::new().prefix("warren-lab-").tempdir()?;
        Device::start_as(implementation, host, interface, name, folder, arguments)
    }

    /// Our gateway with the TLS port that `interface` asks for, and the pin that its clients know it by.
    ///
    /// # Errors
    /// It does not come up, or tells no pin.
    pub fn tls_gateway(
        host: &Arc<Namespace>,
        interface: &Interface,
        certificate: &Path,
    ) -> Result<(Device, String)> {
        let certificate = certificate.display().to_string();
        let arguments = ["--tls-certificate", &certificate];
        let device = Device::start_with(&Implementation::WarrenTunnel, host, interface, &arguments)?;
        let log = device.log();
        let pin = log.split("pin=").nth(1).and_then(|rest| rest.split_whitespace().next());
        let pin = pin.with_context(|| format!("no pin in the gateway's log:\n{log}"))?.to_owned();
        Ok((device, pin))
    }

    fn start_as(
        implementation: &Implementation,
        host: &Arc<Namespace>,
        interface: &Interface,
        name: String,
        folder: TempDir,
        arguments: &[&str],
    ) -> Result<Device> {
        program("wg")?;
        let ours = *implementation == Implementation::WarrenTunnel;
        let config = folder.path().join(format!("{name}.conf"));
        write_secret(&config, &if ours { interface.wg_quick() } else { interface.wg() })?;
        let mut command = host.command(implementation.path()?);
        command.args(implementation.arguments(&name, &config)).args(arguments);
        command.env("WG_THREADS", "2");
        let daemon = Daemon::start(&mut command)?;
        let mut device =
            Device { daemon, implementation: implementation.clone(), host: Arc::clone(host), name, folder };
        let up = device.bring_up(ours, interface, &config);
        up.with_context(|| {
            format!("{} did not come up; its log:\n{}", implementation.name(), device.daemon.log())
        })?;
        Ok(device)
    }

    fn bring_up(&mut self, ours: bool, interface: &Interface, config: &Path) -> Result<()> {
        let (host, name) = (Arc::clone(&self.host), self.name.clone());
        wait_for(Duration::from_secs(10), "device", || {
            if let Some(status) = self.daemon.ended()? {
                bail!("it ended: {status}");
            }
            let socket = fs::metadata(self.socket()).is_ok_and(|found| found.file_type().is_socket());
            Ok((socket && host.ip(&format!("link show {name}")).is_ok()).then_some(()))
        })?;
        if ours {
            return wait_for(Duration::from_secs(10), "interface with its addresses", || {
                let shown = host.ip(&format!("address show dev {name} up"))?;
                let bare = interface.addresses.iter().filter_map(|address| address.split('/').next());
                Ok(bare.into_iter().all(|address| shown.contains(address)).then_some(()))
            });
        }
        self.wg(&["setconf", &name, &config.display().to_string()])?;
        for address in &interface.addresses {
            let nodad = if address.contains(':') { "nodad" } else { "" };
            host.ip(&format!("address add {address} dev {name} {nodad}"))?;
        }
        host.ip(&format!("link set {name} mtu {} up", interface.mtu))?;
        // What is on the interface's own networks has a route already.
        let own: Vec<IpNet> =
            interface.addresses.iter().map(|address| address.parse()).collect::<Result<_, _>>()?;
        for allowed in interface.peers.iter().flat_map(|peer| &peer.allowed) {
            let range: IpNet = allowed.parse()?;
            if !own.iter().any(|network| network.contains(&range)) {
                host.ip(&format!("route add {allowed} dev {name}"))?;
            }
        }
        Ok(())
    }

    /// The interface's name, which is unique on this machine.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it runs.
    pub fn implementation(&self) -> &Implementation {
        &self.implementation
    }

    /// The host that it runs on.
    pub fn host(&self) -> &Arc<Namespace> {
        &self.host
    }

    /// The file that it was configured from.
    pub fn config(&self) -> PathBuf {
        self.folder.path().join(format!("{}.conf", self.name))
    }

    /// Writes that file anew, or another secret file beside it.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, path: &Path, text: &str) -> Result<()> {
        write_secret(path, text)
    }

    /// A path in the device's own folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The socket that `wg` speaks to.
    pub fn socket(&self) -> PathBuf {
        Path::new("/var/run/wireguard").join(format!("{}.sock", self.name))
    }

    /// Runs `wg` on the device's host.
    ///
    /// # Errors
    /// It fails; the error has its words.
    pub fn wg(&self, arguments: &[&str]) -> Result<String> {
        run(self.host.command("wg").args(arguments))
    }

    /// Runs `wg set <interface>` with `arguments`, separated by spaces.
    ///
    /// # Errors
    /// It fails; the error has its words.
    pub fn set(&self, arguments: &str) -> Result<()> {
        let words = ["set", &self.name].into_iter().chain(arguments.split_whitespace());
        self.wg(&words.collect::<Vec<_>>()).map(drop)
    }

    /// The peers, by `wg show <interface> dump`.
    ///
    /// # Errors
    /// The device does not answer, or not as it must.
    pub fn peers(&self) -> Result<Vec<PeerState>> {
        let dump = self.wg(&["show", &self.name, "dump"])?;
        dump.lines().skip(1).map(PeerState::parse).collect()
    }

    /// The only peer.
    ///
    /// # Errors
    /// There is not exactly one.
    pub fn peer(&self) -> Result<PeerState> {
        let peers = self.peers()?;
        ensure!(peers.len() == 1, "{} peers", peers.len());
        peers.into_iter().next().context("no peer")
    }

    /// The process, to end it.
    pub fn daemon(&mut self) -> &mut Daemon {
        &mut self.daemon
    }
}

impl Deref for Device {
    type Target = Daemon;

    fn deref(&self) -> &Daemon {
        &self.daemon
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        let asked = self.daemon.terminate();
        if asked.is_err() {
            let _ = self.daemon.kill();
        }
        // A program that was killed leaves its socket, and the namespace its name to nobody else.
        let _ = fs::remove_file(self.socket());
        let _ = Command::new("ip").args(["-n", self.host.name(), "link", "del", &self.name]).output();
    }
}

impl PeerState {
    fn parse(line: &str) -> Result<PeerState> {
        let fields: Vec<&str> = line.split('\t').collect();
        let [key, preshared, endpoint, allowed, handshake, received, sent, keepalive] = fields[..] else {
            bail!("not a line of a dump: {line:?}");
        };
        let some = |text: &str| (text != "(none)").then(|| text.to_owned());
        Ok(PeerState {
            public_key: key.to_owned(),
            preshared_key: some(preshared),
            endpoint: some(endpoint).map(|text| text.parse()).transpose()?,
            allowed: some(allowed)
                .map(|text| text.split(',').map(str::to_owned).collect())
                .unwrap_or_default(),
            last_handshake: handshake.parse()?,
            bytes: (received.parse()?, sent.parse()?),
            keepalive: keepalive.parse().ok(),
        })
    }
}

fn write_secret(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    Ok(())
}
