//! The gateway's end of the control socket.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::{AdminRequest, AdminResponse, socket};
use crate::runtime::host::folders;
use crate::runtime::host::local_socket::{LocalSocket, SocketOptions};
use crate::runtime::problem::{Context as _, Result};
use crate::runtime::supervise::Supervisor;

/// The longest request.
const MAX_REQUEST: u64 = 16 << 10;
const OPTIONS: SocketOptions = SocketOptions {
    thread: "gateway-admin",
    timeout: Duration::from_secs(10),
    in_use_hint: "a gateway with this name is already running",
};

/// The bound socket. Dropping it closes and removes it.
pub(in crate::gateway) struct Server {
    _socket: LocalSocket,
}

impl Server {
    /// Binds the socket and serves operators, one connection at a time.
    pub(in crate::gateway) fn start(
        name: &str,
        supervisor: &Supervisor,
        answer: impl Fn(&AdminRequest) -> Result<AdminResponse> + Send + 'static,
    ) -> Result<Self> {
        let path = socket(&folders::runtime_folder()?, name);
        let socket = LocalSocket::bind(path, &OPTIONS, supervisor, move |stream| {
            if let Err(problem) = serve(&stream, &answer) {
                tracing::debug!("{}", problem.what());
            }
        })?;
        Ok(Self { _socket: socket })
    }
}

fn serve(stream: &UnixStream, answer: impl Fn(&AdminRequest) -> Result<AdminResponse>) -> Result<()> {
    let doing = || "control socket".into();
    let mut line = String::new();
    BufReader::new(stream.take(MAX_REQUEST)).read_line(&mut line).while_doing(doing)?;
    let response = match serde_json::from_str::<AdminRequest>(&line) {
        Ok(request) => answer(&request).unwrap_or_else(|problem| AdminResponse::Problem {
            what: problem.what().to_owned(),
            hint: problem.advice().map(str::to_owned),
        }),
        Err(error) => AdminResponse::Problem {
            what: format!("the request is not valid: {error}"),
            hint: Some("the gateway and this command have different versions: restart the gateway".into()),
        },
    };
    let mut text = serde_json::to_string(&response).while_doing(doing)?;
    text.push('\n');
    let mut stream = stream;
    stream.write_all(text.as_bytes()).while_doing(doing)
}
