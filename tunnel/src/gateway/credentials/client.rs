//! Requests to token services: attempts, their deadline, and what a failure means.

use std::fmt;
use std::time::Duration;

use object_store::client::{HttpClient, HttpRequest, HttpRequestBody};
use zeroize::Zeroizing;

/// Attempts of one exchange.
const ATTEMPTS: u32 = 3;
/// Timeout for the response to one attempt.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Pause before the second attempt; each further one is three times as long.
const PAUSE: Duration = Duration::from_millis(200);
/// The largest response that is read.
const MAX_SIZE: usize = 64 * 1024;

/// Why there are no credentials. The text has no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    /// The service does not answer, or has too many requests: another attempt may succeed.
    Unavailable(String),
    /// The service refused the request, with this code.
    Refused(String, String),
    /// This gateway has no credentials of its own.
    NoSource(String),
    /// The lease ends after this time, before the shortest credentials would.
    Ending(Duration),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable(what) | Self::NoSource(what) => f.write_str(what),
            Self::Refused(code, message) => write!(f, "{code}: {message}"),
            Self::Ending(left) => {
                write!(f, "the lease ends in {} s, before the shortest credentials would", left.as_secs())
            }
        }
    }
}

/// A response.
pub(super) struct Answer {
    pub(super) status: u16,
    /// Holds a secret if the status is 200.
    pub(super) body: Zeroizing<String>,
}

/// Sends what `make` returns, up to three times. `refusal` reads the code and the message of an error, and whether it passes.
pub(super) async fn exchange(
    client: &HttpClient,
    host: &str,
    make: impl Fn() -> Result<HttpRequest, Failure>,
    refusal: impl Fn(&Answer) -> (String, String, bool),
) -> Result<Zeroizing<String>, Failure> {
    let mut pause = PAUSE;
    for attempt in 1.. {
        let failure = match send(client, host, make()?).await {
            Ok(answer) if answer.status == 200 => return Ok(answer.body),
            Ok(answer) => {
                let (code, message, passes) = refusal(&answer);
                if !passes && answer.status < 500 {
                    return Err(Failure::Refused(code, message));
                }
                Failure::Unavailable(format!("{host} answered {} {code}", answer.status))
            }
            Err(failure) => failure,
        };
        if attempt == ATTEMPTS {
            return Err(failure);
        }
        tokio::time::sleep(pause).await;
        pause *= 3;
    }
    unreachable!("the last attempt returns")
}

/// One attempt.
async fn send(client: &HttpClient, host: &str, request: HttpRequest) -> Result<Answer, Failure> {
    let exchange = async {
        let response = client.execute(request).await.map_err(|error| {
            // The innermost cause names the problem; the others name requests.
            let mut cause: &dyn std::error::Error = &error;
            while let Some(next) = cause.source() {
                cause = next;
            }
            Failure::Unavailable(format!("{host}: {cause}"))
        })?;
        let status = response.status().as_u16();
        let body = response.into_body().bytes().await;
        let body = body.map_err(|_| Failure::Unavailable(format!("{host} ended its answer early")))?;
        if body.len() > MAX_SIZE {
            return Err(Failure::Unavailable(format!("{host}: the answer is too long")));
        }
        Ok(Answer { status, body: Zeroizing::new(String::from_utf8_lossy(&body).into_owned()) })
    };
    let late = || Err(Failure::Unavailable(format!("{host} did not answer within {} s", TIMEOUT.as_secs())));
    tokio::time::timeout(TIMEOUT, exchange).await.unwrap_or_else(|_| late())
}

/// A POST of form fields.
pub(super) fn form(url: &str, fields: &[(&str, &str)]) -> Result<HttpRequest, Failure> {
    let body: Vec<String> =
        fields.iter().map(|(name, value)| format!("{name}={}", *encoded(value))).collect();
    http::Request::post(url)
        .header("content-type", "application/x-www-form-urlencoded")
        .body(HttpRequestBody::from(body.join("&")))
        .map_err(|_| Failure::NoSource(format!("{url} is not a URL")))
}

/// Percent-encoded, except for the unreserved characters of RFC 3986 section 2.3.
fn encoded(text: &str) -> Zeroizing<String> {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = String::with_capacity(3 * text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from(DIGITS[usize::from(byte >> 4)]));
            out.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
    }
    Zeroizing::new(out)
}

/// The host of a URL, for messages.
pub(super) fn host(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?']).next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_encoded() {
        assert_eq!(*encoded("{\"a\": [1+é]}~"), "%7B%22a%22%3A%20%5B1%2B%C3%A9%5D%7D~");
        assert_eq!(host("https://sts.eu-west-1.amazonaws.com/x?y"), "sts.eu-west-1.amazonaws.com");
        assert_eq!(host("http://127.0.0.1:5000"), "127.0.0.1:5000");
    }
}
