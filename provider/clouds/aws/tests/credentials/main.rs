//! Credentials and settings, side by side with botocore.
//!
//! `expected.py` generates combinations of provider block, environment and shared files, and asks the pinned botocore what
//! they give. Each combination then runs here in a process of its own, with that environment and those files. The same
//! endpoints issue credentials to both.

use std::collections::{BTreeMap, VecDeque};
use std::error::Error;
use std::io::{BufRead, BufReader, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tf_provider_rs::{Attr, CancellationToken};
use tokio::time::Instant;
use warren_aws::{AssumeRole, AssumeRoleWithWebIdentity, AwsConfig, Resolved, RoleSession};
use warren_harness::Venv;
use warren_managed::retry;
use warren_managed::sets::{self, Texts};
use warren_managed::timeouts::Timeout;

type Done = Result<(), Box<dyn Error>>;

/// Names a file with the provider block of a case, next to which the result is written.
const CASE: &str = "WARREN_CREDENTIALS_CASE";

#[derive(Deserialize)]
struct Case {
    case: String,
    block: Value,
    env: BTreeMap<String, String>,
    botocore: Value,
}

#[tokio::test]
async fn a_block_with_files_of_its_own_resolves_without_the_environment() -> Done {
    if let Some(path) = std::env::var_os(CASE) {
        return resolve(Path::new(&path)).await;
    }
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("credentials");
    std::fs::write(&file, "[mine]\naws_access_key_id = AKIAMINE\naws_secret_access_key = secret\n")?;
    let path = Attr::from(file.display().to_string().as_str());
    let config = AwsConfig {
        region: "eu-west-1".into(),
        profile: "mine".into(),
        shared_credentials_files: Attr::Known(vec![path]),
        ..AwsConfig::default()
    };
    let resolved = Resolved::of(&config).await.map_err(|told| told.0[0].detail.clone())?;
    assert_eq!(resolved.access_key_id.as_deref(), Ok("AKIAMINE"));
    assert_eq!(resolved.ec2_endpoint.as_deref(), Some("https://ec2.eu-west-1.amazonaws.com"));
    Ok(())
}

fn string(value: &Value) -> Attr<String> {
    value.as_str().map(str::to_owned).into()
}

fn duration(seconds: &Value) -> Attr<Timeout> {
    seconds.as_u64().and_then(|seconds| format!("{seconds}s").parse().ok()).into()
}

fn strings(value: &Value) -> Texts {
    match value.as_array() {
        None => Attr::Null,
        Some(items) => sets::of(items.iter().filter_map(|item| item.as_str().map(str::to_owned))),
    }
}

fn session(role: &Value) -> RoleSession {
    RoleSession {
        session_name: string(&role["session_name"]),
        duration: duration(&role["duration"]),
        policy: string(&role["policy"]),
        policy_arns: strings(&role["policy_arns"]),
    }
}

fn role(role: &Value) -> AssumeRole {
    let tags = role["tags"]
        .as_object()
        .map(|tags| tags.iter().map(|(key, value)| (key.clone(), string(value))).collect::<BTreeMap<_, _>>());
    AssumeRole {
        role_arn: string(&role["role_arn"]),
        external_id: string(&role["external_id"]),
        session: session(role),
        tags: tags.into(),
        transitive_tag_keys: strings(&role["transitive_tag_keys"]),
        source_identity: string(&role["source_identity"]),
    }
}

/// Resolves the case in the file, in the environment of this process.
async fn resolve(path: &Path) -> Done {
    let block: Value = serde_json::from_slice(&std::fs::read(path)?)?;
    let text = |name: &str| Attr::from(block[name].as_str().map(str::to_owned));
    let flag = |name: &str| Attr::from(block[name].as_bool());
    let roles = block["roles"].as_array().cloned().unwrap_or_default();
    let mut roles = roles.iter().map(role);
    let web = block["web"].as_object().map(|_| AssumeRoleWithWebIdentity {
        role_arn: string(&block["web"]["role_arn"]),
        session: session(&block["web"]),
        web_identity_token_file: string(&block["web"]["token_file"]),
        ..AssumeRoleWithWebIdentity::default()
    });
    let config = AwsConfig {
        region: text("region"),
        profile: text("profile"),
        max_attempts: block["max_attempts"].as_u64().and_then(|attempts| u32::try_from(attempts).ok()).into(),
        endpoint_url: text("endpoint_url"),
        assume_role: roles.next().into(),
        assume_role_chain: Attr::Known(roles.collect()),
        assume_role_with_web_identity: web.into(),
        use_fips_endpoint: flag("use_fips_endpoint"),
        use_dualstack_endpoint: flag("use_dualstack_endpoint"),
        ..AwsConfig::default()
    };
    // Outside an operation, nothing is repeated.
    let operation = Duration::from_secs(block["operation"].as_u64().unwrap_or_default());
    let resolved =
        retry::until(Instant::now() + operation, CancellationToken::new(), Resolved::of(&config)).await;
    let found = match resolved {
        Err(told) => json!({ "error": format!("{}: {}", told.0[0].summary, told.0[0].detail) }),
        Ok(resolved) => json!({
            "region": resolved.region,
            "profile": resolved.profile,
            "ec2_endpoint": resolved.ec2_endpoint,
            "max_attempts": resolved.max_attempts,
            "adaptive": resolved.adaptive,
            "ca_bundle": resolved.ca_bundle,
            "access_key_id": resolved.access_key_id.as_ref().ok(),
            "why": resolved.access_key_id.as_ref().err(),
        }),
    };
    std::fs::write(path.with_extension("found"), serde_json::to_vec(&found)?)?;
    Ok(())
}

#[test]
fn credentials_and_settings_are_those_of_botocore() -> Done {
    let venv = Venv::ensure()?;
    let folder = tempfile::tempdir()?;
    let bundle = venv.botocore_data()?.with_file_name("cacert.pem");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/credentials/expected.py");
    let mut python = Command::new(venv.python())
        .arg(script)
        .args([folder.path(), &bundle])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    BufReader::new(python.stdout.take().ok_or("no output")?).read_line(&mut line)?;
    let cases: Vec<Case> = serde_json::from_str(&line)?;
    assert!(cases.len() > 500, "{} cases", cases.len());
    let found = results(folder.path(), &cases)?;
    drop(python.stdin.take());
    python.wait()?;
    let pairs = || cases.iter().zip(&found);
    let differences: Vec<String> = pairs().filter_map(|(case, found)| difference(case, found)).collect();
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
    let issued = found.iter().filter(|found| found["access_key_id"].is_string()).count();
    assert!(issued > 300, "credentials in {issued} of {} cases", cases.len());
    let mut told = BTreeMap::new();
    for (case, found) in
        pairs().filter(|(case, _)| case.case.contains(", empty, ") && case.case.ends_with("none"))
    {
        if let Some(text) = found.get("error").or(found.get("why")).and_then(Value::as_str) {
            let profile = case.case.split(',').next().unwrap_or_default();
            let text = text.replace(&case.env["HOME"], "~");
            told.entry(profile.to_owned()).or_insert(text);
        }
    }
    let told: Vec<String> = told.iter().map(|(profile, text)| format!("{profile}\n{text}\n")).collect();
    insta::assert_snapshot!(told.join("\n"));
    Ok(())
}

/// STS is unavailable, so each assumption of a role takes as many attempts as the settings allow.
#[test]
fn attempts_end_at_the_number_of_the_settings() -> Done {
    let folder = tempfile::tempdir()?;
    let (url, attempts) = unavailable()?;
    let profile = "[default]\naws_access_key_id = AKIAX\naws_secret_access_key = secret\n";
    let variables = [("AWS_MAX_ATTEMPTS", "3"), ("AWS_RETRY_MODE", "adaptive")];
    for (n, (block, variables, entries, expected)) in [
        (json!({ "max_attempts": 2 }), &variables[..], "", 2),
        (json!({}), &variables[..1], "max_attempts = 4", 3),
        (json!({}), &variables[..], "", 3),
        (json!({}), &variables[..0], "max_attempts = 4\nretry_mode = adaptive", 4),
    ]
    .into_iter()
    .enumerate()
    {
        let file = folder.path().join(format!("config-{n}"));
        std::fs::write(&file, format!("{profile}{entries}\n"))?;
        let mut block = block;
        block["region"] = "us-east-1".into();
        block["endpoint_url"] = url.as_str().into();
        block["roles"] = json!([{ "role_arn": "arn:aws:iam::123456789012:role/x" }]);
        block["operation"] = 60.into();
        let env = [("AWS_CONFIG_FILE", file.display().to_string()), ("HOME", "/nowhere".into())];
        let env = env.into_iter().chain(variables.iter().map(|(name, value)| (*name, (*value).to_owned())));
        let env = env.map(|(name, value)| (name.to_owned(), value)).collect();
        let case = Case { case: n.to_string(), block, env, botocore: Value::Null };
        attempts.store(0, Ordering::Relaxed);
        let found = run(folder.path(), n, &case)?;
        assert_eq!(attempts.load(Ordering::Relaxed), expected, "case {n}: {found}");
    }
    Ok(())
}

/// A service that answers every request with status 503, and the number of requests.
fn unavailable() -> Result<(String, Arc<AtomicUsize>), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}", listener.local_addr()?);
    let requests = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&requests);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            count.fetch_add(1, Ordering::Relaxed);
            let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
            while lines.next().is_some_and(|line| !line.is_empty()) {}
            let answer = "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            _ = (&stream).write_all(answer.as_bytes());
        }
    });
    Ok((url, requests))
}

