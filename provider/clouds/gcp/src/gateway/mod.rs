//! `warren_gcp_gateway`: the VM of a gateway.
//!
//! It runs a startup script that installs the tunnel and fetches keys and configuration by name, so their contents
//! can change without the VM. Its address and service account are separate objects that outlive it.
//!
//! ```text
//! insert -> RUNNING -> labels, network tags
//! delete -> gone, with its disk; the address is free again
//! ```

mod api;
mod schema;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Attr, Change, Diagnostics, Path, Schema, async_trait};
use warren_managed::{Object, Poll};

use crate::error::{ApiError, Failure};
use crate::operation::{carry_out, landed, remove};
use crate::session::{Gcp, Session, Work};
pub(crate) use schema::Gateway;
use schema::{MISCONFIGURED, RUNNING};

#[async_trait]
impl Object for Gateway {
    fn schema() -> Schema {
        schema::schema()
    }

    async fn plan(_session: &Session, change: &mut Change<Gateway>, diagnostics: &mut Diagnostics) {
        let script = match schema::script(&change.planned) {
            Ok(script) => script,
            Err(error) => return diagnostics.extend(error),
        };
        let planned = &mut change.planned;
        planned.startup_script = script;
        let Some(prior) = &change.prior else { return };
        if planned.startup_script != prior.startup_script {
            change.requires_replace.push(Path::of("startup_script"));
        }
        if prior.state.text() != RUNNING {
            planned.state = Attr::Unknown;
        }
        if prior.state.text() == MISCONFIGURED {
            change.requires_replace.push(Path::of("state"));
        }
    }

    async fn find(&self, gcp: &Gcp) -> Result<Vec<String>, ApiError> {
        api::find(gcp, self).await
    }

    async fn create(&self, gcp: &Gcp, _description: &String) -> Result<String, ApiError> {
        api::create(gcp, self).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<Gateway, Diagnostics> {
        let Work { cloud: gcp, op, .. } = work;
        let id = self.id.text();
        landed(work, id).await?;
        op.until(RUNNING, || async {
            let found = api::get(gcp, id).await?;
            match found.status.as_str() {
                RUNNING => return Ok(Poll::Ready(())),
                "TERMINATED" | "STOPPED" => api::start(gcp, id).await?,
                "SUSPENDED" => api::resume(gcp, id).await?,
                _ => {}
            }
            Ok(Poll::Pending(found.status))
        })
        .await?;
        carry_out(work, || api::set_labels(gcp, id, self)).await?;
        carry_out(work, || api::set_tags(gcp, id, self)).await?;
        let found = op.call(|| api::get(gcp, id)).await?;
        Ok(schema::state(found, self))
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Gateway>, Diagnostics> {
        let found = ApiError::if_found(api::get(&work.cloud, self.id.text()).await)?;
        Ok(found.map(|found| schema::state(found, self)))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let gcp = &work.cloud;
        let id = self.id.text();
        remove(work, || api::delete(gcp, id), || api::get(gcp, id)).await
    }
}
