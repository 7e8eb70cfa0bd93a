//! Reports a running transfer to the agent of the pod, which passes the numbers on to the gateway's page for operators.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, interval, timeout};
use warren_sync::Location;
use warren_wire::gateway::{Direction, TRANSFERS_PATH, TransferReport};
use zeroize::Zeroizing;

use super::report::Report;
use super::stores::Variables;
use crate::agent::{TRANSFERS_TOKEN_FILE, TRANSFERS_URL};
use crate::runtime::random;

/// Time between two reports. A transfer that ends before is not reported.
const PERIOD: Duration = Duration::from_secs(3);
/// Time for one report, and for the last one.
const TIMEOUT: Duration = Duration::from_secs(5);
const LAST: Duration = Duration::from_secs(1);
/// Answers are not longer.
const ANSWER_MAX: u64 = 4096;

/// Reports one transfer to the agent.
pub(super) struct Reporting {
    agent: SocketAddr,
    token: Zeroizing<String>,
    report: Arc<Report>,
    last: TransferReport,
}

impl Reporting {
    /// The variables of an agent of this machine, if there are any.
    pub(super) fn find(
        (source, dest): (&Location, &Location),
        planned_rate: Option<u64>,
        report: &Arc<Report>,
        get: Variables<'_>,
    ) -> Option<Self> {
        let url = get(TRANSFERS_URL)?;
        let agent: SocketAddr = url.strip_prefix("http://")?.strip_suffix(TRANSFERS_PATH)?.parse().ok()?;
        let token = std::fs::read_to_string(get(TRANSFERS_TOKEN_FILE)?).map(Zeroizing::new).ok()?;
        let plain = token.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !agent.ip().is_loopback() || !plain {
            return None;
        }
        let direction = match (source, dest) {
            (Location::Folder(_), _) => Direction::Out,
            (_, Location::Folder(_)) => Direction::In,
            _ => Direction::Through,
        };
        let bytes = random().ok()?;
        let id = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        let last = TransferReport {
            id,
            direction,
            files: 0,
            of_files: 0,
            bytes: 0,
            of_bytes: 0,
            rate: 0,
            planned_rate,
            ended: true,
        };
        Some(Self { agent, token, report: Arc::clone(report), last })
    }

    /// Reports while the transfer runs, forever. A report that fails disturbs nothing.
    pub(super) async fn run(&mut self) {
        let mut tick = interval(PERIOD);
        tick.tick().await;
        let mut since = Instant::now();
        let mut before = self.report.counts().moved;
        loop {
            tick.tick().await;
            let now = Instant::now();
            let counts = self.report.counts();
            let gained = (counts.moved - before) as f64;
            let rate = gained / now.duration_since(since).as_secs_f64().max(1e-3);
            (since, before) = (now, counts.moved);
            let ended = counts.bytes >= counts.of_bytes;
            if ended && self.last.ended {
                continue;
            }
            self.last = TransferReport {
                files: counts.files,
                of_files: counts.of_files,
                bytes: counts.bytes,
                of_bytes: counts.of_bytes,
                rate: rate as u64,
                ended,
                ..self.last
            };
            self.send(TIMEOUT).await;
        }
    }

    /// Reports the end.
    pub(super) async fn end(&mut self) {
        if !self.last.ended {
            self.last.ended = true;
            self.send(LAST).await;
        }
    }

    async fn send(&self, time: Duration) {
        match timeout(time, self.post()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "the transfer is not reported"),
            Err(_) => tracing::debug!("the agent did not accept a report in time"),
        }
    }

    async fn post(&self) -> io::Result<()> {
        let body = serde_json::to_string(&self.last)?;
        let request = Zeroizing::new(format!(
            "POST {TRANSFERS_PATH} HTTP/1.1\r\nHost: {}\r\nAuthorization: {}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.agent,
            self.token.as_str(),
            body.len()
        ));
        let mut stream = TcpStream::connect(self.agent).await?;
        stream.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.take(ANSWER_MAX).read_to_end(&mut answer).await?;
        Ok(())
    }
}
