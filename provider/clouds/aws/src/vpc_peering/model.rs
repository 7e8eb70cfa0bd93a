//! `warren_aws_vpc_peering`: schema and state.

use tf_provider_rs::{Attr, Resource};
use warren_managed::HasShared;

use crate::common::AwsObject;
use crate::ids::{AccountId, VpcId};

/// Manages a peering connection between two VPCs. VPCs with overlapping ranges are rejected at plan time. Peering is
/// not transitive, and both VPCs need routes to each other.
#[derive(Clone, Debug, Default, PartialEq, Resource)]
#[resource(name = "warren_aws_vpc_peering", noun = "peering connection")]
pub(crate) struct Peering {
    #[attr(flatten)]
    pub(crate) object: AwsObject,
    /// ID of the requester VPC, in the account of the provider and the region of the connection. Changing this
    /// replaces the peering connection.
    #[attr(required, replaces)]
    pub(crate) vpc_id: Attr<VpcId>,
    /// ID of the accepter VPC. Changing this replaces the peering connection.
    #[attr(required, replaces)]
    pub(crate) peer_vpc_id: Attr<VpcId>,
    /// ID of the AWS account of the accepter VPC. Changing this replaces the peering connection. Defaults to the
    /// account of the provider.
    #[attr(optional, computed, keeps, replaces)]
    pub(crate) peer_owner_id: Attr<AccountId>,
    /// Region of the accepter VPC. Changing this replaces the peering connection. Defaults to the region of the
    /// connection.
    #[attr(optional, computed, keeps, replaces)]
    pub(crate) peer_region: Attr<String>,
    /// Whether the provider also accepts the connection, which is only possible for VPCs of its own account. Updated in
    /// place. Defaults to `true` for an accepter VPC in the same account and region. Any other connection stays
    /// `pending-acceptance` until its owner accepts it.
    #[attr(optional)]
    pub(crate) auto_accept: Attr<bool>,
    /// Whether public DNS hostnames resolve to private IP addresses across the connection: on both sides if both VPCs
    /// are in the same account, otherwise on the requester side only. Takes effect once the connection is active, and
    /// both VPCs need DNS hostnames. Updated in place. Defaults to `false`.
    #[attr(default = false)]
    pub(crate) allow_remote_dns_resolution: Attr<bool>,
    /// State of the connection: `active`, or `pending-acceptance` until the owner of the accepter VPC accepts it.
    #[attr(computed, keeps)]
    pub(crate) state: Attr<String>,
    /// ID of the AWS account of the requester VPC.
    #[attr(computed, keeps)]
    pub(crate) owner_id: Attr<AccountId>,
}

impl HasShared for Peering {
    type Shared = AwsObject;
}

impl Peering {
    /// Whether AWS reports this state.
    pub(super) fn is(&self, state: &str) -> bool {
        self.state.as_deref() == Some(state)
    }

    /// Whether the connection can never become active.
    pub(super) fn is_gone(&self) -> bool {
        self.state.as_deref().is_some_and(is_gone)
    }
}

/// Whether a connection in this state can never become active.
pub(super) fn is_gone(state: &str) -> bool {
    matches!(state, "deleted" | "deleting" | "failed" | "rejected" | "expired")
}
