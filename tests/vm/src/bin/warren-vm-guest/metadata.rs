//! EC2's metadata service and the parameter store, as far as an instance with a gateway needs them: files of a folder.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;

use anyhow::{Context as _, Result};

/// What IMDSv2 gives for a `PUT`, and wants to see with each `GET`.
const TOKEN: &str = "a-token-of-this-machine";

/// The folder of both.
const FOLDER: &str = "/mnt";

/// Serves until the machine ends.
pub(crate) fn serve() -> Result<()> {
    let listener = TcpListener::bind("169.254.169.254:80")?;
    for stream in listener.incoming() {
        // A client that goes away has no answer to miss.
        _ = answer(stream?);
    }
    Ok(())
}

fn answer(mut stream: TcpStream) -> Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let (mut length, mut token, mut target) = (0, String::new(), String::new());
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse()?,
            "x-aws-ec2-metadata-token" => value.clone_into(&mut token),
            "x-amz-target" => value.clone_into(&mut target),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let mut words = first.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (status, text) = match method {
        "PUT" if path == "/latest/api/token" => ("200 OK", TOKEN.to_owned()),
        "GET" if token != TOKEN => ("401 Unauthorized", String::new()),
        "GET" => read(path).map_or(("404 Not Found", String::new()), |text| ("200 OK", text)),
        "POST" if target == "AmazonSSM.GetParameter" => match parameter(&body) {
            Ok(text) => ("200 OK", text),
            Err(_) => ("400 Bad Request", r#"{"__type": "ParameterNotFound"}"#.to_owned()),
        },
        _ => ("400 Bad Request", String::new()),
    };
    let length = text.len();
    write!(stream, "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{text}")?;
    Ok(())
}

/// A file below the version of the service, or the names in a folder.
fn read(path: &str) -> Option<String> {
    let (_version, rest) = path.strip_prefix('/')?.split_once('/')?;
    if rest.contains("..") {
        return None;
    }
    let path = Path::new(FOLDER).join("metadata").join(rest);
    if !path.is_dir() {
        return fs::read_to_string(path).ok();
    }
    let mut names: Vec<String> = fs::read_dir(path)
        .ok()?
        .filter_map(Result::ok)
        .map(|entry| {
            let slash = if entry.path().is_dir() { "/" } else { "" };
            format!("{}{slash}", entry.file_name().to_string_lossy())
        })
        .collect();
    names.sort();
    Some(names.join("\n"))
}

/// The answer to a request for a parameter, named as in the store: `/warren/gw-a/wireguard`.
fn parameter(body: &[u8]) -> Result<String> {
    let request: serde_json::Value = serde_json::from_slice(body)?;
    let name = request["Name"].as_str().context("no name")?;
    let file = name.strip_prefix("/warren/gw-a/").context("another parameter")?;
    let value = fs::read_to_string(Path::new(FOLDER).join("parameters").join(file))?;
    Ok(serde_json::json!({ "Parameter": { "Name": name, "Value": value } }).to_string())
}
