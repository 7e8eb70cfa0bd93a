//! Elastic addresses.

use super::{Context, Verdict};
use crate::front::reply::Rejection;

/// An address that is associated would be taken from under its user.
pub(super) async fn release(context: &Context<'_>) -> Verdict {
    let id = context.get("AllocationId");
    if id.is_empty() {
        return Ok(());
    }
    let addresses = context.list("DescribeAddresses", "addressesSet", &[("AllocationId.1", id)]).await;
    let used = addresses.iter().any(|address| !address.text_at("associationId").is_empty());
    if used || context.held_by(id).is_some() {
        return Err(Rejection::new(
            "InvalidIPAddress.InUse",
            format!("Address with allocation id [{id}] is in use."),
        ));
    }
    Ok(())
}
