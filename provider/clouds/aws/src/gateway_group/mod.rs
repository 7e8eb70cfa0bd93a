//! `warren_aws_gateway_group`: a gateway that AWS replaces if it fails.
//!
//! The launch template names the network interface, which therefore moves to the instance that replaces another one, with
//! its addresses and the routes to it. The instance itself attaches the volume at boot.
//!
//! ```text
//! interface -> groups, forwarding, address -> volume -> template -> group -> instance in service
//! delete: group with its instance -> template -> volume -> interface
//! another template version -> the instance of the old one is terminated -> the group starts a new one
//! ```

mod api;
mod group;
mod model;
mod template;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Attr, Change, Diagnostics, Path, async_trait};

use crate::error::ApiError;
use crate::gateway::{architecture, script};
use crate::ids::VolumeId;
use crate::session::{Aws, Session, Work};
use crate::tags::Tags;
pub(crate) use model::GatewayGroup;
use model::RUNNING;
use warren_gateways::boot::Volume;
use warren_managed::{Failure, Object, Poll, adopt};

#[async_trait]
impl Object for GatewayGroup {
    fn validate(&self, _session: &Session, diagnostics: &mut Diagnostics) {
        self.check_name(diagnostics);
    }

    async fn plan(session: &Session, change: &mut Change<GatewayGroup>, diagnostics: &mut Diagnostics) {
        match change.planned.script() {
            Ok(script) => change.planned.user_data = script,
            Err(error) => return diagnostics.extend(error),
        }
        let parts: fn(&GatewayGroup) -> architecture::Parts<'_> =
            |group| (&group.image_id, &group.instance_type, &group.release);
        architecture::check(session, change, parts, diagnostics).await;
        let planned = &mut change.planned;
        let Some(prior) = &change.prior else { return };
        if planned.object.naming.name != prior.object.naming.name {
            change.requires_replace.push(Path::of("name"));
        }
        if prior.state != RUNNING.into() {
            // Its volume may be missing: another one has another ID, which is in the script.
            planned.volume_id = Attr::Unknown;
            planned.user_data = Attr::Unknown;
        }
        if prior.state != RUNNING.into() || template::digest(planned).ok() != template::digest(prior).ok() {
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
        api::create_interface(aws, self, tags).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<GatewayGroup, Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let id = self.object.id()?;
        let have = op.call(|| api::interface(aws, id)).await?;
        let tags = aws.tags(self.object.name()?, &self.object.tags);
        op.call(|| aws.retag(id, &have.tags, &tags)).await?;
        if have.source_dest_check {
            op.check_cancelled()?;
            op.call(|| api::forward(aws, id)).await?;
        }
        if have.security_group_ids != self.security_group_ids {
            op.check_cancelled()?;
            op.call(|| api::set_groups(aws, id, &self.security_group_ids)).await?;
        }
        if have.allocation_id != self.allocation_id {
            op.check_cancelled()?;
            op.call(|| api::associate(aws, id, &self.allocation_id)).await?;
        }
        let zone = have.zone.as_str();
        let volume = self.volume(work, zone, &tags).await?;
        let mut wanted = GatewayGroup { volume_id: Attr::Known(volume), ..self.clone() };
        wanted.user_data = wanted.script()?;
        wanted.network_interface_id = have.id;
        let template = wanted.template(work, &tags).await?;
        wanted.group(work, zone, &template, &tags).await?;
        op.call(|| api::get(aws, &wanted)).await
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<GatewayGroup>, Diagnostics> {
        Ok(ApiError::if_found(api::get(&work.cloud, self).await)?)
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let (id, name) = (self.object.id()?, self.object.name()?);
        if ApiError::if_found(group::ours(aws, name).await)?.is_some() {
            op.delete(|| group::delete(aws, name), || group::ours(aws, name)).await?;
        }
        op.check_cancelled()?;
        if let Some(template) = op.call(|| template::find(aws, name)).await? {
            op.call(|| async { ApiError::unless_gone(template::delete(aws, &template.id).await) }).await?;
        }
        op.check_cancelled()?;
        if let Some(volume) = op.call(|| api::volume(aws, name)).await? {
            let gone = || async {
                api::volume(aws, name).await?.ok_or_else(|| ApiError::absent("DescribeVolumes", name))
            };
            op.delete(|| api::delete_volume(aws, &volume.id), gone).await?;
        }
        op.check_cancelled()?;
        op.delete(|| api::delete_interface(aws, id), || api::interface(aws, id)).await
    }
}

impl GatewayGroup {
    /// The boot script; unknown while a part of it is, such as the volume of a new gateway.
    fn script(&self) -> Result<Attr<String>, Diagnostics> {
        let volume = match &self.volume_id {
            Attr::Known(id) => Attr::Known(Volume::Ebs(id.to_string())),
            _ => Attr::Unknown,
        };
        script(&self.release, [&self.config, &self.wireguard_key, &self.tls_key], &self.log_group, &volume)
    }

    /// The volume with the leases, which is created if it is missing.
    async fn volume(&self, work: &Work<'_>, zone: &str, tags: &Tags) -> Result<VolumeId, Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let name = self.object.name()?;
        op.settle(
            "created",
            || async { Ok(api::volume(aws, name).await?.is_some()) },
            || adopt::part(work, self, "volume", api::create_volume(aws, zone, tags)),
        )
        .await?;
        let found = op
            .until("available", || async {
                Ok(match api::volume(aws, name).await? {
                    Some(volume) if volume.is_ready => Poll::Ready(volume),
                    Some(_) => Poll::Pending("creating".to_owned()),
                    None => Poll::Pending("not visible yet".to_owned()),
                })
            })
            .await?;
        op.call(|| aws.retag(found.id.as_str(), &found.tags, tags)).await?;
        Ok(found.id)
    }

    /// The launch template, with a version for this gateway as its latest.
    async fn template(&self, work: &Work<'_>, tags: &Tags) -> Result<template::Template, Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let name = self.object.name()?;
        let digest = template::digest(self)?;
        op.settle(
            "created",
            || async {
                Ok(template::find(aws, name).await?.is_some_and(|have| have.digest.as_ref() == Some(&digest)))
            },
            // Another version has another token, also if the answer of the last one was lost.
            || adopt::part(work, self, &digest, template::write(aws, self, tags)),
        )
        .await?;
        let found = op.call(|| async {
            let found = template::find(aws, name).await?;
            found.ok_or_else(|| ApiError::absent("DescribeLaunchTemplates", name))
        });
        found.await
    }

    /// The Auto Scaling group, with an instance of this version of the template in service.
    async fn group(
        &self,
        work: &Work<'_>,
        zone: &str,
        template: &template::Template,
        tags: &Tags,
    ) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let name = self.object.name()?;
        op.check_cancelled()?;
        op.settle(
            "created",
            || async { Ok(group::find(aws, name).await?.is_some()) },
            || async { group::create(aws, name, zone, template, tags).await },
        )
        .await?;
        let have = op.call(|| group::ours(aws, name)).await?;
        if have.template != Some((template.id.clone(), template.version)) {
            op.check_cancelled()?;
            op.call(|| group::update(aws, name, template)).await?;
        }
        op.call(|| group::retag(aws, name, &have.tags, tags)).await?;
        let instance = op
            .until("in service", || async {
                let have = group::ours(aws, name).await?;
                match have.instance {
                    Some(instance) if instance.version == Some(template.version) => {
                        if instance.state == "InService" {
                            return Ok(Poll::Ready(instance.id));
                        }
                        Ok(Poll::Pending(instance.state))
                    }
                    Some(instance) if instance.state == "InService" => {
                        group::replace(aws, &instance.id).await?;
                        Ok(Poll::Pending("replacing the instance of another template version".to_owned()))
                    }
                    Some(instance) => Ok(Poll::Pending(instance.state)),
                    None => Ok(Poll::Pending(group::activity(aws, name).await?)),
                }
            })
            .await?;
        let have = op.call(|| api::instance_tags(aws, &instance)).await?;
        op.call(|| aws.retag(&instance, &have, tags)).await
    }
}
