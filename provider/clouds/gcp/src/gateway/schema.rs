//! Attributes and state of `warren_gcp_gateway`.

use tf_provider_rs::schema::{Attribute, Schema};
use tf_provider_rs::{Attr, Diagnostics, Type, model};
use warren_gateways::boot::{self, ReleaseBlock, Run};
use warren_managed::Timeouts;
use warren_managed::sets::{self, Texts};
use warren_wire::fetch::Source;

use super::api::Found;
use crate::common::{self, Located};
use crate::labels::{self, Labels, labelled};
use crate::link;
use crate::session::Gcp;

/// It works.
pub(super) const RUNNING: &str = "RUNNING";
/// It runs, but does not forward, or boots what is not signed.
pub(super) const MISCONFIGURED: &str = "MISCONFIGURED";

model! {
    /// An instance that is a gateway.
    pub struct Gateway {
        /// Unique in the project and zone.
        pub name: Attr<String>,
        /// `projects/P/zones/Z/instances/N`.
        pub id: Attr<String>,
        /// Such as `us-central1-a`.
        pub zone: Attr<String>,
        /// Such as `n2-standard-2`.
        pub machine_type: Attr<String>,
        /// What it boots.
        pub image: Attr<String>,
        /// Where it is.
        pub subnetwork: Attr<String>,
        /// Address in the subnetwork.
        pub network_ip: Attr<String>,
        /// The public address.
        pub nat_ip: Attr<String>,
        /// Address of the account that it has.
        pub service_account: Attr<String>,
        /// Network tags.
        pub tags: Texts,
        /// Size of the disk.
        pub disk_gib: Attr<i64>,
        /// What encrypts the disk.
        pub kms_key_name: Attr<String>,
        /// Id of the secret with the configuration.
        pub config: Attr<String>,
        /// Id of the secret with the WireGuard key.
        pub wireguard_key: Attr<String>,
        /// Id of the secret with the TLS key.
        pub tls_key: Attr<String>,
        /// Where the binary comes from.
        pub release: Attr<ReleaseBlock>,
        /// The boot script.
        pub startup_script: Attr<String>,
        /// The instance's status.
        pub state: Attr<String>,
        /// URL.
        pub self_link: Attr<String>,
        /// The user's labels.
        pub labels: Labels,
        /// All labels.
        pub effective_labels: Labels,
        /// How long operations may take.
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
            "Id of the secret with {what}. A change replaces the gateway, a new version does not."
        ))
    };
    Schema::new(
        "A Warren gateway: an instance that forwards between the tunnel and the network. It is a shielded VM with an \
         encrypted disk, takes no SSH keys of the project, and may use IP addresses that are not its own. Its startup \
         script holds names of secrets, no secret; keys and configuration change without replacing it.",
    )
    .attributes(common::head("gateway", "projects/P/zones/Z/instances/N"))
    .attributes([
        Attribute::string("zone").required().replaces().describe("Zone, such as `us-central1-a`. A change replaces the gateway."),
        Attribute::string("machine_type").default("n2-standard-2").replaces().describe(
            "Type of the machine. A change replaces the gateway. Default: `n2-standard-2`.",
        ),
        Attribute::string("image").required().replaces().describe(
            "A signed Linux image with systemd, Google's guest agent and curl, or its family, such as \
             `projects/debian-cloud/global/images/family/debian-12`. A change replaces the gateway; a new image of the \
             family does not.",
        ),
        Attribute::string("subnetwork").required().replaces().validate(link::check("subnetworks")).describe(
            "Id or self link of the subnetwork. A change replaces the gateway.",
        ),
        Attribute::string("network_ip").optional().computed().keeps().replaces().describe(
            "Address in the subnetwork; one that is free if not given. A change replaces the gateway.",
        ),
        Attribute::string("nat_ip").optional().replaces().describe(
            "The public address, of `warren_gcp_address`. A change replaces the gateway.",
        ),
        Attribute::string("service_account").required().replaces().describe(
            "Address of the service account, of `warren_gcp_gateway_service_account`. A change replaces the gateway.",
        ),
        Attribute::of("tags", Type::set(Type::String)).optional().describe("Network tags. Changes in place."),
        Attribute::number("disk_gib").default(10).replaces().validate(common::between(10, 1024)).describe(
            "Size of the encrypted disk in GiB, 10 to 1024 and not below the image's. A change replaces the gateway. Default: 10.",
        ),
        Attribute::string("kms_key_name").optional().replaces().describe(
            "Key of Cloud KMS that encrypts the disk. A change replaces the gateway. Default: a key of Google's.",
        ),
        secret("config", "the configuration, of `warren_gcp_gateway_config`"),
        secret("wireguard_key", "the WireGuard key, of `warren_gcp_wireguard_key`"),
        secret("tls_key", "the TLS key, of `warren_gcp_tls_key`"),
        boot::release(),
        Attribute::string("startup_script").computed().keeps().describe(
            "The script that the instance runs at every boot, without secrets. Another one, also of another version of \
             the provider, replaces the gateway.",
        ),
        Attribute::string("state").computed().keeps().describe(
            "Status of the instance: one that was stopped is started by the next apply; `MISCONFIGURED`, where it does \
             not forward or boots unsigned code, is replaced.",
        ),
        common::self_link(),
    ])
    .attributes(labels::attributes())
    .attributes(common::tail())
}

/// The boot script of a gateway; unknown while a part of it is.
pub(super) fn script(gateway: &Gateway) -> Result<Attr<String>, Diagnostics> {
    let names = [&gateway.config, &gateway.wireguard_key, &gateway.tls_key];
    boot::planned(Run::GuestAgent, &gateway.release, names, |id| Source::GcpSecret(link::id(&id)))
}

/// The state that what was found makes of `before`.
pub(super) fn state(found: Found, before: &Gateway) -> Gateway {
    let mut state = before.clone();
    state.zone = found.zone.into();
    state.machine_type = found.machine_type.into();
    state.image = found.image.into();
    state.subnetwork = link::kept(&before.subnetwork, &found.subnetwork);
    state.network_ip = found.network_ip.into();
    state.nat_ip = found.nat_ip.into();
    state.service_account = found.service_account.into();
    state.tags = sets::found(found.tags, &before.tags);
    state.disk_gib = found.disk_gib.into();
    // Google adds the version of the key that it took.
    let key = found.kms_key.as_deref().and_then(|key| key.split("/cryptoKeyVersions/").next());
    state.kms_key_name = key.map(str::to_owned).into();
    state.startup_script = found.script.into();
    state.state =
        if found.right || found.status != RUNNING { found.status } else { MISCONFIGURED.to_owned() }.into();
    (state.labels, state.effective_labels) = labels::state(&found.labels, &before.labels);
    state.self_link = found.self_link.into();
    state.name = found.name.into();
    state.id = found.id.into();
    state
}
