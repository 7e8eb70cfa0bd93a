//! `token`: makes, reads and revokes.

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::json;
use warren_wire::token::{Claims, KeyRing, SigningKey, TokenId, VALIDITY_MAX, Validity};
use warren_wire::{Token, UnixTime};
use zeroize::Zeroizing;

use super::gateway::told;
use super::keys::random;
use super::print;
use crate::cli::TokenCommand;
use crate::enrolment::now;
use crate::gateway::admin::Ask;
use crate::gateway::config;
use crate::problem::{Context as _, Problem, Result};
use crate::secret;

/// Does one of them.
///
/// # Errors
/// What did not work. Neither token nor key is repeated.
pub fn token(command: &TokenCommand) -> Result<()> {
    match command {
        TokenCommand::Create { config: path, group, valid, uses, key_file, out } => {
            let config = config(path)?;
            if !config.groups.contains_key(group) {
                let known: Vec<&str> = config.groups.keys().map(warren_wire::Name::as_str).collect();
                return Err(Problem::new(format!("group {group} is not in {}", path.display()))
                    .hint(format!("it has: {}", known.join(", "))));
            }
            let key = signing_key(key_file.as_deref())?;
            if !config.keys.token_keys.contains(&key.verifying_key()) {
                return Err(Problem::new(format!(
                    "the gateways of {} do not accept this signing key",
                    path.display()
                ))
                .hint(format!("add `{}` to token_keys, at every gateway", key.verifying_key())));
            }
            let from = now();
            let validity = Validity::new(from, from.plus(valid.get()))
                .map_err(|error| Problem::new(format!("--valid {valid}: {error}")))?;
            let mut id = [0; 16];
            id.copy_from_slice(&random()?[..16]);
            let claims = Claims {
                id: TokenId::from_random(id),
                validity,
                fabric: config.fabric,
                group: group.clone(),
                uses: *uses,
                gateways: config.gateways,
            };
            let token = claims.sign(&key).map_err(|error| Problem::new(error.to_string()))?;
            let line = Zeroizing::new(format!("{}\n", token.secret()));
            match out {
                None => print(&line),
                Some(path) => {
                    secret::write_new(path, &line)?;
                    print(&format!("token {} for group {group}, until {}\n", claims.id, validity.expires()))
                }
            }
        }
        TokenCommand::Inspect { file, config: keys, json } => {
            inspect(file.as_deref(), keys.as_deref(), *json)
        }
        TokenCommand::Keygen { out } => {
            let key = SigningKey::from_random(*random()?);
            let line = Zeroizing::new(format!("{}\n", key.to_text().as_str()));
            secret::write_new(out, &line)?;
            print(&format!("{}\n", key.verifying_key()))
        }
        TokenCommand::Revoke { id, peers, ask } => {
            // Its expiry is not known here: it cannot be later than that of one made now.
            let until = now().plus(VALIDITY_MAX);
            told(ask, &Ask::Revoke { token: *id, until, peers: *peers })
        }
    }
}

fn signing_key(file: Option<&Path>) -> Result<SigningKey> {
    let (name, text) = match file {
        Some(path) => (path.display().to_string(), secret::read(path, "signing key")?),
        None => match std::env::var("WARREN_SIGNING_KEY") {
            Ok(text) => ("WARREN_SIGNING_KEY".to_owned(), Zeroizing::new(text)),
            Err(_) => {
                return Err(Problem::new("no signing key").hint(
                    "--key-file FILE, or WARREN_SIGNING_KEY; make one: warren-tunnel token keygen --out FILE",
                ));
            }
        },
    };
    SigningKey::parse(text.trim()).map_err(|error| Problem::new(format!("{name}: {error}")))
}

fn inspect(file: Option<&Path>, keys: Option<&Path>, for_programs: bool) -> Result<()> {
    let token = read(file)?;
    let malformed = |error: warren_wire::TokenError| Problem::new(error.to_string());
    let (claims, verified) = match keys {
        None => (token.peek().map_err(malformed)?, None),
        Some(path) => {
            let config = config(path)?;
            let ring = KeyRing::new(config.keys.token_keys.iter().copied());
            let claims = ring.verify(&token).map_err(malformed)?;
            let now = now();
            (claims.clone(), Some(claims.check(now, &config.fabric).map_err(|error| error.to_string())))
        }
    };
    let key = token.key_id().map_err(malformed)?;
    let verdict = match &verified {
        None => "not verified (--config FILE gives the keys)".to_owned(),
        Some(Ok(())) => "good".to_owned(),
        Some(Err(why)) => format!("the signature is good, but {why}"),
    };
    print(&if for_programs {
        let gateways = claims.gateways.as_slice();
        let value = json!({
            "id": claims.id, "fabric": claims.fabric, "group": claims.group, "uses": claims.uses,
            "not_before": claims.validity.not_before(), "expires": claims.validity.expires(), "key": key,
            "gateways": gateways, "verified": verified.as_ref().map(std::result::Result::is_ok), "verdict": verdict,
        });
        format!("{value:#}\n")
    } else {
        text(&claims, &key.to_string(), &verdict)
    })
}

fn text(claims: &Claims, key: &str, verdict: &str) -> String {
    let mut out = format!("token {}\n", claims.id);
    let uses = claims.uses.map_or("any number of peers".to_owned(), |uses| format!("{uses} peers"));
    let at = |time: UnixTime| time.to_string();
    _ = writeln!(out, "  admits {uses} to group {} of fabric {}", claims.group, claims.fabric);
    _ = writeln!(out, "  from {} until {}", at(claims.validity.not_before()), at(claims.validity.expires()));
    _ = writeln!(out, "  signed with {key}: {verdict}");
    for gateway in claims.gateways.as_slice() {
        _ = writeln!(out, "  gateway {} at {}, key {}", gateway.name, gateway.tls, gateway.key);
    }
    out
}

/// From a file, the environment or standard input.
fn read(file: Option<&Path>) -> Result<Token> {
    let stdin = PathBuf::from("-");
    let text = match (file, std::env::var("WARREN_TOKEN")) {
        (Some(path), _) if path != stdin => secret::read(path, "token")?,
        (None, Ok(text)) => Zeroizing::new(text),
        _ => {
            let mut text = Zeroizing::new(String::new());
            std::io::stdin()
                .take(64 << 10)
                .read_to_string(&mut text)
                .while_doing(|| "standard input".into())?;
            text
        }
    };
    Token::parse(&text).map_err(|error| Problem::new(error.to_string()))
}
