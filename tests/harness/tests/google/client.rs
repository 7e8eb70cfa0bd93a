//! Raw calls, written by hand: the tests do not trust a client library to show what is on the wire.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;
use warren_harness::Google;

/// Status and body of an answer.
pub(crate) type Answer = (u16, Value);

/// Sends one request; `path` is from `projects/acme-ml/` on for Compute, or whole where it begins with a slash. `None`
/// where the connection was cut.
pub(crate) fn call(google: &Google, method: &str, path: &str, body: &Value) -> Option<Answer> {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    send(google, method, path, &body)
}

/// The same with a body that need not be JSON.
pub(crate) fn send(google: &Google, method: &str, path: &str, body: &str) -> Option<Answer> {
    send_with(google, method, path, "", body)
}

/// The same with more headers, each with its line's end.
pub(crate) fn send_with(
    google: &Google,
    method: &str,
    path: &str,
    headers: &str,
    body: &str,
) -> Option<Answer> {
    let path =
        if path.starts_with('/') { path.to_owned() } else { format!("/compute/v1/projects/acme-ml/{path}") };
    let address = google.endpoint().trim_start_matches("http://").to_owned();
    let mut stream = TcpStream::connect(&address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n{headers}\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split_whitespace().nth(1)?.parse().ok()?;
    let body = if body.is_empty() { Value::Null } else { serde_json::from_str(body).unwrap() };
    Some((status, body))
}

/// A call that must be answered with 200.
pub(crate) fn ok(google: &Google, method: &str, path: &str, body: Value) -> Value {
    let (status, answer) =
        call(google, method, path, &body).unwrap_or_else(|| panic!("{method} {path} was cut"));
    assert_eq!(status, 200, "{method} {path} {body}: {answer}");
    answer
}

pub(crate) fn get(google: &Google, path: &str) -> Value {
    ok(google, "GET", path, Value::Null)
}

/// A change that must be accepted and whose operation must end well; the operation.
pub(crate) fn done(google: &Google, method: &str, path: &str, body: Value) -> Value {
    let operation = end(google, ok(google, method, path, body.clone()));
    assert!(operation["error"].is_null(), "{method} {path} {body}: {operation}");
    operation
}

/// Polls an operation to its end.
pub(crate) fn end(google: &Google, mut operation: Value) -> Value {
    for _ in 0..20 {
        if operation["status"] == "DONE" {
            return operation;
        }
        let link = operation["selfLink"].as_str().unwrap().split_once("googleapis.com").unwrap().1;
        operation = get(google, link);
    }
    panic!("the operation never ends: {operation}");
}

/// A call that must be refused: status, reason and message in one line.
pub(crate) fn refused(google: &Google, method: &str, path: &str, body: Value) -> String {
    let (status, answer) =
        call(google, method, path, &body).unwrap_or_else(|| panic!("{method} {path} was cut"));
    assert_ne!(status, 200, "{method} {path} {body} was accepted: {answer}");
    let error = &answer["error"];
    assert_eq!(error["code"], status, "{answer}");
    let reason =
        error["errors"][0]["reason"].as_str().or_else(|| error["status"].as_str()).unwrap_or_default();
    format!("{status} {reason}: {}", error["message"].as_str().unwrap_or_default())
}

/// A custom mode network.
pub(crate) fn network(google: &Google, name: &str) {
    let body = serde_json::json!({"name": name, "autoCreateSubnetworks": false});
    done(google, "POST", "global/networks", body);
}

/// A subnetwork in us-central1.
pub(crate) fn subnet(google: &Google, network: &str, name: &str, range: &str) {
    let body = serde_json::json!({
        "name": name, "network": format!("projects/acme-ml/global/networks/{network}"), "ipCidrRange": range,
    });
    done(google, "POST", "regions/us-central1/subnetworks", body);
}
