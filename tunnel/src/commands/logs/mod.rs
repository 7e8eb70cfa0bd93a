//! `warren-tunnel logs`: sends the journal of a gateway's units to CloudWatch Logs.
//!
//! ```text
//! journalctl --follow -> entries -> batch -> PutLogEvents, repeated until accepted -> position saved
//! ```
//!
//! The agents of AWS read files rather than the journal, and are not in every image.

mod journal;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::Duration;

use serde_json::json;
use tokio::sync::mpsc::Receiver;
use tokio::time::{Instant, timeout_at};

use super::cloud::aws::{self, Caller, Refusal};
use super::cloud::{Environment, http};
use super::files;
use crate::cli::LogsArgs;
use crate::runtime::problem::{Context as _, Problem, Result};
use journal::Entry;

/// First and longest pause between attempts.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// Maximum time for which an entry waits for others.
const WAIT: Duration = Duration::from_secs(1);
/// Limits of a batch, below those of PutLogEvents: 10,000 events, 1,048,576 bytes with 26 more for each, and 24 hours
/// (CloudWatch Logs API reference, "PutLogEvents").
const MAX_EVENTS: usize = 1000;
const MAX_BYTES: usize = 512 * 1024;
const MAX_SPAN: u64 = 12 * 60 * 60 * 1000;

/// Runs the command until journalctl ends.
///
/// # Errors
/// The journal cannot be read, or the metadata service does not name the instance.
pub fn run(args: &LogsArgs) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .while_doing(|| "starting".to_owned())?;
    runtime.block_on(async {
        let environment = Environment::read();
        let stream = aws::instance_id(&environment).await?;
        let entries = journal::follow("journalctl", &args.state)?;
        let target = Target { environment, group: args.group.clone(), stream };
        ship(entries, &target, &args.state, PAUSES).await
    })
}

/// Where the entries go.
struct Target {
    environment: Environment,
    group: String,
    stream: String,
}

/// Sends all entries, and saves the position after each batch that was accepted.
async fn ship(
    mut entries: Receiver<Entry>,
    target: &Target,
    state: &Path,
    (first, longest): (Duration, Duration),
) -> Result<()> {
    let mut next = entries.recv().await;
    while let Some(entry) = next.take() {
        let (batch, rest) = gather(entry, &mut entries).await;
        let mut pause = first;
        while let Err(problem) = target.put(&batch).await {
            tracing::warn!(hint = problem.advice(), "{}; retrying in {} s", problem.what(), pause.as_secs());
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(longest);
        }
        if let Some(last) = batch.last() {
            files::write(state, last.cursor.as_bytes())?;
        }
        next = match rest {
            Some(entry) => Some(entry),
            None => entries.recv().await,
        };
    }
    Err(Problem::new("journalctl has ended").hint("the unit starts it again; check the log of the unit"))
}

/// A batch that starts with `first`, and the entry that did not fit.
async fn gather(first: Entry, entries: &mut Receiver<Entry>) -> (Vec<Entry>, Option<Entry>) {
    let deadline = Instant::now() + WAIT;
    let (begin, mut bytes) = (first.time, first.size());
    let mut batch = vec![first];
    while batch.len() < MAX_EVENTS {
        let Ok(Some(entry)) = timeout_at(deadline, entries.recv()).await else { break };
        bytes += entry.size();
        if bytes > MAX_BYTES || entry.time.abs_diff(begin) > MAX_SPAN {
            return (batch, Some(entry));
        }
        batch.push(entry);
    }
    (batch, None)
}

impl Target {
    /// Sends a batch; creates the stream if it is missing.
    async fn put(&self, batch: &[Entry]) -> Result<()> {
        // The clock of the machine may have been set back, but events must be in order.
        let mut ordered: Vec<&Entry> = batch.iter().collect();
        ordered.sort_by_key(|entry| entry.time);
        let events: Vec<_> =
            ordered.iter().map(|entry| json!({ "timestamp": entry.time, "message": entry.text })).collect();
        let body = json!({ "logGroupName": self.group, "logStreamName": self.stream, "logEvents": events });
        let answer = self.call("PutLogEvents", &body.to_string()).await?;
        if answer.status.is_success() {
            return Ok(());
        }
        let refusal: Refusal = serde_json::from_slice(&answer.body).unwrap_or_default();
        if refusal.code() != "ResourceNotFoundException" {
            return Err(self.refused(&answer, &refusal));
        }
        let body = json!({ "logGroupName": self.group, "logStreamName": self.stream });
        let answer = self.call("CreateLogStream", &body.to_string()).await?;
        let refusal: Refusal = serde_json::from_slice(&answer.body).unwrap_or_default();
        if answer.status.is_success() || refusal.code() == "ResourceAlreadyExistsException" {
            return Err(Problem::new(format!("created the log stream {}", self.stream)));
        }
        Err(self.refused(&answer, &refusal))
    }

    async fn call(&self, operation: &str, body: &str) -> Result<http::Answer> {
        let endpoint = self.environment.aws_logs.as_deref();
        let caller = Caller::new(&self.environment, None, "logs", endpoint).await?;
        caller.json(&format!("Logs_20140328.{operation}"), body).await
    }

    fn refused(&self, answer: &http::Answer, refusal: &Refusal) -> Problem {
        let hint = match refusal.code() {
            "ResourceNotFoundException" => "create the log group; the gateway creates only its stream",
            "AccessDeniedException" => {
                "the instance's role must allow logs:CreateLogStream and logs:PutLogEvents on the log group: \
                 set log_group_arn of warren_aws_gateway_role"
            }
            _ => {
                "check the status of the service and the route to it: a VPC endpoint for logs, or the internet"
            }
        };
        let (status, code, detail) = (answer.status.as_u16(), refusal.code(), refusal.detail());
        Problem::new(format!("AWS refused logs for {}: {status} {code}{detail}", self.group)).hint(hint)
    }
}
