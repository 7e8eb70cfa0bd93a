//! The audit log: one JSON object per line, in a file of this gateway.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use parking_lot::Mutex;
use warren_lease::policy::{self, Denial, FlowKey};
use warren_wire::UnixTime;
use warren_wire::gateway::Protocol;

use super::model::DeniedFlow;
use super::peers::Member;
use crate::enrolment::now;
use crate::runtime::problem::{Context as _, Result};

/// Distinct flows between two writes, and lines about other things. Further ones are counted as lost.
const CAPACITY: usize = 65_536;
/// Denied flows that are kept in memory, in total and of one peer.
const RECENT: usize = 128;
const RECENT_OF_ONE: usize = 16;
/// Time between two writes.
const PERIOD: Duration = Duration::from_secs(5);

/// Collects and writes entries. Without a file it only keeps the latest denied flows in memory.
pub(super) struct Audit {
    records: Option<Mutex<policy::Audit>>,
    notes: Mutex<Notes>,
    file: Mutex<Option<(PathBuf, File)>>,
    recent: Mutex<Vec<Recent>>,
}

/// Lines about other things than flows, and how many more there were.
#[derive(Default)]
struct Notes {
    lines: Vec<String>,
    lost: u64,
}

/// A denied flow, how often it was tried, and when last.
struct Recent {
    flow: FlowKey,
    count: u64,
    at: UnixTime,
}

/// A flow's entry in the audit log.
#[derive(Clone)]
pub(super) struct Entry {
    flow: FlowKey,
}

impl Entry {
    /// A flow to an address and port; the port is 0 for ICMP.
    pub(super) fn new(member: &Member, flow: &policy::Flow, denied: Option<Denial>) -> Self {
        Self {
            flow: FlowKey {
                peer: member.key,
                group: member.group.clone(),
                source: flow.source,
                destination: flow.destination,
                protocol: flow.protocol,
                port: if flow.protocol == Protocol::Icmp { 0 } else { flow.port },
                denied,
            },
        }
    }
}

impl Audit {
    /// Appends to a file, which is created with mode 0600.
    ///
    /// # Errors
    /// It cannot be opened.
    pub(super) fn open(path: Option<&Path>) -> Result<Arc<Self>> {
        let file = path.map(|path| open(path).map(|file| (path.to_owned(), file))).transpose()?;
        let records = file.is_some().then(|| Mutex::new(policy::Audit::new(CAPACITY)));
        Ok(Arc::new(Self {
            records,
            notes: Mutex::default(),
            file: Mutex::new(file),
            recent: Mutex::default(),
        }))
    }

    /// Whether anything is written.
    pub(super) fn is_kept(&self) -> bool {
        self.records.is_some()
    }

    /// Adds connections or packets of a member that no rule allows.
    pub(super) fn deny(&self, member: &Member, flow: &policy::Flow, denial: Denial, count: u64) {
        let entry = Entry::new(member, flow, Some(denial));
        self.add(&entry, count, 0, 0);
        member.denied.fetch_add(count, Ordering::Relaxed);
        remember(&mut self.recent.lock(), entry.flow, count, now());
    }

    /// The latest denied flows, the last one first.
    pub(super) fn denied(&self) -> Vec<DeniedFlow> {
        let mut flows: Vec<DeniedFlow> = self.recent.lock().iter().map(Recent::entry).collect();
        flows.sort_by(|a, b| b.at.cmp(&a.at));
        flows
    }

    /// Adds connections or packets, and bytes.
    pub(super) fn add(&self, entry: &Entry, count: u64, bytes_out: u64, bytes_in: u64) {
        if let Some(records) = &self.records {
            records.lock().add(now(), &entry.flow, count, bytes_out, bytes_in);
        }
    }

    /// Adds a line about something else than a flow.
    pub(super) fn note(&self, line: &serde_json::Value) {
        if self.records.is_none() {
            return;
        }
        let mut notes = self.notes.lock();
        if notes.lines.len() < CAPACITY {
            notes.lines.push(format!("{line}\n"));
        } else {
            notes.lost += 1;
        }
    }

    /// Writes every few seconds, forever.
    pub(super) async fn keep(self: Arc<Self>) {
        if self.records.is_none() {
            return;
        }
        let mut tick = tokio::time::interval(PERIOD);
        loop {
            tick.tick().await;
            let audit = Arc::clone(&self);
            // Writing to a disk may block.
            if let Err(error) = tokio::task::spawn_blocking(move || audit.write()).await {
                tracing::error!(%error, "audit records were lost");
            }
        }
    }

