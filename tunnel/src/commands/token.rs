//! `token`: creates, inspects and revokes tokens.

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::json;
use warren_wire::gateway::Period;
use warren_wire::token::{Claims, KeyRing, SigningKey, TokenId, VALIDITY_MAX, Validity};
use warren_wire::{Token, UnixTime};
use zeroize::Zeroizing;

use super::gateway::request;
use super::print;
use crate::cli::TokenCommand;
use crate::enrolment::now;
use crate::gateway::admin::AdminRequest;
use crate::gateway::config;
use crate::runtime::host::{environment, secret};
use crate::runtime::problem::{Context as _, Problem, Result};
use crate::runtime::random;

/// Runs a `token` subcommand.
///
/// # Errors
/// When the subcommand fails. The error contains neither token nor key.
pub fn token(command: &TokenCommand) -> Result<()> {
    match command {
        TokenCommand::Create { config: path, group, valid, uses, max_lease, key_file, out } => {
            let config = config(path)?;
            if !config.groups.contains_key(group) {
                let known: Vec<&str> = config.groups.keys().map(warren_wire::Name::as_str).collect();
                return Err(Problem::new(format!("{}: no group `{group}`", path.display()))
                    .hint(format!("use one of its groups: {}", known.join(", "))));
            }
            let key = signing_key(key_file.as_deref())?;
            if !config.keys.token_keys.contains(&key.verifying_key()) {
                return Err(Problem::new(format!(
                    "{}: token_keys does not contain this signing key",
                    path.display()
                ))
                .hint(format!("add `{}` to token_keys of every gateway", key.verifying_key())));
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
                uses: Some(*uses),
                max_lease: max_lease.map(Period::get),
                gateways: config.gateways,
            };
            let token = claims.sign(&key).map_err(|error| Problem::new(error.to_string()))?;
            let line = Zeroizing::new(format!("{}\n", token.secret()));
            match out {
                None => print(&line),
                Some(path) => {
                    secret::write_new(path, &line)?;
                    print(&format!(
                        "created token {} for group {group}, expires {}\n",
                        claims.id,
                        validity.expires()
                    ))
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
        TokenCommand::Revoke { id, peers, admin } => {
            // The expiry is not known here. It cannot be later than that of a token created now.
            let until = now().plus(VALIDITY_MAX);
            request(admin, &AdminRequest::Revoke { token: *id, until, peers: *peers })
        }
    }
}

fn signing_key(file: Option<&Path>) -> Result<SigningKey> {
    let (name, text) = match file {
        Some(path) => (path.display().to_string(), secret::read(path, "signing key")?),
        None => match std::env::var("WARREN_SIGNING_KEY") {
            Ok(text) => ("WARREN_SIGNING_KEY".to_owned(), Zeroizing::new(text)),
            Err(_) => {
                return Err(Problem::new("no signing key given").hint(
                    "pass --key-file FILE or set WARREN_SIGNING_KEY; `warren-tunnel token keygen --out FILE` creates a key",
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
    let verification = match &verified {
        None => "not verified (pass --config FILE to verify it)".to_owned(),
        Some(Ok(())) => "valid".to_owned(),
        Some(Err(why)) => format!("the signature is valid, but {why}"),
    };
    print(&if for_programs {
        let gateways = claims.gateways.as_slice();
        let value = json!({
            "id": claims.id, "fabric": claims.fabric, "group": claims.group, "uses": claims.uses,
            "max_lease_seconds": claims.max_lease.map(|max| max.as_secs()),
            "not_before": claims.validity.not_before(), "expires": claims.validity.expires(), "key": key,
            "gateways": gateways, "verified": verified.as_ref().map(std::result::Result::is_ok), "verdict": verification,
        });
        format!("{value:#}\n")
    } else {
        text(&claims, &key.to_string(), &verification)
    })
}

fn text(claims: &Claims, key: &str, verification: &str) -> String {
    let mut out = format!("token {}\n", claims.id);
    let uses = claims.uses.map_or("any number of peers".to_owned(), |uses| {
        if uses.get() == 1 { "1 peer".to_owned() } else { format!("{uses} peers") }
    });
    let at = |time: UnixTime| time.to_string();
    _ = writeln!(out, "  admits {uses} to group {} of fabric {}", claims.group, claims.fabric);
    if let Some(max) = claims.max_lease {
        _ = writeln!(out, "  leases end after {} s at the latest", max.as_secs());
    }
    _ = writeln!(
        out,
        "  valid from {} until {}",
        at(claims.validity.not_before()),
        at(claims.validity.expires())
    );
    _ = writeln!(out, "  signed with {key}: {verification}");
    for gateway in claims.gateways.as_slice() {
        _ = writeln!(out, "  gateway {} at {}, public key {}", gateway.name, gateway.tls, gateway.key);
    }
    out
}

/// Reads the token from a file, the environment or standard input.
fn read(file: Option<&Path>) -> Result<Token> {
    let stdin = PathBuf::from("-");
    let text = match (file, environment::get("WARREN_TOKEN")) {
        (Some(path), _) if path != stdin => secret::read(path, "token")?,
        (None, Some(text)) => text,
        _ => {
            let mut text = Zeroizing::new(String::new());
            std::io::stdin()
                .take(64 << 10)
                .read_to_string(&mut text)
                .while_doing(|| "cannot read standard input".into())?;
            text
        }
    };
    Token::parse(&text).map_err(|error| Problem::new(error.to_string()))
}
