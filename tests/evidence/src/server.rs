//! A server on loopback that gives prepared answers.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;

use crate::answer::Answer;

/// A server that gives one answer to every request, or to the first alone. Its thread ends with the process.
#[derive(Debug)]
pub struct Server {
    url: String,
    requests: Arc<AtomicUsize>,
}

/// Status, type and body.
type Prepared = (u16, String, String);

impl Server {
    /// Gives this answer to every request.
    ///
    /// # Errors
    /// There is no port.
    pub fn always(answer: &Answer) -> Result<Self> {
        Self::serve(vec![prepared(answer)])
    }

    /// Gives this answer to the first request, and an empty JSON object to every other.
    ///
    /// # Errors
    /// There is no port.
    pub fn once(answer: &Answer) -> Result<Self> {
        Self::serve(vec![prepared(answer), (200, "application/json".to_owned(), "{}".to_owned())])
    }

    fn serve(answers: Vec<Prepared>) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let url = format!("http://{}", listener.local_addr()?);
        let requests = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let number = counted.fetch_add(1, Ordering::SeqCst);
                let answer = answers.get(number).or(answers.last());
                if let Some(answer) = answer {
                    // A client that has gone needs no answer.
                    let _ = reply(stream, answer);
                }
            }
        });
        Ok(Self { url, requests })
    }

    /// The URL, without a trailing slash.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// How many requests have come.
    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

fn prepared(answer: &Answer) -> Prepared {
    (answer.http_status(), answer.content_type().to_owned(), answer.body())
}

fn reply(stream: TcpStream, (status, kind, body): &Prepared) -> Result<()> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse()?;
        }
    }
    std::io::copy(&mut reader.by_ref().take(length), &mut std::io::sink())?;
    let head = format!(
        "HTTP/1.1 {status} Recorded\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    reader.get_mut().write_all(format!("{head}{body}").as_bytes())?;
    Ok(())
}
