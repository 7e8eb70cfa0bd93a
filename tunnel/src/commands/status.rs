//! `status`.

use std::{thread, time::Duration};

use serde_json::{Value, json};

use super::{print, text};
use crate::{
    cli::StatusArgs,
    runtime::{
        problem::{Problem, Result},
        status::Status,
        uapi,
    },
};

/// Shows one interface, or all running ones.
///
/// # Errors
/// When a named interface has no agent, or no agent is running.
pub fn status(args: &StatusArgs) -> Result<()> {
    let names = match &args.interface {
        Some(name) => vec![name.clone()],
        None => uapi::running(),
    };
    if names.is_empty() {
        return Err(Problem::new("no agent is running for this user")
            .hint("start one with `warren-tunnel agent --config FILE`, or use sudo if it runs as root"));
    }
    let look = || -> Vec<Result<Status>> { names.iter().map(uapi::status_of).collect() };
    let mut earlier = Vec::new();
    if args.interval > 0 {
        earlier = look();
        if earlier.iter().any(Result::is_ok) {
            thread::sleep(Duration::from_secs(args.interval));
        }
    }
    let mut shown = Vec::new();
    for (index, now) in look().into_iter().enumerate() {
        let before = earlier.get(index).and_then(|status| status.as_ref().ok());
        match now {
            Ok(now) => shown.push((now, before.cloned())),
            // The socket of another WireGuard implementation in the same folder.
            Err(problem) if args.interface.is_none() => crate::runtime::log::warn(&problem),
            Err(problem) => return Err(problem),
        }
    }
    if args.json {
        let all: Vec<Value> = shown.iter().map(|(now, before)| to_json(now, before.as_ref())).collect();
        return print(&format!("{:#}\n", Value::Array(all)));
    }
    let all: Vec<String> = shown.iter().map(|(now, before)| text::status(now, before.as_ref())).collect();
    print(&all.join("\n"))
}

/// The status as JSON, with the rates that need two readings.
fn to_json(now: &Status, before: Option<&Status>) -> Value {
    let mut value = json!(now);
    let rate = before.and_then(|before| now.rate_since(before));
    if let Value::Object(fields) = &mut value {
        fields.insert("rate_bits_per_second".into(), json!(rate));
        fields.insert("utilisation".into(), json!(rate.and_then(|rate| now.utilisation(rate))));
    }
    if let (Some(before), Some(Value::Array(peers))) = (before, value.get_mut("peers")) {
        let earlier: std::collections::HashMap<&str, _> =
            before.peers.iter().map(|peer| (peer.public_key.as_str(), peer)).collect();
        for (shown, peer) in peers.iter_mut().zip(&now.peers) {
            let rate =
                earlier.get(peer.public_key.as_str()).and_then(|e| peer.rate_since(e, now.at - before.at));
            if let Value::Object(fields) = shown {
                fields.insert("rate_bits_per_second".into(), json!(rate));
            }
        }
    }
    value
}
