//! The emulated S3 at a private address of the hub, behind TLS.

use std::io::{BufRead as _, BufReader};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;
use warren_harness::{NetNs, Venv};

use super::pod::SIGNED;
use super::process::done;

/// Runs in the hub's namespace; a socket in the file system leads out of it.
const SERVE: &str = include_str!("storage.py");

/// Puts an object into a bucket, which is made: `BUCKET/KEY`.
///
/// # Errors
/// curl's words.
pub fn put(endpoint: &str, path: &str, object: &str) -> Result<()> {
    let bucket = path.split('/').next().unwrap_or_default();
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), object)?;
    let curl = warren_programs::program("curl")?;
    let send = |arguments: &[&std::ffi::OsStr]| {
        let mut command = Command::new(&curl);
        command.args(["--silent", "--show-error", "--fail", "--max-time", "60", "--header", SIGNED]);
        done(command.args(arguments)).map(drop)
    };
    send(&["--request".as_ref(), "PUT".as_ref(), format!("{endpoint}/{bucket}").as_ref()])?;
    send(&["--upload-file".as_ref(), file.path().as_ref(), format!("{endpoint}/{path}").as_ref()])
}

/// A running server. It ends when the value is dropped.
#[derive(Debug)]
pub struct Storage {
    child: Child,
    folder: TempDir,
    address: String,
}

impl Storage {
    /// Serves the S3 of the emulator at `endpoint` on port 443 of a private address.
    ///
    /// # Errors
    /// The server does not start.
    pub fn start(host: &NetNs, address: &str, endpoint: &str) -> Result<Storage> {
        let folder = tempfile::tempdir()?;
        let certified = rcgen::generate_simple_self_signed(vec![address.to_owned()])?;
        let pem = folder.path().join("server.pem");
        std::fs::write(&pem, certified.signing_key.serialize_pem() + &certified.cert.pem())?;
        std::fs::write(folder.path().join("ca.pem"), certified.cert.pem())?;
        let way = folder.path().join("way");
        let listener = UnixListener::bind(&way)?;
        let emulator = endpoint.trim_start_matches("http://").to_owned();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (Ok(stream), Ok(out)) = (stream, TcpStream::connect(&emulator)) else { return };
                thread::spawn(move || relay(&stream, &out));
            }
        });
        let mut command = host.command(Venv::ensure()?.python());
        command.args(["-c", SERVE, address]).arg(&pem).arg(&way);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut first = String::new();
        BufReader::new(child.stdout.take().context("no output")?).read_line(&mut first)?;
        let storage = Storage { child, folder, address: address.to_owned() };
        ensure!(first.trim() == "ready", "the storage's server did not start");
        Ok(storage)
    }

    /// The certificate that its clients trust; everybody may read it.
    pub fn authority(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// The URL of an object.
    pub fn url(&self, path: &str) -> String {
        format!("https://{}/{path}", self.address)
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        // Both fail only where the process is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        // Wakes the listener, which ends since nobody answers.
        let _ = UnixStream::connect(self.folder.path().join("way"));
    }
}

/// Copies both directions until both have ended.
pub(crate) fn relay(inner: &UnixStream, outer: &TcpStream) {
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
