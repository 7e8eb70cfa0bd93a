//! Attributes of `warren_enrolment_token`.

use std::collections::BTreeSet;

use tf_provider_rs::model::Secret;
use tf_provider_rs::{Attr, Diagnostics, Ephemeral, Object, Path, Value};
use warren_wire::gateway::Period;
use warren_wire::name::Name;

/// Signs a token that pods use to enrol with a gateway and join the tunnel. The token is never stored in a plan or
/// state, and each run signs a new one. Pass it to a write-only attribute, such as `value_wo` of
/// `warren_runpod_secret`, which stores the new token when its version is raised.
#[derive(Clone, Debug, Default, PartialEq, Ephemeral)]
#[ephemeral(name = "warren_enrolment_token")]
pub(crate) struct EnrolmentToken {
    /// Fabric that the token admits peers to. Must match the `fabric` of the gateways.
    #[attr(required, validate = name)]
    pub(crate) fabric: Attr<String>,
    /// Group that peers join. The gateway's configuration defines what the group may reach.
    #[attr(required, validate = name)]
    pub(crate) group: Attr<String>,
    /// Gateways where pods may enrol, 1 to 16.
    #[attr(required)]
    pub(crate) gateways: Attr<Vec<Gateway>>,
    /// Validity period of the token, such as `90s`, `10m`, `24h` or `7d`, at most `400d`. A pod needs a valid token
    /// each time it starts, but its lease outlives the token. Defaults to `1h`.
    #[attr(optional, validate = ttl)]
    pub(crate) ttl: Attr<String>,
    /// Maximum number of peers that may enrol with the token, 1 or more. A host that starts again without its key replaces
    /// its former peer and does not count again. Set it to the number of pods that share the token. Defaults to `1`.
    #[attr(optional, validate = uses)]
    pub(crate) uses: Attr<u32>,
    /// Longest life of a lease, such as `12h` or `7d`, at most `400d`: after it, a pod needs a valid token. Defaults to that
    /// of the gateway, `30d`.
    #[attr(optional, validate = ttl)]
    pub(crate) max_lease: Attr<String>,
    /// Signing key in PASERK format (`k4.secret.…`). Use an ephemeral value, such as one read from a secret store.
    /// Exactly one of `signing_key`, `signing_key_env` and `signing_key_file` is required.
    #[attr(optional, sensitive)]
    pub(crate) signing_key: Attr<Secret>,
    /// Name of the environment variable of the Terraform process that contains the signing key.
    #[attr(optional)]
    pub(crate) signing_key_env: Attr<String>,
    /// Path of a file that contains only the signing key.
    #[attr(optional)]
    pub(crate) signing_key_file: Attr<String>,
    /// The token. Pass it to the agent as `WARREN_TOKEN`.
    #[attr(computed, sensitive)]
    pub(crate) token: Attr<Secret>,
    /// ID of the token, which logs show and revocation uses.
    #[attr(computed)]
    pub(crate) token_id: Attr<String>,
    /// ID of the signing key (`k4.pid.…`).
    #[attr(computed)]
    pub(crate) key_id: Attr<String>,
    /// Expiry of the token in RFC 3339 format, such as `2027-01-31T12:00:00Z`.
    #[attr(computed)]
    pub(crate) expires_at: Attr<String>,
}

/// A gateway.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct Gateway {
    /// Name of the gateway in the fabric.
    #[attr(required, validate = name)]
    pub(crate) name: Attr<String>,
    /// WireGuard public key of the gateway, base64-encoded.
    #[attr(required)]
    pub(crate) public_key: Attr<String>,
    /// UDP endpoint for WireGuard, as `host:port`. Without it, pods connect over TLS only.
    #[attr(optional)]
    pub(crate) udp: Attr<String>,
    /// TLS endpoint as `host:port`, used for enrolment and for the tunnel if UDP is blocked.
    #[attr(required)]
    pub(crate) tls: Attr<String>,
    /// SHA-256 hashes of the public keys that the gateway's certificate may have, base64url without padding; 1 to 4.
    #[attr(required)]
    pub(crate) pins: Attr<BTreeSet<Attr<String>>>,
}

fn name(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    if let Err(error) = value.as_str().unwrap_or_default().parse::<Name>() {
        diagnostics.error_at(path.clone(), "Invalid name", format!("`{path}` is {error}."));
    }
}

fn ttl(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let good = value
        .as_str()
        .and_then(|text| text.parse::<Period>().ok())
        .is_some_and(|ttl| !ttl.get().is_zero() && ttl.get() <= warren_wire::token::VALIDITY_MAX);
    if !good {
        let detail = "A validity period is a number and a unit, at most `400d`. Use a value such as `90s`, `10m`, \
                      `24h` or `7d`.";
        diagnostics.error_at(path.clone(), "Invalid validity period", detail);
    }
}

fn uses(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let number = match value {
        Value::Number(number) => number.to_u64(),
        _ => None,
    };
    if !number.is_some_and(|number| (1..=u64::from(u32::MAX)).contains(&number)) {
        let detail = "The number of uses is a whole number, 1 or more. Set it to the number of pods \
                      that share the token.";
        diagnostics.error_at(path.clone(), "Invalid number of uses", detail);
    }
}
