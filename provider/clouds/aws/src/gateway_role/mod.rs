//! `warren_aws_gateway_role`: the permissions of a gateway, which can read its own secrets and nothing
//! else.
//!
//! Three objects with the same name. The role is created first and deleted last, so it shows whether
//! anything exists:
//!
//! ```text
//! role -> its policy -> instance profile -> role in profile
//! delete in the other direction
//! ```

mod api;
mod document;
mod model;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Diagnostics, async_trait};

use crate::error::ApiError;
use crate::policy;
use crate::session::{Aws, Work};
use crate::tags::{self, Tags};
pub(crate) use model::GatewayRole;
use warren_managed::{Failure, Object};

#[async_trait]
impl Object for GatewayRole {
    /// The role with the planned name if this owner manages it; an error if another one does.
    async fn find(&self, aws: &Aws) -> Result<Vec<String>, ApiError> {
        let name = self.object.name()?;
        match ApiError::if_found(api::role(aws, name).await)? {
            Some(role) if aws.owns(&role.tags, name) => Ok(vec![name.to_owned()]),
            Some(role) => {
                let what = format!("the role {name}");
                Err(tags::taken("CreateRole", "EntityAlreadyExists", &what, &role.tags))
            }
            None => Ok(Vec::new()),
        }
    }

    async fn create(&self, aws: &Aws, tags: &Tags) -> Result<String, ApiError> {
        api::create_role(aws, self, tags).await?;
        Ok(self.object.name()?.to_owned())
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<GatewayRole, Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let name = self.object.id()?;
        let account = aws.account().await?;
        let wanted = document::policy(aws, &account, self);
        let have = op.call(|| api::role(aws, name)).await?;
        let tags = aws.tags(name, &self.object.tags);
        op.call(|| api::retag_role(aws, name, &have.tags, &tags)).await?;
        let stored = ApiError::if_found(api::policy(aws, name).await)?;
        if !stored.is_some_and(|stored| policy::equivalent(&stored, &wanted)) {
            op.check_cancelled()?;
            op.call(|| api::put_policy(aws, name, &wanted)).await?;
        }
        let profile = match ApiError::if_found(api::profile(aws, name).await)? {
            Some(profile) => profile,
            None => {
                op.check_cancelled()?;
                op.call(|| api::create_profile(aws, name, &tags)).await?;
                op.call(|| api::profile(aws, name)).await?
            }
        };
        op.call(|| api::retag_profile(aws, name, &profile.tags, &tags)).await?;
        if !profile.roles.contains(name) {
            op.check_cancelled()?;
            op.call(|| api::add(aws, name)).await?;
        }
        op.call(|| api::get(aws, self)).await
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<GatewayRole>, Diagnostics> {
        Ok(ApiError::if_found(api::get(&work.cloud, self).await)?)
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let name = self.object.id()?;
        op.call(|| api::remove(aws, name)).await?;
        op.release(|| api::delete_profile(aws, name)).await?;
        op.check_cancelled()?;
        op.call(|| api::delete_policy(aws, name)).await?;
        op.delete(|| api::delete_role(aws, name), || api::role(aws, name)).await
    }
}
