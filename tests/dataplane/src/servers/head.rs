//! The head of a request of HTTP, for servers that look at it and pass the request on.

use std::io::Result;
use std::net::SocketAddr;

use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader, copy_bidirectional,
};
use tokio::net::TcpStream;

/// What a head may be long at most.
const LIMIT: usize = 64 << 10;

/// Reads the head of a request, with the empty line. None if the client goes away, or does not speak HTTP.
pub(super) async fn read<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut BufReader<S>,
) -> Result<Option<String>> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).await? == 0 || head.len() > LIMIT {
            return Ok(None);
        }
    }
    Ok(Some(head))
}

/// Sends an answer and ends the connection.
pub(super) async fn answer<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: BufReader<S>,
    answer: &str,
) -> Result<()> {
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await
}

/// Passes a request on to a server, which is told to end the connection after its answer.
pub(super) async fn pass<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: BufReader<S>,
    head: &str,
    server: SocketAddr,
) -> Result<()> {
    let mut outer = TcpStream::connect(server).await?;
    let head = head.trim_end().to_owned() + "\r\nconnection: close\r\n\r\n";
    outer.write_all(head.as_bytes()).await?;
    copy_bidirectional(&mut stream, &mut outer).await.map(drop)
}
