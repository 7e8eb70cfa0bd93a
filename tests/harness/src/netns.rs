//! Network namespaces for tests: as root by name, else inside a user namespace of our own.

use std::ffi::OsStr;
use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context as _, Result, bail};

static COUNTER: AtomicU32 = AtomicU32::new(0);

/// A network namespace with its loopback up and nothing else. It is gone when the value is dropped.
#[derive(Debug)]
pub struct NetNs {
    holder: Holder,
}

#[derive(Debug)]
enum Holder {
    /// A named namespace, made by root.
    Named(String),
    /// A process that keeps a user and network namespace alive until its standard input closes.
    Process(Child),
}

impl NetNs {
    /// Makes a namespace: a named one as root, else one inside a new user namespace.
    ///
    /// # Errors
    /// `ip` or `unshare` is missing, or the kernel allows neither.
    pub fn new() -> Result<Self> {
        Self::named()
            .or_else(|as_root| Self::in_user_namespace().with_context(|| format!("nor as root: {as_root:#}")))
    }

    fn named() -> Result<Self> {
        let name = format!("warren-{}-{}", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed));
        succeed(Command::new("ip").args(["netns", "add", &name]))?;
        let namespace = Self { holder: Holder::Named(name) };
        succeed(namespace.command("ip").args(["link", "set", "lo", "up"]))?;
        Ok(namespace)
    }

    fn in_user_namespace() -> Result<Self> {
        Self::held(Command::new("unshare").args(["--user", "--net", "--map-root-user"]))
    }

    /// Another namespace of the same owner, joined to this one by a veth pair whose ends are both called `wire`.
    ///
    /// # Errors
    /// It cannot be made, this one has such an interface already, or the kernel has no veth devices.
    pub fn neighbour(&self, wire: &str) -> Result<Self> {
        let other = match &self.holder {
            Holder::Named(_) => Self::named()?,
            Holder::Process(_) => Self::held(self.command("unshare").arg("--net"))?,
        };
        let known_as = match &other.holder {
            Holder::Named(name) => name.clone(),
            Holder::Process(child) => child.id().to_string(),
        };
        succeed(
            self.command("ip")
                .args(["link", "add", wire, "type", "veth", "peer", "name", wire, "netns"])
                .arg(known_as),
        )?;
        for namespace in [self, &other] {
            namespace.ip(&format!("link set {wire} up"))?;
        }
        Ok(other)
    }

    /// Runs `ip` inside, with arguments separated by spaces.
    ///
    /// # Errors
    /// It fails; the error has its words.
    pub fn ip(&self, arguments: &str) -> Result<()> {
        succeed(self.command("ip").args(arguments.split_whitespace()))
    }

    /// A namespace that `unshare` makes, held by a process in it.
    fn held(unshare: &mut Command) -> Result<Self> {
        let mut child = unshare
            .args(["sh", "-c", "ip link set lo up && echo ready && read _"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start `unshare` (package util-linux)")?;
        let mut ready = [0; 5];
        let answered = child.stdout.as_mut().is_some_and(|stdout| stdout.read_exact(&mut ready).is_ok());
        let namespace = Self { holder: Holder::Process(child) };
        if !answered {
            bail!("no user namespace with a network of its own can be made here");
        }
        Ok(namespace)
    }

    /// A command that runs `program` inside the namespace.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command;
        match &self.holder {
            Holder::Named(name) => {
                command = Command::new("ip");
                command.args(["netns", "exec", name]);
            }
            Holder::Process(child) => {
                command = Command::new("nsenter");
                command.args([
                    "--user",
                    "--net",
                    "--preserve-credentials",
                    "--target",
                    &child.id().to_string(),
                    "--",
                ]);
            }
        }
        command.arg(program);
        command
    }
}

impl Drop for NetNs {
    fn drop(&mut self) {
        // Failing here means that it is gone already.
        match &mut self.holder {
            Holder::Named(name) => drop(Command::new("ip").args(["netns", "del", name]).output()),
            Holder::Process(child) => {
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
}

fn succeed(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The interfaces a process inside sees, from the kernel's own list.
    fn interfaces(namespace: &NetNs) -> Vec<String> {
        let output = namespace.command("cat").arg("/proc/net/dev").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let mut names: Vec<String> =
            text.lines().skip(2).filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned())).collect();
        names.sort();
        names
    }

    #[test]
    fn has_no_network_but_its_own_loopback() {
        let namespace = NetNs::new().unwrap();
        let seen = interfaces(&namespace);
        assert!(seen.contains(&"lo".to_owned()), "{seen:?}");
        assert!(!seen.iter().any(|name| name.starts_with("eth") || name.starts_with("en")), "{seen:?}");
        let reached =
            namespace.command("sh").args(["-c", "ping -c1 -W1 127.0.0.1 || ip -4 addr show lo up"]).output();
        assert!(String::from_utf8_lossy(&reached.unwrap().stdout).contains("127.0.0.1"));
    }

    #[test]
    fn neighbours_have_a_wire() {
        let makers: [fn() -> Result<NetNs>; 2] = [NetNs::new, NetNs::in_user_namespace];
        for make in makers {
            let one = make().unwrap();
            let (other, third) = (one.neighbour("wire").unwrap(), one.neighbour("second").unwrap());
            for (namespace, wire) in [(&one, "wire"), (&other, "wire"), (&one, "second"), (&third, "second")]
            {
                let seen = namespace.command("ip").args(["link", "show", wire]).output().unwrap();
                assert!(String::from_utf8_lossy(&seen.stdout).contains("LOWER_UP"), "{seen:?}");
            }
        }
    }

    #[test]
    fn namespaces_are_separate() {
        let (one, two) = (NetNs::new().unwrap(), NetNs::new().unwrap());
        succeed(one.command("ip").args(["address", "add", "192.0.2.1/32", "dev", "lo"])).unwrap();
        let of = |namespace: &NetNs| {
            let output =
                namespace.command("ip").args(["-4", "address", "show", "dev", "lo"]).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        assert!(of(&one).contains("192.0.2.1"));
        assert!(!of(&two).contains("192.0.2.1"));
    }
}
