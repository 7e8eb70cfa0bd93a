//! The GitHub action: its scripts as the runner calls them, GitHub's own command `gh`, and a double of GitHub.
//!
//! The double holds comments, lists them in pages of two, and knows three calls; it is reached over a Unix socket, which
//! `gh` is told to use instead of the network.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use warren_acceptance::build_folder;
use warren_harness::workspace_root;

const COMMENTS: &str = "/repos/acme/network/issues/7/comments";
const ONE: &str = "/repos/acme/network/issues/comments/";
const PAGE: usize = 2;

/// The comments of one pull request, by id.
type Comments = Arc<Mutex<BTreeMap<u64, Value>>>;

fn comment(id: u64, kind: &str, body: &str) -> Value {
    json!({ "id": id, "user": { "login": "somebody", "type": kind }, "body": body })
}

async fn answer(comments: &Comments, request: Request<Incoming>) -> Result<(u16, Value, Option<String>)> {
    let (parts, body) = request.into_parts();
    let authorised = parts.headers.get("authorization").is_some_and(|it| it == "token a-token");
    if !authorised {
        return Ok((401, json!({ "message": "Bad credentials" }), None));
    }
    let body = body.collect().await?.to_bytes();
    let text = || -> Result<String> {
        let body: Value = serde_json::from_slice(&body)?;
        let fields = body.as_object().context("the body is no object")?;
        ensure!(fields.keys().eq(["body"]), "the body has other fields: {fields:?}");
        let text = fields["body"].as_str().context("body is no text")?;
        ensure!(text.chars().count() <= 65_536, "body is too long");
        Ok(text.to_owned())
    };
    let mut comments = comments.lock().expect("no test panics with it");
    let path = parts.uri.path();
    match (&parts.method, path.strip_prefix(ONE).map(str::parse::<u64>)) {
        (&Method::GET, None) if path == COMMENTS => {
            let query = parts.uri.query().unwrap_or_default();
            let page = query
                .split('&')
                .find_map(|it| it.strip_prefix("page="))
                .map_or(Ok(1), str::parse::<usize>)?;
            let found: Vec<Value> = comments.values().skip((page - 1) * PAGE).take(PAGE).cloned().collect();
            let next = (comments.len() > page * PAGE)
                .then(|| format!("<https://api.github.com{COMMENTS}?page={}>; rel=\"next\"", page + 1));
            Ok((200, Value::Array(found), next))
        }
        (&Method::POST, None) if path == COMMENTS => {
            let id = comments.keys().max().copied().unwrap_or_default() + 1;
            let made = comment(id, "Bot", &text()?);
            comments.insert(id, made.clone());
            Ok((201, made, None))
        }
        (&Method::PATCH, Some(Ok(id))) if comments.contains_key(&id) => {
            let text = text()?;
            let changed = comments.entry(id).and_modify(|it| it["body"] = json!(text)).or_default().clone();
            Ok((200, changed, None))
        }
        _ => Ok((404, json!({ "message": "Not Found" }), None)),
    }
}

/// Serves the comments until the runtime ends.
fn serve(runtime: &tokio::runtime::Runtime, socket: &Path, comments: &Comments) -> Result<()> {
    let _inside = runtime.enter();
    let listener = tokio::net::UnixListener::bind(socket)?;
    let comments = Arc::clone(comments);
    runtime.spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let comments = Arc::clone(&comments);
            tokio::spawn(async move {
                let service = service_fn(|request| async {
                    let (status, body, next) = answer(&comments, request)
                        .await
                        .unwrap_or_else(|error| (422, json!({ "message": error.to_string() }), None));
                    let mut response = Response::builder()
                        .status(status)
                        .header("content-type", "application/json; charset=utf-8");
                    if let Some(next) = next {
                        response = response.header("link", next);
                    }
                    let body = Full::new(Bytes::from(body.to_string()));
                    Ok::<_, Infallible>(response.body(body).expect("the headers are well-formed"))
                });
                // A client that goes away is none of the double's business.
                let _ = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    });
    Ok(())
}

struct Runner {
    folder: tempfile::TempDir,
    comments: Comments,
    action: PathBuf,
    gh: PathBuf,
    _runtime: tokio::runtime::Runtime,
}

