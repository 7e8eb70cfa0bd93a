//! The calls after which an emulator gives an answer, one a line.
//!
//! ```text
//! vpc = CreateVpc CidrBlock=10.0.0.0/16 -> vpcId     form parameters (EC2, IAM, STS); `vpc` is then a name
//! DeleteVpc VpcId=$vpc                               the answer to the last line is the one in question
//! ecr: DescribeRepositories {"repositoryNames": []}  JSON services
//! POST /2013-04-01/hostedzone <xml/>                 APIs with paths
//! ```

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::answer::Service;

/// Values of earlier answers by name.
pub type Names = BTreeMap<String, String>;

/// One call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The name that a value of its answer gets, and the element or member with the value.
    pub keeps: Option<(String, String)>,
    /// The API, where it is not that of the answer.
    pub service: Option<String>,
    /// The action, or the method.
    pub action: String,
    /// What follows it.
    pub rest: String,
}

impl Step {
    /// Reads a line, with the names in it replaced.
    ///
    /// # Errors
    /// A name is not known.
    pub fn parse(line: &str, names: &Names) -> Result<Self> {
        let (line, element) = match line.rsplit_once(" -> ") {
            Some((line, element)) => (line, Some(element.trim().to_owned())),
            None => (line, None),
        };
        let (name, line) = match line.split_once(" = ") {
            Some((name, line)) if !name.contains(' ') => (Some(name.to_owned()), line),
            _ => (None, line),
        };
        let (service, line) = match line.split_once(": ") {
            Some((service, line)) if service.chars().all(|letter| letter.is_ascii_alphanumeric()) => {
                (Some(service.to_owned()), line)
            }
            _ => (None, line),
        };
        let mut text = line.trim().to_owned();
        for (name, value) in names.iter().rev() {
            text = text.replace(&format!("${name}"), value);
        }
        anyhow::ensure!(!text.contains('$'), "a name in `{text}` is not known");
        let (action, rest) = text.split_once(' ').unwrap_or((&text, ""));
        Ok(Self {
            keeps: name.zip(element),
            service,
            action: action.to_owned(),
            rest: rest.trim().to_owned(),
        })
    }

    /// The request: method, path, headers (each with its line's end) and body.
    pub fn request(&self, service: Service) -> (String, String, String, String) {
        let scope = self.service.clone().unwrap_or_else(|| scope(service).to_owned());
        let signed = format!(
            "authorization: AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20260101/us-east-1/{scope}/aws4_request, \
             SignedHeaders=host, Signature=0\r\n"
        );
        let json = "content-type: application/json\r\n".to_owned();
        let with_path = |headers: String| {
            let (path, body) = self.rest.split_once(' ').unwrap_or((&self.rest, ""));
            (self.action.clone(), path.to_owned(), headers, body.to_owned())
        };
        match scope.as_str() {
            "google" => with_path(json),
            "runpod" => with_path(format!("{json}authorization: Bearer rpa_DOUBLE\r\n")),
            "route53" => with_path(signed),
            "ec2" | "iam" | "sts" | "autoscaling" => {
                let version = match scope.as_str() {
                    "ec2" => "2016-11-15",
                    "iam" => "2010-05-08",
                    "autoscaling" => "2011-01-01",
                    _ => "2011-06-15",
                };
                let mut form = format!("Action={}&Version={version}", self.action);
                for pair in self.rest.split_whitespace() {
                    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                    form += &format!("&{name}={}", escaped(value));
                }
                let headers = format!("{signed}content-type: application/x-www-form-urlencoded\r\n");
                ("POST".to_owned(), "/".to_owned(), headers, form)
            }
            _ => {
                let prefix = match scope.as_str() {
                    "ecr" => "AmazonEC2ContainerRegistry_V20150921",
                    "ssm" => "AmazonSSM",
                    _ => "Route53Resolver",
                };
                let target = format!("x-amz-target: {prefix}.{}\r\n", self.action);
                let headers = format!("{signed}{target}content-type: application/x-amz-json-1.1\r\n");
                let body = if self.rest.is_empty() { "{}" } else { &self.rest };
                ("POST".to_owned(), "/".to_owned(), headers, body.to_owned())
            }
        }
    }
}

/// The name of the API in a credential scope.
fn scope(service: Service) -> &'static str {
    match service {
        Service::Ec2 => "ec2",
        Service::Iam => "iam",
        Service::Sts => "sts",
        Service::AutoScaling => "autoscaling",
        Service::Ecr => "ecr",
        Service::Ssm => "ssm",
        Service::Route53 => "route53",
        Service::Resolver => "route53resolver",
        Service::RunPod => "runpod",
        _ => "google",
    }
}

fn escaped(value: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    value
        .bytes()
        .map(|byte| if plain(byte) { (byte as char).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// Sends one request to `http://host:port`; status and body of the answer.
///
/// # Errors
/// There is no answer.
pub fn send(
    url: &str,
    (method, path, headers, body): &(String, String, String, String),
) -> Result<(u16, String)> {
    let address = url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
    );
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").context("no answer")?;
    let status = head.split_whitespace().nth(1).context("no status")?.parse()?;
    Ok((status, body.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::{Names, Step};
    use crate::Service;

    #[test]
    fn lines_are_requests() {
        let names = Names::from([("vpc".to_owned(), "vpc-1".to_owned())]);
        let step = Step::parse("x = CreateSubnet VpcId=$vpc CidrBlock=10.0.0.0/24 -> subnetId", &names);
        let step = step.map_err(|error| error.to_string()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(step.keeps, Some(("x".to_owned(), "subnetId".to_owned())));
        let (_, _, _, body) = step.request(Service::Ec2);
        assert_eq!(body, "Action=CreateSubnet&Version=2016-11-15&VpcId=vpc-1&CidrBlock=10.0.0.0%2F24");
        assert!(Step::parse("DeleteVpc VpcId=$other", &names).is_err());
    }
}
