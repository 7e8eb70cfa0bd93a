//! A web server on a host of the lab.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};

use anyhow::Result;

use crate::Namespace;

const PORT: u16 = 8080;

/// Answers every request at `address` with `body`, for as long as this process lives. Returns the URL.
///
/// # Errors
/// The address is not the host's.
pub fn serve(host: &Namespace, address: IpAddr, body: &'static str) -> Result<String> {
    let at = SocketAddr::new(address, PORT);
    let listener = host.inside(move || Ok(TcpListener::bind(at)?))?;
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client that goes away sees for itself that it got no answer.
            let _ = answer(&stream, body);
        }
    });
    Ok(format!("http://{at}/"))
}

fn answer(mut stream: &TcpStream, body: &str) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream).lines();
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let length = body.len();
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}");
    stream.write_all(answer.as_bytes())
}
