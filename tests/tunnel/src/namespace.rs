//! A host of the lab: a network namespace of its own.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// How the namespaces of the lab begin; the number of the process that made them follows.
const PREFIX: &str = "warren-lab-";

static COUNTER: AtomicU32 = AtomicU32::new(0);

/// A named network namespace with its loopback up. It is gone when the value is dropped.
#[derive(Debug)]
pub struct Namespace {
    name: String,
}

impl Namespace {
    /// Makes an empty namespace.
    ///
    /// # Errors
    /// `ip` is missing, or this process may not make namespaces.
    pub fn new() -> Result<Namespace> {
        static SWEEP: Once = Once::new();
        SWEEP.call_once(sweep);
        ensure!(
            rustix::process::geteuid().is_root(),
            "the lab makes network namespaces and TUN devices, which needs root\nHint: run the tests as root, or in a \
             container with --privileged"
        );
        let name = format!("{PREFIX}{}-{}", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed));
        run(Command::new("ip").args(["netns", "add", &name]))?;
        let namespace = Namespace { name };
        namespace.ip("link set lo up")?;
        // A copy: an agent on this host may change its name servers, but never those of the machine.
        namespace.resolver(&fs::read_to_string("/etc/resolv.conf").unwrap_or_default())?;
        Ok(namespace)
    }

    /// The name that `ip netns` knows it by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A wire (veth, MTU 1500) between this host and another; its end is called `wire` on both.
    ///
    /// # Errors
    /// The kernel has no veth devices.
    pub fn join(&self, other: &Namespace) -> Result<()> {
        self.join_as(other, "wire")
    }

    /// Another such wire, whose ends are called `name`.
    ///
    /// # Errors
    /// As [`Namespace::join`].
    pub fn join_as(&self, other: &Namespace, name: &str) -> Result<()> {
        self.ip(&format!(
            "link add {name} mtu 1500 type veth peer name {name} mtu 1500 netns {}",
            other.name
        ))?;
        self.ip(&format!("link set {name} up"))?;
        other.ip(&format!("link set {name} up"))?;
        Ok(())
    }

    /// A command that runs `program` on this host, and ends with the thread that started it.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "ip", "netns", "exec", &self.name]);
        command.arg(program);
        command
    }

    /// Runs `ip` with `arguments`, separated by spaces, and returns its output.
    ///
    /// # Errors
    /// `ip` fails; the error has its words.
    pub fn ip(&self, arguments: &str) -> Result<String> {
        run(Command::new("ip").args(["-n", &self.name]).args(arguments.split_whitespace()))
    }

    /// Runs a program to its end and returns its output. One that is given by its name and missing is installed.
    ///
    /// # Errors
    /// The program cannot be had or fails; the error has its words.
    pub fn run(&self, program: impl AsRef<Path>, arguments: &[&str]) -> Result<String> {
        let program = program.as_ref();
        let path = match program.to_str().filter(|name| !name.contains('/')) {
            Some(name) => crate::program(name)?,
            None => program.to_path_buf(),
        };
        run(self.command(path).args(arguments))
    }

    /// A thread of this process that lives on this host: the sockets that it opens are there.
    ///
    /// # Errors
    /// The namespace is gone.
    pub fn thread<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<JoinHandle<Result<T>>> {
        self.small_thread(2 << 20, work)
    }

    /// The same with a stack of so many bytes, for when there are many.
    ///
    /// # Errors
    /// As [`Namespace::thread`].
    pub fn small_thread<T: Send + 'static>(
        &self,
        stack: usize,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<JoinHandle<Result<T>>> {
        let path = Path::new("/run/netns").join(&self.name);
        let file = File::open(&path).with_context(|| format!("no namespace {}", path.display()))?;
        let thread = std::thread::Builder::new().stack_size(stack).spawn(move || {
            move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?;
            work()
        })?;
        Ok(thread)
    }

    /// Does `work` on this host and waits for it.
    ///
    /// # Errors
    /// The namespace is gone, the work fails or panics.
    pub fn inside<T: Send + 'static>(&self, work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
        finish(self.thread(work)?)
    }

    /// A connection from this host to a listener at an address of another one, and both of its ends. Reads and writes fail after
    /// `patience`.
    ///
    /// # Errors
    /// It does not come up within `patience`, or the other host sees another source than the one that this host uses.
    pub fn stream(
        &self,
        other: &Namespace,
        at: SocketAddr,
        patience: Duration,
    ) -> Result<(TcpStream, TcpStream)> {
        let listener = other.inside(move || Ok(TcpListener::bind(at)?))?;
        let near = self.inside(move || Ok(TcpStream::connect_timeout(&at, patience)?))?;
        let (far, seen) = listener.accept()?;
        ensure!(seen == near.local_addr()?, "{seen} is not {}", near.local_addr()?);
        for stream in [&near, &far] {
            stream.set_read_timeout(Some(patience))?;
            stream.set_write_timeout(Some(patience))?;
        }
        Ok((near, far))
    }

    /// Gives the host a name server file of its own, which programs started from now on see as `/etc/resolv.conf`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn resolver(&self, text: &str) -> Result<PathBuf> {
        let folder = self.etc();
        fs::create_dir_all(&folder)?;
        let path = folder.join("resolv.conf");
        fs::write(&path, text)?;
        Ok(path)
    }

    fn etc(&self) -> PathBuf {
        Path::new("/etc/netns").join(&self.name)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        remove(&self.name);
    }
}

/// Waits for a thread of a host.
///
/// # Errors
/// What the thread returned, or that it panicked.
pub(crate) fn finish<T>(thread: JoinHandle<Result<T>>) -> Result<T> {
    match thread.join() {
        Ok(outcome) => outcome,
        Err(_) => bail!("a thread of the lab panicked"),
    }
}

/// Runs a command to its end and returns what it printed.
pub(crate) fn run(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| {
        format!("cannot start {command:?}\nHint: apt-get install iproute2 iputils-ping util-linux ethtool")
    })?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(
        output.status.success(),
        "{command:?}: {} {}",
        String::from_utf8_lossy(&output.stderr).trim(),
        text.trim()
    );
    Ok(text)
}

/// Removes what a killed process of the lab could not remove itself.
fn sweep() {
    for entry in fs::read_dir("/run/netns").into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        if owner.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            remove(&name);
        }
    }
}

/// Failing here means that it is gone already.
fn remove(name: &str) {
    let _ = Command::new("ip").args(["netns", "del", name]).output();
    let _ = fs::remove_dir_all(Path::new("/etc/netns").join(name));
}
