//! `warren_runpod_network_volume`: storage that outlives pods.

mod api;
mod model;
#[cfg(test)]
mod tests;

use serde_json::json;
use tf_provider_rs::{Change, Diagnostics, Path, async_trait};
use warren_managed::{Common as _, Object};

use crate::error::{ApiError, Failure as _};
use crate::session::{RunPod, Session, Work};
pub(crate) use model::NetworkVolume;

#[async_trait]
impl Object for NetworkVolume {
    async fn plan(_: &Session, change: &mut Change<NetworkVolume>, diagnostics: &mut Diagnostics) {
        if let Some(prior) = &change.prior
            && change.requires_replace.is_empty()
        {
            check_size(prior, &change.planned, diagnostics);
        }
    }

    async fn find(&self, runpod: &RunPod) -> Result<Vec<String>, ApiError> {
        api::find(runpod, self).await
    }

    async fn create(&self, runpod: &RunPod, name: &String) -> Result<String, ApiError> {
        api::create(runpod, self, name).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<NetworkVolume, Diagnostics> {
        let Work { cloud: runpod, op, .. } = work;
        let have = op.call(|| api::get(runpod, self)).await?;
        let mut change = json!({});
        if have.object.naming != self.object.naming {
            change["name"] = json!(self.marks(runpod)?);
        }
        if have.size != self.size {
            change["size"] = json!(self.size.value()?);
        }
        if change == json!({}) { Ok(have) } else { op.call(|| api::update(runpod, self, &change)).await }
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<NetworkVolume>, Diagnostics> {
        Ok(ApiError::if_found(api::get(&work.cloud, self).await)?)
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let (runpod, id) = (&work.cloud, self.object.id()?);
        work.op.delete(|| api::delete(runpod, id), || api::get(runpod, self)).await
    }
}

/// Rejects a smaller size during the plan, before the API does so during the apply.
fn check_size(prior: &NetworkVolume, planned: &NetworkVolume, diagnostics: &mut Diagnostics) {
    if let (Some(have), Some(want)) = (prior.size.known(), planned.size.known())
        && want < have
    {
        diagnostics.error_at(
            Path::of("size"),
            "Network volume cannot shrink",
            format!(
                "The volume has {have} GB, and the plan would shrink it to {want} GB. Create a smaller volume under \
                 another name, copy the data, and delete this one."
            ),
        );
    }
}
