//! The provider's process: started, followed, ended.

use std::io::{BufRead as _, BufReader, Read};
use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::{CertificateDer, ServerName};
use tempfile::TempDir;
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;
use tonic::transport::{Channel, Endpoint};
use tower::service_fn;

use super::certificate::{self, ClientCertificate};

const COOKIE: (&str, &str) =
    ("TF_PLUGIN_MAGIC_COOKIE", "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2");

/// Data in flight, in bytes.
const WINDOW: u32 = 4 << 20;

/// Memory of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Resident now, in bytes.
    pub resident: u64,
    /// Most that was ever resident, in bytes.
    pub peak: u64,
}

#[derive(Debug)]
pub(super) struct Process {
    child: Mutex<Child>,
    pid: u32,
    address: Address,
    /// The server's certificate and ours; none in debug mode.
    tls: Option<(CertificateDer<'static>, ClientCertificate)>,
    stdout: Arc<Mutex<String>>,
    stderr: Arc<Mutex<String>>,
    /// Where the provider puts its socket: a killed one cannot tidy up.
    _folder: TempDir,
}

/// Where a provider listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A Unix socket.
    Unix(PathBuf),
    /// A port.
    Tcp(SocketAddr),
}

/// Where to connect, and how.
pub(super) struct Link {
    address: Address,
    tls: Option<Arc<ClientConfig>>,
}

impl Process {
    pub(super) fn start(program: &Path, environment: &[(&str, &str)]) -> Result<Process> {
        let own = ClientCertificate::generate()?;
        let folder = TempDir::new()?;
        let mut command = command(program, environment, &folder);
        command
            .env(COOKIE.0, COOKIE.1)
            .env("PLUGIN_PROTOCOL_VERSIONS", "5,6")
            .env("PLUGIN_CLIENT_CERT", own.pem());
        let mut started = Started::spawn(command, folder)?;
        let line = started.line()?;
        let fields: Vec<&str> = line.trim_end().split('|').collect();
        let ["1", "6", network, address, "grpc", server] = fields[..] else {
            bail!("unexpected handshake {line:?}\n{}", started.errors());
        };
        let address = match network {
            "unix" => Address::Unix(PathBuf::from(address)),
            "tcp" => Address::Tcp(address.parse().with_context(|| format!("address {address:?}"))?),
            other => bail!("unexpected network {other:?}"),
        };
        let server =
            CertificateDer::from(STANDARD_NO_PAD.decode(server).context("the server's certificate")?);
        Ok(started.into_process(address, Some((server, own))))
    }

    pub(super) fn start_debug(program: &Path, environment: &[(&str, &str)]) -> Result<Process> {
        let folder = TempDir::new()?;
        let mut command = command(program, environment, &folder);
        command.arg("--debug");
        let mut started = Started::spawn(command, folder)?;
        loop {
            let line = started.line()?;
            ensure!(!line.is_empty(), "no TF_REATTACH_PROVIDERS\n{}", started.errors());
            let Some((_, json)) = line.split_once("TF_REATTACH_PROVIDERS=") else { continue };
            let json: serde_json::Value = serde_json::from_str(json.trim().trim_matches('\''))?;
            let providers = json.as_object().context("TF_REATTACH_PROVIDERS")?;
            let socket = providers.values().next().and_then(|provider| provider["Addr"]["String"].as_str());
            let socket = PathBuf::from(socket.context("TF_REATTACH_PROVIDERS has no address")?);
            return Ok(started.into_process(Address::Unix(socket), None));
        }
    }

    /// How to connect as the holder of `certificate`.
    pub(super) fn link(&self, certificate: Option<&ClientCertificate>) -> Result<Link> {
        let tls = match &self.tls {
            Some((server, _)) => Some(certificate::client(server.clone(), certificate)?),
            None => None,
        };
        Ok(Link { address: self.address.clone(), tls })
    }

    /// Ours; none in debug mode.
    pub(super) fn certificate(&self) -> Option<&ClientCertificate> {
        self.tls.as_ref().map(|(_, own)| own)
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    pub(super) fn address(&self) -> &Address {
        &self.address
    }

    pub(super) fn stderr(&self) -> String {
        lock(&self.stderr).clone()
    }

    pub(super) fn stdout(&self) -> String {
        lock(&self.stdout).clone()
    }

    pub(super) fn kill(&self) {
        let mut child = lock(&self.child);
        // Both fail only when it has ended already.
        let _ended = child.kill();
        let _ended = child.wait();
    }

    pub(super) fn signal(&self, name: &str) -> Result<()> {
        // The lock keeps the child from being reaped, so that the id stays its own.
        let mut child = lock(&self.child);
        ensure!(child.try_wait()?.is_none(), "the provider has ended");
        let status = Command::new("kill").args(["-s", name, &self.pid.to_string()]).status()?;
        ensure!(status.success(), "cannot send {name}");
        Ok(())
    }

    pub(super) fn wait_exit(&self, limit: Duration) -> Result<i32> {
        let start = Instant::now();
        while start.elapsed() < limit {
            if let Some(status) = lock(&self.child).try_wait()? {
                return Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default()));
            }
            thread::sleep(Duration::from_millis(5));
        }
        bail!("the provider still runs after {limit:?}\n{}", self.stderr())
    }

    pub(super) fn memory(&self) -> Result<Memory> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid))?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
            let kib = line.trim().trim_end_matches(" kB").parse::<u64>();
            Ok::<_, anyhow::Error>(kib.with_context(|| format!("no {name} in /proc"))? << 10)
        };
        Ok(Memory { resident: field("VmRSS:")?, peak: field("VmHWM:")? })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

