//! Raw calls, written by hand: the tests do not trust a client library to show what is on the wire.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use warren_harness::{Emulator, Params};

/// An answer, or `None` where the connection was cut.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
    pub(crate) head: String,
}

impl Answer {
    /// The text of the first element with this name.
    pub(crate) fn text(&self, element: &str) -> &str {
        self.texts(element).first().copied().unwrap_or_default()
    }

    /// The texts of all elements with this name.
    pub(crate) fn texts(&self, element: &str) -> Vec<&str> {
        let open = format!("<{element}>");
        let close = format!("</{element}>");
        self.body.split(&open).skip(1).filter_map(|rest| Some(rest.split_once(&close)?.0)).collect()
    }
}

/// The access key of requests that name none.
pub(crate) const KEY: &str = "AKIAIOSFODNN7EXAMPLE";

/// Sends one HTTP/1.1 request.
pub(crate) fn http(
    aws: &Emulator,
    method: &str,
    path: &str,
    service: &str,
    headers: &str,
    body: &str,
) -> Option<Answer> {
    http_as(KEY, aws, (method, path), service, headers, body)
}

/// Sends one HTTP/1.1 request with an access key, which decides the account.
pub(crate) fn http_as(
    key: &str,
    aws: &Emulator,
    (method, path): (&str, &str),
    service: &str,
    headers: &str,
    body: &str,
) -> Option<Answer> {
    let address = aws.endpoint().trim_start_matches("http://").to_owned();
    let mut stream = TcpStream::connect(&address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: {}\r\n\
         authorization: AWS4-HMAC-SHA256 Credential={key}/20260101/us-east-1/{service}/aws4_request, \
         SignedHeaders=host, Signature=0\r\n{headers}\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split_whitespace().nth(1)?.parse().ok()?;
    Some(Answer { status, body: body.to_owned(), head: head.to_owned() })
}

/// Makes an EC2 call that may be cut.
pub(crate) fn try_ec2(aws: &Emulator, action: &str, params: &[(&str, &str)]) -> Option<Answer> {
    let mut form = Params::from(params);
    form.set("Action", action);
    form.set("Version", "2016-11-15");
    http(aws, "POST", "/", "ec2", "content-type: application/x-www-form-urlencoded\r\n", &form.to_form())
}

/// Makes an EC2 call that must be answered.
pub(crate) fn ec2(aws: &Emulator, action: &str, params: &[(&str, &str)]) -> Answer {
    try_ec2(aws, action, params).unwrap_or_else(|| panic!("{action} was cut"))
}

/// Makes an EC2 call that must succeed.
pub(crate) fn ok(aws: &Emulator, action: &str, params: &[(&str, &str)]) -> Answer {
    let answer = ec2(aws, action, params);
    assert_eq!(answer.status, 200, "{action} {params:?}: {}", answer.body);
    answer
}

/// Makes an EC2 call that must be refused and returns `Code: Message`.
pub(crate) fn refused(aws: &Emulator, action: &str, params: &[(&str, &str)]) -> String {
    let answer = ec2(aws, action, params);
    assert_ne!(answer.status, 200, "{action} {params:?} was accepted: {}", answer.body);
    format!("{}: {}", answer.text("Code"), answer.text("Message"))
}

/// Creates something and returns its id.
pub(crate) fn create(aws: &Emulator, action: &str, element: &str, params: &[(&str, &str)]) -> String {
    let answer = ok(aws, action, params);
    let id = answer.text(element);
    assert!(!id.is_empty(), "{}", answer.body);
    id.to_owned()
}

/// Creates a VPC.
pub(crate) fn vpc(aws: &Emulator, cidr: &str) -> String {
    create(aws, "CreateVpc", "vpcId", &[("CidrBlock", cidr)])
}

/// Creates a subnet.
pub(crate) fn subnet(aws: &Emulator, vpc: &str, cidr: &str) -> String {
    create(aws, "CreateSubnet", "subnetId", &[("VpcId", vpc), ("CidrBlock", cidr)])
}
