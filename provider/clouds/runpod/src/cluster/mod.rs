//! `warren_runpod_cluster`: pods of one shape, which RunPod creates and deletes together.
//!
//! ```text
//! create -> pods PROVISIONING, STARTING -> all RUNNING        reconcile: rename -> wait
//!                     \________\-> one ERROR or EXITED: the apply fails
//! ```

mod api;
mod model;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Change, Diagnostic, Diagnostics, async_trait};
use warren_managed::{Common as _, Object, Poll};

use crate::error::{ApiError, Failure as _};
use crate::gpu::no_longer_accepted;
use crate::session::{RunPod, Session, Work};
use api::Found;
pub(crate) use model::Cluster;

#[async_trait]
impl Object for Cluster {
    fn validate(&self, _session: &Session, diagnostics: &mut Diagnostics) {
        if let Some(gpu) = self.gpu.known() {
            gpu.choice.check(diagnostics);
        }
    }

    async fn plan(_: &Session, change: &mut Change<Cluster>, _diagnostics: &mut Diagnostics) {
        let Some(prior) = &change.prior else { return };
        let planned = &change.planned;
        change.requires_replace.extend(no_longer_accepted(
            (&prior.data_center_id, &planned.data_center_ids),
            (prior.gpu.known().map(|gpu| &gpu.choice), planned.gpu.known().map(|gpu| &gpu.choice)),
        ));
    }

    async fn find(&self, runpod: &RunPod) -> Result<Vec<String>, ApiError> {
        api::find(runpod, self).await
    }

    async fn create(&self, runpod: &RunPod, name: &String) -> Result<String, ApiError> {
        api::create(runpod, self, name).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<Cluster, Diagnostics> {
        let Work { cloud: runpod, op, .. } = work;
        let have = op.call(|| api::get(runpod, self)).await?;
        if have.state.object.naming != self.object.naming {
            let (id, name) = (self.object.id()?, self.marks(runpod)?);
            op.call(|| api::rename(runpod, id, &name)).await?;
        }
        if !self.wait_for_running.is_true() {
            return Ok(have.state);
        }
        let found = op
            .until("RUNNING", || async {
                let found = api::get(runpod, self).await?;
                Ok(if is_settled(&found) { Poll::Ready(found) } else { Poll::Pending(found.told()) })
            })
            .await?;
        match failed(&found) {
            Some(failed) => Err(op.explain(failed)),
            None => Ok(found.state),
        }
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Cluster>, Diagnostics> {
        Ok(ApiError::if_found(api::get(&work.cloud, self).await)?.map(|found| found.state))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let (runpod, id) = (&work.cloud, self.object.id()?);
        work.op.delete(|| api::delete(runpod, id), || api::get(runpod, self)).await
    }
}

/// Whether all pods run, or one of them will not.
fn is_settled(found: &Found) -> bool {
    let running = found.by_status.get("RUNNING").copied().unwrap_or(0);
    found.state.pod_count.known() == Some(&running) || failed(found).is_some()
}

/// The error for a cluster with pods that have ended instead of running.
fn failed(found: &Found) -> Option<Diagnostic> {
    let ended = |status: &String| matches!(status.as_str(), "ERROR" | "EXITED" | "TERMINATED");
    found.by_status.keys().find(|status| ended(status)).map(|_| {
        let id = found.state.object.id.known().map_or("without an ID", String::as_str);
        Diagnostic::error(
            "Pods of the cluster do not run",
            format!(
                "RunPod reported for cluster {id}: {}.\n\nCheck that the image exists and is public, and check the logs \
                 of its pods in the RunPod console. If the program is meant to exit, set `wait_for_running = false`.",
                found.told()
            ),
        )
    })
}
