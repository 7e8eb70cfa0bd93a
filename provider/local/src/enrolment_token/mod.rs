//! `ephemeral "warren_enrolment_token"`: a token that lets pods join the tunnel and is never stored.

mod model;
#[cfg(test)]
mod tests;

use std::num::NonZeroU32;
use std::time::SystemTime;

use tf_provider_rs::ephemeral::Opened;
use tf_provider_rs::model::Secret;
use tf_provider_rs::{Context, Diagnostic, Diagnostics, Ephemeral, Path, async_trait};
use warren_wire::gateway::Period;
use warren_wire::token::{
    Claims, Gateway, GatewaySet, SigningKey, TokenId, USES_DEFAULT, VALIDITY_DEFAULT, Validity,
};
use warren_wire::{Pins, UnixTime};
use zeroize::Zeroizing;

use model::EnrolmentToken;

/// Maximum size of a key file in bytes.
const KEY_MAX: u64 = 4096;

/// The ephemeral resource.
pub(crate) struct Tokens;

#[async_trait]
impl Ephemeral for Tokens {
    type Model = EnrolmentToken;

    async fn validate(&self, config: &EnrolmentToken, diagnostics: &mut Diagnostics) {
        let given = [
            (config.signing_key.is_null(), config.signing_key.is_unknown()),
            (config.signing_key_env.is_null(), config.signing_key_env.is_unknown()),
            (config.signing_key_file.is_null(), config.signing_key_file.is_unknown()),
        ];
        let set = given.iter().filter(|(null, _)| !null).count();
        let unknown = given.iter().any(|(_, unknown)| *unknown);
        if set == 0 || (set > 1 && !unknown) {
            diagnostics.error_at(
                Path::of("signing_key"),
                "Exactly one signing key is required",
                "The signing key comes from `signing_key`, `signing_key_env` or `signing_key_file`. Set exactly one \
                 of them.",
            );
        }
    }

    async fn open(&self, _: &Context, config: EnrolmentToken) -> Result<Opened<EnrolmentToken>, Diagnostics> {
        let key = signing_key(&config)?;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let result = sign(config, &key, UnixTime::from_epoch(now), rand::random())?;
        Ok(Opened { result, renew_in: None, private: None })
    }
}

/// Reads the signing key from the configured source. No message contains the key.
fn signing_key(config: &EnrolmentToken) -> Result<SigningKey, Diagnostics> {
    let (text, path) = if let Some(Secret(key)) = config.signing_key.known() {
        (Zeroizing::new(key.clone()), Path::of("signing_key"))
    } else if let Some(name) = config.signing_key_env.known() {
        let path = Path::of("signing_key_env");
        let value = std::env::var(name).map(Zeroizing::new).map_err(|_| {
            let detail = format!(
                "The environment variable {name} is not set or is not valid UTF-8. Set it to a signing key \
                 (`k4.secret.…`)."
            );
            unreadable(detail, &path)
        })?;
        (value, path)
    } else {
        let (file, path) = (config.signing_key_file.value()?, Path::of("signing_key_file"));
        let size = std::fs::metadata(file).map(|found| found.len());
        let text = match size {
            Ok(size) if size > KEY_MAX => Err("the file is too large to be a key".to_owned()),
            Ok(_) => std::fs::read_to_string(file).map(Zeroizing::new).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        let text = text.map_err(|why| {
            unreadable(
                format!(
                    "Cannot read {file}: {why}. Set the path of a file that contains a signing key \
                         (`k4.secret.…`)."
                ),
                &path,
            )
        })?;
        (text, path)
    };
    SigningKey::parse(text.trim())
        .map_err(|error| Diagnostic::error("Invalid signing key", format!("{error}.")).at(path).into())
}

/// Signs the token and adds it to the configuration.
fn sign(
    mut config: EnrolmentToken,
    key: &SigningKey,
    now: UnixTime,
    random: [u8; 16],
) -> Result<EnrolmentToken, Diagnostics> {
    let ttl =
        config.ttl.known().and_then(|ttl| ttl.parse::<Period>().ok()).map_or(VALIDITY_DEFAULT, Period::get);
    let validity = Validity::new(now, now.plus(ttl)).map_err(|error| refused("ttl", &error))?;
    let claims = Claims {
        id: TokenId::from_random(random),
        validity,
        fabric: config.fabric.value()?.parse().map_err(|error| refused("fabric", &error))?,
        group: config.group.value()?.parse().map_err(|error| refused("group", &error))?,
        uses: config.uses.known().copied().and_then(NonZeroU32::new).or(Some(USES_DEFAULT)),
        max_lease: config.max_lease.known().and_then(|max| max.parse::<Period>().ok()).map(Period::get),
        gateways: gateways(&config)?,
    };
    let token = claims.sign(key).map_err(|error| refused("gateways", &error))?;
    config.token = Secret(token.secret().to_owned()).into();
    config.token_id = claims.id.to_string().into();
    config.key_id = key.verifying_key().id().to_string().into();
    config.expires_at = validity.expires().to_string().into();
    Ok(config)
}

fn gateways(config: &EnrolmentToken) -> Result<GatewaySet, Diagnostics> {
    let mut gateways = Vec::new();
    for (index, gateway) in config.gateways.known().into_iter().flatten().enumerate() {
        let at = |attribute: &str| Path::of("gateways").index(index).attribute(attribute);
        let wrong = |attribute: &str, error: &dyn std::fmt::Display| {
            Diagnostics::from(Diagnostic::error("Invalid gateway", format!("{error}.")).at(at(attribute)))
        };
        let mut pins = Vec::new();
        for pin in gateway.pins.known().into_iter().flatten() {
            pins.push(pin.value()?.parse().map_err(|error| wrong("pins", &error))?);
        }
        let udp = gateway.udp.known().map(|udp| udp.parse()).transpose();
        gateways.push(Gateway {
            name: gateway.name.value()?.parse().map_err(|error| wrong("name", &error))?,
            key: gateway.public_key.value()?.parse().map_err(|error| wrong("public_key", &error))?,
            udp: udp.map_err(|error| wrong("udp", &error))?,
            tls: gateway.tls.value()?.parse().map_err(|error| wrong("tls", &error))?,
            pins: Pins::try_from(pins).map_err(|error| wrong("pins", &error))?,
        });
    }
    GatewaySet::try_from(gateways).map_err(|error| refused("gateways", &error))
}

fn unreadable(detail: String, path: &Path) -> Diagnostics {
    Diagnostic::error("Signing key is not available", detail).at(path.clone()).into()
}

fn refused(attribute: &str, error: &dyn std::fmt::Display) -> Diagnostics {
    Diagnostic::error("Token cannot be signed", format!("{error}.")).at(Path::of(attribute)).into()
}
