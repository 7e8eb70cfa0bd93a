//! The pod's side: one request over a TLS connection whose pin the caller has verified.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use warren_wire::enrolment::{
    ANSWER_MAX, Answer, ChannelBinding, ENROL_PATH, Enrol, HostInfo, MEDIA_TYPE, Problem, Proof, Purpose,
    RELEASE_PATH, REPORT_MAX, REPORT_PATH, Release, ReportRequest, Retry, Version, parse_retry_after,
};
use warren_wire::token::Gateway;
use warren_wire::{PrivateKey, Token, UnixTime};
use zeroize::Zeroizing;

use super::now;

/// The longest time for an answer that arrives in pieces, and for a report.
const ANSWER_TIME: Duration = Duration::from_secs(60);
const REPORT_TIME: Duration = Duration::from_secs(15);
/// The longest head of an answer.
const HEAD: usize = 16 * 1024;

/// The reason why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The gateway refused.
    #[error("the gateway refused: {0}")]
    Refused(Problem),
    /// The connection broke, or the response did not arrive in time.
    #[error("connection to the gateway: {0}")]
    Connection(#[from] io::Error),
    /// Something else answered than a gateway, such as a load balancer or a proxy.
    #[error("the gateway's response is not valid: status {status}")]
    Status {
        /// The HTTP status.
        status: u16,
        /// `Retry-After`.
        retry_after: Option<Duration>,
    },
    /// The response is not valid.
    #[error("the gateway's response is not valid: {0}")]
    Answer(String),
    /// The gateway's key is invalid for key agreement.
    #[error("the token contains an invalid gateway key; request a new token")]
    Key,
}

impl ClientError {
    /// Whether another attempt may succeed, and where.
    #[must_use]
    pub fn retry(&self) -> Retry {
        match self {
            Self::Refused(problem) => problem.retry(),
            Self::Connection(_) | Self::Status { status: 408 | 429 | 502 | 503 | 504, .. } => Retry::Later,
            Self::Status { .. } | Self::Answer(_) | Self::Key => Retry::Elsewhere,
        }
    }

    /// The delay in `Retry-After`.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused(problem) => problem.retry_after.map(|seconds| Duration::from_secs(seconds.into())),
            Self::Status { retry_after, .. } => *retry_after,
            Self::Connection(_) | Self::Answer(_) | Self::Key => None,
        }
    }
}

/// Enrols over a connection to `gateway`, identified by `binding`. Timeouts are those of the stream.
///
/// # Errors
/// [`ClientError::Refused`] says why and whether to try again; after the others another gateway may help.
pub fn enrol(
    stream: &mut (impl Read + Write),
    binding: &ChannelBinding,
    gateway: &Gateway,
    token: &Token,
    key: &PrivateKey,
    host: HostInfo,
) -> Result<Answer, ClientError> {
    let proof = Proof::make(Purpose::Enrol, key, &gateway.key, binding).ok_or(ClientError::Key)?;
    let request = Enrol { version: Version, token: token.clone(), public_key: key.public(), proof, host };
    let body = Zeroizing::new(request.to_json().map_err(ClientError::Refused)?);
    let answer = post(stream, gateway, ENROL_PATH, &body, (ANSWER_MAX, ANSWER_TIME))?;
    Answer::from_json(&answer).map_err(|problem| ClientError::Answer(problem.to_string()))
}

/// Releases the lease.
///
/// # Errors
/// As of [`enrol`].
pub fn release(
    stream: &mut (impl Read + Write),
    binding: &ChannelBinding,
    gateway: &Gateway,
    key: &PrivateKey,
) -> Result<(), ClientError> {
    let proof = Proof::make(Purpose::Release, key, &gateway.key, binding).ok_or(ClientError::Key)?;
    let request = Release { version: Version, public_key: key.public(), proof };
    let body = request.to_json().map_err(ClientError::Refused)?;
    post(stream, gateway, RELEASE_PATH, &body, (ANSWER_MAX, ANSWER_TIME)).map(drop)
}

/// The report of another gateway, in JSON; `key` is this gateway's own.
///
/// # Errors
/// As of [`enrol`].
pub fn report(
    stream: &mut (impl Read + Write),
    binding: &ChannelBinding,
    gateway: &Gateway,
    key: &PrivateKey,
) -> Result<Vec<u8>, ClientError> {
    let proof = Proof::make(Purpose::Report, key, &gateway.key, binding).ok_or(ClientError::Key)?;
    let request = ReportRequest { version: Version, public_key: key.public(), proof };
    let body = request.to_json().map_err(ClientError::Refused)?;
    post(stream, gateway, REPORT_PATH, &body, (REPORT_MAX, REPORT_TIME))
}

