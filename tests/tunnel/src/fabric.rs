//! Gateways of ours and pods that enrol with them, all as ordinary users.

use std::fmt::Write as _;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;

use crate::namespace::run;
use crate::pod::{network_admin, own, unprivileged};
use crate::{Daemon, Implementation, Namespace, program, wait_for};

/// Where all gateways listen.
pub const UDP_PORT: u16 = 51820;
/// Where all gateways take TLS.
pub const TLS_PORT: u16 = 4433;

/// One routing domain: its gateways' keys and files, and the key that signs its tokens.
#[derive(Debug)]
pub struct Fabric {
    folder: TempDir,
    gateways: Vec<Identity>,
    signer: String,
    rest: String,
}

#[derive(Debug)]
struct Identity {
    name: String,
    entry: String,
}

/// Who forwards at a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The kernel, which a gateway may configure.
    Kernel,
    /// The gateway, by sockets.
    User,
}

/// Runs a test with both ways to forward at once.
///
/// # Panics
/// It fails with one of them.
pub fn both(test: impl Fn(By) + Send + Copy + 'static) {
    let threads = [By::User, By::Kernel].map(|by| (by, thread::spawn(move || test(by))));
    let failed: Vec<By> =
        threads.into_iter().filter_map(|(by, thread)| thread.join().is_err().then_some(by)).collect();
    assert!(failed.is_empty(), "{failed:?}");
}

impl Fabric {
    /// Keys for gateways at these addresses, called `gw-0` and so on. `rest` is what their files have beside what each must
    /// have: groups, limits, and `STORE` where a file's own store goes.
    ///
    /// # Errors
    /// The program is missing or fails.
    pub fn new(addresses: &[IpAddr], rest: &str) -> Result<Fabric> {
        let folder = tempfile::Builder::new().prefix("warren-fabric-").tempdir()?;
        own(folder.path())?;
        let program = Implementation::WarrenTunnel.path()?;
        let ours = |arguments: &[&str]| run(std::process::Command::new(&program).args(arguments));
        let signing = folder.path().join("signing.key");
        let signer = ours(&["token", "keygen", "--out", &text(&signing)])?.trim().to_owned();
        let mut gateways = Vec::new();
        for (index, address) in addresses.iter().enumerate() {
            let name = format!("gw-{index}");
            let home = folder.path().join(&name);
            fs::create_dir(&home)?;
            let (key, certificate) = (home.join("key"), home.join("tls.pem"));
            let printed =
                ours(&["gateway", "identity", "--key", &text(&key), "--certificate", &text(&certificate)])?;
            let field = |name: &str| printed.lines().find(|line| line.starts_with(name)).map(str::to_owned);
            let (key_line, pins) = (field("key = ").context("no key")?, field("pins = ").context("no pin")?);
            let entry = format!(
                "[[gateways]]\nname = \"{name}\"\n{key_line}\nudp = \"{address}:{UDP_PORT}\"\ntls = \"{address}:{TLS_PORT}\"\n{pins}\n"
            );
            for path in [&home, &key, &certificate] {
                own(path)?;
            }
            gateways.push(Identity { name, entry });
        }
        let fabric = Fabric { folder, gateways, signer, rest: rest.to_owned() };
        for index in 0..fabric.gateways.len() {
            fabric.configure(index, &[])?;
        }
        Ok(fabric)
    }

    /// Makes another key that signs tokens; the file with its secret half, and the public one.
    ///
    /// # Errors
    /// The command's words.
    pub fn signing_key(&self, name: &str) -> Result<(PathBuf, String)> {
        let path = self.folder.path().join(name);
        let program = Implementation::WarrenTunnel.path()?;
        let public =
            run(std::process::Command::new(program).args(["token", "keygen", "--out", &text(&path)]))?;
        Ok((path, public.trim().to_owned()))
    }

    /// The public key of those who sign its tokens.
    pub fn signer(&self) -> &str {
        &self.signer
    }

    /// The folder of everything.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A gateway's file.
    pub fn config(&self, index: usize) -> PathBuf {
        self.home(index).join("gateway.toml")
    }

    fn home(&self, index: usize) -> PathBuf {
        self.folder.path().join(&self.gateways[index].name)
    }

