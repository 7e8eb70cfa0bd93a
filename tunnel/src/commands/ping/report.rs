//! What `ping` prints: a line for each request and a summary, as text or as lines of JSON.

use std::{net::IpAddr, time::Instant};

use serde::Serialize;
use serde_json::json;

use super::Via;
use crate::{
    cli::PingArgs,
    commands::print,
    runtime::{
        problem::{Context as _, Result},
        uapi::{Pong, PongReason},
    },
};

/// The hint for a destination that a rule denies.
const PROHIBITED: &str = "add \"icmp\" to `protocols` of a rule of the pod's group for this destination; the log and the audit log of the \
     gateway have the reason";

/// What became of a request.
pub(super) struct Answer {
    pub(super) sequence: u64,
    pub(super) pong: Pong,
    pub(super) via: Option<Via>,
}

/// The output so far.
pub(super) struct Report<'a> {
    args: &'a PingArgs,
    to: IpAddr,
    begun: Instant,
    times: Vec<f64>,
    lost: u64,
    hinted: bool,
}

/// A line of JSON about a request.
#[derive(Debug, Serialize)]
struct Line<'a> {
    sequence: u64,
    address: IpAddr,
    #[serde(flatten)]
    pong: Outcome,
    gateway: Option<&'a Via>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "result", rename_all = "snake_case")]
enum Outcome {
    Answered { milliseconds: f64 },
    Undelivered { by: IpAddr, reason: PongReason },
    Silent,
}

/// The figures at the end, in milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Summary {
    destination: String,
    address: IpAddr,
    sent: u64,
    answered: u64,
    /// The share that was lost, from 0 to 1.
    loss: f64,
    min_ms: Option<f64>,
    avg_ms: Option<f64>,
    max_ms: Option<f64>,
    mdev_ms: Option<f64>,
}

impl<'a> Report<'a> {
    pub(super) fn new(args: &'a PingArgs, to: IpAddr) -> Self {
        Self { args, to, begun: Instant::now(), times: Vec::new(), lost: 0, hinted: false }
    }

    /// The first line.
    ///
    /// # Errors
    /// When standard output cannot be written, as for the others.
    pub(super) fn begin(&self, via: Option<Via>) -> Result<()> {
        if self.args.json {
            return Ok(());
        }
        let PingArgs { destination, size, .. } = self.args;
        let how = |via: &Via| if via.direct { "directly to" } else { "through" };
        let via = via.map(|via| format!(", {} {}", how(&via), via.text())).unwrap_or_default();
        print(&format!("PING {destination} ({}): {size} bytes of data{via}\n", self.to))
    }

    /// The line of a request.
    pub(super) fn answer(&mut self, answer: &Answer) -> Result<()> {
        match &answer.pong {
            Pong::Answered { seconds } => self.times.push(seconds * 1e3),
            Pong::Undelivered { .. } | Pong::Silent => self.lost += 1,
        }
        if self.args.json {
            return self.json(answer);
        }
        let Answer { sequence, pong, via } = answer;
        let to = self.to;
        let mut text = match pong {
            Pong::Answered { seconds } => {
                let bytes = u32::from(self.args.size) + 8;
                let via = via
                    .as_ref()
                    .map(|via| format!(" via={}{}", via.name, if via.direct { " (direct)" } else { "" }));
                let via = via.unwrap_or_default();
                format!("{bytes} bytes from {to}: seq={sequence} time={} ms{via}\n", figure(seconds * 1e3))
            }
            Pong::Undelivered { by, reason } => {
                format!("from {by}: seq={sequence} {}\n", reason.text(to.is_ipv4()))
            }
            Pong::Silent => {
                format!("no answer from {to}: seq={sequence} within {} s\n", self.args.timeout.as_secs_f64())
            }
        };
        let prohibited = matches!(
            pong,
            Pong::Undelivered { reason: PongReason::Prohibited | PongReason::Unreachable, .. }
        );
        if prohibited && !std::mem::replace(&mut self.hinted, true) {
            text.push_str("  hint: ");
            text.push_str(PROHIBITED);
            text.push('\n');
        }
        print(&text)
    }

    fn json(&self, answer: &Answer) -> Result<()> {
        let pong = match answer.pong {
            Pong::Answered { seconds } => Outcome::Answered { milliseconds: rounded(seconds * 1e3) },
            Pong::Undelivered { by, reason } => Outcome::Undelivered { by, reason },
            Pong::Silent => Outcome::Silent,
        };
        let line = Line { sequence: answer.sequence, address: self.to, pong, gateway: answer.via.as_ref() };
        print_json(&json!(line))
    }

