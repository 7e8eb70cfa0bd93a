//! Chromium and Firefox: a page of a server on the loopback measures every picture and posts the results.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde::de::DeserializeOwned;
use tempfile::TempDir;

use crate::font;

/// Time for a browser to start and measure.
const PATIENCE: Duration = Duration::from_secs(240);

/// A browser.
#[derive(Debug, Clone, Copy)]
pub enum Browser {
    /// Chromium.
    Chromium,
    /// Firefox.
    Firefox,
}

impl Browser {
    /// Every browser.
    pub const ALL: [Browser; 2] = [Browser::Chromium, Browser::Firefox];

    fn start(self, address: &str, folder: &Path, fonts: &Path) -> Result<Child> {
        let profile = folder.join("profile");
        std::fs::create_dir_all(&profile)?;
        let mut command = match self {
            Browser::Chromium => {
                let mut command = Command::new(warren_programs::program("chromium")?);
                command
                    .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
                    .args(["--no-first-run", "--window-size=1400,1000"])
                    .arg(format!("--user-data-dir={}", profile.display()))
                    .arg("--remote-debugging-port=0");
                command
            }
            Browser::Firefox => {
                let mut command = Command::new(warren_programs::program("firefox-esr")?);
                command.args(["--headless", "--no-remote", "--profile"]).arg(&profile);
                command
            }
        };
        command
            .arg(address)
            .env("HOME", folder)
            .env("FONTCONFIG_FILE", fonts)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("{self:?} cannot be started"))
    }

    /// Opens a page that runs `script` with access to the files at `/0`, `/1` and so on, and returns what it posts.
    /// The script is the body of an async function whose result is the answer.
    ///
    /// # Errors
    /// The browser cannot be installed or started, the script fails, or it takes too long.
    pub fn run<T: DeserializeOwned>(self, script: &str, files: &[(&str, &str)]) -> Result<T> {
        let folder = tempfile::tempdir()?;
        let fonts = fonts(&folder)?;
        let listener = TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let address = format!("http://{}/", listener.local_addr()?);
        let mut child = self.start(&address, folder.path(), &fonts)?;
        let answer = serve(&listener, script, files, &mut child);
        // A browser that already ended needs no end.
        child.kill().ok();
        child.wait()?;
        let answer = answer.with_context(|| format!("{self:?}"))?;
        serde_json::from_str(&answer).with_context(|| format!("{self:?}: {answer:.400}"))
    }
}

/// A configuration of Fontconfig with DejaVu Sans only.
///
/// # Errors
/// The fonts are missing, or the file cannot be written.
pub fn fonts(folder: &TempDir) -> Result<std::path::PathBuf> {
    let path = folder.path().join("fonts.conf");
    let cache = folder.path().join("fonts");
    let text = format!(
        "<?xml version=\"1.0\"?><!DOCTYPE fontconfig SYSTEM \"fonts.dtd\"><fontconfig><dir>{}</dir><cachedir>{}</cachedir>\
         <selectfont><rejectfont><glob>*Condensed*</glob></rejectfont><rejectfont><glob>*Serif*</glob></rejectfont>\
         <rejectfont><glob>*Mono*</glob></rejectfont></selectfont></fontconfig>",
        font::folder()?.display(),
        cache.display()
    );
    std::fs::write(&path, text)?;
    Ok(path)
}

fn serve(listener: &TcpListener, script: &str, files: &[(&str, &str)], child: &mut Child) -> Result<String> {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        match listener.accept() {
            Ok((stream, _)) => {
                if let Some(answer) = answer(&stream, script, files)? {
                    return Ok(answer);
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                if let Some(status) = child.try_wait()? {
                    bail!("ended before it measured anything ({status})");
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(error) => return Err(error.into()),
        }
    }
    bail!("no result after {} seconds", PATIENCE.as_secs())
}

/// Answers one request. Returns the body of a post.
fn answer(stream: &TcpStream, script: &str, files: &[(&str, &str)]) -> Result<Option<String>> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    // Browsers open connections in advance, without a request.
    if reader.read_line(&mut line).is_err() || line.is_empty() {
        return Ok(None);
    }
    let mut words = line.split(' ');
    let (method, path) =
        (words.next().unwrap_or_default().to_owned(), words.next().unwrap_or("/").to_owned());
    let mut length = 0;
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header)? == 0 || header.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = header.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse()?;
        }
    }
    if method == "POST" {
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        respond(stream, "text/plain", "")?;
        let body = String::from_utf8(body)?;
        ensure!(path == "/done", "the script failed: {body}");
        return Ok(Some(body));
    }
    let at = path.trim_start_matches('/').parse::<usize>().ok();
    match at.and_then(|at| files.get(at)) {
        Some((kind, text)) => respond(stream, kind, text)?,
        None if path == "/" => respond(stream, "text/html", &page(script, files.len()))?,
        None => respond(stream, "text/plain", "")?,
    }
    Ok(None)
}

fn respond(mut stream: &TcpStream, kind: &str, body: &str) -> Result<()> {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    Ok(())
}

fn page(script: &str, count: usize) -> String {
    format!(
        "<!doctype html><meta charset=utf-8><body><script>\
         const count = {count};\
         const post = (path, body) => fetch(path, {{ method: 'POST', body }});\
         (async () => {{ {script} }})().then((out) => post('/done', JSON.stringify(out)),\
         (error) => post('/failed', String(error && error.stack || error)));\
         </script>"
    )
}
