//! The audit log: one JSON object per line, in a file of this gateway.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use warren_lease::policy::{self, Denial, FlowKey};
use warren_wire::UnixTime;
use warren_wire::gateway::Protocol;

use super::peers::Member;
use crate::enrolment::now;
use crate::runtime::problem::{Context as _, Result};

/// Distinct flows between two writes; further ones share an entry.
const CAPACITY: usize = 65_536;
/// Time between two writes.
const PERIOD: Duration = Duration::from_secs(5);

/// Collects and writes entries. Without a file it does nothing.
pub(super) struct Audit {
    records: Option<Mutex<policy::Audit>>,
    file: Mutex<Option<(PathBuf, File)>>,
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
        Ok(Arc::new(Self { records, file: Mutex::new(file) }))
    }

    /// Whether anything is written.
    pub(super) fn is_kept(&self) -> bool {
        self.records.is_some()
    }

    /// Adds connections or packets, and bytes.
    pub(super) fn add(&self, entry: &Entry, count: u64, bytes_out: u64, bytes_in: u64) {
        if let Some(records) = &self.records {
            records.lock().add(now(), &entry.flow, count, bytes_out, bytes_in);
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
        let mut text: String = records.iter().map(|record| record.to_json() + "\n").collect();
        if lost > 0 {
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
            tracing::error!(%error, path = %path.display(), records = records.len(), "audit records were lost");
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

fn open(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
        .while_doing(|| format!("audit log {}", path.display()))
}
