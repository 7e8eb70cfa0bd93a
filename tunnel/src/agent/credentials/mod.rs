//! Credentials of clouds for the programs of a pod, from the gateway.
//!
//! ```text
//! boto3, aws, sync --- token ---> 127.0.0.1:9588 ---> tunnel ---> gateway: whose address, what grants
//! google-auth      -+
//! sync: numbers about its transfer -> the same, for the page for operators
//! ```
//!
//! The address is open to every process of the pod, so each request needs the token of a file that only this user reads. The pod
//! stores no secret of a cloud: answers pass through.

mod files;
mod relay;

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::{Method, Request, header};
use ring::hmac;
use tokio::sync::{Semaphore, oneshot};
use warren_proxy::net::{Gone, Listen as _, Listener, SystemListener};
use warren_wire::enrolment::{ChannelBinding, CredentialService, Purpose};
use warren_wire::gateway::{AWS_PATH, GOOGLE_PATH, TRANSFER_MAX, TRANSFERS_PATH};

use self::files::Files;
pub(super) use self::files::forget;
pub(crate) use self::files::{Programs, TRANSFERS_TOKEN_FILE, TRANSFERS_URL, of_interface};
pub(super) use self::relay::Way;
use super::enrolled::Enrolled;
use super::settings::{Settings, Source};
use crate::runtime::ListenAddress;
use crate::runtime::http1::{self, Answer};
use crate::runtime::log;
use crate::runtime::problem::{Context as _, Problem, Result};
use crate::runtime::random;
use crate::runtime::supervise::Supervisor;

/// The default address. Programs that outlive an agent find the next one there.
const DEFAULT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9588);
/// Connections served at once.
const CONNECTIONS: usize = 64;
/// A whole connection.
const LIFETIME: Duration = Duration::from_secs(60);
/// The largest body of a request.
const BODY_MAX: usize = 16 << 10;

/// The running service; dropping it ends it, and removes its files.
pub(super) struct CredentialServer {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    files: Files,
}

/// What every request needs.
struct Relay {
    enrolled: Arc<Enrolled>,
    way: Way,
    /// A MAC of the token with a random key, for comparisons in constant time.
    key: hmac::Key,
    tag: hmac::Tag,
}

impl CredentialServer {
    /// Serves from now on; `None` if the gateway gives none, or they are off.
    ///
    /// # Errors
    /// A requested address is in use, or the files cannot be written.
    pub(super) fn start(settings: &Settings, way: Way, supervisor: &Supervisor) -> Result<Option<Self>> {
        let Source::Token(enrolled) = &settings.source else { return Ok(None) };
        let Some(service) =
            enrolled.credentials().filter(|_| settings.credentials != Some(ListenAddress::Off))
        else {
            return Ok(None);
        };
        let listener = listen(settings.credentials)?;
        let doing = || "serving credentials".to_owned();
        let at = listener.local_addr().while_doing(doing)?;
        listener.set_nonblocking(true).while_doing(doing)?;
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().while_doing(doing)?;
        let inner = match &way {
            Way::Private(sockets) if settings.services.inside => {
                let loopback = (Ipv4Addr::LOCALHOST, 0).into();
                Some(runtime.block_on(sockets.listen(loopback)).while_doing(doing)?)
            }
            _ => None,
        };
        let inside = inner.as_ref().map(Listener::local_addr).transpose().while_doing(doing)?;
        let token = files::token(&*random()?);
        let key = hmac::Key::new(hmac::HMAC_SHA256, &*random()?);
        let tag = hmac::sign(&key, token.as_bytes());
        let files = Files::write(&settings.folder, &settings.interface, &token, at, inside, &service)?;
        let relay = Arc::new(Relay { enrolled: Arc::clone(enrolled), way, key, tag });
        let (stop, stopped) = oneshot::channel();
        let thread = supervisor
            .thread("credentials", 2 << 20, move || {
                runtime.block_on(async {
                    let outside = async {
                        match tokio::net::TcpListener::from_std(listener) {
                            Ok(listener) => serve(SystemListener::from(listener), Arc::clone(&relay)).await,
                            Err(error) => tracing::error!(%error, "credentials"),
                        }
                    };
                    let inside = async {
                        match inner {
                            Some(listener) => serve(listener, Arc::clone(&relay)).await,
                            None => std::future::pending().await,
                        }
                    };
                    tokio::select! {
                        () = outside => {}
                        () = inside => {}
                        _ = stopped => {}
                    }
                });
            })
            .while_doing(doing)?;
        let clouds = [("aws", service.aws), ("google", service.google)];
        let clouds: Vec<&str> = clouds.into_iter().filter(|(_, has)| *has).map(|(name, _)| name).collect();
        tracing::info!(%at, clouds = clouds.join(","), settings = %files.environment().display(), "serving credentials of the gateway");
        Ok(Some(Self { stop: Some(stop), thread: Some(thread), files }))
    }

