//! `warren_aws_gateway_group`: schema and state.

use std::net::Ipv4Addr;

use tf_provider_rs::validators::between;
use tf_provider_rs::{Attr, Diagnostics, Path, Resource};
use warren_gateways::boot::ReleaseBlock;
use warren_managed::HasShared;
use warren_managed::sets::Set;

use crate::common::AwsObject;
use crate::gateway::check_log_group;
use crate::ids::{AllocationId, ImageId, NetworkInterfaceId, SecurityGroupId, SubnetId, VolumeId};
use crate::parameter;

/// Every part exists, and the instance runs with the current template.
pub(super) const RUNNING: &str = "running";
/// A part is missing or differs.
pub(super) const INCOMPLETE: &str = "incomplete";

/// Manages a Warren gateway that AWS replaces if it fails: an Auto Scaling group of one instance, its launch template, a
/// network interface with the addresses, and a volume with the leases. Interface and volume outlive the instance, so a
/// replacement has the same addresses, routes, keys and leases. Another image, instance type or boot script replaces
/// only the instance. The default EBS encryption key of the account encrypts the disks.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(name = "warren_aws_gateway_group", noun = "gateway group")]
pub(crate) struct GatewayGroup {
    #[attr(flatten)]
    pub(crate) object: AwsObject,
    /// ID of a Linux image with systemd, cloud-init and curl, such as Amazon Linux 2023, Debian 12 or Ubuntu 24.04.
    /// Changing this replaces the instance, but not its addresses, keys and leases.
    #[attr(required)]
    pub(crate) image_id: Attr<ImageId>,
    /// Instance type of the AWS Nitro System. Changing this replaces the instance. Defaults to `c6in.large`.
    #[attr(default = "c6in.large")]
    pub(crate) instance_type: Attr<String>,
    /// ID of a subnet with a route to an internet gateway. Changing this replaces the gateway group.
    #[attr(required, replaces)]
    pub(crate) subnet_id: Attr<SubnetId>,
    /// IDs of the security groups. They must allow inbound UDP port 51820 and TCP port 443 from anywhere, and from the
    /// VPC the traffic that it sends to peers. Updated in place.
    #[attr(required)]
    pub(crate) security_group_ids: Set<SecurityGroupId>,
    /// ARN of the instance profile, from a `warren_aws_gateway_role` with `attach_volumes_of`. Changing this replaces the
    /// instance.
    #[attr(required)]
    pub(crate) instance_profile_arn: Attr<String>,
    /// Allocation ID of the public IP address, from `warren_aws_elastic_ip`. Updated in place.
    #[attr(required)]
    pub(crate) allocation_id: Attr<AllocationId>,
    /// Private IP address in the subnet. AWS chooses a free address if not set. Changing this replaces the gateway group.
    #[attr(optional, computed, keeps, replaces)]
    pub(crate) private_ip: Attr<Ipv4Addr>,
    /// Size of the encrypted root disk in GiB, 4 to 1024, and at least the size of the image. Changing this replaces the
    /// instance. Defaults to `8`.
    #[attr(default = 8, validate = between(4, 1024))]
    pub(crate) disk_gib: Attr<u16>,
    /// Name of the parameter that contains the configuration, from `warren_aws_gateway_config`. Its embedded store must
    /// be in `/var/lib/warren`. Changing this name replaces the instance; changing the value of the parameter does not.
    #[attr(required, validate = parameter::check_name)]
    pub(crate) config: Attr<String>,
    /// Name of the parameter that contains the WireGuard key, from `warren_aws_wireguard_key`. Changing this name
    /// replaces the instance; changing the value of the parameter does not.
    #[attr(required, validate = parameter::check_name)]
    pub(crate) wireguard_key: Attr<String>,
    /// Name of the parameter that contains the TLS key, from `warren_aws_tls_key`. Changing this name replaces the
    /// instance; changing the value of the parameter does not.
    #[attr(required, validate = parameter::check_name)]
    pub(crate) tls_key: Attr<String>,
    /// Download location of the `warren-tunnel` binary. If not set, the image must contain the binary in
    /// `/usr/local/bin`. Changing this replaces the instance.
    #[attr(optional)]
    pub(crate) release: Attr<ReleaseBlock>,
    /// Name of the EC2 key pair whose public key opens SSH sessions, for debugging. Changing this replaces the instance.
    #[attr(optional)]
    pub(crate) key_name: Attr<String>,
    /// Name of a CloudWatch Logs log group, to which the gateway sends its logs, one stream per instance. The role needs
    /// `log_group_arn`. Changing this replaces the instance.
    #[attr(optional, validate = check_log_group)]
    pub(crate) log_group: Attr<String>,
    /// Script that the instance runs at every boot. It contains no secrets. A different script, which may come from
    /// another version of the provider, replaces the instance.
    #[attr(computed, keeps)]
    pub(crate) user_data: Attr<String>,
    /// Public IP address of the allocation in `allocation_id`.
    #[attr(computed, keeps)]
    pub(crate) public_ip: Attr<Ipv4Addr>,
    /// ID of the network interface, for use as the target of routes to the overlay. It is also the ID of the resource.
    #[attr(computed, keeps)]
    pub(crate) network_interface_id: Attr<NetworkInterfaceId>,
    /// ID of the volume with the leases.
    #[attr(computed, keeps)]
    pub(crate) volume_id: Attr<VolumeId>,
    /// State: `running`, or `incomplete` if a part is missing or differs, which the next apply corrects.
    #[attr(computed, keeps)]
    pub(crate) state: Attr<String>,
}

impl HasShared for GatewayGroup {
    type Shared = AwsObject;
}

impl GatewayGroup {
    /// Checks the characters that the names of launch templates and Auto Scaling groups may have.
    pub(super) fn check_name(&self, diagnostics: &mut Diagnostics) {
        let Some(name) = self.object.naming.name.known() else { return };
        let plain = |c: char| c.is_ascii_alphanumeric() || "()./_-".contains(c);
        if !(3..=128).contains(&name.len()) || !name.chars().all(plain) {
            diagnostics.error_at(
                Path::of("name"),
                "Invalid name",
                format!("{name:?} is not the name of a launch template. Use 3 to 128 characters from `a-z A-Z 0-9` and `()./_-`."),
            );
        }
    }
}