    /// Writes the collected entries.
    pub(super) fn write(&self) {
        let Some(records) = &self.records else { return };
        let (records, lost) = records.lock().drain();
        let notes = std::mem::take(&mut *self.notes.lock());
        let (count, lost) = (records.len() + notes.lines.len(), lost + notes.lost);
        let mut text: String = records.iter().map(|record| record.to_json() + "\n").collect();
        text.extend(notes.lines);
        if lost > 0 {
            tracing::warn!(lost, "audit records were lost: more than the gateway keeps between two writes");
            let at: UnixTime = now();
            text += &format!("{{\"from\":\"{at}\",\"to\":\"{at}\",\"lost\":{lost}}}\n");
        }
        if text.is_empty() {
            return;
        }
        let mut file = self.file.lock();
        if let Some((path, file)) = file.as_mut()
            && let Err(error) = file.write_all(text.as_bytes())
        {
            tracing::error!(%error, path = %path.display(), records = count, "audit records were lost");
        }
    }

    /// Opens the file again after a log rotation has moved it.
    ///
    /// # Errors
    /// It cannot be opened; the old one is kept then.
    pub(super) fn reopen(&self) -> Result<()> {
        self.write();
        let mut file = self.file.lock();
        if let Some((path, file)) = file.as_mut() {
            *file = open(path)?;
        }
        Ok(())
    }
}

/// A peer that scans a network replaces its own entries only.
fn remember(recent: &mut Vec<Recent>, flow: FlowKey, count: u64, at: UnixTime) {
    if let Some(known) = recent.iter_mut().find(|known| known.flow == flow) {
        (known.count, known.at) = (known.count + count, at);
        return;
    }
    let of_it = recent.iter().filter(|known| known.flow.peer == flow.peer).count();
    if of_it >= RECENT_OF_ONE || recent.len() >= RECENT {
        let replaced = recent.iter().enumerate();
        let replaced = replaced.filter(|(_, known)| of_it < RECENT_OF_ONE || known.flow.peer == flow.peer);
        if let Some(oldest) = replaced.min_by_key(|(_, known)| known.at).map(|(index, _)| index) {
            recent.remove(oldest);
        }
    }
    recent.push(Recent { flow, count, at });
}

impl Recent {
    fn entry(&self) -> DeniedFlow {
        let flow = &self.flow;
        DeniedFlow {
            at: self.at.to_string(),
            public_key: flow.peer.to_string(),
            group: flow.group.to_string(),
            source: flow.source,
            destination: flow.destination,
            protocol: match flow.protocol {
                Protocol::Tcp => "tcp",
                Protocol::Udp => "udp",
                Protocol::Icmp => "icmp",
            }
            .to_owned(),
            port: (flow.protocol != Protocol::Icmp).then_some(flow.port),
            reason: flow.denied.map(|denial| denial.to_string()).unwrap_or_default(),
            count: self.count,
        }
    }
}

fn open(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
        .while_doing(|| format!("audit log {}", path.display()))
}

#[cfg(test)]
mod tests {
    use warren_wire::PrivateKey;

    use super::*;

    fn flow(peer: u8, port: u16) -> FlowKey {
        FlowKey {
            peer: PrivateKey::from_random([peer; 32]).public(),
            group: "gpu".parse().unwrap(),
            source: "10.100.0.9".parse().unwrap(),
            destination: "10.0.0.1".parse().unwrap(),
            protocol: Protocol::Tcp,
            port,
            denied: Some(Denial::Destination),
        }
    }

    #[test]
    fn what_does_not_fit_between_two_writes_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit");
        let audit = Audit::open(Some(&path)).unwrap();
        let last = || {
            let text = std::fs::read_to_string(&path).unwrap();
            let line: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
            (text.lines().count(), line)
        };
        for number in 0..CAPACITY + 3 {
            audit.note(&serde_json::json!({ "number": number }));
        }
        audit.write();
        let (lines, line) = last();
        assert_eq!((lines, &line["lost"]), (CAPACITY + 1, &3.into()), "{line}");
        audit.note(&serde_json::json!({ "number": "next" }));
        audit.write();
        let (lines, line) = last();
        assert_eq!((lines, &line["number"]), (CAPACITY + 2, &"next".into()), "counted once");
    }

    #[test]
    fn a_pod_that_scans_a_network_hides_no_other() {
        let at = UnixTime::from_secs;
        let mut recent = Vec::new();
        remember(&mut recent, flow(1, 443), 1, at(1));
        remember(&mut recent, flow(1, 443), 4, at(2));
        assert_eq!((recent.len(), recent[0].count, recent[0].at), (1, 5, at(2)));
        for port in 1..10_000 {
            remember(&mut recent, flow(2, port), 1, at(u64::from(port)));
        }
        assert_eq!(recent.len(), 1 + RECENT_OF_ONE);
        assert_eq!(recent[0].flow, flow(1, 443));
        assert_eq!(recent.last().map(|last| last.flow.port), Some(9999));
        for peer in 3..=255 {
            remember(&mut recent, flow(peer, 1), 1, at(20_000));
        }
        assert_eq!(recent.len(), RECENT);
    }
}
