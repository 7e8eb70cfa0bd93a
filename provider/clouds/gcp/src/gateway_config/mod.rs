//! `warren_gcp_gateway_config`: a gateway's configuration file, in a secret that the gateway polls. Groups,
//! policy and token keys change without replacing the gateway.

mod schema;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Attr, Change, Diagnostics, Schema, async_trait};
use warren_managed::Object;

use crate::error::{ApiError, Failure};
use crate::secret;
use crate::session::{Gcp, Session, Work};
use schema::Found;
pub(crate) use schema::GatewayConfig;

/// Note of a version.
const NOTE: &str = "configuration of a Warren gateway";

#[async_trait]
impl Object for GatewayConfig {
    fn schema() -> Schema {
        schema::schema()
    }

    async fn plan(_session: &Session, change: &mut Change<GatewayConfig>, _diagnostics: &mut Diagnostics) {
        if change.prior.as_ref().is_some_and(|prior| prior.content != change.planned.content) {
            change.planned.version = Attr::Unknown;
        }
    }

    async fn find(&self, gcp: &Gcp) -> Result<Vec<String>, ApiError> {
        secret::find(gcp, self, &self.store()).await
    }

    async fn create(&self, gcp: &Gcp, _description: &String) -> Result<String, ApiError> {
        secret::create(gcp, self, &self.store()).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<GatewayConfig, Diagnostics> {
        let Work { cloud: gcp, op, .. } = work;
        let id = self.id.text();
        let content = self.content.text();
        let written = || async {
            let found = look(gcp, id).await?;
            Ok(found.last.is_some_and(|(_, text)| text == content))
        };
        if op.settle("written", written, || secret::add(gcp, id, content, NOTE)).await? {
            op.call(|| secret::prune(gcp, id)).await?;
        }
        secret::settle_labels(work, self).await?;
        let found = op.call(|| look(gcp, id)).await?;
        Ok(schema::state(found, self))
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<GatewayConfig>, Diagnostics> {
        let found = ApiError::if_found(look(&work.cloud, self.id.text()).await)?;
        Ok(found.map(|found| schema::state(found, self)))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: gcp, op, .. } = work;
        let id = self.id.text();
        op.delete(|| secret::delete(gcp, id), || secret::get(gcp, id)).await
    }
}

/// Reads the secret with its latest text, if that is enabled; a secret that is not found is an error.
async fn look(gcp: &Gcp, id: &str) -> Result<Found, ApiError> {
    let secret = secret::get(gcp, id).await?;
    let last = match secret::last(gcp, &secret).await?.filter(|version| version.enabled) {
        Some(version) => {
            let (number, text) = secret::read(gcp, id, &version.number.to_string()).await?;
            Some((number, text.to_string()))
        }
        None => None,
    };
    Ok(Found { secret, last })
}
