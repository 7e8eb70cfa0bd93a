//! An OCI registry as ECR is one: manifests come from the registry itself, and a request for a blob is answered with its location
//! in a bucket of S3 ("Amazon ECR uses Amazon S3 to store your image layers", Amazon ECR User Guide, interface VPC endpoints).

use std::net::SocketAddr;
use std::process::Command;

use anyhow::{Context as _, Result};
use tempfile::TempDir;
use tokio::io::BufReader;
use tokio::net::{TcpListener, TcpStream};
use warren_programs::program;

use super::child::{Server, free};
use super::curl::{curl, curl_data};
use super::image::MANIFEST;
use super::{Image, head, put_object};
use crate::lab::Lab;

/// The bucket of AWS in which ECR stores layers, in us-east-1.
pub const LAYERS: &str = "prod-us-east-1-starport-layer-bucket";

/// What ECR adds to the location of a layer, so that the client needs no credentials of S3.
const PRESIGNED: &str = "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=test%2F20260101%2Fus-east-1%2Fs3%2Faws4_request\
                         &X-Amz-Date=20260101T000000Z&X-Amz-Expires=3600&X-Amz-SignedHeaders=host&X-Amz-Signature=0";

/// A running registry.
#[derive(Debug)]
pub struct Registry {
    server: Server,
    front: SocketAddr,
    _folder: TempDir,
}

impl Registry {
    /// Starts one without images. Its layers are at `https://LAYERS.s3.us-east-1.amazonaws.com/DIGEST`.
    ///
    /// # Errors
    /// The registry cannot be installed or started.
    pub fn start(lab: &Lab) -> Result<Registry> {
        let folder = tempfile::tempdir()?;
        let address = free()?;
        let config = folder.path().join("config.yml");
        let data = folder.path().join("data");
        let text = format!(
            "version: 0.1\nstorage: {{filesystem: {{rootdirectory: {}}}}}\nhttp: {{addr: {address}}}\n",
            data.display()
        );
        std::fs::write(&config, text)?;
        let mut command = Command::new(program("docker-registry")?);
        let server = Server::start(command.arg("serve").arg(config), address, folder.path())?;
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let front = listener.local_addr()?;
        let _inside = lab.runtime().enter();
        let listener = TcpListener::from_std(listener)?;
        lab.runtime().spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // A client that goes away sees for itself that it got no answer.
                tokio::spawn(answered(stream, address));
            }
        });
        Ok(Registry { server, front, _folder: folder })
    }

    /// Where clients find it, for plain HTTP.
    pub fn address(&self) -> SocketAddr {
        self.front
    }

    /// Stores an image under a name and a tag, and its layers in the emulated S3 at `s3`.
    ///
    /// # Errors
    /// The registry or S3 refuses a part.
    pub fn push(&self, name: &str, tag: &str, image: &Image, s3: &str) -> Result<()> {
        let at = format!("http://{}/v2/{name}", self.server.address());
        let binary = ["--request", "PUT", "--header", "content-type: application/octet-stream"];
        for (digest, bytes) in &image.blobs {
            let headers =
                curl(&["--request", "POST", "--dump-header", "-", &format!("{at}/blobs/uploads/")])?;
            let location = headers.lines().find_map(|line| {
                line.to_ascii_lowercase().starts_with("location: ").then(|| line[10..].trim().to_owned())
            });
            let location = location.context("no place for an upload")?;
            curl_data(&[&binary[..], &[&format!("{location}&digest={digest}")]].concat(), bytes)?;
            put_object(s3, LAYERS, digest, bytes)?;
        }
        let kind = format!("content-type: {MANIFEST}");
        let place = format!("{at}/manifests/{tag}");
        curl_data(&["--request", "PUT", "--header", &kind, &place], &image.manifest).map(drop)
    }
}

/// Answers a request for a blob with its location, and relays every other to the registry. One request for each connection.
async fn answered(stream: TcpStream, registry: SocketAddr) -> std::io::Result<()> {
    let mut inner = BufReader::new(stream);
    let Some(head) = head::read(&mut inner).await? else { return Ok(()) };
    let first = head.lines().next().unwrap_or_default();
    if let Some(digest) = blob(first) {
        let reply = format!(
            "HTTP/1.1 307 Temporary Redirect\r\nlocation: https://{LAYERS}.s3.us-east-1.amazonaws.com/{digest}?{PRESIGNED}\r\n\
             content-length: 0\r\nconnection: close\r\n\r\n"
        );
        return head::answer(inner, &reply).await;
    }
    head::pass(inner, &head, registry).await
}

/// The digest in `GET /v2/NAME/blobs/DIGEST HTTP/1.1`.
fn blob(request: &str) -> Option<&str> {
    let path = request.strip_prefix("GET ")?.split(' ').next()?;
    Some(path.rsplit_once("/blobs/")?.1).filter(|digest| digest.starts_with("sha256:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_read_of_a_blob_leads_to_its_bucket() {
        assert_eq!(blob("GET /v2/llm/trainer/blobs/sha256:ab HTTP/1.1"), Some("sha256:ab"));
        for other in [
            "HEAD /v2/a/blobs/sha256:ab HTTP/1.1",
            "GET /v2/a/manifests/sha256:ab HTTP/1.1",
            "GET /v2/ HTTP/1.1",
        ] {
            assert_eq!(blob(other), None);
        }
    }
}
