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
    /// A gateway's instance.
    pub struct Gateway {
        /// Unique per fabric and owner.
        pub name: Attr<String>,
        /// `i-..`.
        pub id: Attr<String>,
        /// `ami-..`.
        pub image_id: Attr<String>,
        /// Such as `c6in.large`.
        pub instance_type: Attr<String>,
        /// A subnet with a way to the internet.
        pub subnet_id: Attr<String>,
        /// What may come in.
        pub security_group_ids: sets::Texts,
        /// What it may do.
        pub instance_profile_arn: Attr<String>,
        /// Its public address.
        pub allocation_id: Attr<String>,
        /// Its address in the subnet.
        pub private_ip: Attr<String>,
        /// Size of the disk.
        pub disk_gib: Attr<i64>,
        /// What encrypts the disk.
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
        /// The user's tags.
        pub tags: TagMap,
        /// All tags.
        pub tags_all: TagMap,
        /// How long operations may take.
        pub timeouts: Attr<Timeouts>,
    }
}

common!(Gateway, "warren_aws_gateway");

pub(super) fn schema() -> Schema {
    let parameter = |name: &str, what: &str| {
        Attribute::string(name).required().validate(parameter::check_name).describe(&format!(
            "Name of the parameter with {what}. A change replaces the gateway, a new value does not."
        ))
    };
    Schema::new(
        "A Warren gateway: an EC2 instance that forwards between the tunnel and the VPC. Its metadata service wants \
         tokens (IMDSv2), its disk is encrypted, its source/destination check is off. Its boot script holds names of \
         secrets, no secret; keys and configuration change without replacing it.",
    )
    .attributes(common::head("gateway"))
    .attributes([
        Attribute::string("image_id").required().replaces().describe(
            "Id of a Linux image with systemd, cloud-init and curl, such as Amazon Linux 2023, Debian 12 or Ubuntu \
             24.04. A change replaces the gateway.",
        ),
        Attribute::string("instance_type").default("c6in.large").replaces().describe(
            "Type of the instance. A change replaces the gateway. Default: `c6in.large`.",
        ),
        Attribute::string("subnet_id").required().replaces().describe(
            "Id of a subnet that an internet gateway serves. A change replaces the gateway.",
        ),
        Attribute::of("security_group_ids", Type::set(Type::String)).required().describe(
            "Ids of security groups: in from everywhere UDP 51820 and TCP 443, from the VPC what peers are sent. Changes in place.",
        ),
        Attribute::string("instance_profile_arn").required().replaces().describe(
            "ARN of the instance profile, of `warren_aws_gateway_role`. A change replaces the gateway.",
        ),
        Attribute::string("allocation_id").optional().describe(
            "Id of the public address, of `warren_aws_elastic_ip`. Changes in place; a gateway that replaces another \
             takes the address over.",
        ),
        Attribute::string("private_ip").optional().computed().keeps().replaces().describe(
            "Address in the subnet; one that is free if not given. A change replaces the gateway.",
        ),
        Attribute::number("disk_gib").default(8).replaces().validate(check_size).describe(
            "Size of the encrypted disk in GiB, 4 to 1024 and not below the image's. A change replaces the gateway. Default: 8.",
        ),
        Attribute::string("kms_key_id").optional().replaces().describe(
            "KMS key that encrypts the disk. A change replaces the gateway. Default: the account's.",
        ),
        parameter("config", "the configuration, of `warren_aws_gateway_config`"),
        parameter("wireguard_key", "the WireGuard key, of `warren_aws_wireguard_key`"),
        parameter("tls_key", "the TLS key, of `warren_aws_tls_key`"),
        boot::release(),
        Attribute::string("user_data").computed().keeps().describe(
            "The script that the instance runs at every boot, without secrets. Another one, also of another version of \
             the provider, replaces the gateway.",
        ),
        Attribute::string("public_ip").computed().keeps().describe("The public address of `allocation_id`."),
        Attribute::string("network_interface_id").computed().keeps().describe(
            "Id of the network interface, where routes to the overlay lead.",
        ),
        Attribute::string("state").computed().keeps().describe(
            "State of the instance; one that was stopped is started by the next apply.",
        ),
    ])
    .attributes(common::tail())
}

/// The boot script of a gateway; unknown while a part of it is.
pub(super) fn script(gateway: &Gateway) -> Result<Attr<String>, Diagnostics> {
    let names = [&gateway.config, &gateway.wireguard_key, &gateway.tls_key];
    boot::planned(Run::CloudInit, &gateway.release, names, Source::AwsSsm)
}

/// What the tag of a gateway says about its boot script: half of its SHA-256 in hexadecimal.
pub(super) fn digest(script: &str) -> String {
    Sha256::digest(script).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// The state that what was found makes of `before`.
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
    // Told as something to be mended.
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
        diagnostics.error_at(path.clone(), "Size not possible", "A disk has 4 to 1024 GiB.");
    }
}
