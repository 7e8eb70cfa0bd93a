//! `warren_aws_gateway`: the EC2 instance of a gateway.
//!
//! Its boot script installs the tunnel and fetches keys and configuration by name, so their values can
//! change without replacing the instance. Address, security group and role are separate objects that
//! outlive it.
//!
//! ```text
//! run -> running -> source/destination check off, groups, metadata -> address
//! terminate -> terminated; the address is free again
//! ```

mod api;
mod schema;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Attr, Change, Diagnostic, Diagnostics, Path, Schema, async_trait};

use crate::common::retag;
use crate::error::ApiError;
use crate::session::{Aws, Session, Work};
use crate::tags::Tags;
pub(crate) use schema::Gateway;
use warren_managed::{Failure, Object, Poll, sets};

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
        planned.user_data = script;
        let Some(prior) = &change.prior else { return };
        if planned.user_data != prior.user_data {
            change.requires_replace.push(Path::of("user_data"));
        }
        if prior.state.text() != "running" {
            planned.state = Attr::Unknown;
        }
        if planned.allocation_id != prior.allocation_id || !prior.public_ip.is_known() {
            planned.public_ip = Attr::Unknown;
        }
    }

    async fn find(&self, aws: &Aws) -> Result<Vec<String>, ApiError> {
        api::find(aws, self).await
    }

    async fn create(&self, aws: &Aws, tags: &Tags) -> Result<String, ApiError> {
        api::run(aws, self, tags).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<Gateway, Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.id.text();
        let found = op
            .until("running", || async {
                let found = api::get(aws, id).await?;
                match found.state.as_str() {
                    "stopped" => api::start(aws, id).await?,
                    "pending" | "stopping" => {}
                    _ => return Ok(Poll::Ready(found)),
                }
                Ok(Poll::Pending(found.state))
            })
            .await?;
        if found.state != "running" {
            return Err(failed(id, &found).into());
        }
        retag(work, self, &api::without_digest(&found.tags)).await?;
        if found.source_dest_check {
            op.check_cancelled()?;
            op.call(|| api::forward(aws, id)).await?;
        }
        if found.metadata_tokens != "required" {
            op.check_cancelled()?;
            op.call(|| api::require_tokens(aws, id)).await?;
        }
        let groups = sets::known(&self.security_group_ids);
        if found.groups != groups {
            op.check_cancelled()?;
            op.call(|| api::set_groups(aws, id, &groups)).await?;
        }
        if let Some(address) = self.allocation_id.known()
            && found.allocation_id.as_ref() != Some(address)
        {
            op.check_cancelled()?;
            op.call(|| api::associate(aws, id, address)).await?;
        }
        let found = op.call(|| api::get(aws, id)).await?;
        Ok(schema::state(aws, found, self))
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Gateway>, Diagnostics> {
        let Work { cloud: aws, .. } = work;
        let id = self.id.text();
        let Some(mut found) = ApiError::if_found(api::get(aws, id).await)?.filter(api::Found::is_living)
        else {
            return Ok(None);
        };
        if !self.user_data.is_known() {
            found.user_data = api::user_data(aws, id).await?;
        }
        Ok(Some(schema::state(aws, found, self)))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.id.text();
        let gone = || async {
            match ApiError::if_found(api::get(aws, id).await)? {
                Some(found) if found.state != "terminated" => Ok(found),
                _ => Err(ApiError::absent("DescribeInstances", id)),
            }
        };
        op.delete(|| api::terminate(aws, id), gone).await
    }
}

fn failed(id: &str, found: &api::Found) -> Diagnostic {
    Diagnostic::error(
        "Gateway instance not running",
        format!(
            "The instance {id} is in the state {}: {}. Apply again to create another instance. If that \
             fails too, check the image, the KMS key of the disk, and the quotas of the account.",
            found.state,
            found.reason.as_deref().unwrap_or("AWS gave no reason")
        ),
    )
}
