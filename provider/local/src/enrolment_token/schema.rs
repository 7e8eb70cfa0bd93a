//! Attributes of `warren_enrolment_token`.

use std::collections::BTreeSet;

use tf_provider_rs::model::Secret;
use tf_provider_rs::schema::{Attribute, Nesting, Schema};
use tf_provider_rs::{Attr, Diagnostics, Path, Type, Value, model};
use warren_wire::gateway::Period;
use warren_wire::name::Name;

model! {
    /// A token.
    pub(crate) struct EnrolmentToken {
        /// The fabric that the token admits peers to.
        pub(crate) fabric: Attr<String>,
        /// The group that peers join.
        pub(crate) group: Attr<String>,
        /// Gateways where pods enrol.
        pub(crate) gateways: Attr<Vec<Gateway>>,
        /// The validity period.
        pub(crate) ttl: Attr<String>,
        /// Maximum number of peers that may enrol.
        pub(crate) uses: Attr<i64>,
        /// The signing key, `k4.secret.…`.
        pub(crate) signing_key: Attr<Secret>,
        /// Name of the environment variable that contains the key.
        pub(crate) signing_key_env: Attr<String>,
        /// Path of the file that contains the key.
        pub(crate) signing_key_file: Attr<String>,
        /// The token.
        pub(crate) token: Attr<Secret>,
        /// Its ID.
        pub(crate) token_id: Attr<String>,
        /// ID of the signing key.
        pub(crate) key_id: Attr<String>,
        /// RFC 3339.
        pub(crate) expires_at: Attr<String>,
    }

    /// A gateway.
    pub(crate) struct Gateway {
        /// Its name in the fabric.
        pub(crate) name: Attr<String>,
        /// WireGuard public key.
        pub(crate) public_key: Attr<String>,
        /// `host:port` of WireGuard.
        pub(crate) udp: Attr<String>,
        /// `host:port` of TLS.
        pub(crate) tls: Attr<String>,
        /// Pins of its certificate.
        pub(crate) pins: Attr<BTreeSet<Attr<String>>>,
    }
}

pub(super) fn schema() -> Schema {
    Schema::new(
        "Signs a token that pods use to enrol with a gateway and join the tunnel. The token is never stored in a \
         plan or state, and each run signs a new one. Pass it to a write-only attribute, such as `value_wo` of \
         `warren_runpod_secret`, which stores the new token when its version is raised.",
    )
    .attributes([
        Attribute::string("fabric").required().validate(name).describe("Fabric that the token admits peers to. Must \
                           match the `fabric` of the gateways."),
        Attribute::string("group").required().validate(name).describe(
            "Group that peers join. The gateway's configuration defines what the group may reach.",
        ),
        gateways(),
        Attribute::string("ttl").optional().validate(ttl).describe(
            "Validity period of the token, such as `90s`, `10m`, `24h` or `7d`, at most `400d`. A pod needs a valid \
             token each time it starts. Defaults to `24h`.",
        ),
        Attribute::number("uses").optional().validate(uses).describe(
            "Maximum number of peers that may enrol with the token, 1 or more. A pod that does not persist its state \
             generates a new key at each start, which counts as a new peer. Unlimited by default.",
        ),
        Attribute::string("signing_key").optional().sensitive().describe(
            "Signing key in PASERK format (`k4.secret.…`). Use an ephemeral value, such as one read from a secret \
             store. Exactly one of `signing_key`, `signing_key_env` and `signing_key_file` is required.",
        ),
        Attribute::string("signing_key_env").optional().describe(
            "Name of the environment variable of the Terraform process that contains the signing key.",
        ),
        Attribute::string("signing_key_file").optional().describe("Path of a file that contains only the signing \
                           key."),
        Attribute::string("token").computed().sensitive().describe("The token. Pass it to the agent as \
                           `WARREN_TOKEN`."),
        Attribute::string("token_id").computed().describe("ID of the token, which logs show and revocation uses."),
        Attribute::string("key_id").computed().describe("ID of the signing key (`k4.pid.…`)."),
        Attribute::string("expires_at").computed().describe("Expiry of the token in RFC 3339 format, such as \
                           `2027-01-31T12:00:00Z`."),
    ])
}

fn gateways() -> Attribute {
    Attribute::nested(
        "gateways",
        Nesting::List,
        [
            Attribute::string("name").required().validate(name).describe("Name of the gateway in the fabric."),
            Attribute::string("public_key").required().describe("WireGuard public key of the gateway, \
                               base64-encoded."),
            Attribute::string("udp").optional().describe(
                "UDP endpoint for WireGuard, as `host:port`. Without it, pods connect over TLS only.",
            ),
            Attribute::string("tls").required().describe(
                "TLS endpoint as `host:port`, used for enrolment and for the tunnel if UDP is blocked.",
            ),
            Attribute::of("pins", Type::set(Type::String)).required().describe(
                "SHA-256 hashes of the public keys that the gateway's certificate may have, base64url without \
                 padding; 1 to 4.",
            ),
        ],
    )
    .required()
    .describe("Gateways where pods may enrol, 1 to 16.")
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
        let detail = "The number of uses is a whole number, 1 or more. Remove the attribute to allow any number of \
                      peers.";
        diagnostics.error_at(path.clone(), "Invalid number of uses", detail);
    }
}
