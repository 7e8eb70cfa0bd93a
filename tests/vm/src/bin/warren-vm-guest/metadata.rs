//! The metadata services and secret stores of EC2 and Google Cloud, as far as an instance with a gateway needs them, and the place
//! of its binary: files of a folder.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// What IMDSv2 gives for a `PUT`, and wants to see with each `GET`; and the token of Google's service account.
const TOKEN: &str = "a-token-of-this-machine";

/// The folder of all.
const FOLDER: &str = "/mnt";

/// Below it are the versions of Google's metadata service.
const GOOGLE: &str = "/computeMetadata/v1/";

/// Google's answer to who waits for a change: nothing changes.
const WAIT: Duration = Duration::from_secs(60);
const ETAG: &str = "411261ca6c9e6ecc";

/// Serves until the machine ends.
pub(crate) fn serve() -> Result<()> {
    let listener = TcpListener::bind("169.254.169.254:80")?;
    for stream in listener.incoming() {
        let stream = stream?;
        // A client that goes away has no answer to miss.
        std::thread::spawn(move || answer(stream));
    }
    Ok(())
}

/// Tells the host that the boot has come here, and waits until it lets it go on. Does nothing in a boot that is not to be cut.
fn point(name: &str) -> Result<()> {
    Command::new("/mnt/point").arg(name).status()?;
    Ok(())
}

#[derive(Debug, Default)]
struct Request {
    method: String,
    path: String,
    token: String,
    target: String,
    flavor: String,
    authorization: String,
    body: Vec<u8>,
}

fn request(stream: &TcpStream) -> Result<Request> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut words = first.split(' ').map(str::to_owned);
    let mut request = Request {
        method: words.next().unwrap_or_default(),
        path: words.next().unwrap_or_default(),
        ..Request::default()
    };
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse()?,
            "x-aws-ec2-metadata-token" => value.clone_into(&mut request.token),
            "x-amz-target" => value.clone_into(&mut request.target),
            "metadata-flavor" => value.clone_into(&mut request.flavor),
            "authorization" => value.clone_into(&mut request.authorization),
            _ => {}
        }
    }
    request.body = vec![0; length];
    reader.read_exact(&mut request.body)?;
    Ok(request)
}

fn answer(mut stream: TcpStream) -> Result<()> {
    let request = request(&stream)?;
    if request.path == "/release/warren-tunnel" {
        return binary(&mut stream);
    }
    let (status, text) = if request.path.starts_with(GOOGLE) {
        google(&request)
    } else if request.path.starts_with("/v1/projects/") {
        secret(&request).unwrap_or_else(|_| ("404 Not Found", r#"{"error": {"status": "NOT_FOUND"}}"#.into()))
    } else {
        amazon(&request)
    };
    let length = text.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nMetadata-Flavor: Google\r\nETag: {ETAG}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{text}"
    )?;
    Ok(())
}

/// The binary, in two halves.
fn binary(stream: &mut TcpStream) -> Result<()> {
    let bytes = fs::read(Path::new(FOLDER).join("warren-tunnel"))?;
    let (one, other) = bytes.split_at(bytes.len() / 2);
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", bytes.len())?;
    stream.write_all(one)?;
    point("half of the binary")?;
    Ok(stream.write_all(other)?)
}

type Answer = (&'static str, String);

/// EC2's metadata service (IMDSv2) and the parameter store.
fn amazon(request: &Request) -> Answer {
    let none = String::new();
    match request.method.as_str() {
        "PUT" if request.path == "/latest/api/token" => ("200 OK", TOKEN.to_owned()),
        "GET" if request.token != TOKEN => ("401 Unauthorized", none),
        "GET" => read(&request.path).map_or(("404 Not Found", none), |text| ("200 OK", text)),
        "POST" if request.target == "AmazonSSM.GetParameter" => match parameter(&request.body) {
            Ok(text) => ("200 OK", text),
            Err(_) => ("400 Bad Request", r#"{"__type": "ParameterNotFound"}"#.to_owned()),
        },
        _ => ("400 Bad Request", none),
    }
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
    let request: Value = serde_json::from_slice(body)?;
    let name = request["Name"].as_str().context("no name")?;
    let file = name.strip_prefix("/warren/gw-a/").context("another parameter")?;
    let value = stored(file)?;
    Ok(json!({ "Parameter": { "Name": name, "Value": value } }).to_string())
}

/// The value of a secret.
fn stored(name: &str) -> Result<String> {
    point(&format!("secret {name}"))?;
    Ok(fs::read_to_string(Path::new(FOLDER).join("parameters").join(name))?)
}

/// Google's metadata service: it answers nobody who does not know its name.
fn google(request: &Request) -> Answer {
    if request.flavor != "Google" {
        return ("403 Forbidden", "Missing Metadata-Flavor:Google header.".to_owned());
    }
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    let has = |what: &str| query.split('&').any(|one| one == what);
    if has("wait_for_change=true") && has(&format!("last_etag={ETAG}")) {
        std::thread::sleep(WAIT);
    }
    let path = path.strip_prefix(GOOGLE).unwrap_or_default();
    if path == "instance/service-accounts/default/token" {
        let token = json!({ "access_token": TOKEN, "expires_in": 3599, "token_type": "Bearer" });
        return ("200 OK", token.to_string());
    }
    match tree(path) {
        Ok(found) if has("recursive=true") => ("200 OK", found.to_string()),
        Ok(Value::Object(folder)) => ("200 OK", folder.keys().map(|name| format!("{name}\n")).collect()),
        Ok(Value::String(text)) => ("200 OK", text),
        Ok(other) => ("200 OK", other.to_string()),
        Err(_) => ("404 Not Found", String::new()),
    }
}

/// What is at a path of the metadata.
fn tree(path: &str) -> Result<Value> {
    let all: Value = serde_json::from_slice(&fs::read(Path::new(FOLDER).join("metadata.json"))?)?;
    path.split('/').filter(|name| !name.is_empty()).try_fold(all, |at, name| {
        let name = if name == "service-accounts" { "serviceAccounts" } else { name };
        at.get(name).cloned().context("no such path")
    })
}

/// The latest version of a secret: `/v1/projects/acme-ml/secrets/gw-a-config/versions/latest:access`.
fn secret(request: &Request) -> Result<Answer> {
    if request.authorization != format!("Bearer {TOKEN}") {
        return Ok(("401 Unauthorized", r#"{"error": {"status": "UNAUTHENTICATED"}}"#.to_owned()));
    }
    let name = request.path.strip_prefix("/v1/projects/acme-ml/secrets/gw-a-").context("another secret")?;
    let name = name.strip_suffix("/versions/latest:access").context("another version")?;
    let data = STANDARD.encode(stored(name)?);
    Ok(("200 OK", json!({ "payload": { "data": data } }).to_string()))
}
