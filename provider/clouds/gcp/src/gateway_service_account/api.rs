//! IAM API calls for service accounts.

use google_cloud_gax::options::RequestOptionsBuilder as _;
use google_cloud_iam_admin_v1::model;
use google_cloud_wkt::FieldMask;

use super::model::ServiceAccount;
use crate::account::Gcp;
use crate::common::{Common as _, Located as _};
use crate::error::{ApiError, Failure as _, Named as _, OrMissing as _};
use crate::{link, marker};

const GET: &str = "serviceAccounts.get";

/// Finds the account of this name if an interrupted create of ours left it.
pub(super) async fn find(gcp: &Gcp, planned: &ServiceAccount) -> Result<Vec<String>, ApiError> {
    let id = planned.place(&gcp.project)?;
    let found = match fetch(gcp, &id).await {
        // If it exists, the create says so.
        Err(error) if error.is_hidden_account() => return Ok(Vec::new()),
        found => ApiError::if_found(found)?,
    };
    let Some(found) = found else { return Ok(Vec::new()) };
    planned.adoptable(gcp, Some(&found.description), || Ok(true))
}

/// Creates an account and returns its ID.
pub(super) async fn create(
    gcp: &Gcp,
    planned: &ServiceAccount,
    description: &str,
) -> Result<String, ApiError> {
    let name = planned.object.name()?;
    let account = model::ServiceAccount::new()
        .set_display_name(format!("Warren gateway {name}"))
        .set_description(description);
    let call = gcp.clients.service_accounts().await?.create_service_account();
    let call = call.set_name(format!("projects/{}", gcp.project)).set_account_id(name);
    call.set_service_account(account).send().await.named("serviceAccounts.create")?;
    Ok(planned.place(&gcp.project)?)
}

/// Reads the account; not found is an error.
pub(super) async fn get(gcp: &Gcp, before: &ServiceAccount) -> Result<ServiceAccount, ApiError> {
    state(fetch(gcp, before.object.id()?).await?, before)
}

/// Updates the description if it differs from the plan.
pub(super) async fn update(gcp: &Gcp, want: &ServiceAccount) -> Result<(), ApiError> {
    let id = want.object.id()?;
    let found = fetch(gcp, id).await?;
    let marks = want.marks(gcp)?;
    if marker::is_current(Some(&found.description), &marks, &want.object.mark.description) {
        return Ok(());
    }
    let account = model::ServiceAccount::new().set_name(id).set_description(marks);
    let call = gcp.clients.service_accounts().await?.patch_service_account().set_service_account(account);
    let call = call.set_update_mask(FieldMask::default().set_paths(["description"]));
    call.with_idempotency(true).send().await.named("serviceAccounts.patch").map(drop)
}

/// Deletes an account; not found is an error.
pub(super) async fn delete(gcp: &Gcp, id: &str) -> Result<(), ApiError> {
    let call = gcp.clients.service_accounts().await?.delete_service_account().set_name(id);
    call.send().await.named("serviceAccounts.delete")
}

async fn fetch(gcp: &Gcp, id: &str) -> Result<model::ServiceAccount, ApiError> {
    link::global(GET, id)?;
    gcp.clients.service_accounts().await?.get_service_account().set_name(id).send().await.named(GET)
}

/// The state of an account as the API returns it. Its ID, its timeouts, and the secrets that it can read, which other
/// calls return, are those of `before`.
pub(super) fn state(
    found: model::ServiceAccount,
    before: &ServiceAccount,
) -> Result<ServiceAccount, ApiError> {
    let email = found.email.or_missing(GET, "email")?;
    let (name, _) = email.split_once('@').or_missing(GET, "email")?;
    Ok(ServiceAccount {
        object: before.object.found(name, Some(found.description.as_str()).into()),
        secrets: before.secrets.clone(),
        unique_id: found.unique_id.or_missing(GET, "uniqueId")?.into(),
        email: email.into(),
    })
}
