//! `warren_gcp_gateway_service_account`: the permissions of a gateway: reading its own secrets, nothing else.
//!
//! The account is created first and deleted last, so its existence shows whether anything is left:
//!
//! ```text
//! account -> a binding in the policy of each secret
//! delete in reverse order
//! ```

mod api;
mod model;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use tf_provider_rs::{Change, Diagnostics, async_trait};
use warren_managed::{Object, sets};

use crate::account::Gcp;
use crate::error::{ApiError, Failure as _};
use crate::link::{self, SecretRef};
use crate::secret;
use crate::session::{Session, Work};
pub(crate) use model::ServiceAccount;

/// Maximum time until every call finds a new account (hashicorp/google issue 15042; Google documents that IAM takes up to two
/// minutes, and sometimes longer).
const PROPAGATION: Duration = Duration::from_secs(120);

#[async_trait]
impl Object for ServiceAccount {
    const ELSEWHERE: &'static [&'static str] = &["secrets"];

    async fn plan(session: &Session, change: &mut Change<ServiceAccount>, _diagnostics: &mut Diagnostics) {
        let planned = &mut change.planned;
        if let (Some(gcp), Some(name)) = (session.known_of(&*planned), planned.object.name.known())
            && planned.email.is_unknown()
        {
            planned.email = model::email(&gcp.project, name).into();
        }
    }

    /// Revokes access to secrets that are no longer planned.
    async fn prepare(
        &mut self,
        work: &Work<'_>,
        prior: Option<&ServiceAccount>,
        _config: &ServiceAccount,
    ) -> Result<(), Diagnostics> {
        let Some(prior) = prior else { return Ok(()) };
        let wanted = sets::known(&self.secrets);
        let gone = sets::known(&prior.secrets).into_iter().filter(|id| !wanted.contains(id)).collect();
        close(work, &gone, &member(prior)?).await
    }

    async fn find(&self, gcp: &Gcp) -> Result<Vec<String>, ApiError> {
        api::find(gcp, self).await
    }

    async fn create(&self, gcp: &Gcp, description: &String) -> Result<String, ApiError> {
        api::create(gcp, self, description).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<ServiceAccount, Diagnostics> {
        let Work { cloud: gcp, op, .. } = work;
        let begun = Instant::now();
        op.call_while(|| api::update(gcp, self), || async { begun.elapsed() < PROPAGATION }).await?;
        let member = member(self)?;
        for secret in sets::known(&self.secrets) {
            op.check_cancelled()?;
            let id = secret.id();
            op.call(|| secret::let_read(gcp, &id, &member, true)).await?;
        }
        op.call(|| api::get(gcp, self)).await
    }

    /// A secret that the account can no longer read leaves the state, so that the next apply grants access again.
    async fn read(&self, work: &Work<'_>) -> Result<Option<ServiceAccount>, Diagnostics> {
        let gcp = &work.cloud;
        let Some(found) = ApiError::if_found(api::get(gcp, self).await)? else { return Ok(None) };
        let member = member(self)?;
        let mut open = BTreeSet::new();
        for secret in sets::known(&self.secrets) {
            if ApiError::if_found(secret::may_read(gcp, &secret.id(), &member).await)? == Some(true) {
                open.insert(secret);
            }
        }
        Ok(Some(ServiceAccount { secrets: sets::of(open), ..found }))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: gcp, op, .. } = work;
        let id = self.object.id()?;
        close(work, &sets::known(&self.secrets), &member(self)?).await?;
        op.delete(|| api::delete(gcp, id), || api::get(gcp, self)).await
    }
}

/// The name of the account in IAM policies.
fn member(account: &ServiceAccount) -> Result<String, ApiError> {
    let (_, email) = link::global("serviceAccounts.get", account.object.id()?)?;
    Ok(format!("serviceAccount:{email}"))
}

/// Revokes the access of `member` to these secrets; a deleted secret counts as revoked.
async fn close(work: &Work<'_>, secrets: &BTreeSet<SecretRef>, member: &str) -> Result<(), Diagnostics> {
    let Work { cloud: gcp, op, .. } = work;
    for secret in secrets {
        op.check_cancelled()?;
        op.call(|| async { ApiError::unless_gone(secret::let_read(gcp, &secret.id(), member, false).await) })
            .await?;
    }
    Ok(())
}
