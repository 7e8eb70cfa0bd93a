//! One end of a tunnel, and two ends with a wire between their hosts.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;
use tempfile::TempDir;
use warren_tunnel_tests::traffic::Stream;
use warren_tunnel_tests::{
    Daemon, Family, Implementation, Interface, Namespace, Pair, Settings, Side, wait_for,
};

/// Who serves an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// Our agent, with this device.
    Agent(&'static str),
    /// The kernel alone, configured with `ip` and `wg`.
    Wg,
}

/// Our agent with the kernel's WireGuard.
pub(crate) const KERNEL: By = By::Agent("kernel");
/// Our agent with our own data path.
pub(crate) const TUN: By = By::Agent("tun");

/// An end of a tunnel.
#[derive(Debug)]
pub(crate) struct End {
    daemon: Option<Daemon>,
    pub(crate) by: By,
    pub(crate) host: Arc<Namespace>,
    pub(crate) interface: Interface,
    /// The name of its interface, which is unique on this machine.
    pub(crate) name: String,
    folder: TempDir,
}

impl End {
    /// An end that is up.
    pub(crate) fn start(by: By, host: &Arc<Namespace>, interface: &Interface) -> Result<End> {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        let name = format!("wg{}", COUNTER.fetch_add(1, Ordering::Relaxed));
        let folder = tempfile::tempdir()?;
        let (host, interface) = (Arc::clone(host), interface.clone());
        let mut end = End { daemon: None, by, host, interface, name, folder };
        end.up()?;
        Ok(end)
    }

    /// Starts it again where it was, over whatever is left there.
    pub(crate) fn up(&mut self) -> Result<()> {
        match self.by {
            By::Agent(device) => self.agent(device),
            By::Wg => self.plain(),
        }
    }

    fn agent(&mut self, device: &str) -> Result<()> {
        self.write(&self.interface.wg_quick())?;
        let mut daemon = Daemon::start(&mut self.starting(&["--device", device])?)?;
        let up = wait_for(Duration::from_secs(30), "agent", || {
            if let Some(status) = daemon.ended()? {
                bail!("it ended: {status}");
            }
            Ok(daemon.log().contains(" up ").then_some(()))
        });
        up.with_context(|| format!("the agent with --device {device}; its log:\n{}", daemon.log()))?;
        self.daemon = Some(daemon);
        Ok(())
    }

    /// The agent of this end, not started yet.
    pub(crate) fn starting(&self, more: &[&str]) -> Result<std::process::Command> {
        let mut command = self.host.command(Implementation::WarrenTunnel.path()?);
        command.arg("agent").arg("--config").arg(self.config());
        command.args(["--interface", &self.name, "--metrics", "off"]).args(more);
        Ok(command)
    }

    fn plain(&self) -> Result<()> {
        let name = &self.name;
        self.write(&self.interface.wg())?;
        self.host.ip(&format!("link add {name} type wireguard"))?;
        self.wg(&["setconf", name, &self.config().display().to_string()])?;
        for address in &self.interface.addresses {
            self.host.ip(&format!("address add {address} dev {name}"))?;
        }
        self.host.ip(&format!("link set {name} mtu {} up", self.interface.mtu))?;
        Ok(())
    }

    /// The file that it is configured from.
    pub(crate) fn config(&self) -> PathBuf {
        self.folder.path().join(format!("{}.conf", self.name))
    }

    /// Writes that file.
    pub(crate) fn write(&self, text: &str) -> Result<()> {
        fs::write(self.config(), text)?;
        fs::set_permissions(self.config(), fs::Permissions::from_mode(0o600))?;
        Ok(())
    }

    /// Runs `wg` on its host.
    pub(crate) fn wg(&self, arguments: &[&str]) -> Result<String> {
        self.host.run("wg", arguments)
    }

    /// A field of `wg show`, which for peers is the second of their line.
    pub(crate) fn shown(&self, field: &str) -> Result<String> {
        let text = self.wg(&["show", &self.name, field])?;
        let line = text.lines().next().unwrap_or_default();
        Ok(line.split_once('\t').map_or(line, |(_, value)| value).to_owned())
    }

    /// The second of the last handshake with its first peer; 0 if there was none.
    pub(crate) fn handshake(&self) -> Result<u64> {
        Ok(self.shown("latest-handshakes")?.parse()?)
    }

    /// Runs a command of ours on its host.
    pub(crate) fn ours(&self, arguments: &[&str]) -> Result<String> {
        self.host.run(Implementation::WarrenTunnel.path()?, arguments)
    }

