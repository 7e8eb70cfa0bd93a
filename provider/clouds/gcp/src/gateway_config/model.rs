//! `warren_gcp_gateway_config`: schema and state.

use tf_provider_rs::Resource;
use warren_gateways::config::FileAttributes;
use warren_managed::{HasShared, sets};

use crate::account::Gcp;
use crate::common::{self, GcpObject, Located};
use crate::labels::{GcpLabels, LabelMap, Labelled};
use crate::secret::{Replicas, Store};

/// The configuration file of a gateway, stored in Secret Manager. The gateway fetches it every minute, so groups, policy
/// and token keys change without replacing the gateway. The file contains no secrets, and Terraform reads it to detect
/// changes. The previous version stays readable; older versions are destroyed.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(
    name = "warren_gcp_gateway_config",
    noun = "secret",
    scope = "project",
    id = "`projects/PROJECT/secrets/NAME`, the same as in hashicorp/google",
    store = "secret",
    limit = "64 KiB"
)]
pub(crate) struct GatewayConfig {
    #[attr(flatten)]
    pub(crate) object: GcpObject<GcpLabels>,
    #[attr(flatten)]
    pub(crate) file: FileAttributes,
    #[attr(flatten)]
    pub(crate) replicas: Replicas,
}

impl HasShared for GatewayConfig {
    type Shared = GcpObject<GcpLabels>;

    fn plan_marks(&mut self, gcp: Option<&Gcp>) {
        common::plan(self, gcp);
    }
}

impl Located for GatewayConfig {
    const COLLECTION: &'static str = "secrets";
}

impl Labelled for GatewayConfig {
    fn labels(&self) -> &LabelMap {
        &self.object.mark.labels
    }
}

impl GatewayConfig {
    /// Where and how the secret is stored.
    pub(super) fn store(&self) -> Store {
        Store { locations: sets::known(&self.replicas.replica_locations), kms_key: None }
    }
}