impl Runner {
    fn new(comments: Vec<Value>) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let by_id = comments.into_iter().map(|it| (it["id"].as_u64().expect("it is set"), it)).collect();
        let comments = Arc::new(Mutex::new(by_id));
        let socket = folder.path().join("github.sock");
        serve(&runtime, &socket, &comments)?;
        let config = format!("http_unix_socket: {}\n", socket.display());
        std::fs::write(folder.path().join("config.yml"), config)?;
        let action = workspace_root().join(".github/actions/warren-review");
        let gh = warren_programs::program("gh")?;
        Ok(Self { folder, comments, action, gh, _runtime: runtime })
    }

    /// One run of the action's steps; the code that it ends with.
    fn run(&self, plan: &str, policy: &str) -> Result<i32> {
        let fixtures = workspace_root().join("provider/diagram/tests/fixtures");
        let output = self.folder.path().join("output");
        std::fs::write(&output, "")?;
        self.step("review.sh", |command| {
            command
                .env("WARREN", build_folder()?.join("warren"))
                .env("PLAN", fixtures.join(plan))
                .env("POLICY", fixtures.join(policy))
                .env("TITLE", "Network")
                .env("GITHUB_OUTPUT", &output);
            Ok(())
        })?;
        let outputs = std::fs::read_to_string(&output)?;
        let outputs: BTreeMap<&str, &str> = outputs.lines().filter_map(|line| line.split_once('=')).collect();
        self.step("comment.sh", |command| {
            let path = std::env::join_paths(
                self.gh
                    .parent()
                    .map(Path::to_owned)
                    .into_iter()
                    .chain(std::env::split_paths("/usr/bin:/bin")),
            )?;
            command
                .env("PATH", path)
                .env("GH_CONFIG_DIR", self.folder.path())
                .env("GH_TOKEN", "a-token")
                .env("REPOSITORY", "acme/network")
                .env("NUMBER", "7")
                .env("FOLDER", outputs["folder"])
                .env("MARK", outputs["mark"])
                .env("RUN", "https://github.com/acme/network/actions/runs/1");
            Ok(())
        })?;
        outputs["code"].parse().context("the code is no number")
    }

    fn step(&self, script: &str, prepare: impl FnOnce(&mut Command) -> Result<()>) -> Result<()> {
        let mut command = Command::new("bash");
        command.arg(self.action.join(script)).env("RUNNER_TEMP", self.folder.path());
        command.env_remove("GITHUB_STEP_SUMMARY");
        prepare(&mut command)?;
        let output = command.output()?;
        ensure!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    }

    fn bodies(&self) -> Vec<String> {
        let comments = self.comments.lock().expect("no test panics with it");
        comments.values().map(|it| it["body"].as_str().unwrap_or_default().to_owned()).collect()
    }
}

const MARK: &str = "<!-- warren-review:Network -->";

#[test]
fn the_comment_is_written_once_and_then_updated() -> Result<()> {
    // Two pages of others' comments, one of them by a person who quotes the mark.
    let others = [
        comment(1, "User", "please review"),
        comment(2, "User", &format!("{MARK} is your mark")),
        comment(3, "Bot", "ok"),
    ];
    let runner = Runner::new(others.to_vec())?;
    let code = runner.run("change.json", "policy.yaml")?;
    let first = runner.bodies();
    ensure!(first.len() == 4, "{first:?}");
    ensure!(first[3].starts_with(MARK), "{}", first[3]);
    let verdict = if code == 0 { "**Check: passed**" } else { "**Check: failed**" };
    ensure!(first[3].contains(verdict) && first[3].contains("actions/runs/1"), "{}", first[3]);

    runner.run("example.json", "policy.yaml")?;
    let second = runner.bodies();
    ensure!(second.len() == 4 && second[..3] == first[..3], "{second:?}");
    ensure!(second[3] != first[3] && second[3].starts_with(MARK), "{}", second[3]);
    Ok(())
}

#[test]
fn a_broken_assertion_fails_the_run_and_is_told_in_the_comment() -> Result<()> {
    let runner = Runner::new(Vec::new())?;
    let policy = runner.folder.path().join("nobody.yaml");
    let assertion = "{name: nobody goes out, from: \"*\", to: internet, expect: unreachable}";
    std::fs::write(&policy, format!("assertions: [{assertion}]\n"))?;
    let code = runner.run("example.json", policy.to_str().context("the path is text")?)?;
    let bodies = runner.bodies();
    ensure!(code == 1, "{code}: {bodies:?}");
    ensure!(bodies.len() == 1 && bodies[0].contains("**Check: failed**"), "{bodies:?}");
    ensure!(bodies[0].contains("nobody goes out"), "{}", bodies[0]);
    Ok(())
}
