//! `sync` beside other tools that copy files from and to S3, through the same tunnel of a pod without privileges.
//!
//! Each tool copies the same folder up and down. The storage is a server of S3 on the gateway's host, the tunnel passes a relay
//! that delays and loses datagrams, and what arrives is compared with what was there.

mod tool;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use warren_tunnel_tests::{Daemon, Family, Impairment, Implementation, Relay, Side, pod, program, wait_for};

use crate::figures::megabytes;
use crate::goals::{self, Goal};
use crate::iperf;
use crate::pod::{LINE, Lab, PORT, Plan as Streams, Program, Way};
use crate::sheet::{Figures, Sheet, rotated};
use tool::Tool;

/// Round trips in milliseconds, and lost datagrams in percent.
const PATHS: [(u64, f64); 4] = [(0, 0.0), (0, 0.1), (80, 0.0), (80, 0.1)];
/// Large files beside the small ones.
const LARGE: usize = 4;
/// Bytes of a small file.
const SMALL: usize = 16 << 10;
/// The subject that shows what the path carries.
const PATH: &str = "iperf3, four streams";
/// A copy that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(600);

/// So many small files that deleting them slows down the next copy.
const MANY: usize = 5_000;

/// The user that owns nothing.
const NOBODY: u32 = 65534;
const STORAGE: u16 = 9000;

/// How much is measured.
pub(crate) struct Plan {
    pub(crate) runs: usize,
    /// Of the transfers that show what the path carries.
    pub(crate) seconds: u64,
    /// Small files.
    pub(crate) files: usize,
    /// Of all files together.
    pub(crate) megabytes: usize,
    pub(crate) tools: Vec<String>,
    /// All of them if empty.
    pub(crate) paths: Vec<(u64, f64)>,
    pub(crate) congestion: String,
}

pub(crate) fn measure(plan: &Plan, sheet: &mut Sheet) -> Result<Vec<Goal>> {
    let tools = crate::available(Tool::chosen(&plan.tools)?, sheet, Tool::name, |tool| tool.path());
    iperf::conditions(sheet, &plan.congestion, "of the path");
    let setting =
        format!("{} files of {SMALL} bytes and {LARGE} large ones, {} MB", plan.files, plan.megabytes);
    sheet.condition("files", setting);
    let storage = Storage::new(plan)?;
    let paths = if plan.paths.is_empty() { &PATHS[..] } else { &plan.paths };
    let mut deleted = false;
    for run in 1..=plan.runs {
        for &(delay, loss) in paths {
            if deleted && plan.files >= MANY {
                calm();
            }
            let case = |direction: &str| format!("{delay} ms, {loss} % loss, {direction}");
            eprintln!("run {run} of {}: {delay} ms, {loss} % loss", plan.runs);
            let road = Road::new(delay, loss)?;
            for (direction, arguments) in
                [("up", &["--parallel", "4"][..]), ("down", &["--parallel", "4", "--reverse"])]
            {
                sheet.case(PATH, &case(direction), || road.carries(plan, arguments));
            }
            let server = storage.serve(&road)?;
            let used = owned()?;
            for tool in rotated(&tools, run) {
                for direction in ["up", "down"] {
                    sheet.case(tool.name(), &case(direction), || {
                        let up = direction == "up";
                        storage.copy(&road, tool, up, used.path()).with_context(|| server.log())
                    });
                }
            }
            drop(used);
            deleted = true;
        }
    }
    Ok(goals::sync(sheet, PATH))
}

/// A path as `80ms/0.1%`.
pub(crate) fn path(text: &str) -> Result<(u64, f64), String> {
    let name = |(delay, loss): &(u64, f64)| format!("{delay}ms/{loss}%");
    let known = PATHS.iter().find(|path| name(path) == text).copied();
    known.ok_or_else(|| format!("paths are {}", PATHS.each_ref().map(name).join(", ")))
}

/// A pod's host and a gateway, with a relay between them.
struct Road {
    lab: Lab,
    relay: Relay,
}

