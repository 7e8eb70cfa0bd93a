//! Google Storage: the emulator `gcp-storage-emulator`, which clients of its JSON API know.

use std::net::SocketAddr;
use std::process::Command;

use anyhow::Result;
use tempfile::TempDir;
use warren_harness::Venv;

use super::child::{Server, free};
use super::curl::{curl, curl_data};

/// A running emulator.
#[derive(Debug)]
pub struct Storage {
    server: Server,
    _folder: TempDir,
}

impl Storage {
    /// Starts one without buckets.
    ///
    /// # Errors
    /// The emulator cannot be installed or started.
    pub fn start() -> Result<Storage> {
        let folder = tempfile::tempdir()?;
        let address = free()?;
        let mut command = Command::new(Venv::ensure()?.python());
        command.args(["-m", "gcp_storage_emulator", "start", "--in-memory", "--host", "127.0.0.1"]);
        command.args(["--port", &address.port().to_string()]).current_dir(folder.path());
        let server = Server::start(&mut command, address, folder.path())?;
        Ok(Storage { server, _folder: folder })
    }

    /// Where it listens, for plain HTTP.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Stores an object in a bucket, which is created.
    ///
    /// # Errors
    /// The emulator refuses it.
    pub fn put(&self, bucket: &str, name: &str, object: &[u8]) -> Result<()> {
        let at = format!("http://{}", self.address());
        let json = "content-type: application/json";
        let made = format!("{{\"name\":\"{bucket}\"}}");
        curl_data(&["--header", json, &format!("{at}/storage/v1/b?project=lab")], made.as_bytes())?;
        let upload = format!("{at}/upload/storage/v1/b/{bucket}/o?uploadType=media&name={name}");
        curl_data(&["--header", "content-type: application/octet-stream", &upload], object)?;
        curl(&[&format!("{at}/storage/v1/b/{bucket}/o/{}", name.replace('/', "%2F"))]).map(drop)
    }
}
