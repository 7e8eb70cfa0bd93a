//! `warren_aws_gateway_config`: the configuration file of a gateway in a parameter that the gateway polls.
//! Changes of groups, policy and token keys replace no gateway.

mod schema;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Attr, Change, Diagnostics, Schema, async_trait};

use crate::error::ApiError;
use crate::parameter::{self, Put};
use crate::session::{Aws, Session, Work};
use crate::tags::Tags;
use schema::Found;
pub(crate) use schema::GatewayConfig;
use warren_managed::{Failure, Object};

/// Description of the parameter.
const DESCRIPTION: &str = "Configuration of a Warren gateway";

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

    async fn find(&self, aws: &Aws) -> Result<Vec<String>, ApiError> {
        parameter::find(aws, self.name.text()).await
    }

    async fn create(&self, aws: &Aws, tags: &Tags) -> Result<String, ApiError> {
        put(aws, self, Some(tags)).await?;
        Ok(self.name.text().to_owned())
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<GatewayConfig, Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let name = self.id.text();
        let written = || async { Ok(*parameter::read(aws, name).await?.1 == self.content.text()) };
        op.settle("written", written, || put(aws, self, None)).await?;
        parameter::settle_tags(work, name, &self.tags).await?;
        let found = op.call(|| look(aws, name)).await?;
        Ok(schema::state(aws, found, self))
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<GatewayConfig>, Diagnostics> {
        let found = ApiError::if_found(look(&work.cloud, self.id.text()).await)?;
        Ok(found.map(|found| schema::state(&work.cloud, found, self)))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let name = self.id.text();
        op.delete(|| parameter::delete(aws, name), || parameter::versions(aws, name)).await
    }
}

async fn put(aws: &Aws, planned: &GatewayConfig, tags: Option<&Tags>) -> Result<(), ApiError> {
    let put = Put {
        name: planned.name.text(),
        value: planned.content.text(),
        description: DESCRIPTION,
        secure: None,
        tags,
    };
    parameter::put(aws, &put).await.map(drop)
}

/// The content and its version; an error if it does not exist.
async fn look(aws: &Aws, name: &str) -> Result<Found, ApiError> {
    let (version, content) = parameter::read(aws, name).await?;
    Ok(Found {
        name: name.to_owned(),
        content: content.to_string(),
        version,
        tags: parameter::tags(aws, name).await?,
    })
}