impl Road {
    fn new(delay: u64, loss: f64) -> Result<Self> {
        let lab = Lab::new()?;
        let impairment =
            Impairment { delay: Duration::from_millis(delay) / 2, rate: LINE, loss: loss / 100.0 };
        let relay = Relay::start(&lab.hosts[1], lab.gateway_at(PORT), impairment)?;
        Ok(Self { lab, relay })
    }

    fn carries(&self, plan: &Plan, arguments: &[&str]) -> Result<Figures> {
        let congestion = plan.congestion.clone();
        let streams = Streams { seconds: plan.seconds, congestion, ..Streams::default() };
        let (pod, _) = self.lab.start(&Program::WarrenTunnel, &Way::Udp(self.relay.port()))?;
        let figures = self.lab.transfer(&pod, &streams, arguments)?;
        Ok(figures
            .into_iter()
            .filter(|(unit, _)| *unit == "Gbit/s")
            .map(|(_, gbits)| ("MB/s", gbits * 125.0))
            .collect())
    }
}

/// The files, and the folder of the server.
struct Storage {
    /// Root of the server, with a folder for each bucket.
    served: TempDir,
    /// What is copied.
    files: TempDir,
    digests: BTreeMap<String, [u8; 32]>,
    bytes: u64,
}

impl Storage {
    fn new(plan: &Plan) -> Result<Self> {
        let files = owned()?;
        let small = plan.files * SMALL;
        let large = (plan.megabytes * 1_000_000).saturating_sub(small) / LARGE;
        let mut random = File::open("/dev/urandom")?;
        let mut write = |name: String, length: usize| -> Result<()> {
            let path = files.path().join(name);
            fs::create_dir_all(path.parent().context("a file has a folder")?)?;
            std::io::copy(&mut (&mut random).take(length as u64), &mut File::create(path)?)?;
            Ok(())
        };
        for index in 0..plan.files {
            write(format!("samples/{:03}/{index:06}.bin", index / 1_000), SMALL)?;
        }
        for index in 0..LARGE {
            write(format!("shards/{index}.bin"), large)?;
        }
        let served = owned()?;
        fs::create_dir(served.path().join("bench"))?;
        let digests = tree(files.path())?;
        let bytes = (small + LARGE * large) as u64;
        let storage = Self { served, files, digests, bytes };
        storage.fill()?;
        Ok(storage)
    }

