//! IAM API calls for service accounts.

use google_cloud_gax::options::RequestOptionsBuilder as _;
use google_cloud_iam_admin_v1::model;
use google_cloud_wkt::FieldMask;

use super::schema::ServiceAccount;
use crate::common::{Common as _, Located as _};
use crate::error::{ApiError, Failure as _, Named as _};
use crate::link;
use crate::session::Gcp;

/// An account as the API returns it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) id: String,
    pub(super) email: String,
    pub(super) unique_id: String,
    pub(super) description: String,
}

/// Finds the account of this name if an interrupted create of ours left it.
pub(super) async fn find(gcp: &Gcp, planned: &ServiceAccount) -> Result<Vec<String>, ApiError> {
    let id = planned.place(&gcp.project).unwrap_or_default();
    let Some(found) = ApiError::if_found(get(gcp, &id).await)? else { return Ok(Vec::new()) };
    planned.adoptable(gcp, &found.description, true)
}

/// Creates an account and returns its ID.
pub(super) async fn create(
    gcp: &Gcp,
    planned: &ServiceAccount,
    description: &str,
) -> Result<String, ApiError> {
    let account = model::ServiceAccount::new()
        .set_display_name(format!("Warren gateway {}", planned.name.text()))
        .set_description(description);
    let call = gcp.clients.service_accounts.create_service_account();
    let call = call.set_name(format!("projects/{}", gcp.project)).set_account_id(planned.name.text());
    call.set_service_account(account).send().await.named("serviceAccounts.create")?;
    Ok(planned.place(&gcp.project).unwrap_or_default())
}

/// Reads the account `id`; not found is an error.
pub(super) async fn get(gcp: &Gcp, id: &str) -> Result<Found, ApiError> {
    link::parsed("serviceAccounts.get", id)?;
    let call = gcp.clients.service_accounts.get_service_account().set_name(id);
    let account = call.send().await.named("serviceAccounts.get")?;
    Ok(Found {
        id: id.to_owned(),
        email: account.email,
        unique_id: account.unique_id,
        description: account.description,
    })
}

/// Updates the description if it differs from the plan.
pub(super) async fn update(gcp: &Gcp, id: &str, want: &ServiceAccount) -> Result<(), ApiError> {
    let have = get(gcp, id).await?.description;
    // An unmarked object, such as an imported account, stays unmarked while its text stays the same.
    if have == want.marks(gcp)? || have == want.description.text() {
        return Ok(());
    }
    let account = model::ServiceAccount::new().set_name(id).set_description(want.marks(gcp)?);
    let call = gcp.clients.service_accounts.patch_service_account().set_service_account(account);
    let call = call.set_update_mask(FieldMask::default().set_paths(["description"]));
    call.with_idempotency(true).send().await.named("serviceAccounts.patch").map(drop)
}

/// Deletes an account; not found is an error.
pub(super) async fn delete(gcp: &Gcp, id: &str) -> Result<(), ApiError> {
    let call = gcp.clients.service_accounts.delete_service_account().set_name(id);
    call.send().await.named("serviceAccounts.delete")
}
