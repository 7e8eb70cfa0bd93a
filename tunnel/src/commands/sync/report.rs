//! What a user sees: a bar on a terminal, JSON lines elsewhere.

use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use parking_lot::Mutex;
use serde_json::{Value, json};
use warren_sync::plan::Totals;
use warren_sync::{Event, Progress, Summary, SyncError};

/// Interval between lines about progress.
const INTERVAL: Duration = Duration::from_secs(5);
/// How often a terminal is drawn.
const HERTZ: u8 = 10;

/// What is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shows {
    /// A bar on standard error, and the result on standard output.
    Bar,
    /// JSON lines on standard output.
    Json,
    /// Errors alone, on standard error.
    Errors,
}

/// Receives events.
pub(super) struct Report {
    begun: Instant,
    shows: Shows,
    bar: ProgressBar,
    counts: Mutex<Counts>,
}

/// How far the current transfer is.
pub(super) struct Running {
    pub(super) files: u64,
    pub(super) of_files: u64,
    pub(super) bytes: u64,
    pub(super) of_bytes: u64,
    /// Bytes that all transfers of this process moved, without those of earlier ones.
    pub(super) moved: u64,
}

#[derive(Default)]
struct Counts {
    planned: (u64, u64),
    /// There may be more than planned.
    listing: bool,
    /// Files and bytes when the current transfer began: there is one for each checkpoint of a watched folder.
    before: (u64, u64),
    moved: u64,
    bytes: u64,
    files: u64,
    told: Option<Instant>,
}

impl Counts {
    fn of_files(&self) -> String {
        let more = if self.listing { "+" } else { "" };
        format!("{}/{}{more} files", self.files, self.planned.0)
    }
}

impl Report {
    pub(super) fn new(shows: Shows) -> Self {
        let bar = match shows {
            Shows::Bar => ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(HERTZ)),
            Shows::Json | Shows::Errors => ProgressBar::hidden(),
        };
        Self { begun: Instant::now(), shows, bar, counts: Mutex::default() }
    }

    /// How far the current transfer is.
    pub(super) fn counts(&self) -> Running {
        let counts = self.counts.lock();
        Running {
            files: counts.files - counts.before.0,
            of_files: counts.planned.0,
            bytes: counts.bytes - counts.before.1,
            of_bytes: counts.planned.1,
            moved: counts.moved,
        }
    }

    /// One line on standard output. A closed pipe does not end the transfer.
    pub(super) fn line(&self, value: &Value) {
        if self.shows == Shows::Json {
            _ = writeln!(io::stdout().lock(), "{value}");
        }
    }

    /// One line for people, above the bar.
    pub(super) fn say(&self, text: &str) {
        if self.shows == Shows::Bar {
            self.bar.suspend(|| _ = writeln!(io::stderr(), "{text}"));
        }
    }

    /// The result.
    pub(super) fn end(&self, summary: &Summary) {
        self.bar.finish_and_clear();
        let seconds = self.begun.elapsed().as_secs_f64();
        let Summary { copied, bytes, unchanged, deleted, failed } = *summary;
        if self.shows == Shows::Json {
            let seconds = (seconds * 1e3).round() / 1e3;
            self.line(&json!({
                "event": "end", "copied": copied, "bytes": bytes, "unchanged": unchanged, "deleted": deleted,
                "failed": failed, "seconds": seconds,
            }));
            return;
        }
        if self.shows == Shows::Errors {
            return;
        }
        let rate = indicatif::HumanBytes((bytes as f64 / seconds.max(1e-3)) as u64);
        let mut text = format!(
            "{copied} transferred ({}, {rate}/s), {unchanged} unchanged",
            indicatif::HumanBytes(bytes)
        );
        for (count, what) in [(deleted, "deleted"), (failed, "failed")] {
            if count > 0 {
                text.push_str(&format!(", {count} {what}"));
            }
        }
        _ = writeln!(io::stdout().lock(), "{text}");
    }

    fn planned(&self, counts: &mut Counts, totals: Totals) {
        counts.planned = (totals.copy, totals.bytes);
        self.bar.set_length(totals.bytes);
        self.bar.set_message(counts.of_files());
    }

    fn failed(&self, error: &SyncError) {
        let SyncError { place, what, hint, .. } = error;
        self.line(&json!({"event": "failed", "place": place, "error": what, "hint": hint}));
        let hint = hint.map_or_else(String::new, |hint| format!("\n  hint: {hint}"));
        let text = format!("warren-tunnel: {place}: {what}{hint}");
        if self.shows == Shows::Errors {
            _ = writeln!(io::stderr(), "{text}");
        }
        self.say(&text);
    }
}

impl Progress for Report {
    fn event(&self, event: &Event<'_>) {
        let mut counts = self.counts.lock();
        match event {
            Event::Found(totals) => {
                if !counts.listing {
                    counts.listing = true;
                    counts.before = (counts.files, counts.bytes);
                    let style =
                        "{bytes} of {total_bytes}  {binary_bytes_per_sec}  {msg}  {wide_bar}  ETA {eta}";
                    if let Ok(style) = ProgressStyle::with_template(style) {
                        self.bar.set_style(style);
                    }
                }
                self.planned(&mut counts, *totals);
            }
            Event::Planned(totals) => {
                counts.listing = false;
                self.planned(&mut counts, *totals);
                let Totals { copy, bytes, unchanged, delete } = totals;
                self.line(&json!({
                    "event": "plan", "copy": copy, "bytes": bytes, "unchanged": unchanged, "delete": delete,
                }));
            }
            Event::Bytes(bytes) => {
                counts.bytes += bytes;
                counts.moved += bytes;
                self.bar.inc(*bytes);
                if counts.told.is_none_or(|told| told.elapsed() >= INTERVAL) {
                    counts.told = Some(Instant::now());
                    self.line(&json!({
                        "event": "progress", "bytes": counts.bytes, "of": counts.planned.1, "files": counts.files,
                        "of_files": counts.planned.0, "listing": counts.listing,
                    }));
                }
            }
            Event::Resumed { name, bytes } => {
                if *bytes > 0 {
                    counts.bytes += bytes;
                    self.bar.inc(*bytes);
                    self.line(&json!({"event": "resumed", "name": name, "bytes": bytes}));
                }
            }
            Event::Restarted { name } => self.line(&json!({"event": "restarted", "name": name})),
            Event::Done { entry, verified } => {
                counts.files += 1;
                self.bar.set_message(counts.of_files());
                self.line(&json!({
                    "event": "copied", "name": entry.name, "bytes": entry.stamp.size, "verified": verified,
                }));
            }
            Event::Failed(error) => self.failed(error),
            Event::Deleted { name } => self.line(&json!({"event": "deleted", "name": name})),
        }
    }
}
