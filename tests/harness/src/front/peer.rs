//! Which process is at the other end of a loopback connection.

use std::fs;
use std::path::Path;

/// The process that holds the client's socket of a connection from this local port, from the kernel's socket table.
/// `None` where it has gone, or belongs to another user.
pub(super) fn process_at(port: u16) -> Option<u32> {
    let inode = ["/proc/net/tcp", "/proc/net/tcp6"].iter().find_map(|table| inode_in(table, port))?;
    let wanted = format!("socket:[{inode}]");
    let processes = fs::read_dir("/proc").ok()?;
    processes.flatten().find_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        (pid != std::process::id() && holds(&entry.path(), &wanted)).then_some(pid)
    })
}

/// Fields of the table: place, local address as hex `address:port`, remote address, state, ..., inode as the tenth.
fn inode_in(table: &str, port: u16) -> Option<u64> {
    let text = fs::read_to_string(table).ok()?;
    let wanted = format!(":{port:04X}");
    text.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let inode = fields.get(9)?.parse().ok().filter(|inode| *inode != 0)?;
        fields.get(1)?.ends_with(&wanted).then_some(inode)
    })
}

fn holds(process: &Path, wanted: &str) -> bool {
    let Ok(descriptors) = fs::read_dir(process.join("fd")) else { return false };
    descriptors
        .flatten()
        .any(|entry| fs::read_link(entry.path()).is_ok_and(|link| link.as_os_str() == wanted))
}
