//! `warren_gcp_gateway`: the VM of a gateway.
//!
//! It runs a startup script that installs the tunnel and fetches keys and configuration by name, so their contents
//! can change without the VM. Its address and service account are separate objects that outlive it.
//!
//! ```text
//! insert -> RUNNING -> labels, network tags
//! delete -> gone, with its disk; the address is free again
//! ```

mod api;
pub(crate) mod architecture;
mod model;
#[cfg(test)]
mod tests;
pub(crate) mod vm;

use tf_provider_rs::{Attr, Change, Diagnostics, Path, async_trait};
use warren_gateways::boot::{self, Extras, Logs, ReleaseBlock, Run, Volume};
use warren_managed::{Object, Poll};
use warren_wire::fetch::Source;

use crate::account::Gcp;
use crate::error::{ApiError, Failure as _};
use crate::link::SecretRef;
use crate::operation::{carry_out, landed, remove};
use crate::session::{Session, Work};
pub(crate) use model::Gateway;
use model::{MISCONFIGURED, RUNNING};

#[async_trait]
impl Object for Gateway {
    const ELSEWHERE: &'static [&'static str] = &["subnetwork", "config", "wireguard_key", "tls_key"];

    async fn plan(_session: &Session, change: &mut Change<Gateway>, diagnostics: &mut Diagnostics) {
        let script = match script(&change.planned) {
            Ok(script) => script,
            Err(error) => return diagnostics.extend(error),
        };
        diagnostics.0.extend(architecture::check(
            &change.planned.image,
            &change.planned.machine_type,
            &change.planned.release,
        ));
        let planned = &mut change.planned;
        planned.startup_script = script;
        let Some(prior) = &change.prior else { return };
        if planned.startup_script != prior.startup_script {
            change.requires_replace.push(Path::of("startup_script"));
        }
        if prior.state != RUNNING.into() {
            planned.state = Attr::Unknown;
        }
        if prior.state == MISCONFIGURED.into() {
            change.requires_replace.push(Path::of("state"));
        }
    }

    async fn find(&self, gcp: &Gcp) -> Result<Vec<String>, ApiError> {
        api::find(gcp, self).await
    }

    async fn create(&self, gcp: &Gcp, _description: &String) -> Result<String, ApiError> {
        api::create(gcp, self).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<Gateway, Diagnostics> {
        let Work { cloud: gcp, op, .. } = work;
        let id = self.object.id()?;
        landed(work, self).await?;
        op.until(RUNNING, || async { Ok(api::start(gcp, id).await?.map_or(Poll::Ready(()), Poll::Pending)) })
            .await?;
        carry_out(work, || api::set_labels(gcp, self)).await?;
        carry_out(work, || api::set_tags(gcp, self)).await?;
        op.call(|| api::get(gcp, self)).await
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Gateway>, Diagnostics> {
        Ok(ApiError::if_found(api::get(&work.cloud, self).await)?)
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let (gcp, id) = (&work.cloud, self.object.id()?);
        remove(work, || api::delete(gcp, id), || api::get(gcp, self)).await
    }
}

/// The startup script of a gateway; unknown while any part of it is.
fn script(gateway: &Gateway) -> Result<Attr<String>, Diagnostics> {
    let secrets = [&gateway.config, &gateway.wireguard_key, &gateway.tls_key];
    startup_script(&gateway.release, secrets, gateway.cloud_logging, &Attr::Null)
}

/// The startup script of a VM with this configuration, WireGuard key and TLS key; unknown while any part of it is.
pub(crate) fn startup_script(
    release: &Attr<ReleaseBlock>,
    secrets: [&Attr<SecretRef>; 3],
    cloud_logging: Attr<bool>,
    volume: &Attr<Volume>,
) -> Result<Attr<String>, Diagnostics> {
    let [config, wireguard_key, tls_key] = secrets.map(|secret| match secret {
        Attr::Known(secret) => Attr::Known(secret.id()),
        Attr::Null => Attr::Null,
        Attr::Unknown => Attr::Unknown,
    });
    let logs = match cloud_logging {
        Attr::Known(true) => Attr::Known(Logs::Console),
        Attr::Unknown => Attr::Unknown,
        _ => Attr::Null,
    };
    let names = [&config, &wireguard_key, &tls_key];
    boot::planned(Run::GuestAgent, release, names, Source::GcpSecret, &Extras::planned(&logs, volume))
}