    /// Writes a gateway's file, with texts in it replaced.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn configure(&self, index: usize, changes: &[(&str, &str)]) -> Result<()> {
        let home = self.home(index);
        let mut config = format!(
            "fabric = \"lab\"\nname = \"{}\"\n[listen]\nudp = {UDP_PORT}\ntls = \"0.0.0.0:{TLS_PORT}\"\nmetrics = \"127.0.0.1:9600\"\n\
             [keys]\nprivate_key_file = \"{}\"\ncertificate_file = \"{tls}\"\ncertificate_key_file = \"{tls}\"\ntoken_keys = [\"{}\"]\n\
             [audit]\nfile = \"{}\"\n",
            self.gateways[index].name,
            text(&home.join("key")),
            self.signer,
            text(&home.join("audit.json")),
            tls = text(&home.join("tls.pem")),
        );
        let store = format!("[store.embedded]\npath = \"{}\"\n", text(&home.join("leases.redb")));
        config += &self.rest.replace("STORE\n", &store);
        for gateway in &self.gateways {
            _ = write!(config, "\n{}", gateway.entry);
        }
        for (before, after) in changes {
            anyhow::ensure!(config.contains(before), "no `{before}` in the gateway's file");
            config = config.replace(before, after);
        }
        let path = self.config(index);
        fs::write(&path, config)?;
        own(&path)
    }

    /// A token of a group for any number of pods unless said otherwise, with more arguments of `token create`.
    ///
    /// # Errors
    /// The command's words.
    pub fn token(&self, group: &str, more: &[&str]) -> Result<String> {
        self.token_by(&self.folder.path().join("signing.key"), group, more)
    }

    /// The same, signed by another key.
    ///
    /// # Errors
    /// The command's words.
    pub fn token_by(&self, key: &Path, group: &str, more: &[&str]) -> Result<String> {
        let (config, key) = (text(&self.config(0)), text(key));
        let uses: &[&str] = if more.contains(&"--uses") { &[] } else { &["--uses", "100000"] };
        let all =
            [&["token", "create", "--config", &config, "--key-file", &key, "--group", group], uses, more]
                .concat();
        let token = run(std::process::Command::new(Implementation::WarrenTunnel.path()?).args(all))?;
        Ok(token.trim().to_owned())
    }

    /// Starts a gateway on a host that forwards in this way, and waits until it is up.
    ///
    /// # Errors
    /// It ends; the error has its log.
    pub fn start_by(&self, by: By, index: usize, host: &Arc<Namespace>) -> Result<Gateway> {
        match by {
            By::Kernel => self.start_admin(index, host, &[]),
            By::User => self.start(index, host),
        }
    }

    /// Starts a gateway on a host, and waits until it is up.
    ///
    /// # Errors
    /// It ends; the error has its log.
    pub fn start(&self, index: usize, host: &Arc<Namespace>) -> Result<Gateway> {
        let command = unprivileged(host, &self.home(index), &Implementation::WarrenTunnel.path()?);
        self.start_as(command, index, host)
    }

    /// The same for a gateway that may change the host's network, and has no use of the files `without`.
    ///
    /// # Errors
    /// It ends; the error has its log.
    pub fn start_admin(&self, index: usize, host: &Arc<Namespace>, without: &[&str]) -> Result<Gateway> {
        program("nft")?;
        let program = Implementation::WarrenTunnel.path()?;
        self.start_as(network_admin(host, &self.home(index), &program, without), index, host)
    }

    /// [`Self::start_by`] for a gateway with variables in its environment.
    ///
    /// # Errors
    /// It ends; the error has its log.
    pub fn start_with(&self, by: By, host: &Arc<Namespace>, environment: &[(&str, &str)]) -> Result<Gateway> {
        let program = Implementation::WarrenTunnel.path()?;
        let mut command = match by {
            By::Kernel => network_admin(host, &self.home(0), &program, &[]),
            By::User => unprivileged(host, &self.home(0), &program),
        };
        command.envs(environment.iter().copied());
        self.start_as(command, 0, host)
    }

    fn start_as(
        &self,
        mut command: std::process::Command,
        index: usize,
        host: &Arc<Namespace>,
    ) -> Result<Gateway> {
        let home = self.home(index);
        command.args([
            "gateway",
            "--config",
            &text(&self.config(index)),
            "--log-level",
            "info,warren_tunnel=debug",
        ]);
        let mut daemon = Daemon::start(&mut command)?;
        up(&mut daemon, "gateway")?;
        Ok(Gateway { daemon, host: Arc::clone(host), home })
    }

    /// Starts an agent with a token on a host, and waits until it is up.
    ///
    /// # Errors
    /// It ends; the error has its log.
    pub fn pod(&self, host: &Arc<Namespace>, token: &str, arguments: &[&str]) -> Result<Member> {
        let mut member = self.starting_pod(host, token, arguments)?;
        member.wait_until_up()?;
        Ok(member)
    }

    /// A folder for what the programs of a pod keep, which are nobody's.
    ///
    /// # Errors
    /// This process may not give files away.
    pub fn home_of_pod(&self) -> Result<TempDir> {
        let home = tempfile::Builder::new().prefix("warren-pod-").tempdir()?;
        own(home.path())?;
        Ok(home)
    }

    /// Starts an agent with a token on a host.
    ///
    /// # Errors
    /// The program is missing.
    pub fn starting_pod(&self, host: &Arc<Namespace>, token: &str, arguments: &[&str]) -> Result<Member> {
        let home = self.home_of_pod()?;
        Ok(Member { daemon: agent(host, home.path(), token, arguments)?, home })
    }

    /// Starts an agent with a token and an interface on a host, as root: its programs need no proxies.
    ///
    /// # Errors
    /// It ends; the error has its log.
    pub fn machine(&self, host: &Arc<Namespace>, token: &str) -> Result<Member> {
        self.machine_as(host, token, "lab0")
    }

    /// The same with a name for the interface: root's agents on all hosts share one folder.
    ///
    /// # Errors
    /// It ends; the error has its log.
    pub fn machine_as(&self, host: &Arc<Namespace>, token: &str, interface: &str) -> Result<Member> {
        self.machine_on(host, token, interface, "tun")
    }

    /// The same with a device of its own choice.
    ///
    /// # Errors
    /// It ends; the error has its log.
    pub fn machine_on(
        &self,
        host: &Arc<Namespace>,
        token: &str,
        interface: &str,
        device: &str,
    ) -> Result<Member> {
        let home = tempfile::Builder::new().prefix("warren-machine-").tempdir()?;
        let mut command = host.command(Implementation::WarrenTunnel.path()?);
        command.args(["agent", "--metrics", "off", "--device", device, "--interface", interface]);
        command.env("WARREN_TOKEN", token).env("XDG_RUNTIME_DIR", home.path());
        command.env("WARREN_HOST_NAME", host.name());
        let mut member = Member { daemon: Daemon::start(&mut command)?, home };
        up(&mut member.daemon, "agent")?;
        Ok(member)
    }

    /// What an agent says that is not let in.
    ///
    /// # Errors
    /// It came up.
    pub fn refused(&self, host: &Arc<Namespace>, token: &str) -> Result<String> {
        let home = tempfile::Builder::new().prefix("warren-pod-").tempdir()?;
        own(home.path())?;
        // Under its own name a host that comes back replaces its former peer.
        let mut daemon = agent(host, home.path(), token, &["--host-name", "another-pod"])?;
        wait_for(Duration::from_secs(30), "end", || daemon.ended())
            .with_context(|| format!("it was let in:\n{}", daemon.log()))?;
        Ok(daemon.log())
    }
}

