//! The schema and state of `warren_gcp_gateway`.

use std::net::Ipv4Addr;

use tf_provider_rs::validators::between;
use tf_provider_rs::{Attr, Resource};
use warren_gateways::boot::ReleaseBlock;
use warren_managed::HasShared;
use warren_managed::sets::Texts;

use crate::account::Gcp;
use crate::common::{self, GcpObject, Located};
use crate::labels::{GcpLabels, LabelMap, Labelled};
use crate::link::{SecretRef, SubnetworkRef};

/// The VM is running.
pub(super) const RUNNING: &str = "RUNNING";
/// The VM is running, but does not forward, or can boot unsigned code.
pub(super) const MISCONFIGURED: &str = "MISCONFIGURED";

/// Manages a Warren gateway: a VM that forwards traffic between the tunnel and the network. It is a Shielded VM with an
/// encrypted disk and IP forwarding, and it rejects the project's SSH keys. Its startup script contains the IDs of
/// secrets, not the secrets themselves, so keys and configuration change without replacing the gateway.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(
    name = "warren_gcp_gateway",
    noun = "gateway",
    scope = "project and zone",
    id = "`projects/PROJECT/zones/ZONE/instances/NAME`, the same as in hashicorp/google"
)]
pub(crate) struct Gateway {
    #[attr(flatten)]
    pub(crate) object: GcpObject<GcpLabels>,
    /// Zone, such as `us-central1-a`. Changing this replaces the gateway.
    #[attr(required, replaces)]
    pub(crate) zone: Attr<String>,
    /// Machine type. Changing this replaces the gateway. Defaults to `n2-standard-2`.
    #[attr(default = "n2-standard-2", replaces)]
    pub(crate) machine_type: Attr<String>,
    /// Boot image, or its family, such as `projects/debian-cloud/global/images/family/debian-12`: a signed Linux image
    /// with systemd, Google's guest agent and curl. Changing this replaces the gateway; a new image in the family does
    /// not.
    #[attr(required, replaces)]
    pub(crate) image: Attr<String>,
    /// ID or self link of the subnetwork. Changing this replaces the gateway.
    #[attr(required, replaces)]
    pub(crate) subnetwork: Attr<SubnetworkRef>,
    /// Internal IPv4 address in the subnetwork. Defaults to a free address. Changing this replaces the gateway.
    #[attr(optional, computed, keeps, replaces)]
    pub(crate) network_ip: Attr<Ipv4Addr>,
    /// External IPv4 address, from a `warren_gcp_address`. Defaults to no external address. Changing this replaces the
    /// gateway.
    #[attr(optional, replaces)]
    pub(crate) nat_ip: Attr<Ipv4Addr>,
    /// Email address of the service account, from a `warren_gcp_gateway_service_account`. Changing this replaces the
    /// gateway.
    #[attr(required, replaces)]
    pub(crate) service_account: Attr<String>,
    /// Network tags. Updated in place.
    #[attr(optional)]
    pub(crate) tags: Texts,
    /// Size of the encrypted disk in GiB, 10 to 1024 and no smaller than the image. Changing this replaces the gateway.
    /// Defaults to `10`.
    #[attr(default = 10, replaces, validate = between(10, 1024))]
    pub(crate) disk_gib: Attr<i64>,
    /// Cloud KMS key that encrypts the disk. Changing this replaces the gateway. Defaults to a key that Google manages.
    #[attr(optional, replaces)]
    pub(crate) kms_key_name: Attr<String>,
    /// ID of the secret with the configuration, from a `warren_gcp_gateway_config`. Changing this replaces the gateway;
    /// a new version of the secret does not.
    #[attr(required)]
    pub(crate) config: Attr<SecretRef>,
    /// ID of the secret with the WireGuard key, from a `warren_gcp_wireguard_key`. Changing this replaces the gateway; a
    /// new version of the secret does not.
    #[attr(required)]
    pub(crate) wireguard_key: Attr<SecretRef>,
    /// ID of the secret with the TLS key, from a `warren_gcp_tls_key`. Changing this replaces the gateway; a new version
    /// of the secret does not.
    #[attr(required)]
    pub(crate) tls_key: Attr<SecretRef>,
    /// Download location of the `warren-tunnel` binary. If not set, the image must contain the binary in
    /// `/usr/local/bin`. Changing this replaces the gateway.
    #[attr(optional)]
    pub(crate) release: Attr<ReleaseBlock>,
    /// Whether Compute Engine copies the serial console, to which the gateway then also writes its logs, to Cloud Logging.
    /// The service account needs no permission for this. Changing this replaces the gateway. Defaults to `false`.
    #[attr(default = false, replaces)]
    pub(crate) cloud_logging: Attr<bool>,
    /// Startup script that the VM runs at every boot. It contains no secrets. A different script, including one from
    /// another provider version, replaces the gateway.
    #[attr(computed, keeps)]
    pub(crate) startup_script: Attr<String>,
    /// Status of the VM. If it is stopped or suspended, the next apply starts it. `MISCONFIGURED` means that the VM does
    /// not forward or can boot unsigned code; the next apply replaces it.
    #[attr(computed, keeps)]
    pub(crate) state: Attr<String>,
    /// Self link: URL of the object in the Google Cloud API.
    #[attr(computed, keeps)]
    pub(crate) self_link: Attr<String>,
}

impl HasShared for Gateway {
    type Shared = GcpObject<GcpLabels>;

    fn plan_marks(&mut self, gcp: Option<&Gcp>) {
        common::plan(self, gcp);
    }
}

impl Located for Gateway {
    const COLLECTION: &'static str = "instances";

    fn region(&self) -> Option<&Attr<String>> {
        Some(&self.zone)
    }
}

impl Labelled for Gateway {
    fn labels(&self) -> &LabelMap {
        &self.object.mark.labels
    }
}
