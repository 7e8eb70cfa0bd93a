//! The machine on which a page's session runs: a network namespace with an address, as a reader's machine has one.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, Command, Stdio};
use std::thread;

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;
use warren_harness::{NetNs, Venv};

/// Runs in the namespace; a socket in the file system leads out of it.
const RELAY: &str = include_str!("relay.py");

/// A network namespace, from which only the emulated clouds can be reached. It is removed when the value is dropped.
pub(super) struct Host {
    namespace: NetNs,
    relays: Vec<Child>,
    sockets: TempDir,
}

impl Host {
    /// Creates a machine with the address 172.31.0.10.
    pub(super) fn new() -> Result<Host> {
        let namespace = NetNs::new()?;
        for command in [
            "link add private type veth peer name router",
            "address add 172.31.0.10/24 dev private",
            "link set router up",
            "link set private up",
        ] {
            namespace.ip(command)?;
        }
        Ok(Host { namespace, relays: Vec::new(), sockets: tempfile::tempdir()? })
    }

    /// Makes a service on this machine's loopback available on the host's, at the same port.
    pub(super) fn connect(&mut self, endpoint: &str) -> Result<()> {
        let address = endpoint.trim_start_matches("http://").to_owned();
        let (_, port) = address.rsplit_once(':').context("an endpoint without a port")?;
        let socket = self.sockets.path().join(port);
        let listener = UnixListener::bind(&socket)?;
        let mut command = self.namespace.command(Venv::ensure()?.python());
        command.args(["-c", RELAY, port]).arg(&socket);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().context("the relay has no output")?;
        self.relays.push(child);
        let mut first = String::new();
        BufReader::new(output).read_line(&mut first)?;
        ensure!(first.trim() == "ready", "no relay to {endpoint}");
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (Ok(stream), Ok(service)) = (stream, TcpStream::connect(&address)) else { return };
                thread::spawn(move || relay(&stream, &service));
            }
        });
        Ok(())
    }

    /// A command that runs `program` on the host.
    pub(super) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        self.namespace.command(program)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        for relay in &mut self.relays {
            // Both fail only if the process has ended.
            let _ = relay.kill();
            let _ = relay.wait();
        }
    }
}

/// Copies both directions until both have ended.
fn relay(inner: &UnixStream, outer: &TcpStream) {
    let up = (inner.try_clone(), outer.try_clone());
    let (Ok(mut from), Ok(mut to)) = up else { return };
    let upward = thread::spawn(move || {
        // Who goes away ends its half.
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
    let _ = std::io::copy(&mut &*outer, &mut &*inner);
    let _ = inner.shutdown(Shutdown::Write);
    let _ = upward.join();
}
