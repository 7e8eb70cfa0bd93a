//! The program `nft`.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;
use warren_wire::gateway::Protocol;

use super::rules::ErrorSender;
use crate::runtime::problem::{Context as _, Problem, Result};

/// Folders searched besides `PATH`, which often lacks those of system programs.
const FOLDERS: [&str; 2] = ["/usr/sbin", "/sbin"];
/// A table with every feature that the rules use, to probe the kernel.
const PROBE: &str = "table inet warren-probe { chain forward { type filter hook forward priority filter; \
                     ct state new tcp flags syn tcp option maxseg size set rt mtu; reject with icmpx admin-prohibited; }; \
                     chain postrouting { type nat hook postrouting priority srcnat; masquerade; }; }";

/// The path of the program.
#[derive(Debug, Clone)]
pub(super) struct Nft(PathBuf);

/// Packets and bytes of a named counter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub(super) struct Count {
    pub(super) packets: u64,
    pub(super) bytes: u64,
}

/// An entry of a set of refused packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Denied {
    pub(super) source: IpAddr,
    pub(super) destination: IpAddr,
    pub(super) protocol: Protocol,
    /// 0 for ICMP.
    pub(super) port: u16,
    pub(super) packets: u64,
}

impl Nft {
    /// Finds the program.
    ///
    /// # Errors
    /// It is not installed.
    pub(super) fn find() -> Result<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let found = std::env::split_paths(&path)
            .chain(FOLDERS.iter().map(PathBuf::from))
            .map(|folder| folder.join("nft"))
            .find(|program| is_program(program));
        found.map(Self).ok_or_else(|| {
            Problem::new("nft is not installed")
                .hint("install nftables: `apt-get install nftables`, or `dnf install nftables`")
        })
    }

    /// Checks whether the kernel accepts such rules, without applying them.
    ///
    /// # Errors
    /// The kernel lacks a feature, or this process a privilege.
    pub(super) fn probe(&self) -> Result<()> {
        self.call(&["--check", "--file", "-"], PROBE).map(drop)
    }

    /// Where the rules of this `nft` find the sender of an error.
    pub(super) fn error_sender(&self) -> ErrorSender {
        let accepted = self.call(&["--check", "--file", "-"], &ErrorSender::Copy.probe()).is_ok();
        if accepted { ErrorSender::Copy } else { ErrorSender::Connection }
    }

    /// Runs a script atomically.
    ///
    /// # Errors
    /// The message of nft.
    pub(super) fn run(&self, script: &str) -> Result<()> {
        self.call(&["--file", "-"], script).map(drop)
    }

    /// Removes a table, if it is there.
    ///
    /// # Errors
    /// The message of nft.
    pub(super) fn delete(&self, table: &str) -> Result<()> {
        self.run(&format!("table inet {table}\ndelete table inet {table}\n"))
    }

    /// Its path.
    pub(super) fn into_path(self) -> PathBuf {
        self.0
    }

    /// All named counters of a table.
    ///
    /// # Errors
    /// There is no such table, or another message of nft.
    pub(super) fn counters(&self, table: &str) -> Result<BTreeMap<String, Count>> {
        let text = self.call(&["--json", "list", "counters", "table", "inet", table], "")?;
        counters(&text)
    }

    /// The entries of a set of refused packets.
    ///
    /// # Errors
    /// There is no such set, or another message of nft.
    pub(super) fn refused(&self, table: &str, set: &str) -> Result<Vec<Denied>> {
        refused(&self.call(&["--json", "--numeric", "list", "set", "inet", table, set], "")?)
    }

    fn call(&self, arguments: &[&str], input: &str) -> Result<String> {
        let doing = || "nft".to_owned();
        let mut child = Command::new(&self.0)
            .args(arguments)
            .env("LC_ALL", "C")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .while_doing(doing)?;
        if let Some(mut stdin) = child.stdin.take() {
            // A program that does not read its input reports the reason by its exit code.
            _ = stdin.write_all(input.as_bytes());
        }
        let output = child.wait_with_output().while_doing(doing)?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let stderr = String::from_utf8_lossy(&output.stderr);
        let first = stderr.lines().next().unwrap_or("no message");
        let problem = Problem::new(format!("nft: {first}"));
        Err(if stderr.contains("Operation not permitted") {
            problem.hint(
                "child processes need CAP_NET_ADMIN too: run as root, or grant it as an ambient capability",
            )
        } else {
            problem.hint("the kernel needs nf_tables with conntrack, NAT and reject: `modprobe nf_tables nft_ct nft_masq nft_reject_inet`")
        })
    }
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