    /// The summary. Returns the exit code.
    pub(super) fn end(self) -> Result<u8> {
        let summary = self.summary();
        if self.args.json {
            print_json(&json!({ "summary": summary }))?;
        } else {
            let milliseconds = self.begun.elapsed().as_millis();
            print(&summary.text(milliseconds))?;
        }
        Ok(u8::from(summary.answered == 0))
    }

    #[expect(clippy::cast_precision_loss, reason = "figures to be read by people")]
    fn summary(&self) -> Summary {
        let answered = self.times.len() as u64;
        let sent = answered + self.lost;
        let count = answered as f64;
        let mean = |of: &dyn Fn(f64) -> f64| self.times.iter().copied().map(of).sum::<f64>() / count;
        let avg = mean(&|time| time);
        // As iputils: the root of the mean square less the square of the mean.
        let mdev = (mean(&|time| time * time) - avg * avg).max(0.0).sqrt();
        let known = |value: f64| (answered > 0).then(|| rounded(value));
        Summary {
            destination: self.args.destination.clone(),
            address: self.to,
            sent,
            answered,
            loss: if sent == 0 { 0.0 } else { self.lost as f64 / sent as f64 },
            min_ms: known(self.times.iter().copied().fold(f64::INFINITY, f64::min)),
            avg_ms: known(avg),
            max_ms: known(self.times.iter().copied().fold(0.0, f64::max)),
            mdev_ms: known(mdev),
        }
    }
}

impl Summary {
    fn text(&self, milliseconds: u128) -> String {
        let Self { destination, sent, answered, loss, .. } = self;
        let mut text = format!(
            "\n--- {destination}: {sent} sent, {answered} answered, {:.0} % lost, {milliseconds} ms\n",
            loss * 100.0
        );
        if let (Some(min), Some(avg), Some(max), Some(mdev)) =
            (self.min_ms, self.avg_ms, self.max_ms, self.mdev_ms)
        {
            text += &format!("round trip min/avg/max/mdev = {min:.3}/{avg:.3}/{max:.3}/{mdev:.3} ms\n");
        }
        text
    }
}

impl Via {
    fn text(&self) -> String {
        let endpoint = self.endpoint.as_ref().map(|at| format!("{at}, ")).unwrap_or_default();
        format!("{} ({endpoint}{})", self.name, self.carrier)
    }
}

/// To a microsecond.
fn rounded(milliseconds: f64) -> f64 {
    (milliseconds * 1e3).round() / 1e3
}

/// Three digits, as iputils.
fn figure(milliseconds: f64) -> String {
    let digits = match milliseconds {
        m if m < 1.0 => 3,
        m if m < 10.0 => 2,
        m if m < 100.0 => 1,
        _ => 0,
    };
    format!("{milliseconds:.digits$}")
}

fn print_json(value: &serde_json::Value) -> Result<()> {
    let text = serde_json::to_string(value).while_doing(|| "cannot encode the answer".into())?;
    print(&format!("{text}\n"))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Command};

    fn args() -> PingArgs {
        let cli = Cli::try_parse_from(["warren-tunnel", "ping", "host.internal"]).unwrap();
        let Command::Ping(args) = cli.command else { panic!("ping") };
        args
    }

    #[test]
    fn the_figures_are_those_of_iputils() {
        let args = args();
        let mut report = Report::new(&args, [10, 0, 0, 1].into());
        insta::assert_snapshot!("summary_without_answers", report.summary().text(9));
        report.times = vec![1.0, 2.0, 3.0, 6.0];
        report.lost = 1;
        let summary = report.summary();
        assert_eq!((summary.sent, summary.answered, summary.loss), (5, 4, 0.2));
        insta::assert_snapshot!("summary", summary.text(4321));
        let figures = [0.0417, 1.234, 12.34, 123.4].map(figure);
        assert_eq!(figures, ["0.042", "1.23", "12.3", "123"]);
    }

    #[test]
    fn the_json_of_a_line_is_as_documented() {
        let via = Via {
            name: "gw-a".into(),
            endpoint: Some("203.0.113.7:443".into()),
            carrier: "tls".into(),
            direct: false,
        };
        let address = [10, 0, 0, 1].into();
        let outcomes = [
            Outcome::Answered { milliseconds: 1.25 },
            Outcome::Undelivered { by: address, reason: PongReason::Prohibited },
            Outcome::Silent,
        ];
        let lines = outcomes.map(|pong| {
            serde_json::to_string(&Line { sequence: 1, address, pong, gateway: Some(&via) }).unwrap()
        });
        insta::assert_snapshot!(lines.join("\n"));
    }
}
