//! Servers of this process that answer as the clouds' services do.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use super::Environment;

/// A request: `METHOD /path`, headers in lower case, body.
pub(in crate::commands) struct Asked {
    pub(in crate::commands) line: String,
    headers: Vec<(String, String)>,
    pub(in crate::commands) body: String,
}

impl Asked {
    fn read(stream: &TcpStream) -> Option<Asked> {
        let mut lines = BufReader::new(stream);
        let mut line = String::new();
        lines.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let line = line.rsplit_once(' ')?.0.to_owned();
        let mut headers = Vec::new();
        loop {
            let mut header = String::new();
            lines.read_line(&mut header).ok()?;
            let Some((name, value)) = header.trim().split_once(": ") else { break };
            headers.push((name.to_lowercase(), value.to_owned()));
        }
        let mut asked = Asked { line, headers, body: String::new() };
        let length = asked.header("content-length").parse().unwrap_or(0);
        let mut body = vec![0; length];
        lines.read_exact(&mut body).ok()?;
        asked.body = String::from_utf8(body).ok()?;
        Some(asked)
    }

    pub(in crate::commands) fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }
}

/// Serves on loopback until the test ends; gives its address.
pub(in crate::commands) fn serve(mut answer: impl FnMut(&Asked) -> (u16, String) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let Some(asked) = Asked::read(&stream) else { continue };
            let (status, body) = answer(&asked);
            let head =
                format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            // A client that went away is the test's business.
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
        }
    });
    address
}

/// An instance in `eu-west-1`, whose metadata service requires a token.
pub(in crate::commands) fn instance(id: &str) -> Environment {
    let id = id.to_owned();
    let metadata = serve(move |asked| match asked.line.as_str() {
        "PUT /latest/api/token" => (200, "metadata-token".to_owned()),
        _ if asked.header("x-aws-ec2-metadata-token") != "metadata-token" => (401, String::new()),
        "GET /latest/meta-data/instance-id" => (200, id.clone()),
        "GET /latest/meta-data/placement/region" => (200, "eu-west-1".to_owned()),
        "GET /latest/meta-data/iam/security-credentials/" => (200, "gw-a\n".to_owned()),
        "GET /latest/meta-data/iam/security-credentials/gw-a" => {
            (200, r#"{"AccessKeyId":"ASIAEXAMPLE","SecretAccessKey":"secret","Token":"session"}"#.to_owned())
        }
        _ => (404, String::new()),
    });
    Environment { aws_metadata: Some(format!("http://{metadata}")), ..Environment::default() }
}