    /// What programs need.
    pub(super) fn programs(&self) -> Programs {
        self.files.programs()
    }
}

impl Drop for CredentialServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
    }
}

/// A default address that is in use is no error: another agent of this machine may have it.
fn listen(requested: Option<ListenAddress>) -> Result<TcpListener> {
    let at = match requested {
        Some(ListenAddress::At(at)) => at,
        _ => DEFAULT,
    };
    if !at.ip().is_loopback() {
        return Err(Problem::new(format!("--credentials {at}: not a loopback address")).hint(
            "use an address such as 127.0.0.1:9588: other machines must not get this pod's credentials",
        ));
    }
    match TcpListener::bind(at) {
        Ok(listener) => Ok(listener),
        Err(error) if requested.is_none() => {
            log::warn(&Problem::new(format!(
                "credentials cannot be served on {at}: {error}; using a free port"
            )));
            let free = SocketAddr::new(at.ip(), 0);
            TcpListener::bind(free).while_doing(|| format!("credentials cannot be served on {free}"))
        }
        Err(error) => Err(Problem::new(format!("credentials cannot be served on {at}: {error}"))
            .hint("choose another address with --credentials, or turn them off with --credentials off")),
    }
}

async fn serve<L: Listener>(mut listener: L, relay: Arc<Relay>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) if Gone::is(&error) => return std::future::pending().await,
            Err(error) => {
                tracing::debug!(%error, "cannot accept a request for credentials");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let relay = Arc::clone(&relay);
        tokio::spawn(async move {
            let answer = |request| {
                let relay = Arc::clone(&relay);
                async move { answer(&relay, request).await }
            };
            http1::serve(stream, LIFETIME, answer).await;
            drop(place);
        });
    }
}

async fn answer(relay: &Relay, request: Request<Incoming>) -> Answer {
    let (head, body) = request.into_parts();
    let path = match (&head.method, head.uri.path()) {
        (&Method::GET, AWS_PATH) => AWS_PATH,
        // A token exchange (RFC 8693) by the client of an external account.
        (&Method::POST, GOOGLE_PATH) => GOOGLE_PATH,
        (&Method::POST, TRANSFERS_PATH) => TRANSFERS_PATH,
        _ => return refusal(404, "NotFound", "this agent serves credentials of AWS and Google Cloud only"),
    };
    let most = if path == GOOGLE_PATH { BODY_MAX } else { TRANSFER_MAX };
    let body = Limited::new(body, most).collect().await.map(http_body_util::Collected::to_bytes);
    let Ok(body) = body else { return refusal(400, "BadRequest", "the request is too long") };
    let shown = if path == GOOGLE_PATH {
        field(&body, b"subject_token")
    } else {
        head.headers.get(header::AUTHORIZATION).map(|value| value.as_bytes().to_vec())
    };
    let admitted = shown.is_some_and(|shown| hmac::verify(&relay.key, &shown, relay.tag.as_ref()).is_ok());
    if !admitted {
        return refusal(401, "Unauthorized", "the request lacks the token of this agent's file");
    }
    let service = relay.enrolled.credentials();
    let serves = |of: &CredentialService| match path {
        AWS_PATH => of.aws,
        GOOGLE_PATH => of.google,
        _ => true,
    };
    let Some(service) = service.filter(serves) else {
        return refusal(403, "NoGrant", "the gateway grants this pod's group no objects of this cloud");
    };
    let prove = |challenge: &ChannelBinding| relay.enrolled.prove(Purpose::Credentials, challenge);
    let sent = (path == TRANSFERS_PATH).then_some(body);
    match relay.way.ask(&service.servers, path, sent, &prove).await {
        Ok((status, body)) => http1::json(status, body),
        Err(what) => {
            tracing::warn!("credentials: {what}");
            refusal(503, "GatewayUnreachable", &what)
        }
    }
}

/// A field of a form. The token needs no encoding.
fn field(body: &[u8], name: &[u8]) -> Option<Vec<u8>> {
    body.split(|byte| *byte == b'&').find_map(|pair| {
        let at = pair.iter().position(|byte| *byte == b'=')?;
        (&pair[..at] == name).then(|| pair[at + 1..].to_vec())
    })
}

/// An error, as the container services of AWS write theirs.
fn refusal(status: u16, code: &str, message: &str) -> Answer {
    let body = serde_json::json!({ "code": code, "message": message, "error": code }).to_string();
    http1::json(status, body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_forms_are_found() {
        let form = b"audience=x&subject_token=abc&subject_token_type=jwt";
        assert_eq!(field(form, b"subject_token").as_deref(), Some(&b"abc"[..]));
        assert_eq!(field(form, b"token"), None);
        assert_eq!(field(b"", b"subject_token"), None);
    }

    #[test]
    fn other_machines_are_not_served() {
        let open = listen(Some(ListenAddress::At("0.0.0.0:0".parse().unwrap())));
        insta::assert_snapshot!(open.unwrap_err());
    }
}
