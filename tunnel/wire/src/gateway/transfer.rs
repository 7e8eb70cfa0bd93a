//! Reports of agents about the transfers of their pod. They contain numbers only: names of objects could be secret.

use serde::{Deserialize, Serialize};

/// The path at [`CREDENTIALS_PORT`](super::CREDENTIALS_PORT) at which agents report transfers.
pub const TRANSFERS_PATH: &str = "/v1/transfers";
/// The largest report, in bytes.
pub const TRANSFER_MAX: usize = 1024;

/// A transfer that runs, or has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferReport {
    /// Tells the transfers of one pod apart; a random number.
    pub id: u32,
    /// Where the data goes.
    pub direction: Direction,
    /// Objects transferred.
    pub files: u64,
    /// Objects to transfer.
    pub of_files: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// Bytes to transfer.
    pub of_bytes: u64,
    /// Bytes per second, since the last report.
    pub rate: u64,
    /// Bytes per second to which its user limits it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned_rate: Option<u64>,
    /// Whether it has ended; it is not shown any more then.
    #[serde(default)]
    pub ended: bool,
}

/// Where data goes, as the pod sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From a store to the pod.
    In,
    /// From the pod to a store.
    Out,
    /// From one store to another, through the pod.
    Through,
}
