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
pub(crate) mod architecture;
mod model;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Attr, Change, Diagnostic, Diagnostics, Path, async_trait};

use crate::error::ApiError;
use crate::session::{Aws, Session, Work};
use crate::tags::Tags;
pub(crate) use api::root_device;
pub(crate) use model::{Gateway, check_log_group};
use warren_gateways::boot::{self, Extras, Logs, ReleaseBlock, Run, Volume};
use warren_managed::{Failure, Object, Poll};
use warren_wire::fetch::Source;

#[async_trait]
impl Object for Gateway {
    async fn plan(session: &Session, change: &mut Change<Gateway>, diagnostics: &mut Diagnostics) {
        let it = &change.planned;
        let names = [&it.config, &it.wireguard_key, &it.tls_key];
        let script = match script(&it.release, names, &it.log_group, &Attr::Null) {
            Ok(script) => script,
            Err(error) => return diagnostics.extend(error),
        };
        change.planned.user_data = script;
        let parts: fn(&Gateway) -> architecture::Parts<'_> =
            |gateway| (&gateway.image_id, &gateway.instance_type, &gateway.release);
        architecture::check(session, change, parts, diagnostics).await;
        let planned = &mut change.planned;
        let Some(prior) = &change.prior else { return };
        if planned.user_data != prior.user_data {
            change.requires_replace.push(Path::of("user_data"));
        }
        if prior.state != "running".into() {
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
        let id = self.object.id()?;
        let have = op
            .until("running", || async {
                let found = api::get(aws, self).await?;
                match found.status.as_str() {
                    "stopped" => api::start(aws, id).await?,
                    "pending" | "stopping" => {}
                    _ => return Ok(Poll::Ready(found)),
                }
                Ok(Poll::Pending(found.status))
            })
            .await?;
        if have.status != "running" {
            return Err(failed(id, &have).into());
        }
        self.object.retag(work, &have.state.object).await?;
        if have.source_dest_check {
            op.check_cancelled()?;
            op.call(|| api::forward(aws, id)).await?;
        }
        if !have.requires_tokens {
            op.check_cancelled()?;
            op.call(|| api::require_tokens(aws, id)).await?;
        }
        if have.state.security_group_ids != self.security_group_ids {
            op.check_cancelled()?;
            op.call(|| api::set_groups(aws, id, &self.security_group_ids)).await?;
        }
        if let Some(address) = self.allocation_id.known()
            && have.state.allocation_id.known() != Some(address)
        {
            op.check_cancelled()?;
            op.call(|| api::associate(aws, id, address)).await?;
        }
        Ok(op.call(|| api::get(aws, self)).await?.state)
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Gateway>, Diagnostics> {
        let aws = &work.cloud;
        let found = ApiError::if_found(api::get(aws, self).await)?;
        let Some(mut found) = found.filter(api::Found::is_living) else { return Ok(None) };
        if !self.user_data.is_known() {
            found.state.user_data = api::user_data(aws, self.object.id()?).await?;
        }
        Ok(Some(found.state))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.object.id()?;
        let living = || async {
            match ApiError::if_found(api::get(aws, self).await)? {
                Some(found) if found.status != "terminated" => Ok(found),
                _ => Err(ApiError::absent("DescribeInstances", id)),
            }
        };
        op.delete(|| api::terminate(aws, id), living).await
    }
}

/// The boot script of a gateway; unknown while a part of it is.
pub(crate) fn script(
    release: &Attr<ReleaseBlock>,
    names: [&Attr<String>; 3],
    log_group: &Attr<String>,
    volume: &Attr<Volume>,
) -> Result<Attr<String>, Diagnostics> {
    let logs = match log_group {
        Attr::Known(group) => Attr::Known(Logs::CloudWatch(group.clone())),
        Attr::Null => Attr::Null,
        Attr::Unknown => Attr::Unknown,
    };
    boot::planned(Run::CloudInit, release, names, Source::AwsSsm, &Extras::planned(&logs, volume))
}

fn failed(id: &str, found: &api::Found) -> Diagnostic {
    Diagnostic::error(
        "Gateway instance not running",
        format!(
            "The instance {id} is in the state {}: {}. Apply again to create another instance. If that \
             fails too, check the image, the KMS key of the disk, and the quotas of the account.",
            found.status,
            found.reason.as_deref().unwrap_or("AWS gave no reason")
        ),
    )
}
