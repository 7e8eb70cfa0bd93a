//! The client of the control socket, for the commands beside a running agent.

use std::{
    io::{Read, Write},
    net::{IpAddr, Shutdown},
    os::unix::net::UnixStream,
    time::Duration,
};

use serde::de::DeserializeOwned;

use super::{Gateway, PingRequest, Pong};
use crate::runtime::{
    host::{InterfaceName, folders},
    problem::{Context, Problem, Result},
    status::Status,
};

/// Sends one request and returns the lines of the answer up to `errno=0`.
///
/// # Errors
/// When no agent listens, or the answer is an error, with the text of the agent.
pub fn exchange(interface: &InterfaceName, request: &str) -> Result<Vec<(String, String)>> {
    // An agent with the kernel's WireGuard has its own socket; the other is the one that `wg` uses.
    let own =
        folders::candidates().iter().map(|folder| interface.fallback_socket(folder)).find(|own| own.exists());
    let path = own.unwrap_or_else(|| interface.socket());
    let mut stream = UnixStream::connect(&path).map_err(|error| match error.raw_os_error() {
        Some(libc::ENOENT | libc::ECONNREFUSED) => Problem::new(format!(
            "no agent is running for interface {interface}"
        ))
        .hint(format!("start one with `warren-tunnel agent --config {}`", interface.config().display())),
        Some(libc::EACCES) => Problem::new(format!("control socket {}: permission denied", path.display()))
            .hint("run the command as the user of the agent, for example with sudo"),
        _ => Problem::new(format!("control socket {}: {error}", path.display())),
    })?;
    let asking = || format!("control socket {}", path.display());
    stream.set_read_timeout(Some(Duration::from_secs(30))).while_doing(asking)?;
    stream.write_all(format!("{request}\n\n").as_bytes()).while_doing(asking)?;
    stream.shutdown(Shutdown::Write).while_doing(asking)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).while_doing(asking)?;
    let mut lines = Vec::new();
    for line in answer.lines().filter(|line| !line.is_empty()) {
        match line.split_once('=') {
            Some(("errno", "0")) => return Ok(lines),
            Some(("errno", number)) => return Err(refused(interface, &lines, number)),
            Some((key, value)) => lines.push((key.to_owned(), value.to_owned())),
            None => break,
        }
    }
    Err(Problem::new(format!("{interface}: the answer is incomplete"))
        .hint("the agent ended during the request; see its log"))
}

fn refused(interface: &InterfaceName, lines: &[(String, String)], number: &str) -> Problem {
    let error_text = lines.iter().find(|(key, _)| key == "error").map(|(_, text)| unescape(text));
    match error_text {
        Some(text) => match text.split_once("\n  hint: ") {
            Some((what, hint)) => Problem::new(what).hint(hint),
            None => Problem::new(text),
        },
        None => {
            let error = std::io::Error::from_raw_os_error(number.parse().map_or(libc::EIO, i32::abs));
            Problem::new(format!("{interface}: request refused: {error}"))
                .hint("if another WireGuard implementation runs this interface, use `wg show`")
        }
    }
}

/// Reads the status of an agent.
///
/// # Errors
/// As [`exchange`].
pub fn status_of(interface: &InterfaceName) -> Result<Status> {
    read(interface, "warren_status=1", "status")
}

/// Reads the peers of an agent as its configuration has them.
///
/// # Errors
/// As [`exchange`].
pub fn gateways_of(interface: &InterfaceName) -> Result<Vec<Gateway>> {
    read(interface, "warren_gateways=1", "gateways")
}

/// Has an agent resolve a name through its tunnel.
///
/// # Errors
/// As [`exchange`]; and there is no such name.
pub fn addresses_of(interface: &InterfaceName, name: &str) -> Result<Vec<IpAddr>> {
    read(interface, &format!("warren_resolve={name}"), "addresses")
}

/// Has an agent send an echo request through its tunnel, and waits for the result.
///
/// # Errors
/// As [`exchange`]; and the request cannot be sent.
pub fn ping(interface: &InterfaceName, request: &PingRequest) -> Result<Pong> {
    let PingRequest { to, size, timeout } = request;
    let request = format!("warren_ping={to}\nsize={size}\ntimeout_ms={}", timeout.as_millis());
    read(interface, &request, "pong")
}

/// The value of one line of an answer.
fn read<T: DeserializeOwned>(interface: &InterfaceName, request: &str, field: &str) -> Result<T> {
    const HINT: &str = "agent and command have different versions; restart the agent";
    let lines = exchange(interface, request)?;
    let text = lines.iter().find(|(key, _)| key == field).map(|(_, value)| value.as_str());
    let text =
        text.ok_or_else(|| Problem::new(format!("{interface}: the answer contains no {field}")).hint(HINT))?;
    serde_json::from_str(text)
        .map_err(|error| Problem::new(format!("{interface}: cannot parse the {field}: {error}")).hint(HINT))
}

/// The only agent that runs for this user. `choose` is a command line for one of several.
///
/// # Errors
/// There is none, or several.
pub fn only_running(choose: &str) -> Result<InterfaceName> {
    let mut running = running();
    match running.len() {
        1 => Ok(running.remove(0)),
        0 => Err(Problem::new("no agent is running for this user")
            .hint("start one with `warren-tunnel agent --config FILE`, or use sudo if it runs as root")),
        _ => {
            let names: Vec<&str> = running.iter().map(InterfaceName::as_str).collect();
            Err(Problem::new(format!("several agents are running: {}", names.join(", ")))
                .hint(format!("choose one: `{choose}`")))
        }
    }
}

/// Interfaces whose control socket answers.
pub fn running() -> Vec<InterfaceName> {
    let mut all = folders::existing();
    all.push(folders::WIREGUARD.into());
    let mut names: Vec<InterfaceName> = all
        .iter()
        .filter_map(|folder| std::fs::read_dir(folder).ok())
        .flatten()
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let name = path.file_name()?.to_str()?.strip_suffix(".sock")?.parse().ok()?;
            UnixStream::connect(&path).is_ok().then_some(name)
        })
        .collect();
    names.sort();
    names.dedup();
    names
}

/// Restores line breaks, which the agent escapes in its answers.
fn unescape(text: &str) -> String {
    text.replace("\\n", "\n")
}