fn counters(text: &str) -> Result<BTreeMap<String, Count>> {
    #[derive(Deserialize)]
    struct Listing {
        nftables: Vec<Item>,
    }
    #[derive(Deserialize)]
    struct Item {
        counter: Option<Named>,
    }
    #[derive(Deserialize)]
    struct Named {
        name: String,
        #[serde(flatten)]
        count: Count,
    }
    let listing: Listing = serde_json::from_str(text).while_doing(|| "nft's counters".into())?;
    let named = listing.nftables.into_iter().filter_map(|item| item.counter);
    Ok(named.map(|named| (named.name, named.count)).collect())
}

fn refused(text: &str) -> Result<Vec<Denied>> {
    #[derive(Deserialize)]
    struct Listing {
        nftables: Vec<Item>,
    }
    #[derive(Deserialize)]
    struct Item {
        set: Option<Set>,
    }
    #[derive(Deserialize)]
    struct Set {
        #[serde(default)]
        elem: Vec<Element>,
    }
    #[derive(Deserialize)]
    struct Element {
        elem: Inner,
    }
    #[derive(Deserialize)]
    struct Inner {
        val: Value,
        counter: Count,
    }
    #[derive(Deserialize)]
    struct Value {
        concat: Vec<Part>,
    }
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Part {
        Text(String),
        Number(u16),
    }
    let listing: Listing = serde_json::from_str(text).while_doing(|| "nft's set".into())?;
    let address = |part: Option<&Part>| match part {
        Some(Part::Text(text)) => text.parse::<IpAddr>().ok(),
        _ => None,
    };
    let read = |element: Element| {
        let parts = &element.elem.val.concat;
        // Numbers or names, as nft's version has it.
        let protocol = match parts.get(2) {
            None => Protocol::Icmp,
            Some(Part::Number(6)) => Protocol::Tcp,
            Some(Part::Text(name)) if name == "tcp" || name == "6" => Protocol::Tcp,
            Some(_) => Protocol::Udp,
        };
        let port = match parts.get(3) {
            Some(Part::Number(port)) => *port,
            _ => 0,
        };
        let (source, destination) = (address(parts.first())?, address(parts.get(1))?);
        Some(Denied { source, destination, protocol, port, packets: element.elem.counter.packets })
    };
    let sets = listing.nftables.into_iter().filter_map(|item| item.set);
    Ok(sets.flat_map(|set| set.elem).filter_map(read).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read() {
        let text = r#"{"nftables": [{"metainfo": {"version": "1.0.6", "json_schema_version": 1}},
            {"counter": {"family": "inet", "name": "bytes-out", "table": "t", "handle": 17, "packets": 3, "bytes": 252}}]}"#;
        let read = counters(text).unwrap();
        assert_eq!(read["bytes-out"], Count { packets: 3, bytes: 252 });
        assert!(counters("{}").is_err());
    }

    #[test]
    fn refused_packets_are_read() {
        let text = r#"{"nftables": [{"metainfo": {"version": "1.0.6"}}, {"set": {"family": "inet", "name": "refused4", "elem": [
            {"elem": {"val": {"concat": ["10.100.0.7", "10.50.0.2", PROTOCOL, 22]}, "expires": 58, "counter": {"packets": 2, "bytes": 120}}}]}}]}"#;
        for (protocol, expected) in [("6", Protocol::Tcp), (r#""tcp""#, Protocol::Tcp), ("17", Protocol::Udp)]
        {
            let read = refused(&text.replace("PROTOCOL", protocol)).unwrap();
            assert_eq!((read.len(), read[0].protocol, read[0].port, read[0].packets), (1, expected, 22, 2));
        }
        let echo = text.replace(", PROTOCOL, 22", "");
        assert_eq!(refused(&echo).unwrap()[0].protocol, Protocol::Icmp);
        assert_eq!(refused(r#"{"nftables": [{"set": {"name": "refused4"}}]}"#).unwrap(), []);
    }
}
