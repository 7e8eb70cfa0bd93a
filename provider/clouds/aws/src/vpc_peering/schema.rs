//! Attributes and state of `warren_aws_vpc_peering`.

use ipnet::IpNet;
use tf_provider_rs::schema::{Attribute, Schema};
use tf_provider_rs::{Attr, Diagnostic, Path, model};

use super::api::Found;
use crate::common::{self, Tagged, common};
use crate::session::Aws;
use crate::tags::TagMap;
use warren_managed::Timeouts;

model! {
    /// A peering connection.
    pub struct Peering {
        /// Unique per fabric and owner.
        pub name: Attr<String>,
        /// `pcx-..`.
        pub id: Attr<String>,
        /// The requester.
        pub vpc_id: Attr<String>,
        /// The accepter.
        pub peer_vpc_id: Attr<String>,
        /// Account of the accepter.
        pub peer_owner_id: Attr<String>,
        /// Region of the accepter.
        pub peer_region: Attr<String>,
        /// Whether the provider accepts too.
        pub auto_accept: Attr<bool>,
        /// Whether names of the one VPC resolve to private addresses in the other.
        pub allow_remote_dns_resolution: Attr<bool>,
        /// In AWS's words.
        pub state: Attr<String>,
        /// Account of the requester.
        pub owner_id: Attr<String>,
        /// The user's tags.
        pub tags: TagMap,
        /// All tags.
        pub tags_all: TagMap,
        /// How long operations may take.
        pub timeouts: Attr<Timeouts>,
    }
}

common!(Peering, "warren_aws_vpc_peering");

pub(super) fn schema() -> Schema {
    Schema::new(
        "A peering connection between two VPCs. Ranges that overlap are refused at plan. Peering is not \
         transitive, and routes are needed on both sides.",
    )
    .attributes(common::head("peering connection"))
    .attributes([
        Attribute::string("vpc_id").required().replaces().describe(
            "Id of the requesting VPC, in this account and region. A change replaces the connection.",
        ),
        Attribute::string("peer_vpc_id").required().replaces().describe(
            "Id of the VPC to peer with. A change replaces the connection.",
        ),
        Attribute::string("peer_owner_id").optional().computed().keeps().replaces().validate(check_account).describe(
            "Account of the other VPC, 12 digits. A change replaces the connection. Default: this account.",
        ),
        Attribute::string("peer_region").optional().computed().keeps().replaces().describe(
            "Region of the other VPC. A change replaces the connection. Default: this region.",
        ),
        Attribute::bool("auto_accept").optional().describe(
            "Whether the provider accepts the connection as well; only its own account's VPCs can be accepted \
             for. Changes in place. Default: `true` for a VPC of this account and region; any other connection \
             stays `pending-acceptance` until its owner accepts it.",
        ),
        Attribute::bool("allow_remote_dns_resolution").default(false).describe(
            "Whether public DNS names of members resolve to private addresses across the connection: on both \
             sides for one account, else on the requester's. It is set once the connection is active, and both \
             VPCs need DNS hostnames. Changes in place. Default: `false`.",
        ),
        Attribute::string("state").computed().keeps().describe(
            "State in AWS's words: `active`, or `pending-acceptance` while the other owner has not accepted.",
        ),
        Attribute::string("owner_id").computed().keeps().describe("Account of the requesting VPC, 12 digits."),
    ])
    .attributes(common::tail())
}

fn check_account(value: &tf_provider_rs::Value, path: &Path, found: &mut tf_provider_rs::Diagnostics) {
    let id = value.as_str().unwrap_or_default();
    if id.len() != 12 || !id.bytes().all(|b| b.is_ascii_digit()) {
        found.error_at(
            path.clone(),
            "Not an account",
            format!("`{path}` is the id of an account: 12 digits."),
        );
    }
}

/// The state that what was found makes of `before`.
pub(super) fn state(aws: &Aws, found: Found, before: &Peering) -> Peering {
    let mut state = before.clone();
    state.take_tags(aws, &found.tags);
    // Options exist from acceptance on; until then what is wanted is no drift.
    if found.is_active() || !before.allow_remote_dns_resolution.is_known() {
        state.allow_remote_dns_resolution = found.remote_dns().into();
    }
    state.id = found.id.into();
    state.vpc_id = found.requester.vpc_id.into();
    state.owner_id = found.requester.owner_id.into();
    state.peer_vpc_id = found.accepter.vpc_id.into();
    state.peer_owner_id = found.accepter.owner_id.into();
    state.peer_region = found.accepter.region.into();
    state.state = found.code.into();
    state
}

/// An error when ranges of the two VPCs overlap: AWS would make the connection and then fail it.
pub(super) fn overlap(planned: &Peering, ours: &[IpNet], theirs: &[IpNet]) -> Option<Diagnostic> {
    let mut pairs: Vec<String> = Vec::new();
    for our in ours {
        for their in theirs {
            if our.contains(their) || their.contains(our) {
                pairs.push(format!("{our} and {their}"));
            }
        }
    }
    if pairs.is_empty() {
        return None;
    }
    pairs.sort();
    Some(
        Diagnostic::error(
            "Peering of overlapping VPCs",
            format!(
                "AWS cannot peer VPCs whose ranges overlap, even in part: {} and {} overlap in {}. Choose ranges \
                 that do not overlap, or reach the one service that is needed through an endpoint.",
                planned.vpc_id.text(),
                planned.peer_vpc_id.text(),
                pairs.join("; "),
            ),
        )
        .at(Path::of("peer_vpc_id")),
    )
}
