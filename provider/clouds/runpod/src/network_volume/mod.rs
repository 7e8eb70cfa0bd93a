//! `warren_runpod_network_volume`: storage that outlives pods.

mod api;
mod schema;
#[cfg(test)]
mod tests;

use serde_json::json;
use tf_provider_rs::{Change, Diagnostics, Schema, async_trait};
use warren_managed::{Common as _, Object};

use crate::error::{ApiError, Failure};
use crate::session::{RunPod, Session, Work};
pub(crate) use schema::NetworkVolume;

#[async_trait]
impl Object for NetworkVolume {
    fn schema() -> Schema {
        schema::schema()
    }

    async fn plan(_: &Session, change: &mut Change<NetworkVolume>, diagnostics: &mut Diagnostics) {
        if let Some(prior) = &change.prior
            && change.requires_replace.is_empty()
        {
            schema::check_size(prior, &change.planned, diagnostics);
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
        let id = self.id.text();
        let have = op.call(|| api::get(runpod, id)).await?;
        let mut change = json!({});
        let name = self.marks(runpod)?;
        if have.name != name && crate::marker::plain_name(&have.name) != self.name.text() {
            change["name"] = json!(name);
        }
        if Some(&have.size) != self.size.known() {
            change["size"] = json!(self.size.known());
        }
        if change == json!({}) {
            return Ok(schema::state(have, self));
        }
        let found = op.call(|| api::update(runpod, id, &change)).await?;
        Ok(schema::state(found, self))
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<NetworkVolume>, Diagnostics> {
        let found = ApiError::if_found(api::get(&work.cloud, self.id.text()).await)?;
        Ok(found.map(|found| schema::state(found, self)))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let (runpod, id) = (&work.cloud, self.id.text());
        work.op.delete(|| api::delete(runpod, id), || api::get(runpod, id)).await
    }
}
