//! Attributes and state of `warren_aws_gateway`.

use sha2::{Digest as _, Sha256};
use tf_provider_rs::schema::{Attribute, Schema};
use tf_provider_rs::{Attr, Diagnostics, Path, Type, Value, model};
use warren_gateways::boot::{self, ReleaseBlock, Run};
use warren_wire::fetch::Source;

use super::api::{self, Found};
use crate::common::{self, Tagged, common};
use crate::parameter;
use crate::session::Aws;
use crate::tags::TagMap;
use warren_managed::{Timeouts, sets};

model! {
    /// The instance of a gateway.
    pub struct Gateway {
        /// Unique per fabric and owner.
        pub name: Attr<String>,
        /// `i-..`.
        pub id: Attr<String>,
        /// `ami-..`.
        pub image_id: Attr<String>,
        /// Such as `c6in.large`.
        pub instance_type: Attr<String>,
        /// A subnet with a route to the internet.
        pub subnet_id: Attr<String>,
        /// Security groups.
        pub security_group_ids: sets::Texts,
        /// Instance profile.
        pub instance_profile_arn: Attr<String>,
        /// Its public address.
        pub allocation_id: Attr<String>,
        /// Its address in the subnet.
        pub private_ip: Attr<String>,
        /// Size of the disk.
        pub disk_gib: Attr<i64>,
        /// KMS key of the disk.
        pub kms_key_id: Attr<String>,
        /// Parameter with the configuration.
        pub config: Attr<String>,
        /// Parameter with the WireGuard key.
        pub wireguard_key: Attr<String>,
        /// Parameter with the TLS key.
        pub tls_key: Attr<String>,
        /// Where the binary comes from.
        pub release: Attr<ReleaseBlock>,
        /// The boot script.
        pub user_data: Attr<String>,
        /// The address of `allocation_id`.
        pub public_ip: Attr<String>,
        /// `eni-..`.
        pub network_interface_id: Attr<String>,
        /// Such as `running`.
        pub state: Attr<String>,
        /// Tags of the configuration.
        pub tags: TagMap,
        /// All tags.
        pub tags_all: TagMap,
        /// Timeouts of operations.
        pub timeouts: Attr<Timeouts>,
    }
}

common!(Gateway, "warren_aws_gateway");

pub(super) fn schema() -> Schema {
    let parameter = |name: &str, what: &str| {
        Attribute::string(name).required().validate(parameter::check_name).describe(&format!(
            "Name of the parameter that contains {what}. Changing this name replaces the gateway; \
             changing the value of the parameter does not."
        ))
    };
    Schema::new(
        "Manages a Warren gateway, an EC2 instance that forwards traffic between the tunnel and a VPC. \
         Its metadata service requires IMDSv2, its disk is encrypted, and its source/destination check \
         is off. Its boot script contains the names of secrets but no secrets, so keys and configuration \
         change without replacing the instance.",
    )
    .attributes(common::head("gateway"))
    .attributes([
        Attribute::string("image_id").required().replaces().describe(
            "ID of a Linux image with systemd, cloud-init and curl, such as Amazon Linux 2023, Debian 12 \
             or Ubuntu 24.04. Changing this replaces the gateway.",
        ),
        Attribute::string("instance_type")
            .default("c6in.large")
            .replaces()
            .describe("Instance type. Changing this replaces the gateway. Defaults to `c6in.large`."),
        Attribute::string("subnet_id").required().replaces().describe(
            "ID of a subnet with a route to an internet gateway. Changing this replaces the gateway.",
        ),
        Attribute::of("security_group_ids", Type::set(Type::String)).required().describe(
            "IDs of the security groups. They must allow inbound UDP port 51820 and TCP port 443 from \
             anywhere, and from the VPC the traffic that it sends to peers. Updated in place.",
        ),
        Attribute::string("instance_profile_arn").required().replaces().describe(
            "ARN of the instance profile, from `warren_aws_gateway_role`. Changing this replaces the \
             gateway.",
        ),
        Attribute::string("allocation_id").optional().describe(
            "Allocation ID of the public IP address, from `warren_aws_elastic_ip`. Updated in place. A \
             gateway that replaces another one takes over its address.",
        ),
        Attribute::string("private_ip").optional().computed().keeps().replaces().describe(
            "Private IP address in the subnet. AWS chooses a free address if not set. Changing this \
             replaces the gateway.",
        ),
        Attribute::number("disk_gib").default(8).replaces().validate(check_size).describe(
            "Size of the encrypted root disk in GiB, 4 to 1024, and at least the size of the image. \
             Changing this replaces the gateway. Defaults to `8`.",
        ),
        Attribute::string("kms_key_id").optional().replaces().describe(
            "ID, ARN or alias of the KMS key that encrypts the disk. Changing this replaces the gateway. \
             Defaults to the default EBS encryption key of the account.",
        ),
        parameter("config", "the configuration, from `warren_aws_gateway_config`"),
        parameter("wireguard_key", "the WireGuard key, from `warren_aws_wireguard_key`"),
        parameter("tls_key", "the TLS key, from `warren_aws_tls_key`"),
        boot::release(),
        Attribute::string("user_data").computed().keeps().describe(
            "Script that the instance runs at every boot. It contains no secrets. A different script, \
             which may come from another version of the provider, replaces the gateway.",
        ),
        Attribute::string("public_ip")
            .computed()
            .keeps()
            .describe("Public IP address of the allocation in `allocation_id`."),
        Attribute::string("network_interface_id")
            .computed()
            .keeps()
            .describe("ID of the network interface, for use as the target of routes to the overlay."),
        Attribute::string("state").computed().keeps().describe(
            "State of the instance. The next apply starts an instance that was stopped, and corrects one \
             in the state `misconfigured`.",
        ),
    ])
    .attributes(common::tail())
}

/// The boot script of a gateway; unknown while a part of it is.
pub(super) fn script(gateway: &Gateway) -> Result<Attr<String>, Diagnostics> {
    let names = [&gateway.config, &gateway.wireguard_key, &gateway.tls_key];
    boot::planned(Run::CloudInit, &gateway.release, names, Source::AwsSsm)
}

/// The value of the tag for a boot script: half of its SHA-256 digest in hexadecimal.
pub(super) fn digest(script: &str) -> String {
    Sha256::digest(script).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// The state of the object that was found, based on `before`.
pub(super) fn state(aws: &Aws, found: Found, before: &Gateway) -> Gateway {
    let mut state = before.clone();
    state.take_tags(aws, &api::without_digest(&found.tags));
    state.image_id = found.image_id.into();
    state.instance_type = found.instance_type.into();
    state.subnet_id = found.subnet_id.into();
    state.security_group_ids = sets::of(found.groups);
    state.instance_profile_arn = found.instance_profile_arn.into();
    state.allocation_id = found.allocation_id.into();
    state.public_ip = found.public_ip.into();
    state.private_ip = found.private_ip.into();
    state.network_interface_id = found.network_interface_id.into();
    if let Some(script) = found.user_data {
        state.user_data = script.into();
    }
    // Appears as drift, so that the next apply corrects it.
    let right = !found.source_dest_check && found.metadata_tokens == "required";
    state.state =
        if right || found.state != "running" { found.state } else { "misconfigured".to_owned() }.into();
    state.id = found.id.into();
    state
}

fn check_size(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let size = match value {
        Value::Number(number) => number.to_i64(),
        _ => None,
    };
    if !size.is_some_and(|size| (4..=1024).contains(&size)) {
        diagnostics.error_at(
            path.clone(),
            "Invalid disk size",
            "The disk size is out of range. Use 4 to 1024 GiB.",
        );
    }
}
