//! Server programs on this machine.

use std::fs::File;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// A running server, which is killed when the value is dropped.
#[derive(Debug)]
pub(super) struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    /// Starts a program that is to listen at `address`, with its output in the file `log` of a folder, and waits until it does.
    pub(super) fn start(command: &mut Command, address: SocketAddr, folder: &Path) -> Result<Server> {
        let path = folder.join("log");
        let log = File::create(&path)?;
        let child = command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn()?;
        let mut server = Server { child, address };
        let end = Instant::now() + Duration::from_secs(30);
        while TcpStream::connect(address).is_err() {
            let ended = server.child.try_wait()?;
            if ended.is_some() || Instant::now() > end {
                bail!("{command:?} does not listen at {address}: {}", std::fs::read_to_string(&path)?);
            }
            sleep(Duration::from_millis(50));
        }
        Ok(server)
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only where the process is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An address on loopback that is free at this moment.
pub(super) fn free() -> Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}
