//! RunPod's REST API v2 over one HTTP client.
//!
//! After a throttled call (429), all calls of the process wait for the requested delay, because the limit applies to the
//! account. Calls are safe to repeat, except creates and actions, whose callers first read what became of the object.

use std::time::{Duration, Instant};

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::{Method, StatusCode, Url};
use serde_json::Value;
use tf_provider_rs::{Diagnostic, Diagnostics, Path};
use warren_managed::reach::Hosts;
use warren_managed::retry::{self, Budget};

use crate::error::{ApiError, Failure as _, Remedy};

/// Time in which the API must answer, from the first call on.
const FIRST_ANSWER: Duration = Duration::from_secs(8);

/// A client of one account.
pub(crate) struct Client {
    http: reqwest::Client,
    endpoint: String,
    /// The key, to redact it in messages.
    key: String,
    /// The limit applies to the account.
    budget: Budget,
    /// Whether the endpoint has answered.
    hosts: Hosts,
}

/// One call.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    /// Such as `createPod`.
    pub(crate) operation: &'static str,
    pub(crate) method: &'a Method,
    /// Path starting with `/v2`.
    pub(crate) path: &'a str,
    pub(crate) body: Option<&'a Value>,
    /// Values in the body that no message may contain.
    pub(crate) secrets: &'a [&'a str],
}

