//! Transfers of pods as their agents report them, for the page for operators.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use warren_budget::RateLimit;
use warren_wire::gateway::{Direction, TransferReport};

use super::share::{MINUTE, rate};
use crate::runtime::datapath::Clock;

/// Transfers of one pod that are kept; another one replaces the one with the oldest report.
pub const TRANSFERS: usize = 4;
/// Reports of one pod per minute.
const REPORTS_PER_MINUTE: u32 = 120;
/// A transfer that is not reported again has ended, as with a kill.
const SILENT: Duration = Duration::from_secs(20);

/// A transfer of a pod.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferEntry {
    /// Where the data goes, as the pod sees it.
    pub direction: Direction,
    /// Objects transferred.
    pub files: u64,
    /// Objects to transfer.
    pub of_files: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// Bytes to transfer.
    pub of_bytes: u64,
    /// Bytes per second, between the last two reports.
    pub rate: u64,
    /// Bytes per second to which its user limits it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned_rate: Option<u64>,
    /// Seconds until its end at this rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eta_seconds: Option<u64>,
}

/// The transfers of one pod.
pub(super) struct Transfers {
    budget: RateLimit,
    known: Mutex<Vec<(TransferReport, Instant)>>,
}

impl Transfers {
    pub(super) fn new() -> Self {
        Self { budget: rate(REPORTS_PER_MINUTE), known: Mutex::default() }
    }

    /// Keeps a report, if there is room for it.
    pub(super) fn note(&self, report: TransferReport) -> bool {
        if !self.budget.take(Clock.mono(), MINUTE) {
            return false;
        }
        self.keep(report, Instant::now());
        true
    }

    fn keep(&self, report: TransferReport, now: Instant) {
        let mut known = self.known.lock();
        known.retain(|(before, at)| before.id != report.id && now.saturating_duration_since(*at) < SILENT);
        if report.ended {
            return;
        }
        if known.len() >= TRANSFERS {
            // Each report goes to the end, so the first one is the oldest.
            known.remove(0);
        }
        known.push((report, now));
    }

    /// Those that run.
    pub(super) fn entries(&self) -> Vec<TransferEntry> {
        self.entries_at(Instant::now())
    }

    fn entries_at(&self, now: Instant) -> Vec<TransferEntry> {
        let known = self.known.lock();
        let running = known.iter().filter(|(_, at)| now.saturating_duration_since(*at) < SILENT);
        let mut running: Vec<TransferReport> = running.map(|(report, _)| *report).collect();
        running.sort_by_key(|report| report.id);
        running.into_iter().map(entry).collect()
    }
}

fn entry(report: TransferReport) -> TransferEntry {
    let TransferReport { direction, files, of_files, bytes, of_bytes, rate, planned_rate, .. } = report;
    let eta_seconds = of_bytes.saturating_sub(bytes).checked_div(rate);
    TransferEntry { direction, files, of_files, bytes, of_bytes, rate, planned_rate, eta_seconds }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(id: u32, bytes: u64) -> TransferReport {
        TransferReport {
            id,
            direction: Direction::In,
            files: 1,
            of_files: 3,
            bytes,
            of_bytes: 1000,
            rate: 100,
            planned_rate: None,
            ended: false,
        }
    }

    #[test]
    fn a_pod_has_few_transfers_and_those_without_reports_end() {
        let (transfers, start) = (Transfers::new(), Instant::now());
        let after = |seconds: u64| start + Duration::from_secs(seconds);
        let shown = |seconds: u64| -> Vec<u64> {
            transfers.entries_at(after(seconds)).iter().map(|entry| entry.bytes).collect()
        };
        for id in 1..=10 {
            transfers.keep(report(id, id.into()), after(0));
        }
        assert_eq!(shown(1), [7, 8, 9, 10]);
        transfers.keep(report(8, 500), after(5));
        transfers.keep(report(11, 11), after(6));
        assert_eq!(shown(7), [500, 9, 10, 11], "the one with the oldest report is replaced");
        assert_eq!(transfers.entries_at(after(7))[0].eta_seconds, Some(5));
        assert_eq!(shown(21), [500, 11]);
        transfers.keep(TransferReport { ended: true, ..report(8, 1000) }, after(21));
        assert_eq!(shown(21), [11]);
        assert_eq!(shown(27), [0; 0]);
        transfers.keep(TransferReport { rate: 0, bytes: u64::MAX, ..report(1, 0) }, after(30));
        assert_eq!(transfers.entries_at(after(30))[0].eta_seconds, None);
    }

    #[test]
    fn reports_of_a_pod_have_a_budget() {
        let transfers = Transfers::new();
        let noted = (0..200).filter(|id| transfers.note(report(*id, 1))).count();
        assert!((40..=42).contains(&noted), "{noted}");
    }
}
