//! `warren-tunnel fetch`: copies keys and configuration of a gateway from a secret store to files.
//!
//! A missing or invalid value is logged and fetched again until it is valid: at first boot, a gateway may start before its
//! keys, its role or its internet access exist. Nothing is written before all values are valid and match each other: while
//! Terraform rotates keys, the new key and the configuration that names it appear one after the other. Files are written
//! atomically, readable only by their owner. An unchanged file is not touched, so that programs that watch it do not reload.

mod aws;
mod google;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::{Duration, Instant};

use warren_transport::tls::pin_of_pem;
use warren_wire::PrivateKey;
use warren_wire::fetch::{Content, FetchConfig, File, Source};
use warren_wire::gateway::GatewayConfig;
use zeroize::Zeroizing;

use super::cloud::Environment;
use super::files;
use crate::cli::FetchArgs;
use crate::gateway;
use crate::runtime::problem::{Context as _, Problem, Result};

/// First and longest pause between attempts.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// Runs the command.
///
/// # Errors
/// The list of files cannot be read, or values are missing when the time is over.
pub fn run(args: &FetchArgs) -> Result<()> {
    let text = std::fs::read_to_string(&args.config)
        .while_doing(|| format!("reading {}", args.config.display()))
        .map_err(|problem| problem.hint("pass the list of files to fetch with --config FILE"))?;
    let config = FetchConfig::parse(&text).map_err(|error| {
        Problem::new(format!(
            "{}, line {}, column {}: {}",
            args.config.display(),
            error.line,
            error.column,
            error.what
        ))
        .hint(error.hint)
    })?;
    let until = (args.give_up_after > 0).then(|| Instant::now() + Duration::from_secs(args.give_up_after));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .while_doing(|| "starting".to_owned())?;
    runtime.block_on(all(&config, &Environment::read(), until, PAUSES))
}

/// Fetches every file of the list, and repeats after growing pauses while one is not valid. Then writes them.
async fn all(
    config: &FetchConfig,
    environment: &Environment,
    until: Option<Instant>,
    (first, longest): (Duration, Duration),
) -> Result<()> {
    files::folder(&config.folder)?;
    let mut pause = first;
    let values = loop {
        let problem = match set(config, environment).await {
            Ok(values) => break values,
            Err(problem) => problem,
        };
        // No further attempt after the deadline.
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left < pause) {
            return Err(problem);
        }
        tracing::warn!(hint = problem.advice(), "{}; retrying in {} s", problem.what(), pause.as_secs());
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(longest);
    };
    for (file, value) in config.files.iter().zip(&values) {
        let changed = files::write(&config.folder.join(Path::new(file.name.as_str())), value.as_bytes())?;
        let what = if changed { "written" } else { "unchanged" };
        tracing::info!(file = file.name.as_str(), from = %file.from, "{what}");
    }
    Ok(())
}

/// The values of all files, in their order.
async fn set(config: &FetchConfig, environment: &Environment) -> Result<Vec<Zeroizing<String>>> {
    let mut values = Vec::with_capacity(config.files.len());
    for file in &config.files {
        values.push(one(config, environment, file).await?);
    }
    belong_together(&config.files, &values)?;
    Ok(values)
}

/// The value of one file, if it is valid.
async fn one(config: &FetchConfig, environment: &Environment, file: &File) -> Result<Zeroizing<String>> {
    let value = match &file.from {
        Source::AwsSsm(name) => aws::parameter(environment, config.region.as_deref(), name).await?,
        Source::GcpSecret(name) => google::secret(environment, name).await?,
    };
    match file.holds.refuses(&value) {
        None => Ok(value),
        Some(why) => Err(Problem::new(format!("{} does not hold a valid {}: {why}", file.from, file.name))
            .hint("check the value in the secret store; the previous files are kept")),
    }
}

/// Checks that the configuration names the fetched keys: otherwise the gateway would not start.
fn belong_together(files: &[File], values: &[Zeroizing<String>]) -> Result<()> {
    let held = |content: Content| {
        let (file, value) = files.iter().zip(values).find(|(file, _)| file.holds == content)?;
        Some((file, value.as_str()))
    };
    let Some((file, text)) = held(Content::GatewayConfig) else { return Ok(()) };
    let Ok(config) = GatewayConfig::parse(text) else { return Ok(()) };
    let key = held(Content::WireguardKey).and_then(|(_, key)| PrivateKey::from_base64(key.trim_end()).ok());
    let pin = held(Content::TlsKey).and_then(|(_, pem)| pin_of_pem(pem.as_bytes()));
    gateway::gateway_entry(&config, key.map(|key| key.public()), pin).map_err(|what| {
        Problem::new(format!("{} and the keys do not match yet: {what}", file.name))
            .hint("Terraform changes them one after the other; if this persists, apply again")
    })
}