/// The body of a good answer of at most so many bytes, and within this time.
fn post(
    stream: &mut (impl Read + Write),
    gateway: &Gateway,
    path: &str,
    body: &[u8],
    (max, time): (usize, Duration),
) -> Result<Vec<u8>, ClientError> {
    let begun = Instant::now();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: {MEDIA_TYPE}\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        gateway.tls,
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    stream.flush()?;
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        if let Some(answer) = parse(&bytes, now(), max)? {
            return answer;
        }
        match stream.read(&mut buffer) {
            Ok(0) => return Err(ClientError::Answer("it ended early".into())),
            Ok(length) => bytes.extend_from_slice(&buffer[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
        if bytes.len() > HEAD + max {
            return Err(ClientError::Answer("it is too long".into()));
        }
        if begun.elapsed() > time {
            return Err(ClientError::Answer(format!("it took more than {} s", time.as_secs())));
        }
    }
}

/// `None`: more is to come.
fn parse(
    bytes: &[u8],
    now: UnixTime,
    max: usize,
) -> Result<Option<Result<Vec<u8>, ClientError>>, ClientError> {
    let wrong = |what: &str| ClientError::Answer(what.to_owned());
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut response = httparse::Response::new(&mut headers);
    let start = match response.parse(bytes) {
        Ok(httparse::Status::Complete(start)) => start,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(_) => return Err(wrong("it is not HTTP")),
    };
    let status = response.code.unwrap_or_default();
    let header = |name: &str| {
        let found = response.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
        found.and_then(|header| std::str::from_utf8(header.value).ok())
    };
    let length: usize = match header("content-length") {
        Some(length) => length.trim().parse().map_err(|_| wrong("its length is not a number"))?,
        None if status == 204 => 0,
        None => return Err(wrong("it has no length")),
    };
    if length > max {
        return Err(wrong("it is too long"));
    }
    let Some(body) = bytes.get(start..start + length) else { return Ok(None) };
    if matches!(status, 200 | 204) {
        return Ok(Some(Ok(body.to_vec())));
    }
    let retry_after = header("retry-after").and_then(|value| parse_retry_after(value, now));
    Ok(Some(Err(match (Problem::from_json(body), retry_after) {
        (Some(problem), Some(delay)) => ClientError::Refused(problem.retry_after(delay)),
        (Some(problem), None) => ClientError::Refused(problem),
        (None, retry_after) => ClientError::Status { status, retry_after },
    })))
}

#[cfg(test)]
mod tests {
    use warren_wire::enrolment::Kind;

    use super::*;

    fn parse(bytes: &[u8]) -> Result<Option<Result<Vec<u8>, ClientError>>, ClientError> {
        // Sun, 06 Nov 1994 08:49:37 GMT
        super::parse(bytes, UnixTime::from_secs(784_111_777), ANSWER_MAX)
    }

    #[test]
    fn strange_answers_are_errors() {
        for bytes in [
            &b"SSH-2.0-OpenSSH"[..],
            b"HTTP/1.1 200 OK\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n",
        ] {
            assert!(matches!(parse(bytes), Err(ClientError::Answer(_))));
        }
        assert!(matches!(parse(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nx"), Ok(None)));
        let captive = b"HTTP/1.1 403 No\r\nContent-Length: 6\r\n\r\n<html>";
        assert!(matches!(parse(captive), Ok(Some(Err(ClientError::Status { status: 403, .. })))));
    }

    /// A response with this status, value of `Retry-After` and problem.
    fn refused(status: u16, retry_after: Option<&str>, problem: Option<&Problem>) -> ClientError {
        let body = problem.map_or_else(|| b"<html>".to_vec(), Problem::to_json);
        let header = retry_after.map(|value| format!("retry-after: {value}\r\n")).unwrap_or_default();
        let head = format!("HTTP/1.1 {status} No\r\n{header}Content-Length: {}\r\n\r\n", body.len());
        match parse(&[head.as_bytes(), &body].concat()) {
            Ok(Some(Err(error))) => error,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_refusal_says_when_to_retry_in_its_header_or_body() {
        let problem = Problem::new(Kind::Draining, "");
        let timed = problem.clone().retry_after(Duration::from_secs(7));
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        let date = Some("Sun, 06 Nov 1994 08:51:07 GMT");
        for (retry_after, problem, delay) in [
            (None, Some(&problem), None),
            (None, Some(&timed), seconds(7)),
            (Some("120"), Some(&problem), seconds(120)),
            (Some("120"), Some(&timed), seconds(120)),
            (date, Some(&timed), seconds(90)),
            (Some("soon"), Some(&timed), seconds(7)),
            (date, None, seconds(90)),
            (Some("3"), None, seconds(3)),
        ] {
            let error = refused(503, retry_after, problem);
            assert_eq!((error.retry(), error.retry_after()), (Retry::Later, delay), "{retry_after:?}");
        }
    }

    #[test]
    fn a_status_without_a_problem_is_retried_only_if_it_is_temporary() {
        for (status, retry) in
            [(429, Retry::Later), (502, Retry::Later), (403, Retry::Elsewhere), (404, Retry::Elsewhere)]
        {
            assert_eq!(refused(status, None, None).retry(), retry, "{status}");
        }
    }
}
