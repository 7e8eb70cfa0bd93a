//! `warren_aws_route53_zone_association`: the association of a VPC with a zone, perhaps of another account.

mod api;
mod model;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Attr, Change, Diagnostics, Progress, async_trait};
use warren_managed::{Failure, Object};

use crate::error::ApiError;
use crate::route53::{adopt_or_begin, conclude, in_sync, malformed, parts, zone_id};
use crate::route53_zone::api::{associate, disassociate};
use crate::session::{Aws, Session, Work};
use crate::tags::Tags;
pub(crate) use model::Association;

const FORM: &str = "ZONE:VPC:REGION";

#[async_trait]
impl Object for Association {
    async fn plan(session: &Session, change: &mut Change<Association>, _diagnostics: &mut Diagnostics) {
        if change.prior.is_none()
            && change.config.vpc_region.is_null()
            && let Some(aws) = session.known()
        {
            change.planned.vpc_region = aws.region.clone().into();
        }
    }

    fn import(_session: &Session, id: &str) -> Result<Association, Diagnostics> {
        let [zone, vpc, region] = parts(id, ':', FORM)?;
        let mut association = Association {
            zone_id: zone_id(zone, FORM)?,
            vpc_id: Attr::Known(vpc.parse().map_err(|_| malformed(id, FORM))?),
            vpc_region: region.into(),
            ..Association::default()
        };
        association.part.id = api::id(&association)?.into();
        Ok(association)
    }

    async fn prepare(
        &mut self,
        work: &Work<'_>,
        prior: Option<&Association>,
        config: &Association,
    ) -> Result<(), Diagnostics> {
        if prior.is_none() {
            if config.vpc_region.is_null() {
                self.vpc_region = work.cloud.region.clone().into();
            }
            self.part.id = api::id(self)?.into();
        }
        Ok(())
    }

    async fn find(&self, aws: &Aws) -> Result<Vec<String>, ApiError> {
        let found = ApiError::if_found(api::get(aws, self).await)?;
        found.map(|found| Ok(found.part.id()?.to_owned())).into_iter().collect()
    }

    async fn create(&self, aws: &Aws, _tags: &Tags) -> Result<String, ApiError> {
        create(self, aws).await.map(|(id, _)| id)
    }

    async fn ensure(&mut self, work: &Work<'_>, progress: &Progress) -> Result<(), Diagnostics> {
        let begun = adopt_or_begin(work, self, || create(self, &work.cloud)).await?;
        conclude(self, work, progress, begun).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<Association, Diagnostics> {
        work.op.call(|| api::get(&work.cloud, self)).await
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Association>, Diagnostics> {
        Ok(ApiError::if_found(api::get(&work.cloud, self).await)?)
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let (zone, vpc) = (self.zone_id.value()?, api::place(self)?);
        let change = op.call(|| disassociate(aws, zone, &vpc)).await?;
        in_sync(work, change).await?;
        op.until_gone(|| api::get(aws, self)).await
    }
}

async fn create(of: &Association, aws: &Aws) -> Result<(String, Option<String>), ApiError> {
    let change = associate(aws, of.zone_id.value()?, &api::place(of)?).await?;
    Ok((api::id(of)?, change))
}
