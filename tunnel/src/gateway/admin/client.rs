//! The client's end of the control socket.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{AdminRequest, AdminResponse, EXTENSION};
use crate::runtime::host::folders;
use crate::runtime::problem::{Context as _, Problem, Result};

/// Timeout for the response: one with ten thousand peers takes seconds.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);

/// Sends a request to a running gateway: the one at `path`, or the only one.
///
/// # Errors
/// No gateway or more than one is running, or the gateway refused the request.
pub fn send(path: Option<&Path>, request: &AdminRequest) -> Result<AdminResponse> {
    let path = match path {
        Some(path) => path.to_owned(),
        None => only()?,
    };
    let doing = || format!("request to {}", path.display());
    let mut stream = UnixStream::connect(&path).map_err(|error| {
        let problem = Problem::new(format!("{}: {error}", doing()));
        match error.raw_os_error() {
            Some(libc::EACCES) => problem.hint("only the gateway's user has access: use sudo"),
            _ => problem.hint("is the gateway running?"),
        }
    })?;
    stream.set_read_timeout(Some(RESPONSE_TIMEOUT)).while_doing(doing)?;
    let mut text = serde_json::to_string(request).while_doing(doing)?;
    text.push('\n');
    stream.write_all(text.as_bytes()).while_doing(doing)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).while_doing(doing)?;
    match serde_json::from_str(&answer) {
        Ok(AdminResponse::Problem { what, hint }) => Err(match hint {
            Some(hint) => Problem::new(what).hint(hint),
            None => Problem::new(what),
        }),
        Ok(response) => Ok(response),
        Err(error) => Err(Problem::new(format!("{}: the response is not valid: {error}", doing()))
            .hint("the gateway and this command have different versions: restart the gateway")),
    }
}

fn only() -> Result<PathBuf> {
    let mut running: Vec<PathBuf> = folders::candidates()
        .iter()
        .filter_map(|folder| std::fs::read_dir(folder).ok())
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == EXTENSION))
        .filter(|path| UnixStream::connect(path).is_ok())
        .collect();
    match running.len() {
        1 => Ok(running.remove(0)),
        0 => Err(Problem::new("no gateway of this user is running on this machine")
            .hint("start one with `warren-tunnel gateway --config FILE`, or select its control socket with `--socket FILE`")),
        _ => {
            let names: Vec<String> = running.iter().map(|path| path.display().to_string()).collect();
            Err(Problem::new(format!("several gateways are running: {}", names.join(", ")))
                .hint("choose one: `--socket FILE`"))
        }
    }
}