    /// Uploads the files. The server would not know the tags of files that were copied into its folder.
    fn fill(&self) -> Result<()> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let server = self.start(Command::new(program("s3s-fs")?), address)?;
        wait_for(Duration::from_secs(20), "storage", || Ok(Some(TcpStream::connect(address)?)))
            .with_context(|| server.log())?;
        let state = tempfile::tempdir()?;
        let mut command = Command::new(Implementation::WarrenTunnel.path()?);
        command.args(["sync", "--direct", "--quiet", "--state"]).arg(state.path());
        command.arg(self.files.path()).arg("s3://bench/data");
        tool::UNSET.iter().for_each(|name| _ = command.env_remove(name));
        let status = command.envs(tool::environment(&format!("http://{address}"))).status()?;
        ensure!(status.success(), "sync: {status}");
        Ok(())
    }

    fn start(&self, mut command: Command, address: SocketAddr) -> Result<Daemon> {
        command.args(["--host", &address.ip().to_string(), "--port", &address.port().to_string()]);
        command.args(["--access-key", tool::KEY, "--secret-key", tool::SECRET]).arg(self.served.path());
        Daemon::start(command.env("RUST_LOG", "error"))
    }

    /// A server of S3 on the gateway's host.
    fn serve(&self, road: &Road) -> Result<Daemon> {
        let host = &road.lab.hosts[1];
        let address = SocketAddr::new(Side::Right.inner(Family::V4), STORAGE);
        let server = self.start(host.command(program("s3s-fs")?), address)?;
        wait_for(Duration::from_secs(20), "storage", || {
            Ok(Some(host.inside(move || Ok(TcpStream::connect(address)?))?))
        })
        .with_context(|| server.log())?;
        Ok(server)
    }

    /// One copy of everything, which is moved to `used` afterwards.
    fn copy(&self, road: &Road, tool: &Tool, up: bool, used: &Path) -> Result<Figures> {
        let target = owned()?;
        let name = format!("up-{}", tool.name());
        let remote = if up { name.as_str() } else { "data" };
        let local = if up { self.files.path() } else { target.path() };
        let endpoint = format!("http://{}:{STORAGE}", Side::Right.inner(Family::V4));
        let report = target.path().with_extension("json");
        let mut interface = road.lab.interfaces[0].clone();
        interface.port = 0;
        interface.peers[0].endpoint = Some(road.lab.gateway_at(road.relay.port()).to_string());
        let home = pod::home(&interface)?;
        let tunnel = Implementation::WarrenTunnel.path()?;
        let cache = warren_tunnel_tests::cache_folder();
        let mut folders = tool.folders()?;
        folders.extend([cache, tunnel.parent().context("a program has a folder")?.to_path_buf()]);
        let folders: Vec<&Path> = folders.iter().map(PathBuf::as_path).collect();
        let mut command = pod::unprivileged_with(&road.lab.hosts[0], home.path(), &tunnel, &folders);
        command.arg("exec").arg("--config").arg(home.path().join("pod.conf"));
        command.args(["--metrics", "off", "--log-level", "warn", "--"]);
        command.args(tool::measured(&report)).args(tool.command(local, remote, &endpoint, up)?);
        for name in tool::UNSET {
            command.env_remove(name);
        }
        for (name, value) in tool::environment(&endpoint) {
            command.env(name, value);
        }
        command.env("HOME", home.path()).stdin(Stdio::null());
        File::create(&report)?;
        chown(&report, Some(NOBODY), Some(NOBODY))?;
        let mut daemon = Daemon::start(&mut command)?;
        let status = wait_for(PATIENCE, "copy", || daemon.ended()).with_context(|| daemon.log())?;
        ensure!(status.success(), "{status}\n{}", daemon.log());
        let [seconds, memory, cpu] = tool::report(&report)?;
        fs::remove_file(&report)?;
        let arrived =
            if up { self.served.path().join("bench").join(&name) } else { target.path().to_path_buf() };
        let found = tree(&arrived)?;
        ensure!(found == self.digests, "{} of {} files arrived", found.len(), self.digests.len());
        let direction = if up { "up" } else { "down" };
        fs::rename(&arrived, used.join(format!("{direction}-{}", tool.name())))?;
        let moved = self.bytes as f64;
        Ok(vec![
            ("MB/s", moved / seconds / 1e6),
            ("CPU s/GB", cpu / moved * 1e9),
            ("peak memory, MB", megabytes(memory as u64)),
        ])
    }
}

/// Waits after files were deleted. A file system without a journal does not use their inodes for a minute, and looks for others one
/// by one (`recently_deleted` in `fs/ext4/ialloc.c`): 20,000 of them cost the next copy a millisecond for each file.
fn calm() {
    rustix::fs::sync();
    eprintln!("waiting 65 s after deleting the copies");
    std::thread::sleep(Duration::from_secs(65));
}

/// A folder that nobody may write to.
fn owned() -> Result<TempDir> {
    let folder = tempfile::Builder::new().prefix("warren-sync-").tempdir()?;
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777))?;
    chown(folder.path(), Some(NOBODY), Some(NOBODY))?;
    Ok(folder)
}

/// Digests of the files below a folder. Hidden ones are of the tools.
fn tree(root: &Path) -> Result<BTreeMap<String, [u8; 32]>> {
    fn walk(root: &Path, below: PathBuf, found: &mut BTreeMap<String, [u8; 32]>) -> Result<()> {
        for entry in fs::read_dir(below)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with('.') {
                continue;
            }
            let path = entry.path();
            if entry.file_type()?.is_dir() {
                walk(root, path, found)?;
            } else {
                let digest = Sha256::digest(fs::read(&path)?);
                found.insert(path.strip_prefix(root)?.display().to_string(), digest.into());
            }
        }
        Ok(())
    }
    let mut found = BTreeMap::new();
    walk(root, root.to_path_buf(), &mut found)?;
    Ok(found)
}