impl Client {
    /// A client for the API at `endpoint`.
    ///
    /// # Errors
    /// The endpoint is not a URL, or the key contains invalid characters.
    pub(crate) fn new(endpoint: &str, key: &str) -> Result<Client, Diagnostics> {
        let parsed = Url::parse(endpoint).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        if parsed.is_none() {
            return Err(unusable("endpoint_url", "it is not an http:// or https:// URL"));
        }
        let mut authorization = HeaderValue::from_str(&format!("Bearer {key}"))
            .map_err(|_| unusable("api_key", "it contains invalid characters. Copy the key again"))?;
        authorization.set_sensitive(true);
        let http = reqwest::Client::builder()
            .default_headers(HeaderMap::from_iter([(AUTHORIZATION, authorization)]))
            .user_agent(concat!("terraform-provider-warren/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(Duration::from_secs(5))
            .timeout(Duration::from_secs(60))
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|_| unusable("endpoint_url", "the HTTP client cannot be created"))?;
        Ok(Client {
            http,
            endpoint: endpoint.trim_end_matches('/').to_owned(),
            key: key.to_owned(),
            budget: Budget::default(),
            hosts: Hosts::new(FIRST_ANSWER),
        })
    }

    /// Sends a GET request.
    pub(crate) async fn get(&self, operation: &'static str, path: &str) -> Result<Value, ApiError> {
        self.call(Call { operation, method: &Method::GET, path, body: None, secrets: &[] }).await
    }

    /// Sends a GET request with a query. Lists are separated by commas, as the API expects them.
    pub(crate) async fn query(
        &self,
        operation: &'static str,
        path: &str,
        query: &[(&str, String)],
    ) -> Result<Value, ApiError> {
        let mut url = Url::parse(&format!("{}{path}", self.endpoint))
            .map_err(|error| ApiError::unanswered(operation, error.to_string()))?;
        url.query_pairs_mut().extend_pairs(query);
        let query = url.query().unwrap_or_default().replace("%2C", ",");
        self.get(operation, &format!("{path}?{query}")).await
    }

    /// Sends a DELETE request.
    pub(crate) async fn delete(&self, operation: &'static str, path: &str) -> Result<(), ApiError> {
        let call = Call { operation, method: &Method::DELETE, path, body: None, secrets: &[] };
        self.call(call).await.map(drop)
    }

    /// Calls the REST API and returns the response body, or null if there is none.
    ///
    /// # Errors
    /// The last response of RunPod is an error, or there is no response.
    pub(crate) async fn call(&self, call: Call<'_>) -> Result<Value, ApiError> {
        let harmless = *call.method != Method::POST;
        self.patient(harmless, || self.first(call)).await
    }

    /// Performs a call as the policy of retries ([`warren_managed::retry`]) says. `harmless` is whether it may be executed
    /// twice.
    async fn patient<F>(&self, harmless: bool, once: impl Fn() -> F) -> Result<Value, ApiError>
    where
        F: Future<Output = Result<Value, ApiError>>,
    {
        let mut attempts = 0;
        loop {
            self.budget.admit().await;
            let error = match once().await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            attempts += 1;
            let remedy = error.remedy();
            let wait = error.retry_after.unwrap_or_else(|| retry::backoff(attempts));
            if remedy == Remedy::Throttled {
                self.budget.throttled();
                self.budget.hold(wait);
            }
            if !retry::repeats(remedy, harmless) {
                return Err(error);
            }
            let (operation, status) = (error.operation, error.status);
            tracing::debug!(operation, attempts, status, ?wait, "retrying an API call");
            if !retry::pause(wait).await {
                return Err(error);
            }
        }
    }

    /// Calls, with an early end while the endpoint has never answered. A create is no such call: what comes late was done.
    async fn first(&self, call: Call<'_>) -> Result<Value, ApiError> {
        let unreachable = |reason: &str| ApiError::unreachable(call.operation, reason.to_owned());
        let known = self.hosts.deadlines(&self.endpoint, tokio::time::Instant::now());
        let deadlines = match known.map_err(|reason| unreachable(&reason))? {
            Some(deadlines) if *call.method == Method::GET => deadlines,
            _ => return self.once(call).await,
        };
        let bury = |reason: &str| {
            self.hosts.bury(&self.endpoint, reason);
            unreachable(reason)
        };
        match tokio::time::timeout_at(deadlines.answer, self.once(call)).await {
            Ok(Err(error)) if error.status == 0 && tokio::time::Instant::now() >= deadlines.connect => {
                Err(bury(&error.message))
            }
            Ok(done) => done,
            Err(_) => Err(bury(&format!("{} does not answer", self.endpoint))),
        }
    }

    async fn once(&self, call: Call<'_>) -> Result<Value, ApiError> {
        let begun = Instant::now();
        let called = self.send(call).await;
        let (status, failure) = match &called {
            Ok((status, _)) => (*status, None),
            Err(error) => (error.status, Some(error.title.as_str())),
        };
        let duration_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let operation = call.operation;
        tracing::debug!(service = "runpod", operation, status, duration_ms, failure, "called the RunPod API");
        called.map(|(_, body)| body)
    }

    /// The status and the body of the response.
    async fn send(&self, call: Call<'_>) -> Result<(u16, Value), ApiError> {
        let Call { operation, method, path, body, secrets } = call;
        let mut request = self.http.request(method.clone(), format!("{}{path}", self.endpoint));
        if let Some(body) = body {
            request = request.json(body);
        }
        let silent = |error: reqwest::Error| {
            // The URL contains no secret, but adds nothing to the name of the operation.
            ApiError::unanswered(operation, self.redact(&chain(&error.without_url()), secrets))
        };
        let answer = request.send().await.map_err(silent)?;
        self.hosts.answered(&self.endpoint);
        let (status, retry_after) = (answer.status(), retry_after(answer.headers()));
        let text = answer.text().await.map_err(silent)?;
        let body: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
        if status.is_success() && (!body.is_null() || status == StatusCode::NO_CONTENT) {
            return Ok((status.as_u16(), body));
        }
        if status.is_success() {
            let message =
                "the response is not JSON; check that `runpod.endpoint_url` is the URL of RunPod's API";
            return Err(ApiError::answered(
                operation,
                status.as_u16(),
                "Invalid response",
                message.to_owned(),
            ));
        }
        let mut message = body["detail"].as_str().unwrap_or_default().to_owned();
        for error in body["errors"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            message += &format!("\n  {error}");
        }
        let title = body["title"].as_str().or(status.canonical_reason()).unwrap_or("Error");
        let message = self.redact(message.trim(), secrets);
        Err(ApiError { retry_after, ..ApiError::answered(operation, status.as_u16(), title, message) })
    }

    /// Redacts the key and the secret values of a call in a message.
    fn redact(&self, message: &str, secrets: &[&str]) -> String {
        let all = secrets.iter().copied().chain([self.key.as_str()]);
        // Shorter values are no secrets, and replacing them would garble the message.
        let mut all: Vec<&str> = all.filter(|secret| secret.len() >= 4).collect();
        // A secret that begins with another one would otherwise keep its end.
        all.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        all.into_iter().fold(message.to_owned(), |message, secret| message.replace(secret, "(redacted)"))
    }
}

/// RunPod sends seconds, never a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let told = cause.to_string();
        if !text.contains(&told) {
            text += &format!(": {told}");
        }
        source = cause.source();
    }
    text
}

