//! Credentials and settings, side by side with botocore.
//!
//! `expected.py` generates combinations of provider block, environment and shared files, and asks the pinned botocore what
//! they give. Each combination then runs here in a process of its own, with that environment and those files. The same
//! endpoints issue credentials to both.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use serde::Deserialize;
use serde_json::{Value, json};
use tf_provider_rs::Attr;
use warren_aws::{AssumeRole, AssumeRoleWithWebIdentity, AwsConfig, Resolved};
use warren_harness::Venv;
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

fn role(role: &Value) -> AssumeRole {
    let tags = role["tags"]
        .as_object()
        .map(|tags| tags.iter().map(|(key, value)| (key.clone(), string(value))).collect::<BTreeMap<_, _>>());
    AssumeRole {
        role_arn: string(&role["role_arn"]),
        external_id: string(&role["external_id"]),
        session_name: string(&role["session_name"]),
        duration: duration(&role["duration"]),
        policy: string(&role["policy"]),
        policy_arns: strings(&role["policy_arns"]),
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
        session_name: string(&block["web"]["session_name"]),
        duration: duration(&block["web"]["duration"]),
        web_identity_token_file: string(&block["web"]["token_file"]),
        ..AssumeRoleWithWebIdentity::default()
    });
    let config = AwsConfig {
        region: text("region"),
        profile: text("profile"),
        endpoint_url: text("endpoint_url"),
        assume_role: roles.next().into(),
        assume_role_chain: Attr::Known(roles.collect()),
        assume_role_with_web_identity: web.into(),
        use_fips_endpoint: flag("use_fips_endpoint"),
        use_dualstack_endpoint: flag("use_dualstack_endpoint"),
        ..AwsConfig::default()
    };
    let found = match Resolved::of(&config).await {
        Err(told) => json!({ "error": format!("{}: {}", told.0[0].summary, told.0[0].detail) }),
        Ok(resolved) => json!({
            "region": resolved.region,
            "profile": resolved.profile,
            "ec2_endpoint": resolved.ec2_endpoint,
            "max_attempts": resolved.max_attempts,
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
    let workers = thread::available_parallelism()?.get();
    let differences: Vec<String> = thread::scope(|scope| {
        let (folder, cases) = (folder.path(), &cases);
        let work = move |worker: usize| {
            let mine = cases.iter().enumerate().skip(worker).step_by(workers);
            mine.filter_map(move |(n, case)| difference(folder, n, case)).collect::<Vec<_>>()
        };
        let threads: Vec<_> = (0..workers).map(|worker| scope.spawn(move || work(worker))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
    });
    drop(python.stdin.take());
    python.wait()?;
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
    Ok(())
}

/// How the result of a case differs from that of botocore.
fn difference(folder: &Path, n: usize, case: &Case) -> Option<String> {
    let found = match run(folder, n, case) {
        Ok(found) => found,
        Err(error) => json!({ "error": format!("no result: {error}") }),
    };
    let expected = &case.botocore;
    let same = match (expected.get("error"), found.get("error")) {
        (Some(_), Some(_)) => true,
        // Where botocore finds out later, with the first call, that credentials are missing.
        (None, Some(_)) => expected["access_key_id"].is_null(),
        (Some(_), None) => false,
        (None, None) => {
            let names = ["region", "profile", "ec2_endpoint", "max_attempts", "ca_bundle", "access_key_id"];
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
