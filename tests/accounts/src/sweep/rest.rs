//! Calls of REST APIs whose objects are swept by path.

use std::fmt;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use reqwest::header::HeaderMap;
use reqwest::{Client, Method, StatusCode};
use serde_json::Value;

/// An answer that is an error.
#[derive(Debug)]
pub(super) struct Refused {
    call: String,
    status: StatusCode,
    /// The body, if it is JSON.
    pub(super) answer: Value,
}

#[cfg(test)]
impl Refused {
    /// A refusal with this body.
    pub(super) fn of(answer: Value) -> Refused {
        Refused { call: "GET /".to_owned(), status: StatusCode::FORBIDDEN, answer }
    }
}

impl fmt::Display for Refused {
    /// With Google's message, or RunPod's title and detail.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts = [&self.answer["error"]["message"], &self.answer["title"], &self.answer["detail"]];
        let texts: Vec<&str> = texts.into_iter().filter_map(Value::as_str).collect();
        write!(f, "{}: {} {}", self.call, self.status.as_u16(), texts.join(": "))
    }
}

impl std::error::Error for Refused {}

/// How often a read that was throttled or lost is repeated. The rounds of a sweep repeat the deletes.
const ATTEMPTS: u32 = 6;

#[derive(Debug)]
pub(super) struct Rest {
    client: Client,
}

impl Rest {
    pub(super) fn new(headers: HeaderMap) -> Result<Rest> {
        let client = Client::builder().default_headers(headers).timeout(Duration::from_secs(60)).build()?;
        Ok(Rest { client })
    }

    pub(super) async fn get(&self, url: &str) -> Result<Value> {
        self.get_with(url, &HeaderMap::new()).await
    }

    pub(super) async fn get_with(&self, url: &str, headers: &HeaderMap) -> Result<Value> {
        let mut attempt = 1;
        loop {
            let error = match self.once(Method::GET, url, headers, None).await {
                Ok((status, answer)) if status.is_success() => return Ok(answer),
                Ok((status, answer)) if !repeats(status) => return Err(refused("GET", url, status, answer)),
                Ok((status, answer)) => refused("GET", url, status, answer),
                Err(error) => error,
            };
            if attempt == ATTEMPTS {
                return Err(error);
            }
            tokio::time::sleep(Duration::from_millis(250 << attempt)).await;
            attempt += 1;
        }
    }

    pub(super) async fn delete(&self, url: &str) -> Result<()> {
        self.change(Method::DELETE, url, &HeaderMap::new(), None).await
    }

    /// Sends a change. An object that is already gone is deleted.
    pub(super) async fn change(
        &self,
        method: Method,
        url: &str,
        headers: &HeaderMap,
        body: Option<&Value>,
    ) -> Result<()> {
        let deletes = method == Method::DELETE;
        let (status, answer) = self.once(method.clone(), url, headers, body).await?;
        if status.is_success() || (deletes && status == StatusCode::NOT_FOUND) {
            return Ok(());
        }
        Err(refused(method.as_str(), url, status, answer))
    }

    async fn once(
        &self,
        method: Method,
        url: &str,
        headers: &HeaderMap,
        body: Option<&Value>,
    ) -> Result<(StatusCode, Value)> {
        let mut request = self.client.request(method.clone(), url).headers(headers.clone());
        if let Some(body) = body {
            request = request.json(body);
        }
        let Ok(answer) = request.send().await.map_err(reqwest::Error::without_url) else {
            bail!("{method} {url}: no answer");
        };
        let status = answer.status();
        let text =
            answer.text().await.map_err(reqwest::Error::without_url).context("the answer ended early")?;
        Ok((status, serde_json::from_str(&text).unwrap_or(Value::Null)))
    }
}

fn repeats(status: StatusCode) -> bool {
    status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error()
}

fn refused(method: &str, url: &str, status: StatusCode, answer: Value) -> anyhow::Error {
    Refused { call: format!("{method} {url}"), status, answer }.into()
}
