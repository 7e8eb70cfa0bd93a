//! A host or router: a network namespace without a name.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write as _;
use std::net::IpAddr;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};
use tempfile::TempDir;

use super::Script;

/// What every namespace starts with: addresses are usable at once, nothing is filtered by its source, and refusals are not
/// rationed.
const SYSCTLS: &[(&str, &str)] = &[
    ("ipv4/conf/all/rp_filter", "0"),
    ("ipv4/conf/default/rp_filter", "0"),
    ("ipv4/conf/all/send_redirects", "0"),
    ("ipv4/conf/default/send_redirects", "0"),
    ("ipv4/conf/default/accept_redirects", "0"),
    ("ipv4/icmp_ratelimit", "0"),
    ("ipv6/conf/default/accept_dad", "0"),
    ("ipv6/conf/default/accept_ra", "0"),
    ("ipv6/icmp/ratelimit", "0"),
];

/// A network namespace. Clones are the same namespace, which is gone with the last of them.
#[derive(Clone, Debug)]
pub struct Node {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    name: String,
    namespace: File,
    resolvers: Mutex<Resolvers>,
}

#[derive(Debug, Default)]
struct Resolvers {
    addresses: Vec<IpAddr>,
    folder: Option<TempDir>,
}

impl Node {
    pub(super) fn new(name: &str) -> Result<Node> {
        let work = || -> Result<File> {
            // Sound: only the network namespace is unshared, of a thread that ends at once.
            #[expect(
                deprecated,
                reason = "the other form is unsafe for the sake of flags that are not used here"
            )]
            rustix::thread::unshare(UnshareFlags::NEWNET)
                .context("the kernel refuses a network namespace")?;
            for (key, value) in SYSCTLS {
                set(key, value)?;
            }
            run(Command::new("ip").args(["link", "set", "lo", "up"]), "")?;
            Ok(File::open("/proc/thread-self/ns/net")?)
        };
        let namespace = finish(std::thread::Builder::new().spawn(work)?)?;
        Ok(Node { inner: Arc::new(Inner { name: name.to_owned(), namespace, resolvers: Mutex::default() }) })
    }

    /// The name that servers on it give as their own.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Whether both are the same namespace.
    pub fn is(&self, other: &Node) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Does `work` on a thread of this process that is inside the namespace, and waits. The sockets that it opens stay there.
    ///
    /// # Errors
    /// The work fails or panics.
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().spawn_scoped(scope, || {
                move_into_link_name_space(self.inner.namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
                work()
            })?;
            match thread.join() {
                Ok(outcome) => outcome,
                Err(_) => bail!("a thread on {} panicked", self.name()),
            }
        })
    }

    /// Runs lines of `ip -batch`.
    ///
    /// # Errors
    /// `ip` refuses one; the error has its words.
    pub fn ip(&self, batch: &str) -> Result<()> {
        self.configure(&Script::new().ip(batch))
    }

    /// Runs a script of `nft -f`.
    ///
    /// # Errors
    /// `nft` refuses it; the error has its words.
    pub fn nft(&self, text: &str) -> Result<()> {
        self.configure(&Script::new().nft(text))
    }

    /// Sysctls, then `ip`, then `nft`.
    ///
    /// # Errors
    /// One refuses its part; the error has its words.
    pub fn configure(&self, script: &Script) -> Result<()> {
        // Found outside: the namespace cannot reach the package archive that a missing program comes from.
        let nft = match script.nft.trim() {
            "" => None,
            _ => Some(warren_programs::program("nft")?),
        };
        self.inside(|| {
            for (key, value) in &script.sysctls {
                set(key, value)?;
            }
            if !script.ip.trim().is_empty() {
                run(Command::new("ip").args(["-batch", "-"]), &script.ip)?;
            }
            if let Some(nft) = nft {
                run(Command::new(nft).args(["-f", "-"]), &script.nft)?;
            }
            Ok(())
        })
    }

    /// What a program prints that runs to its end here, with arguments separated by spaces.
    ///
    /// # Errors
    /// It is missing or fails; the error has its words.
    pub fn output(&self, command_line: &str) -> Result<String> {
        let mut words = command_line.split_whitespace();
        let mut command = self.command(words.next().context("no program")?);
        run(command.args(words), "")
    }

    /// The name servers of the node, which its lookups and the programs started from now on use.
    ///
    /// # Errors
    /// The file for programs cannot be written.
    pub fn set_resolvers(&self, addresses: &[IpAddr]) -> Result<()> {
        let folder = tempfile::Builder::new().prefix("warren-lab-").tempdir()?;
        let lines: String = addresses.iter().map(|address| format!("nameserver {address}\n")).collect();
        fs::write(folder.path().join("resolv.conf"), lines + "options timeout:2 attempts:2\n")?;
        *self.resolvers_lock() = Resolvers { addresses: addresses.to_vec(), folder: Some(folder) };
        Ok(())
    }

    /// The name servers of the node.
    pub fn resolvers(&self) -> Vec<IpAddr> {
        self.resolvers_lock().addresses.clone()
    }

    /// A command that runs `program` in the namespace, with the node's name servers in `/etc/resolv.conf`. The process ends
    /// with the thread that starts it.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "nsenter"]);
        command.arg(format!("--net={}", self.path())).arg("--");
        if let Some(file) = self.resolver_file() {
            command.args(["unshare", "--mount", "sh", "-c"]);
            command.args([r#"mount --bind "$0" /etc/resolv.conf && exec "$@""#]).arg(file);
        }
        command.arg(program);
        command
    }

    /// The namespace as a file, for programs that accept one.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.inner.namespace.as_raw_fd())
    }

    fn resolver_file(&self) -> Option<PathBuf> {
        Some(self.resolvers_lock().folder.as_ref()?.path().join("resolv.conf"))
    }

    fn resolvers_lock(&self) -> std::sync::MutexGuard<'_, Resolvers> {
        self.inner.resolvers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sets a key of the calling thread's namespace. Keys that this kernel does not have are left out.
fn set(key: &str, value: &str) -> Result<()> {
    match fs::write(format!("/proc/sys/net/{key}"), value) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other.with_context(|| format!("cannot set {key}")),
    }
}

fn finish<T>(thread: std::thread::JoinHandle<Result<T>>) -> Result<T> {
    match thread.join() {
        Ok(outcome) => outcome,
        Err(_) => bail!("a thread of the lab panicked"),
    }
}

/// Runs a command to its end with `input` and returns what it printed.
fn run(command: &mut Command, input: &str) -> Result<String> {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().with_context(
            || format!("cannot start {command:?}\nHint: apt-get install iproute2 nftables util-linux"),
        )?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that ends before it has read everything says why itself.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output()?;
    ensure!(
        output.status.success(),
        "{command:?}: {}\n{input}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