    /// What `warren-tunnel status` knows.
    pub(crate) fn status(&self) -> Result<Value> {
        let text = self.ours(&["status", &self.name, "--json", "--interval", "0"])?;
        let mut all: Value = serde_json::from_str(&text)?;
        Ok(all[0].take())
    }

    /// The agent.
    pub(crate) fn daemon(&mut self) -> Result<&mut Daemon> {
        self.daemon.as_mut().context("no agent runs")
    }

    /// Asks the agent to end, and waits.
    pub(crate) fn terminate(&mut self) -> Result<ExitStatus> {
        let status = self.daemon()?.terminate()?;
        Ok(status)
    }

    /// What the agent printed.
    pub(crate) fn log(&self) -> String {
        self.daemon.as_ref().map(Daemon::log).unwrap_or_default()
    }

    /// Whether its host has the interface.
    pub(crate) fn exists(&self) -> bool {
        self.host.ip(&format!("link show {}", self.name)).is_ok()
    }

    /// Files of this end among the agents' run-time files.
    pub(crate) fn leftovers(&self) -> Vec<String> {
        let files = ["/run/warren-tunnel", "/run/wireguard"].map(|folder| fs::read_dir(Path::new(folder)));
        let names = files.into_iter().flatten().flatten().flatten();
        let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let ours = format!("{}.", self.name);
        // The lock is a file that stays, so that two agents never lock two files of one name.
        names.filter(|name| name.starts_with(&ours) && !name.ends_with(".lock")).collect()
    }
}

/// The network of a host as programs see it: links, addresses, rules, and all routes, a line each.
pub(crate) fn network(host: &Namespace) -> Result<Vec<String>> {
    let mut text = String::new();
    let words = [
        "-brief link",
        "-brief address",
        "rule",
        "-6 rule",
        "route show table all",
        "-6 route show table all",
    ];
    for words in words {
        text += &host.ip(words)?;
    }
    let mark = host.inside(|| Ok(fs::read_to_string("/proc/sys/net/ipv4/conf/all/src_valid_mark")?))?;
    text += &format!("src_valid_mark {mark}");
    // The kernel's own link-local addresses appear some time after their link.
    Ok(text.lines().filter(|line| !line.contains("local fe80")).map(str::to_owned).collect())
}

/// Fails with the lines that only one of two states of a host has.
pub(crate) fn restored(host: &Namespace, before: &[String]) -> Result<()> {
    let now = network(host)?;
    let only = |these: &[String], those: &[String]| {
        these.iter().filter(|line| !those.contains(line)).cloned().collect::<Vec<_>>().join("\n")
    };
    let (new, gone) = (only(&now, before), only(before, &now));
    ensure!(new.is_empty() && gone.is_empty(), "the host has changed; new:\n{new}\ngone:\n{gone}");
    Ok(())
}

/// Two ends.
#[derive(Debug)]
pub(crate) struct Tunnel {
    pub(crate) left: End,
    pub(crate) right: End,
}

impl Tunnel {
    /// Two ends that are up; neither has sent anything.
    pub(crate) fn start(left: By, right: By, settings: &Settings) -> Result<Tunnel> {
        let [one, other] = Pair::interfaces(settings)?;
        Tunnel::between((left, &one), (right, &other))
    }

    /// Two ends with these interfaces.
    pub(crate) fn between(left: (By, &Interface), right: (By, &Interface)) -> Result<Tunnel> {
        let hosts = Pair::hosts()?;
        Ok(Tunnel {
            left: End::start(left.0, &hosts[0], left.1)?,
            right: End::start(right.0, &hosts[1], right.1)?,
        })
    }

    /// An end.
    pub(crate) fn end(&self, side: Side) -> &End {
        if side == Side::Left { &self.left } else { &self.right }
    }

    /// Pings from a side until an answer comes.
    pub(crate) fn meet(&self, from: Side, family: Family) -> Result<()> {
        let target = from.other().inner(family).to_string();
        let met = wait_for(Duration::from_secs(30), "answer through the tunnel", || {
            Ok(self.end(from).host.run("ping", &["-c1", "-W1", &target]).is_ok().then_some(()))
        });
        met.with_context(|| {
            format!("from {from:?}\nleft's log:\n{}\nright's log:\n{}", self.left.log(), self.right.log())
        })
    }

    /// Sends bytes over TCP from a side, compares their digests, and returns the seconds it took.
    pub(crate) fn stream(&self, from: Side, family: Family, bytes: u64) -> Result<f64> {
        let (sender, receiver) = (self.end(from), self.end(from.other()));
        let stream = Stream::start(&sender.host, &receiver.host, from.other().inner(family), bytes)?;
        stream.finish().with_context(|| format!("{bytes} bytes from {from:?} over {family:?}"))
    }
}
