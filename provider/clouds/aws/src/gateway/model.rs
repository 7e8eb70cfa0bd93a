//! `warren_aws_gateway`: schema and state.

use std::net::Ipv4Addr;

use tf_provider_rs::{Attr, Diagnostics, Path, Resource, Value};
use warren_gateways::boot::ReleaseBlock;
use warren_managed::HasShared;
use warren_managed::sets::Set;

use crate::common::AwsObject;
use crate::ids::{AllocationId, ImageId, NetworkInterfaceId, SecurityGroupId, SubnetId};
use crate::parameter;

/// Manages a Warren gateway, an EC2 instance that forwards traffic between the tunnel and a VPC. Its metadata service
/// requires IMDSv2, its disk is encrypted, and its source/destination check is off. Its boot script contains the names
/// of secrets but no secrets, so keys and configuration change without replacing the instance.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(name = "warren_aws_gateway", noun = "gateway")]
pub(crate) struct Gateway {
    #[attr(flatten)]
    pub(crate) object: AwsObject,
    /// ID of a Linux image with systemd, cloud-init and curl, such as Amazon Linux 2023, Debian 12 or Ubuntu 24.04.
    /// Changing this replaces the gateway.
    #[attr(required, replaces)]
    pub(crate) image_id: Attr<ImageId>,
    /// Instance type. Changing this replaces the gateway. Defaults to `c6in.large`.
    #[attr(default = "c6in.large", replaces)]
    pub(crate) instance_type: Attr<String>,
    /// ID of a subnet with a route to an internet gateway. Changing this replaces the gateway.
    #[attr(required, replaces)]
    pub(crate) subnet_id: Attr<SubnetId>,
    /// IDs of the security groups. They must allow inbound UDP port 51820 and TCP port 443 from anywhere, and from the
    /// VPC the traffic that it sends to peers. Updated in place.
    #[attr(required)]
    pub(crate) security_group_ids: Set<SecurityGroupId>,
    /// ARN of the instance profile, from `warren_aws_gateway_role`. Changing this replaces the gateway.
    #[attr(required, replaces)]
    pub(crate) instance_profile_arn: Attr<String>,
    /// Allocation ID of the public IP address, from `warren_aws_elastic_ip`. Updated in place. A gateway that replaces
    /// another one takes over its address.
    #[attr(optional)]
    pub(crate) allocation_id: Attr<AllocationId>,
    /// Private IP address in the subnet. AWS chooses a free address if not set. Changing this replaces the gateway.
    #[attr(optional, computed, keeps, replaces)]
    pub(crate) private_ip: Attr<Ipv4Addr>,
    /// Size of the encrypted root disk in GiB, 4 to 1024, and at least the size of the image. Changing this replaces
    /// the gateway. Defaults to `8`.
    #[attr(default = 8, replaces, validate = check_size)]
    pub(crate) disk_gib: Attr<u16>,
    /// ID, ARN or alias of the KMS key that encrypts the disk. Changing this replaces the gateway. Defaults to the
    /// default EBS encryption key of the account.
    #[attr(optional, replaces)]
    pub(crate) kms_key_id: Attr<String>,
    /// Name of the parameter that contains the configuration, from `warren_aws_gateway_config`. Changing this name
    /// replaces the gateway; changing the value of the parameter does not.
    #[attr(required, validate = parameter::check_name)]
    pub(crate) config: Attr<String>,
    /// Name of the parameter that contains the WireGuard key, from `warren_aws_wireguard_key`. Changing this name
    /// replaces the gateway; changing the value of the parameter does not.
    #[attr(required, validate = parameter::check_name)]
    pub(crate) wireguard_key: Attr<String>,
    /// Name of the parameter that contains the TLS key, from `warren_aws_tls_key`. Changing this name replaces the
    /// gateway; changing the value of the parameter does not.
    #[attr(required, validate = parameter::check_name)]
    pub(crate) tls_key: Attr<String>,
    /// Download location of the `warren-tunnel` binary. If not set, the image must contain the binary in
    /// `/usr/local/bin`. Changing this replaces the gateway.
    #[attr(optional)]
    pub(crate) release: Attr<ReleaseBlock>,
    /// Name of the EC2 key pair whose public key opens SSH sessions, for debugging. The security groups must admit TCP
    /// port 22 from your network. Session Manager, see `session_manager` of `warren_aws_gateway_role`, needs neither.
    /// Changing this replaces the gateway.
    #[attr(optional, replaces)]
    pub(crate) key_name: Attr<String>,
    /// Name of a CloudWatch Logs log group, to which the gateway sends its logs, one stream per instance. The role needs
    /// `log_group_arn`. Changing this replaces the gateway.
    #[attr(optional, validate = check_log_group)]
    pub(crate) log_group: Attr<String>,
    /// Script that the instance runs at every boot. It contains no secrets. A different script, which may come from
    /// another version of the provider, replaces the gateway.
    #[attr(computed, keeps)]
    pub(crate) user_data: Attr<String>,
    /// Public IP address of the allocation in `allocation_id`.
    #[attr(computed, keeps)]
    pub(crate) public_ip: Attr<Ipv4Addr>,
    /// ID of the network interface, for use as the target of routes to the overlay.
    #[attr(computed, keeps)]
    pub(crate) network_interface_id: Attr<NetworkInterfaceId>,
    /// State of the instance. The next apply starts an instance that was stopped, and corrects one in the state
    /// `misconfigured`.
    #[attr(computed, keeps)]
    pub(crate) state: Attr<String>,
}

impl HasShared for Gateway {
    type Shared = AwsObject;
}

/// Validates the name of a log group, which the boot script contains.
pub(crate) fn check_log_group(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let name = value.as_str().unwrap_or_default();
    let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-/.#".contains(&b));
    if !(1..=512).contains(&name.len()) || !plain {
        diagnostics.error_at(
            path.clone(),
            "Invalid name of a log group",
            format!("{name:?} is not the name of a log group. Use 1 to 512 characters from `a-z A-Z 0-9` and `_-/.#`."),
        );
    }
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
