//! The emulator process and its own API, spoken directly.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::os::unix::fs::FileExt as _;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, bail};
use bytes::Bytes;
use http::{Method, Request, Response, header};
use serde_json::Value;

use crate::http_client::HttpClient;
use crate::query::Params;
use crate::venv::Venv;
use crate::xml::Element;

mod inventory;

pub use inventory::{Inventory, InventoryDiff, Kind, Object};

const SERVE: &str =
    concat!(include_str!("moto/route53.py"), include_str!("moto/resolver.py"), include_str!("moto/serve.py"));

/// A running `moto` on a loopback port. It ends when this value is dropped, and also when this process dies,
/// because its standard input closes then.
#[derive(Debug)]
pub struct MotoServer {
    child: Child,
    port: u16,
    log: File,
}

impl MotoServer {
    /// Starts the emulator and waits until it listens, which takes about two seconds.
    ///
    /// # Errors
    /// The environment is broken, or the process ends before it listens; the error carries its last words.
    pub fn start(venv: &Venv) -> Result<Self> {
        // Without a name: nothing is left of it, however this process ends.
        let log = tempfile::tempfile()?;
        let mut child = Command::new(venv.python())
            .args(["-c", SERVE])
            .env_remove("PYTHONPATH")
            .env_remove("PYTHONHOME")
            .env("AWS_ACCESS_KEY_ID", "moto")
            .env("AWS_SECRET_ACCESS_KEY", "moto")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log.try_clone()?)
            .spawn()
            .context("cannot start the AWS emulator")?;
        let mut first = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut first)?;
        }
        let Ok(port) = first.trim().parse() else {
            // It is already dead or useless; the reason is in its log.
            let _ = child.kill();
            let _ = child.wait();
            bail!("the AWS emulator did not start:\n{}", text(&log).unwrap_or_default());
        };
        Ok(Self { child, port, log })
    }

    /// The loopback port it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What the emulator has written to standard error so far, such as a Python traceback.
    pub fn log(&self) -> String {
        text(&self.log).unwrap_or_default()
    }

    pub(crate) fn api(&self) -> MotoApi {
        MotoApi { client: HttpClient::new(), port: self.port }
    }
}

impl Drop for MotoServer {
    fn drop(&mut self) {
        // Both fail only where the process is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The emulator's own API without the proxy in between.
#[derive(Clone, Debug)]
pub(crate) struct MotoApi {
    client: HttpClient,
    port: u16,
}

impl MotoApi {
    /// Forwards a request as it is.
    pub(crate) async fn forward(&self, mut request: Request<Bytes>) -> Result<Response<Bytes>> {
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        *request.uri_mut() = format!("http://127.0.0.1:{}{path}", self.port).parse()?;
        self.client.send(request).await
    }

    /// Calls one EC2 action.
    ///
    /// # Errors
    /// The answer is an error, or not XML.
    pub(crate) async fn ec2(&self, region: &str, action: &str, params: &[(&str, &str)]) -> Result<Element> {
        self.query(region, ("ec2", "2016-11-15"), action, params).await
    }

    /// Calls one action of a service of the query protocol, by its name and version.
    ///
    /// # Errors
    /// The answer is an error, or not XML.
    pub(crate) async fn query(
        &self,
        region: &str,
        (service, version): (&str, &str),
        action: &str,
        params: &[(&str, &str)],
    ) -> Result<Element> {
        let mut form = Params::from(params);
        form.set("Action", action);
        form.set("Version", version);
        let request = Request::builder()
            .method(Method::POST)
            .uri("/")
            .header(header::AUTHORIZATION, authorization(region, service))
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded; charset=utf-8")
            .body(Bytes::from(form.to_form()))?;
        let response = self.forward(request).await?;
        let text = String::from_utf8_lossy(response.body()).into_owned();
        if !response.status().is_success() {
            bail!("the emulator answered {action} with {}: {text}", response.status());
        }
        Element::parse(&text).with_context(|| format!("answer to {action}"))
    }

    /// Reads a path of Route 53.
    ///
    /// # Errors
    /// The answer is an error, or not XML.
    pub(crate) async fn route53(&self, path: &str) -> Result<Element> {
        let request = Request::builder()
            .method(Method::GET)
            .uri(format!("/2013-04-01/{path}"))
            .header(header::AUTHORIZATION, authorization("us-east-1", "route53"))
            .body(Bytes::new())?;
        let response = self.forward(request).await?;
        let text = String::from_utf8_lossy(response.body()).into_owned();
        if !response.status().is_success() {
            bail!("the emulator answered {path} with {}: {text}", response.status());
        }
        Element::parse(&text).with_context(|| format!("answer to {path}"))
    }

    /// Calls one action of a JSON 1.1 service; `target` is `<prefix>.<action>`.
    ///
    /// # Errors
    /// The answer is an error, or not JSON.
    pub(crate) async fn json(
        &self,
        region: &str,
        service: &str,
        target: &str,
        body: &Value,
    ) -> Result<Value> {
        let request = Request::builder()
            .method(Method::POST)
            .uri("/")
            .header(header::AUTHORIZATION, authorization(region, service))
            .header(header::CONTENT_TYPE, "application/x-amz-json-1.1")
            .header("x-amz-target", target)
            .body(Bytes::from(body.to_string()))?;
        let response = self.forward(request).await?;
        if !response.status().is_success() {
            let text = String::from_utf8_lossy(response.body());
            bail!("the emulator answered {target} with {}: {text}", response.status());
        }
        serde_json::from_slice(response.body()).with_context(|| format!("answer to {target}"))
    }

    /// Forgets everything that was created.
    pub(crate) async fn reset(&self) -> Result<()> {
        let request = Request::builder().method(Method::POST).uri("/moto-api/reset").body(Bytes::new())?;
        let response = self.forward(request).await?;
        if !response.status().is_success() {
            bail!("the emulator refused to reset: {}", response.status());
        }
        Ok(())
    }
}

/// All that was written to `log`; the place at which the emulator writes stays.
fn text(log: &File) -> io::Result<String> {
    let mut bytes = vec![0; log.metadata()?.len().try_into().unwrap_or(0)];
    let length = log.read_at(&mut bytes, 0)?;
    Ok(String::from_utf8_lossy(&bytes[..length]).into_owned())
}

/// The emulator reads the region and the service from the credential scope and checks no signature.
fn authorization(region: &str, service: &str) -> String {
    format!(
        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20260101/{region}/{service}/aws4_request, SignedHeaders=host, Signature=0"
    )
}
