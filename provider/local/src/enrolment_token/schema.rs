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
        /// The routing domain that it admits to.
        pub(crate) fabric: Attr<String>,
        /// The group of peers that it admits to.
        pub(crate) group: Attr<String>,
        /// Where to join.
        pub(crate) gateways: Attr<Vec<Gateway>>,
        /// How long it is valid.
        pub(crate) ttl: Attr<String>,
        /// How many peers may join with it.
        pub(crate) uses: Attr<i64>,
        /// The key that signs, `k4.secret.…`.
        pub(crate) signing_key: Attr<Secret>,
        /// Name of the variable that has the key.
        pub(crate) signing_key_env: Attr<String>,
        /// Path of the file that has the key.
        pub(crate) signing_key_file: Attr<String>,
        /// The token.
        pub(crate) token: Attr<Secret>,
        /// Its name.
        pub(crate) token_id: Attr<String>,
        /// Name of the key.
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
        /// Of its certificate.
        pub(crate) pins: Attr<BTreeSet<Attr<String>>>,
    }
}

pub(super) fn schema() -> Schema {
    Schema::new(
        "A token with which pods join the tunnel at a gateway ([enrolment](../../gateway.md)): signed by this run, and in \
         no plan and no state. Each run makes another; hand it to a write-only attribute, such as `value_wo` of \
         `warren_runpod_secret`, which takes it over when its version is raised.",
    )
    .attributes([
        Attribute::string("fabric").required().validate(name).describe("Routing domain that it admits to."),
        Attribute::string("group").required().validate(name).describe(
            "Group of peers that it admits to: the gateway's file says what that group may reach.",
        ),
        gateways(),
        Attribute::string("ttl").optional().validate(ttl).describe(
            "How long it is valid: `90s`, `10m`, `24h` or `7d`, at most `400d`. A pod needs it whenever it starts. \
             Default: `24h`.",
        ),
        Attribute::number("uses").optional().validate(uses).describe(
            "How many different peers may join with it, from 1 on. A pod makes itself a new key at each start, and counts \
             anew then. Default: any number.",
        ),
        Attribute::string("signing_key").optional().sensitive().describe(
            "Key that signs, as PASERK text (`k4.secret.…`): take it from an ephemeral value, such as one that reads it \
             from a secret store. One of `signing_key`, `signing_key_env` and `signing_key_file`.",
        ),
        Attribute::string("signing_key_env").optional().describe(
            "Name of the environment variable of Terraform's process that has the key.",
        ),
        Attribute::string("signing_key_file").optional().describe("Path of the file that has the key, and nothing else."),
        Attribute::string("token").computed().sensitive().describe("The token, for the agent's `WARREN_TOKEN`."),
        Attribute::string("token_id").computed().describe("Its name in logs, and for revoking it."),
        Attribute::string("key_id").computed().describe("Name of the key that signed it (`k4.pid.…`)."),
        Attribute::string("expires_at").computed().describe("When it ends, such as `2027-01-31T12:00:00Z`."),
    ])
}

fn gateways() -> Attribute {
    Attribute::nested(
        "gateways",
        Nesting::List,
        [
            Attribute::string("name").required().validate(name).describe("Its name in the fabric."),
            Attribute::string("public_key").required().describe("Its WireGuard public key, base64."),
            Attribute::string("udp").optional().describe(
                "`host:port` where it takes WireGuard over UDP. Without it pods come by TLS alone.",
            ),
            Attribute::string("tls").required().describe(
                "`host:port` where it takes TLS: enrolment, and the tunnel where UDP does not pass.",
            ),
            Attribute::of("pins", Type::set(Type::String)).required().describe(
                "SHA-256 of the keys that its certificate may have, base64url without padding; 1 to 4.",
            ),
        ],
    )
    .required()
    .describe("Gateways where pods may join, 1 to 16.")
}

fn name(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    if let Err(error) = value.as_str().unwrap_or_default().parse::<Name>() {
        diagnostics.error_at(path.clone(), "Not a name", format!("`{path}` is {error}."));
    }
}

fn ttl(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let good = value
        .as_str()
        .and_then(|text| text.parse::<Period>().ok())
        .is_some_and(|ttl| !ttl.get().is_zero() && ttl.get() <= warren_wire::token::VALIDITY_MAX);
    if !good {
        let detail = "A token is valid for `90s`, `10m`, `24h` or `7d`: a number and a unit, at most `400d`.";
        diagnostics.error_at(path.clone(), "Not a time of validity", detail);
    }
}

fn uses(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let number = match value {
        Value::Number(number) => number.to_u64(),
        _ => None,
    };
    if !number.is_some_and(|number| (1..=u64::from(u32::MAX)).contains(&number)) {
        let detail = "Uses are a whole number from 1 on; leave it away for any number of peers.";
        diagnostics.error_at(path.clone(), "Not a number of uses", detail);
    }
}
