//! The entries of prefix lists. A prefix list names ranges that routes and security groups refer to.

use warren_guard::{Listing, LiveRange, Usage};

use super::{Sort, parsed};
use crate::account::Aws;
use crate::error::{ApiError, Named, OrMissing};
use crate::session::location;

const LISTS: &str = "DescribeManagedPrefixLists";
const ENTRIES: &str = "GetManagedPrefixListEntries";

/// The owner of lists of public ranges, such as those of S3.
const MANAGED_BY_AWS: &str = "AWS";

pub(super) const SORT: Sort = Sort {
    what: "prefix lists",
    permissions: &["ec2:DescribeManagedPrefixLists", "ec2:GetManagedPrefixListEntries"],
    setting: Some("`aws.live_ranges` in the provider block"),
};

/// The entries of all customer-managed lists, shared ones too.
pub(super) async fn read(aws: &Aws, found: &mut Listing) -> Result<(), ApiError> {
    let mut pages = aws.ec2().describe_managed_prefix_lists().into_paginator().items().send();
    while let Some(list) = pages.next().await {
        let list = list.named(LISTS)?;
        let gone = list.state.as_ref().is_some_and(|state| state.as_str().starts_with("delete"));
        if gone || list.owner_id.as_deref() == Some(MANAGED_BY_AWS) {
            continue;
        }
        let id = list.prefix_list_id.or_missing(LISTS, "PrefixListId")?;
        let name = list.prefix_list_name.unwrap_or_default();
        match entries(aws, &id, &name, found).await {
            // Deleted since it was listed.
            Err(error) if error.code.ends_with(".NotFound") => {}
            read => read?,
        }
    }
    Ok(())
}

async fn entries(aws: &Aws, id: &str, name: &str, found: &mut Listing) -> Result<(), ApiError> {
    let call = aws.ec2().get_managed_prefix_list_entries().prefix_list_id(id);
    let mut pages = call.into_paginator().items().send();
    while let Some(entry) = pages.next().await {
        let Some(net) = entry.named(ENTRIES)?.cidr else { continue };
        let Some(net) = parsed(aws, &SORT, found, id, &net) else { continue };
        found.ranges.push(LiveRange {
            net,
            usage: Usage::Named,
            kind: "prefix list".into(),
            id: id.to_owned(),
            name: name.to_owned(),
            owner: None,
            fabric: None,
            location: location(aws),
            parent: None,
        });
    }
    Ok(())
}
