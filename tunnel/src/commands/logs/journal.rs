//! The journal, read by journalctl.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use serde::Deserialize;
use serde_json::json;
use tokio::sync::mpsc::{Receiver, channel};

use crate::runtime::problem::{Context as _, Result};

/// The units of a gateway, without the one that sends the logs: its errors would produce further entries.
const UNITS: [&str; 7] = ["disk", "fetch", "gateway", "install", "refresh", "reload", "restart"];
/// Maximum number of entries that wait; journalctl waits too, and the journal keeps the entries.
const QUEUE: usize = 1000;
/// Maximum size of an entry in bytes.
const MAX_TEXT: usize = 64 * 1024;

/// An entry of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Milliseconds since 1970.
    pub(super) time: u64,
    /// JSON with the unit, the priority and the message.
    pub(super) text: String,
    /// Its position in the journal.
    pub(super) cursor: String,
}

#[derive(Deserialize)]
struct Line {
    #[serde(rename = "__CURSOR")]
    cursor: String,
    /// Microseconds since 1970.
    #[serde(rename = "__REALTIME_TIMESTAMP")]
    time: String,
    #[serde(rename = "_SYSTEMD_UNIT", default)]
    unit: Option<String>,
    /// The unit that an entry of systemd itself is about.
    #[serde(rename = "UNIT", default)]
    about: Option<String>,
    #[serde(rename = "PRIORITY", default)]
    priority: Option<String>,
    #[serde(rename = "MESSAGE", default)]
    message: serde_json::Value,
}

impl Entry {
    /// Parses a line of `journalctl --output=json`; `None` if it has another format.
    pub(super) fn parse(line: &str) -> Option<Entry> {
        let line: Line = serde_json::from_str(line).ok()?;
        let mut message = match line.message {
            serde_json::Value::String(text) => text,
            // Messages that are not UTF-8 are arrays of bytes.
            serde_json::Value::Array(bytes) => {
                let bytes = bytes.iter().filter_map(|byte| u8::try_from(byte.as_u64()?).ok());
                String::from_utf8_lossy(&bytes.collect::<Vec<u8>>()).into_owned()
            }
            _ => String::new(),
        };
        if let Some((end, _)) = message.char_indices().find(|(at, _)| *at >= MAX_TEXT) {
            message.truncate(end);
        }
        let unit = line.about.or(line.unit).unwrap_or_default();
        let priority: Option<u8> = line.priority.and_then(|priority| priority.parse().ok());
        let text = json!({ "unit": unit, "priority": priority, "message": message }).to_string();
        Some(Entry { time: line.time.parse::<u64>().ok()? / 1000, text, cursor: line.cursor })
    }

    /// Its share of the size of a batch.
    pub(super) fn size(&self) -> usize {
        self.text.len() + 26
    }
}

/// Entries after the position in the file `state`, or of this boot, and then every new one.
///
/// # Errors
/// The program cannot be started.
pub(super) fn follow(program: &str, state: &Path) -> Result<Receiver<Entry>> {
    let mut command = Command::new(program);
    command.args(["--follow", "--no-tail", "--quiet", "--output=json"]);
    command.args(UNITS.map(|unit| format!("--unit=warren-{unit}.service")));
    match std::fs::read_to_string(state) {
        Ok(cursor) if !cursor.is_empty() => command.arg(format!("--after-cursor={cursor}")),
        _ => command.arg("--boot"),
    };
    let started = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut child = started.while_doing(|| format!("starting {program}"))?;
    let (sender, receiver) = channel(QUEUE);
    let output = child.stdout.take();
    std::thread::spawn(move || {
        let lines = output.into_iter().flat_map(|output| BufReader::new(output).lines());
        for line in lines.map_while(std::result::Result::ok) {
            let Some(entry) = Entry::parse(&line) else { continue };
            if sender.blocking_send(entry).is_err() {
                break;
            }
        }
        // It may have ended already.
        let _ = child.kill();
        let _ = child.wait();
    });
    Ok(receiver)
}
