//! `warren_gcp_gateway_group`: a gateway that Google Cloud recreates.
//!
//! A managed instance group recreates a VM that fails or was deleted under its name (Compute Engine documentation, "About
//! repairing VMs in a MIG"). The per-instance configuration of the VM names its disk and its addresses, which the group
//! therefore attaches to each VM that it creates ("How some operations affect preserved state of managed instances").
//!
//! ```text
//! disk -> internal address -> template -> group -> VM with its configuration -> VM runs -> former templates
//! delete: group with its VM -> templates -> internal address -> disk
//! another template -> the group deletes the VM and creates it again
//! ```
//!
//! The disk is the first part to exist and the last one to go, so what an interrupted run leaves is found.

mod api;
mod group;
mod model;
mod template;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Attr, Change, Diagnostics, Path, async_trait};
use warren_gateways::boot::Volume;
use warren_managed::{Object, Poll, adopt};

use crate::account::Gcp;
use crate::error::{ApiError, Failure as _};
use crate::gateway::{architecture, startup_script, vm};
use crate::operation::{carry_out, landed, landed_by, remove};
use crate::session::{Session, Work};
pub(crate) use model::GatewayGroup;
use model::RUNNING;

/// The name by which the VM knows the disk with the leases.
const DEVICE: &str = "warren-leases";

#[async_trait]
impl Object for GatewayGroup {
    const ELSEWHERE: &'static [&'static str] =
        &["subnetwork", "address", "config", "wireguard_key", "tls_key"];

    fn validate(&self, _session: &Session, diagnostics: &mut Diagnostics) {
        self.check_name(diagnostics);
    }

    async fn plan(_session: &Session, change: &mut Change<GatewayGroup>, diagnostics: &mut Diagnostics) {
        let planned = &mut change.planned;
        match planned.script() {
            Ok(script) => planned.startup_script = script,
            Err(error) => return diagnostics.extend(error),
        }
        let checked = architecture::check(&planned.image, &planned.machine_type, &planned.release);
        diagnostics.0.extend(checked);
        let Some(prior) = &change.prior else { return };
        let disk = |it: &GatewayGroup| it.machine_type.known().map(|machine| vm::disk_type(machine));
        if disk(prior).zip(disk(planned)).is_some_and(|(have, want)| have != want) {
            change.requires_replace.push(Path::of("machine_type"));
        }
        if prior.state != RUNNING.into() || template::name(planned).ok() != template::name(prior).ok() {
            planned.state = Attr::Unknown;
        }
    }

    async fn find(&self, gcp: &Gcp) -> Result<Vec<String>, ApiError> {
        api::find(gcp, self).await
    }

    async fn create(&self, gcp: &Gcp, _description: &String) -> Result<String, ApiError> {
        api::create(gcp, self).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<GatewayGroup, Diagnostics> {
        let Work { cloud: gcp, op, .. } = work;
        self.disk(work).await?;
        self.internal_address(work).await?;
        self.template(work).await?;
        self.group(work).await?;
        self.vm(work).await?;
        for former in op.call(|| template::former(gcp, self)).await? {
            remove(work, || template::delete(gcp, &former), || template::fetch(gcp, &former)).await?;
        }
        op.call(|| api::get(gcp, self)).await
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<GatewayGroup>, Diagnostics> {
        Ok(ApiError::if_found(api::get(&work.cloud, self).await)?)
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: gcp, op, .. } = work;
        let id = self.object.id()?;
        if op.call(|| group::ours(gcp, self)).await?.is_some() {
            op.check_cancelled()?;
            remove(work, || group::delete(gcp, id), || group::fetch(gcp, id)).await?;
        }
        for template in op.call(|| template::all(gcp, self)).await? {
            op.check_cancelled()?;
            remove(work, || template::delete(gcp, &template), || template::fetch(gcp, &template)).await?;
        }
        op.check_cancelled()?;
        if !op.call(|| api::find_address(gcp, self)).await?.is_empty() {
            remove(work, || api::delete_address(gcp, self), || api::internal_address(gcp, self)).await?;
        }
        op.check_cancelled()?;
        remove(work, || api::delete_disk(gcp, id), || api::disk(gcp, id)).await
    }
}

impl GatewayGroup {
    /// The startup script; unknown while a part of it is.
    fn script(&self) -> Result<Attr<String>, Diagnostics> {
        let disk = Attr::Known(Volume::Device(format!("/dev/disk/by-id/google-{DEVICE}")));
        let secrets = [&self.config, &self.wireguard_key, &self.tls_key];
        startup_script(&self.release, secrets, self.cloud_logging, &disk)
    }

    /// Waits for the disk, creates it again if it is missing, and sets its labels.
    async fn disk(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let gcp = &work.cloud;
        let id = self.object.id()?;
        landed(work, self).await?;
        if ApiError::if_found(api::disk(gcp, id).await)?.is_none() {
            adopt::ensure(work, self, || api::find(gcp, self), || api::create(gcp, self)).await?;
            landed(work, self).await?;
        }
        carry_out(work, || api::set_labels(gcp, self)).await
    }

    /// Reserves the internal address.
    async fn internal_address(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let gcp = &work.cloud;
        let (find, create) = (|| api::find_address(gcp, self), || api::create_address(gcp, self));
        let id = adopt::ensure(work, self, find, create).await?;
        landed_by(work, self, &id, find, create).await
    }

    /// Creates the template with the current settings.
    async fn template(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let gcp = &work.cloud;
        let (find, create) = (|| template::find(gcp, self), || template::create(gcp, self));
        let id = adopt::ensure(work, self, find, create).await?;
        landed_by(work, self, &id, find, create).await
    }

    /// Creates the group, or gives it the current template.
    async fn group(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: gcp, op, .. } = work;
        if op.call(|| group::ours(gcp, self)).await?.is_none() {
            let (find, create) = (|| group::find(gcp, self), || group::create(gcp, self));
            let id = adopt::ensure(work, self, find, create).await?;
            landed_by(work, self, &id, find, create).await?;
        }
        carry_out(work, || group::update(gcp, self)).await
    }

    /// Lets the group have one VM, with the disk and the addresses, and waits until it runs with the current template.
    async fn vm(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: gcp, op, .. } = work;
        carry_out(work, || group::dismiss(gcp, self)).await?;
        op.until("without other VMs", || async {
            let others = group::others(gcp, self).await?;
            Ok(others.first().map_or(Poll::Ready(()), |vm| Poll::Pending(vm.shown())))
        })
        .await?;
        op.until("without a former VM of its name", || async {
            let awaited = group::is_awaited(gcp, self).await?;
            Ok(if awaited { Poll::Pending("another VM has its name".to_owned()) } else { Poll::Ready(()) })
        })
        .await?;
        carry_out(work, || group::start(gcp, self)).await?;
        op.until(RUNNING, || async {
            let vms = group::vms(gcp, self.object.id()?).await?;
            let Some(vm) = vms.into_iter().next() else {
                return Ok(Poll::Pending("no VM yet".to_owned()));
            };
            let runs = vm.runs && vm.template.as_deref() == Some(&template::name(self)?);
            Ok(if runs { Poll::Ready(()) } else { Poll::Pending(vm.shown()) })
        })
        .await
    }
}