fn command(program: &Path, environment: &[(&str, &str)], folder: &TempDir) -> Command {
    let mut command = Command::new(program);
    command.env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for name in ["PATH", "TMPDIR"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.env("PLUGIN_UNIX_SOCKET_DIR", folder.path());
    // Providers that a test starts do not meet there, unless it says so in `environment`.
    command.env("XDG_RUNTIME_DIR", folder.path());
    command.envs(environment.iter().copied());
    command
}

/// A process that has not told yet where it listens.
struct Started {
    child: Option<Child>,
    stdout: Option<BufReader<Box<dyn Read + Send>>>,
    stderr: Arc<Mutex<String>>,
    folder: Option<TempDir>,
}

impl Started {
    fn spawn(mut command: Command, folder: TempDir) -> Result<Started> {
        let program = command.get_program().to_owned();
        let mut child = command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
        let stdout: Box<dyn Read + Send> = Box::new(child.stdout.take().context("no standard output")?);
        let stderr = child.stderr.take().context("no standard error")?;
        Ok(Started {
            stderr: collect(BufReader::new(stderr)),
            stdout: Some(BufReader::new(stdout)),
            child: Some(child),
            folder: Some(folder),
        })
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.stdout.as_mut().context("no standard output")?.read_line(&mut line)?;
        Ok(line)
    }

    /// What it wrote to standard error, once it has ended or a moment has passed.
    fn errors(&mut self) -> String {
        for _ in 0..20 {
            if self.child.as_mut().is_none_or(|child| matches!(child.try_wait(), Ok(Some(_)))) {
                break;
            }
            thread::sleep(Duration::from_millis(50));
        }
        thread::sleep(Duration::from_millis(20));
        lock(&self.stderr).clone()
    }

    fn into_process(
        mut self,
        address: Address,
        tls: Option<(CertificateDer<'static>, ClientCertificate)>,
    ) -> Process {
        let (Some(child), Some(stdout), Some(folder)) =
            (self.child.take(), self.stdout.take(), self.folder.take())
        else {
            unreachable!("all are there until this consumes them")
        };
        let stdout = collect(stdout);
        let pid = child.id();
        Process {
            child: Mutex::new(child),
            pid,
            address,
            tls,
            stdout,
            stderr: Arc::clone(&self.stderr),
            _folder: folder,
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // Both fail only when it has ended already.
            let _ended = child.kill();
            let _ended = child.wait();
        }
    }
}

fn collect(mut stream: impl Read + Send + 'static) -> Arc<Mutex<String>> {
    let text = Arc::new(Mutex::new(String::new()));
    let writer = Arc::clone(&text);
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(length @ 1..) = stream.read(&mut buffer) {
            lock(&writer).push_str(&String::from_utf8_lossy(&buffer[..length]));
        }
    });
    text
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Connects, once: a lost connection is an error of the calls on it, not a new connection.
pub(super) async fn connect(link: Link) -> Result<Channel> {
    let endpoint = Endpoint::from_static("http://localhost")
        .initial_connection_window_size(WINDOW)
        .initial_stream_window_size(WINDOW)
        .connect_timeout(Duration::from_secs(10));
    let link = Arc::new(link);
    let connector = service_fn(move |_| {
        let link = Arc::clone(&link);
        async move {
            let stream = match &link.address {
                Address::Unix(path) => Socket::Left(UnixStream::connect(path).await?),
                Address::Tcp(address) => Socket::Right(TcpStream::connect(address).await?),
            };
            let Some(config) = &link.tls else { return Ok(TokioIo::new(Stream::Left(stream))) };
            let name = ServerName::try_from("localhost").map_err(std::io::Error::other)?;
            let stream = TlsConnector::from(Arc::clone(config)).connect(name, stream).await?;
            Ok::<_, std::io::Error>(TokioIo::new(Stream::Right(stream)))
        }
    });
    Ok(endpoint.connect_with_connector(connector).await?)
}

type Socket = tokio_util::either::Either<UnixStream, TcpStream>;
type Stream = tokio_util::either::Either<Socket, tokio_rustls::client::TlsStream<Socket>>;
