//! `warren_gcp_gateway_group`: schema and state.

use std::net::Ipv4Addr;

use tf_provider_rs::validators::between;
use tf_provider_rs::{Attr, Diagnostics, Path, Resource};
use warren_gateways::boot::ReleaseBlock;
use warren_managed::HasShared;
use warren_managed::sets::Texts;

use crate::account::Gcp;
use crate::common::{self, GcpObject, Located};
use crate::labels::{GcpLabels, LabelMap, Labelled};
use crate::link::{AddressRef, SecretRef, SubnetworkRef};

/// Every part exists, and the group manages one VM with its disk and addresses.
pub(super) const RUNNING: &str = "RUNNING";
/// A part is missing or differs.
pub(super) const INCOMPLETE: &str = "INCOMPLETE";

/// Longest name: those of templates have a suffix.
const LONGEST: usize = 50;

/// Manages a Warren gateway that Google Cloud recreates if its VM fails or is deleted. It consists of a managed instance
/// group of one VM in one zone, its instance template, an internal address, and a disk with the leases. The disk and the
/// addresses outlive the VM, so the next VM has the same addresses, keys, and leases. The VM has the settings of a
/// `warren_gcp_gateway`: a Shielded VM with encrypted disks and IP forwarding, which rejects the project's SSH keys.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(
    name = "warren_gcp_gateway_group",
    noun = "gateway group",
    scope = "project and zone",
    id = "`projects/PROJECT/zones/ZONE/instanceGroupManagers/NAME`, the same as that of its instance group manager in hashicorp/google"
)]
pub(crate) struct GatewayGroup {
    #[attr(flatten)]
    pub(crate) object: GcpObject<GcpLabels>,
    /// Zone, such as `us-central1-a`. Changing this replaces the gateway group.
    #[attr(required, replaces)]
    pub(crate) zone: Attr<String>,
    /// Machine type. Changing this recreates the VM. Changing to a series whose disks are of another type, such as from
    /// `n2` to `c4`, replaces the gateway group. Defaults to `n2-standard-2`.
    #[attr(default = "n2-standard-2")]
    pub(crate) machine_type: Attr<String>,
    /// Boot image, or its family, such as `projects/debian-cloud/global/images/family/debian-12`: a signed Linux image
    /// with systemd, Google's guest agent and curl. Changing this recreates the VM. A recreated VM boots the newest image
    /// of the family.
    #[attr(required)]
    pub(crate) image: Attr<String>,
    /// ID or self link of the subnetwork. Changing this replaces the gateway group.
    #[attr(required, replaces)]
    pub(crate) subnetwork: Attr<SubnetworkRef>,
    /// Internal IPv4 address in the subnetwork, which is reserved for the VM, for use as the next hop of routes to the
    /// overlay. Defaults to a free address. Changing this replaces the gateway group.
    #[attr(optional, computed, keeps, replaces)]
    pub(crate) network_ip: Attr<Ipv4Addr>,
    /// ID or self link of the external address, from a `warren_gcp_address` in the region of the zone. Changing this
    /// replaces the gateway group.
    #[attr(required, replaces)]
    pub(crate) address: Attr<AddressRef>,
    /// External IPv4 address: that of `address`.
    #[attr(computed, keeps)]
    pub(crate) nat_ip: Attr<Ipv4Addr>,
    /// Email address of the service account, from a `warren_gcp_gateway_service_account`. Changing this recreates the VM.
    #[attr(required)]
    pub(crate) service_account: Attr<String>,
    /// Network tags. Updated in place.
    #[attr(optional)]
    pub(crate) tags: Texts,
    /// Size of the encrypted boot disk in GiB, 10 to 1024 and no smaller than the image. Changing this recreates the VM.
    /// Defaults to `10`.
    #[attr(default = 10, validate = between(10, 1024))]
    pub(crate) disk_gib: Attr<i64>,
    /// Cloud KMS key that encrypts the disks. Changing this replaces the gateway group. Defaults to a key that Google
    /// manages.
    #[attr(optional, replaces)]
    pub(crate) kms_key_name: Attr<String>,
    /// ID of the secret with the configuration, from a `warren_gcp_gateway_config`. Its embedded store must be in
    /// `/var/lib/warren`. Changing this recreates the VM; a new version of the secret does not.
    #[attr(required)]
    pub(crate) config: Attr<SecretRef>,
    /// ID of the secret with the WireGuard key, from a `warren_gcp_wireguard_key`. Changing this recreates the VM; a new
    /// version of the secret does not.
    #[attr(required)]
    pub(crate) wireguard_key: Attr<SecretRef>,
    /// ID of the secret with the TLS key, from a `warren_gcp_tls_key`. Changing this recreates the VM; a new version of
    /// the secret does not.
    #[attr(required)]
    pub(crate) tls_key: Attr<SecretRef>,
    /// Download location of the `warren-tunnel` binary. If not set, the image must contain the binary in
    /// `/usr/local/bin`. Changing this recreates the VM.
    #[attr(optional)]
    pub(crate) release: Attr<ReleaseBlock>,
    /// Whether Compute Engine copies the serial console, to which the gateway then also writes its logs, to Cloud Logging.
    /// The service account needs no permission for this. Changing this recreates the VM. Defaults to `false`.
    #[attr(default = false)]
    pub(crate) cloud_logging: Attr<bool>,
    /// Startup script that the VM runs at every boot. It contains no secrets. A different script, including one from
    /// another provider version, recreates the VM.
    #[attr(computed, keeps)]
    pub(crate) startup_script: Attr<String>,
    /// State: `RUNNING`, or `INCOMPLETE` if a part is missing or differs, which the next apply corrects.
    #[attr(computed, keeps)]
    pub(crate) state: Attr<String>,
    /// Self link of the managed instance group: URL of the object in the Google Cloud API.
    #[attr(computed, keeps)]
    pub(crate) self_link: Attr<String>,
}

impl HasShared for GatewayGroup {
    type Shared = GcpObject<GcpLabels>;

    fn plan_marks(&mut self, gcp: Option<&Gcp>) {
        common::plan(self, gcp);
    }
}

impl Located for GatewayGroup {
    const COLLECTION: &'static str = "instanceGroupManagers";

    fn region(&self) -> Option<&Attr<String>> {
        Some(&self.zone)
    }
}

impl Labelled for GatewayGroup {
    fn labels(&self) -> &LabelMap {
        &self.object.mark.labels
    }
}

impl GatewayGroup {
    /// Checks that the names of all parts can be formed.
    pub(super) fn check_name(&self, diagnostics: &mut Diagnostics) {
        let Some(name) = self.object.name.known() else { return };
        if name.len() > LONGEST {
            diagnostics.error_at(
                Path::of("name"),
                "Name too long",
                format!(
                    "{name:?} has {} characters. The names of the parts of a gateway group have a suffix, so use at most \
                     {LONGEST} characters.",
                    name.len()
                ),
            );
        }
    }
}
