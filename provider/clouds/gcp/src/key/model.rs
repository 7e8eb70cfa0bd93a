//! `warren_gcp_wireguard_key`, `warren_gcp_signing_key`, `warren_gcp_tls_key`: schema and state.

use tf_provider_rs::{Attr, Diagnostics, Path, Resource};
use warren_gateways::key::{KeyAttributes, Kind, Signing, Tls, Wireguard};
use warren_managed::{HasShared, sets};

use crate::account::Gcp;
use crate::common::{self, GcpObject, Located};
use crate::labels::{GcpLabels, LabelMap, Labelled};
use crate::secret::{Replicas, Store};

/// A key of type `K`.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(
    name = K::TYPE,
    description = description(K::WHAT),
    noun = "secret",
    scope = "project",
    id = "`projects/PROJECT/secrets/NAME`, the same as in hashicorp/google",
    store = "secret"
)]
pub(crate) struct Key<K: Named> {
    #[attr(flatten)]
    pub(crate) object: GcpObject<GcpLabels>,
    #[attr(flatten)]
    pub(crate) key: KeyAttributes<K>,
    #[attr(flatten)]
    pub(crate) replicas: Replicas,
    /// Cloud KMS key that encrypts the secret, in the location `global`, or in the location in `replica_locations`.
    /// Changing this replaces the secret. Defaults to a key that Google manages.
    #[attr(optional, replaces)]
    pub(crate) kms_key_name: Attr<String>,
}

fn description(what: &str) -> String {
    let (first, rest) = what.split_at(1);
    format!(
        "{}{rest}, generated in the provider process. The private key is stored in Secret Manager and nowhere else: not \
         in the plan, the state or logs. Changing `rotation` adds a new version; the previous version stays \
         readable, and older versions are destroyed.",
        first.to_uppercase(),
    )
}

/// A kind of key with a resource type.
pub(crate) trait Named: Kind {
    /// The resource type.
    const TYPE: &'static str;
}

impl Named for Wireguard {
    const TYPE: &'static str = "warren_gcp_wireguard_key";
}

impl Named for Signing {
    const TYPE: &'static str = "warren_gcp_signing_key";
}

impl Named for Tls {
    const TYPE: &'static str = "warren_gcp_tls_key";
}

impl<K: Named> HasShared for Key<K> {
    type Shared = GcpObject<GcpLabels>;

    fn plan_marks(&mut self, gcp: Option<&Gcp>) {
        common::plan(self, gcp);
    }
}

impl<K: Named> Located for Key<K> {
    const COLLECTION: &'static str = "secrets";
}

impl<K: Named> Labelled for Key<K> {
    fn labels(&self) -> &LabelMap {
        &self.object.mark.labels
    }
}

impl<K: Named> Key<K> {
    /// Where and how the secret is stored.
    pub(super) fn store(&self) -> Store {
        let kms_key = self.kms_key_name.known().cloned();
        Store { locations: sets::known(&self.replicas.replica_locations), kms_key }
    }

    pub(super) fn check(&self, diagnostics: &mut Diagnostics) {
        let locations = sets::known(&self.replicas.replica_locations);
        if locations.len() > 1 && self.kms_key_name.is_known() {
            diagnostics.error_at(
                Path::of("kms_key_name"),
                "KMS key with several replica locations",
                format!(
                    "A Cloud KMS key encrypts secrets in its own location only, but `replica_locations` has {} \
                     locations. Use one location, or remove `kms_key_name`.",
                    locations.len()
                ),
            );
        }
    }
}