fn agent(host: &Arc<Namespace>, home: &Path, token: &str, arguments: &[&str]) -> Result<Daemon> {
    let mut command = unprivileged(host, home, &Implementation::WarrenTunnel.path()?);
    command.args(["agent", "--metrics", "off"]).args(arguments).env("WARREN_TOKEN", token);
    command.env("WARREN_HOST_NAME", host.name());
    Daemon::start(&mut command)
}

fn up(daemon: &mut Daemon, what: &str) -> Result<()> {
    let awaited = wait_for(Duration::from_secs(60), what, || {
        if let Some(status) = daemon.ended()? {
            bail!("it ended: {status}");
        }
        Ok(daemon.log().contains(" up ").then_some(()))
    });
    awaited.with_context(|| format!("no {what}; its log:\n{}", daemon.log()))
}

/// A running gateway.
#[derive(Debug)]
pub struct Gateway {
    /// The process.
    pub daemon: Daemon,
    host: Arc<Namespace>,
    home: PathBuf,
}

impl Gateway {
    /// Runs a command of ours beside it, as the same user, and returns what it printed.
    ///
    /// # Errors
    /// It fails; the error has its words.
    pub fn run(&self, arguments: &[&str]) -> Result<String> {
        run(unprivileged(&self.host, &self.home, &Implementation::WarrenTunnel.path()?).args(arguments))
    }

    /// The host that it is on.
    pub fn host(&self) -> &Namespace {
        &self.host
    }

    /// What `gateway status` knows.
    ///
    /// # Errors
    /// The command's words.
    pub fn status(&self) -> Result<serde_json::Value> {
        Ok(serde_json::from_str(&self.run(&["gateway", "status", "--json"])?)?)
    }

    /// What `gateway peers` knows.
    ///
    /// # Errors
    /// The command's words.
    pub fn peers(&self) -> Result<Vec<serde_json::Value>> {
        let text = self.run(&["gateway", "peers", "--json"])?;
        Ok(serde_json::from_str(&text)?)
    }

    /// The audit so far.
    pub fn audit(&self) -> String {
        fs::read_to_string(self.home.join("audit.json")).unwrap_or_default()
    }
}

/// A running agent that has enrolled.
#[derive(Debug)]
pub struct Member {
    /// The process.
    pub daemon: Daemon,
    /// Its folder.
    pub home: TempDir,
}

impl Member {
    /// Waits until the agent is up.
    ///
    /// # Errors
    /// It ends; the error has its log.
    pub fn wait_until_up(&mut self) -> Result<()> {
        up(&mut self.daemon, "agent")
    }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}