fn unusable(attribute: &str, why: &str) -> Diagnostics {
    Diagnostic::error("Invalid RunPod configuration", format!("`runpod.{attribute}` cannot be used: {why}."))
        .at(Path::of("runpod").attribute(attribute))
        .into()
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    use tf_provider_rs::CancellationToken;

    use super::*;

    /// What a user sees of a call to the endpoint, and the time it takes.
    async fn called(endpoint: &str, timeout: u64) -> (ApiError, String, Duration) {
        let client = Client::new(endpoint, "rpa_KEY").unwrap();
        let begun = Instant::now();
        let deadline = tokio::time::Instant::now() + Duration::from_secs(timeout);
        let call = client.get("listPods", "/v2/pods");
        let error = retry::until(deadline, CancellationToken::new(), call).await.unwrap_err();
        let told = Diagnostic::from(error.clone());
        (error, format!("{}\n{}", told.summary, told.detail), begun.elapsed())
    }

    #[tokio::test]
    async fn a_dead_endpoint_is_told_within_ten_seconds() {
        // A dead port, a listener that never accepts, and a name that does not resolve.
        let dead = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let hole = TcpListener::bind("127.0.0.1:0").unwrap();
        let (dead, silent) = (format!("http://{dead}"), format!("http://{}", hole.local_addr().unwrap()));
        let all = tokio::join!(called(&dead, 60), called(&silent, 60), called("http://rest.invalid", 60));
        for (error, told, time) in [&all.0, &all.1, &all.2] {
            assert_eq!(error.remedy(), Remedy::Final, "{told}");
            assert!(*time < Duration::from_secs(10), "{time:?}: {told}");
            assert!(told.starts_with("listPods failed: RunPod cannot be reached\n"), "{told}");
            assert!(told.contains("`runpod.endpoint_url`"), "{told}");
        }
    }

    /// The hourly and daily windows of https://docs.runpod.io/api-reference-v2/rate-limits.
    #[tokio::test]
    async fn a_long_delay_is_waited_for_until_the_deadline() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", server.local_addr().unwrap());
        std::thread::spawn(move || {
            for mut stream in server.incoming().flatten() {
                let _ = stream.read(&mut [0; 4096]);
                let head = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1800\r\nConnection: close\r\nContent-Length: 2";
                let _ = stream.write_all(format!("{head}\r\n\r\n{{}}").as_bytes());
            }
        });
        let (error, told, time) = called(&endpoint, 2).await;
        assert_eq!((error.status, error.remedy()), (429, Remedy::Throttled));
        assert!(time >= Duration::from_millis(1900), "{time:?}");
        assert!(told.contains("hourly or daily"), "{told}");
    }

    #[test]
    fn secrets_are_taken_out_of_messages() {
        let client = Client::new("http://127.0.0.1:9", "rpa_KEY").unwrap();
        let message = client.redact("bad value hunter2 for key rpa_KEY, a", &["hunter2", "a"]);
        assert_eq!(message, "bad value (redacted) for key (redacted), a");
        let message =
            client.redact("bad values hunter2 and hunter2-of-prod", &["hunter2", "hunter2-of-prod"]);
        assert_eq!(message, "bad values (redacted) and (redacted)");
    }
}
