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
        /// Whether the provider also accepts the connection.
        pub auto_accept: Attr<bool>,
        /// Whether public DNS names resolve to private addresses across the connection.
        pub allow_remote_dns_resolution: Attr<bool>,
        /// As AWS reports it.
        pub state: Attr<String>,
        /// Account of the requester.
        pub owner_id: Attr<String>,
        /// Tags of the configuration.
        pub tags: TagMap,
        /// All tags.
        pub tags_all: TagMap,
        /// Timeouts of operations.
        pub timeouts: Attr<Timeouts>,
    }
}

common!(Peering, "warren_aws_vpc_peering");

pub(super) fn schema() -> Schema {
    Schema::new(
        "Manages a peering connection between two VPCs. VPCs with overlapping ranges are rejected at plan \
         time. Peering is not transitive, and both VPCs need routes to each other.",
    )
    .attributes(common::head("peering connection"))
    .attributes([
        Attribute::string("vpc_id").required().replaces().describe(
            "ID of the requester VPC, in the account and region of the provider. Changing this replaces \
             the peering connection.",
        ),
        Attribute::string("peer_vpc_id")
            .required()
            .replaces()
            .describe("ID of the accepter VPC. Changing this replaces the peering connection."),
        Attribute::string("peer_owner_id")
            .optional()
            .computed()
            .keeps()
            .replaces()
            .validate(check_account)
            .describe(
                "ID of the AWS account of the accepter VPC. Changing this replaces the peering \
                 connection. Defaults to the account of the provider.",
            ),
        Attribute::string("peer_region").optional().computed().keeps().replaces().describe(
            "Region of the accepter VPC. Changing this replaces the peering connection. Defaults to the \
             region of the provider.",
        ),
        Attribute::bool("auto_accept").optional().describe(
            "Whether the provider also accepts the connection, which is only possible for VPCs of its own \
             account. Updated in place. Defaults to `true` for an accepter VPC in the same account and \
             region. Any other connection stays `pending-acceptance` until its owner accepts it.",
        ),
        Attribute::bool("allow_remote_dns_resolution").default(false).describe(
            "Whether public DNS hostnames resolve to private IP addresses across the connection: on both \
             sides if both VPCs are in the same account, otherwise on the requester side only. Takes \
             effect once the connection is active, and both VPCs need DNS hostnames. Updated in place. \
             Defaults to `false`.",
        ),
        Attribute::string("state").computed().keeps().describe(
            "State of the connection: `active`, or `pending-acceptance` until the owner of the accepter \
             VPC accepts it.",
        ),
        Attribute::string("owner_id")
            .computed()
            .keeps()
            .describe("ID of the AWS account of the requester VPC."),
    ])
    .attributes(common::tail())
}

fn check_account(value: &tf_provider_rs::Value, path: &Path, found: &mut tf_provider_rs::Diagnostics) {
    let id = value.as_str().unwrap_or_default();
    if id.len() != 12 || !id.bytes().all(|b| b.is_ascii_digit()) {
        found.error_at(
            path.clone(),
            "Invalid AWS account ID",
            format!("`{path}` must be the ID of an AWS account. Use 12 digits."),
        );
    }
}

/// The state of the object that was found, based on `before`.
pub(super) fn state(aws: &Aws, found: Found, before: &Peering) -> Peering {
    let mut state = before.clone();
    state.take_tags(aws, &found.tags);
    // Options exist only after acceptance; until then the planned value is not drift.
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

/// An error if ranges of the two VPCs overlap: AWS would create the connection and then fail it.
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
                "AWS cannot peer VPCs whose ranges overlap, even in part: {} and {} overlap in {}. Choose \
                 ranges that do not overlap, or use a VPC endpoint to reach a single service.",
                planned.vpc_id.text(),
                planned.peer_vpc_id.text(),
                pairs.join("; "),
            ),
        )
        .at(Path::of("peer_vpc_id")),
    )
}
