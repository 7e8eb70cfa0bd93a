//! The pod's side: one request over a TLS connection whose pin the caller has verified.

use std::io::{self, Read, Write};

use warren_wire::enrolment::{
    ANSWER_MAX, Answer, ChannelBinding, ENROL_PATH, Enrol, HostInfo, MEDIA_TYPE, Problem, Proof, Purpose,
    RELEASE_PATH, Release, Version,
};
use warren_wire::token::Gateway;
use warren_wire::{PrivateKey, Token};
use zeroize::Zeroizing;

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
    /// The response is not valid.
    #[error("the gateway's response is not valid: {0}")]
    Answer(String),
    /// The gateway's key is invalid for key agreement.
    #[error("the token contains an invalid gateway key; request a new token")]
    Key,
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
    let answer = post(stream, gateway, ENROL_PATH, &body)?;
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
    post(stream, gateway, RELEASE_PATH, &body).map(drop)
}

/// The body of a good answer.
fn post(
    stream: &mut (impl Read + Write),
    gateway: &Gateway,
    path: &str,
    body: &[u8],
) -> Result<Vec<u8>, ClientError> {
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
        if let Some(answer) = parse(&bytes)? {
            return answer;
        }
        match stream.read(&mut buffer) {
            Ok(0) => return Err(ClientError::Answer("it ended early".into())),
            Ok(length) => bytes.extend_from_slice(&buffer[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
        if bytes.len() > HEAD + ANSWER_MAX {
            return Err(ClientError::Answer("it is too long".into()));
        }
    }
}

/// `None`: more is to come.
fn parse(bytes: &[u8]) -> Result<Option<Result<Vec<u8>, ClientError>>, ClientError> {
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
    if length > ANSWER_MAX {
        return Err(wrong("it is too long"));
    }
    let Some(body) = bytes.get(start..start + length) else { return Ok(None) };
    Ok(Some(match status {
        200 | 204 => Ok(body.to_vec()),
        _ => Err(match Problem::from_json(body) {
            Some(problem) => ClientError::Refused(problem),
            None => ClientError::Answer(format!("status {status}")),
        }),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(matches!(parse(captive), Ok(Some(Err(ClientError::Answer(_))))));
    }
}