/// Every case in a process of its own, several at a time.
fn results(folder: &Path, cases: &[Case]) -> Result<Vec<Value>, Box<dyn Error>> {
    let workers = thread::available_parallelism()?.get();
    let work = move |worker: usize| {
        let mine = cases.iter().enumerate().skip(worker).step_by(workers);
        let result = |(n, case)| run(folder, n, case).map_err(|error| format!("case {n}: {error}"));
        mine.map(result).collect::<Result<Vec<Value>, String>>()
    };
    let mut done = thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|worker| scope.spawn(move || work(worker))).collect();
        let joined =
            threads.into_iter().map(|thread| thread.join().map_err(|_| "a worker panicked".to_owned())?);
        joined.map(|values| values.map(VecDeque::from)).collect::<Result<Vec<_>, String>>()
    })?;
    // In the order of the cases.
    let next =
        |n: usize| done[n % workers].pop_front().ok_or_else(|| format!("no result of case {n}").into());
    (0..cases.len()).map(next).collect()
}

/// How the result of a case differs from that of botocore.
fn difference(case: &Case, found: &Value) -> Option<String> {
    let expected = &case.botocore;
    let same = match (expected.get("error"), found.get("error")) {
        (Some(_), Some(_)) => true,
        // Where botocore finds out later, with the first call, that credentials are missing.
        (None, Some(_)) => expected["access_key_id"].is_null(),
        (Some(_), None) => false,
        (None, None) => {
            let names = [
                "region",
                "profile",
                "ec2_endpoint",
                "max_attempts",
                "adaptive",
                "ca_bundle",
                "access_key_id",
            ];
            names.iter().all(|name| expected[*name] == found[*name])
        }
    };
    let told = found.to_string();
    // A diagnostic of Rust shows structures and enum variants.
    let debug = ["Some(", "None", "Err(", " { ", "Error {"].iter().any(|part| told.contains(part));
    (debug || !same)
        .then(|| format!("{}\n  block {}\n  botocore {expected}\n  warren {found}", case.case, case.block))
}

fn run(folder: &Path, n: usize, case: &Case) -> Result<Value, Box<dyn Error>> {
    let path = folder.join(format!("{n}.case"));
    std::fs::write(&path, serde_json::to_vec(&case.block)?)?;
    let output = Command::new(std::env::current_exe()?)
        .args(["--exact", "a_block_with_files_of_its_own_resolves_without_the_environment"])
        .env_clear()
        .envs(&case.env)
        .env(CASE, &path)
        .stdin(Stdio::null())
        .output()?;
    let found = std::fs::read(path.with_extension("found"))
        .map_err(|_| String::from_utf8_lossy(&output.stdout).into_owned())?;
    Ok(serde_json::from_slice(&found)?)
}
