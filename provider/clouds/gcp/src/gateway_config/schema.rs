//! Attributes and state of `warren_gcp_gateway_config`.

use tf_provider_rs::schema::{Attribute, Schema};
use tf_provider_rs::{Attr, model};
use warren_managed::Timeouts;
use warren_managed::sets::{self, Texts};

use crate::common::{self, unplaced};
use crate::labels::{self, Labels, labelled};
use crate::secret::{self, Secret, Store};

model! {
    /// A gateway's configuration file.
    pub struct GatewayConfig {
        /// The secret's name.
        pub name: Attr<String>,
        /// `projects/P/secrets/N`.
        pub id: Attr<String>,
        /// TOML.
        pub content: Attr<String>,
        /// Locations of the secret.
        pub replica_locations: Texts,
        /// Version of the secret.
        pub version: Attr<i64>,
        /// The user's labels.
        pub labels: Labels,
        /// All labels.
        pub effective_labels: Labels,
        /// Timeouts of operations.
        pub timeouts: Attr<Timeouts>,
    }
}

labelled!(GatewayConfig, "warren_gcp_gateway_config");
unplaced!(GatewayConfig, "secrets");

pub(super) fn schema() -> Schema {
    Schema::new(
        "The configuration file of a gateway, stored in Secret Manager. The gateway fetches it every minute, so \
         groups, policy and token keys change without replacing the gateway. The file contains no secrets, and \
         Terraform reads it to detect changes. The previous version stays readable; older versions are destroyed.",
    )
    .attributes(common::head("secret", "projects/PROJECT/secrets/NAME"))
    .attributes([
        Attribute::string("content").required().validate(warren_gateways::config::check).describe(
            "Content of the file: TOML as described in the [gateway reference](../gateway.md), up to 64 KiB. The plan \
             reports mistakes. Updated in place.",
        ),
        Attribute::number("version").computed().keeps().describe("Version of the secret that holds the file."),
    ])
    .attribute(secret::replica_locations())
    .attributes(labels::attributes())
    .attributes(common::tail())
}

impl GatewayConfig {
    /// Where and how the secret is stored.
    pub(super) fn store(&self) -> Store {
        Store { locations: sets::known(&self.replica_locations), kms_key: None }
    }
}

/// A configuration as Secret Manager stores it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) secret: Secret,
    /// Version and text of the latest version, if it is enabled.
    pub(super) last: Option<(i64, String)>,
}

/// Updates the state `before` with what the API returned.
pub(super) fn state(found: Found, before: &GatewayConfig) -> GatewayConfig {
    let mut state = before.clone();
    let (version, content) = found.last.unzip();
    state.content = content.into();
    state.version = version.into();
    state.replica_locations = sets::found(found.secret.store.locations, &before.replica_locations);
    (state.labels, state.effective_labels) = labels::state(&found.secret.labels, &before.labels);
    state.name = found.secret.name.into();
    state.id = found.secret.id.into();
    state
}
