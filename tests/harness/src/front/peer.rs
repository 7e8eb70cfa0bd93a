//! Which process is at the other end of a loopback connection.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// How often the tables are read: what is listed while connections come and go may lack one that stays.
const READS: usize = 50;

/// The process that holds the client's socket of a connection from `port` to `ours`, from the kernel's socket table.
/// `None` where it has gone, or belongs to another user.
pub(super) fn process_at(port: u16, ours: u16) -> Option<u32> {
    (0..READS).find_map(|read| {
        if read > 0 {
            thread::sleep(Duration::from_millis(5));
        }
        owner(port, ours)
    })
}

fn owner(port: u16, ours: u16) -> Option<u32> {
    let inode = ["/proc/net/tcp", "/proc/net/tcp6"].iter().find_map(|table| inode_in(table, port, ours))?;
    let wanted = format!("socket:[{inode}]");
    let processes = fs::read_dir("/proc").ok()?;
    processes.flatten().find_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        (pid != std::process::id() && holds(&entry.path(), &wanted)).then_some(pid)
    })
}

/// Fields of the table: place, local address as hex `address:port`, remote address, state, ..., inode as the tenth.
/// A local port alone may be that of several connections.
fn inode_in(table: &str, port: u16, ours: u16) -> Option<u64> {
    let text = fs::read_to_string(table).ok()?;
    let (local, remote) = (format!(":{port:04X}"), format!(":{ours:04X}"));
    text.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let inode = fields.get(9)?.parse().ok().filter(|inode| *inode != 0)?;
        (fields.get(1)?.ends_with(&local) && fields.get(2)?.ends_with(&remote)).then_some(inode)
    })
}

fn holds(process: &Path, wanted: &str) -> bool {
    let Ok(descriptors) = fs::read_dir(process.join("fd")) else { return false };
    descriptors
        .flatten()
        .any(|entry| fs::read_link(entry.path()).is_ok_and(|link| link.as_os_str() == wanted))
}
