//! The schema and state of `warren_gcp_gateway`.

use tf_provider_rs::schema::{Attribute, Schema};
use tf_provider_rs::{Attr, Type, model};
use warren_gateways::boot::{self, ReleaseBlock};
use warren_managed::Timeouts;
use warren_managed::sets::Texts;

use crate::account::Gcp;
use crate::common::{self, Located};
use crate::labels::{self, Labels, labelled};
use crate::link;

/// The VM is running.
pub(super) const RUNNING: &str = "RUNNING";
/// The VM is running, but does not forward, or can boot unsigned code.
pub(super) const MISCONFIGURED: &str = "MISCONFIGURED";

model! {
    /// A gateway VM.
    pub struct Gateway {
        /// Unique in the project and zone.
        pub name: Attr<String>,
        /// `projects/P/zones/Z/instances/N`.
        pub id: Attr<String>,
        /// Such as `us-central1-a`.
        pub zone: Attr<String>,
        /// Such as `n2-standard-2`.
        pub machine_type: Attr<String>,
        /// Boot image.
        pub image: Attr<String>,
        /// Its subnetwork.
        pub subnetwork: Attr<String>,
        /// Internal address.
        pub network_ip: Attr<String>,
        /// External address.
        pub nat_ip: Attr<String>,
        /// Email address of its service account.
        pub service_account: Attr<String>,
        /// Network tags.
        pub tags: Texts,
        /// Size of the disk.
        pub disk_gib: Attr<i64>,
        /// Cloud KMS key that encrypts the disk.
        pub kms_key_name: Attr<String>,
        /// ID of the secret with the configuration.
        pub config: Attr<String>,
        /// ID of the secret with the WireGuard key.
        pub wireguard_key: Attr<String>,
        /// ID of the secret with the TLS key.
        pub tls_key: Attr<String>,
        /// Download of the binary.
        pub release: Attr<ReleaseBlock>,
        /// The startup script.
        pub startup_script: Attr<String>,
        /// Status of the VM.
        pub state: Attr<String>,
        /// URL.
        pub self_link: Attr<String>,
        /// The user's labels.
        pub labels: Labels,
        /// All labels.
        pub effective_labels: Labels,
        /// Timeouts of operations.
        pub timeouts: Attr<Timeouts>,
    }
}

labelled!(Gateway, "warren_gcp_gateway");

impl Located for Gateway {
    const COLLECTION: &'static str = "instances";

    fn region(&self) -> Option<&Attr<String>> {
        Some(&self.zone)
    }
}

impl Gateway {
    fn plan_region(&mut self, _gcp: &Gcp) {}
}

pub(super) fn schema() -> Schema {
    let secret = |name: &str, what: &str| {
        Attribute::string(name).required().validate(link::check("secrets")).describe(&format!(
            "ID of the secret with {what}. Changing this replaces the gateway; a new version of the secret does not."
        ))
    };
    Schema::new(
        "A Warren gateway: a VM that forwards traffic between the tunnel and the network. It is a Shielded VM with \
         an encrypted disk and IP forwarding, and it rejects the project's SSH keys. Its startup script contains the \
         IDs of secrets, not the secrets themselves, so keys and configuration change without replacing the gateway.",
    )
    .attributes(common::head("gateway", "projects/PROJECT/zones/ZONE/instances/NAME"))
    .attributes([
        Attribute::string("zone").required().replaces().describe("Zone, such as `us-central1-a`. Changing this \
             replaces the gateway."),
        Attribute::string("machine_type").default("n2-standard-2").replaces().describe(
            "Machine type. Changing this replaces the gateway. Defaults to `n2-standard-2`.",
        ),
        Attribute::string("image").required().replaces().describe(
            "Boot image, or its family, such as `projects/debian-cloud/global/images/family/debian-12`: a signed \
             Linux image with systemd, Google's guest agent and curl. Changing this replaces the gateway; a new \
             image in the family does not.",
        ),
        Attribute::string("subnetwork").required().replaces().validate(link::check("subnetworks")).describe(
            "ID or self link of the subnetwork. Changing this replaces the gateway.",
        ),
        Attribute::string("network_ip").optional().computed().keeps().replaces().describe(
            "Internal IPv4 address in the subnetwork. Defaults to a free address. Changing this replaces the \
             gateway.",
        ),
        Attribute::string("nat_ip").optional().replaces().describe(
            "External IPv4 address, from a `warren_gcp_address`. Defaults to no external address. Changing this \
             replaces the gateway.",
        ),
        Attribute::string("service_account").required().replaces().describe(
            "Email address of the service account, from a `warren_gcp_gateway_service_account`. Changing this \
             replaces the gateway.",
        ),
        Attribute::of("tags", Type::set(Type::String)).optional().describe("Network tags. Updated in place."),
        Attribute::number("disk_gib").default(10).replaces().validate(common::between(10, 1024)).describe(
            "Size of the encrypted disk in GiB, 10 to 1024 and no smaller than the image. Changing this replaces the \
             gateway. Defaults to `10`.",
        ),
        Attribute::string("kms_key_name").optional().replaces().describe(
            "Cloud KMS key that encrypts the disk. Changing this replaces the gateway. Defaults to a key that Google \
             manages.",
        ),
        secret("config", "the configuration, from a `warren_gcp_gateway_config`"),
        secret("wireguard_key", "the WireGuard key, from a `warren_gcp_wireguard_key`"),
        secret("tls_key", "the TLS key, from a `warren_gcp_tls_key`"),
        boot::release(),
        Attribute::string("startup_script").computed().keeps().describe(
            "Startup script that the VM runs at every boot. It contains no secrets. A different script, including \
             one from another provider version, replaces the gateway.",
        ),
        Attribute::string("state").computed().keeps().describe(
            "Status of the VM. If it is stopped or suspended, the next apply starts it. `MISCONFIGURED` means that \
             the VM does not forward or can boot unsigned code; the next apply replaces it.",
        ),
        common::self_link(),
    ])
    .attributes(labels::attributes())
    .attributes(common::tail())
}
