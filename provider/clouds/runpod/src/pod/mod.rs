//! `warren_runpod_pod`: a rented container.
//!
//! ```text
//! create -> PROVISIONING -> STARTING -> RUNNING        reconcile: patch what differs -> start or stop -> wait
//!                     \________\-> ERROR               gone, TERMINATED: drift, recreated
//! RUNNING <-> EXITED                                   EXITED, ERROR: drift, started (or recreated, `when_stopped`)
//! ```

mod api;
mod check;
mod env;
mod model;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};
use tf_provider_rs::{Change, Diagnostic, Diagnostics, async_trait};
use warren_managed::{Common as _, Object, Poll, sets};

use crate::error::{ApiError, Failure as _};
use crate::session::{RunPod, Session, Work};
use api::Found;
pub(crate) use model::{Pod, mount_path, ports, variables};

#[async_trait]
impl Object for Pod {
    fn validate(&self, _session: &Session, diagnostics: &mut Diagnostics) {
        check::pod(self, diagnostics);
        env::check_both(self, diagnostics);
    }

    async fn plan(_: &Session, change: &mut Change<Pod>, diagnostics: &mut Diagnostics) {
        change.planned.secret_env_names = env::names(&change.config);
        check::default_disk(change);
        check::replaced(change, diagnostics);
    }

    async fn prepare(
        &mut self,
        work: &Work<'_>,
        prior: Option<&Pod>,
        config: &Pod,
    ) -> Result<(), Diagnostics> {
        self.env_wo = config.env_wo.clone();
        if let Some(prior) = prior
            && prior.env_wo_version == self.env_wo_version
            && self.env_wo.is_known()
        {
            let have = work.op.call(|| api::get(&work.cloud, self)).await?;
            env::kept(self, &have.env);
        }
        Ok(())
    }

    async fn find(&self, runpod: &RunPod) -> Result<Vec<String>, ApiError> {
        api::find(runpod, self).await
    }

    async fn create(&self, runpod: &RunPod, mark: &String) -> Result<String, ApiError> {
        api::create(runpod, self, mark).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<Pod, Diagnostics> {
        let Work { cloud: runpod, op, .. } = work;
        let have = op.call(|| api::get(runpod, self)).await?;
        let change = difference(self, &have, &self.marks(runpod)?);
        if change != json!({}) {
            op.call(|| api::update(runpod, self, &change)).await?;
        }
        let found =
            if self.shall_run() { run(self, work, &have.status).await? } else { stop(self, work).await? };
        Ok(found.state)
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Pod>, Diagnostics> {
        Ok(ApiError::if_found(api::get(&work.cloud, self).await)?.map(|found| found.state))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let (runpod, id) = (&work.cloud, self.object.id()?);
        work.op.delete(|| api::delete(runpod, id), || api::get(runpod, self)).await
    }
}

/// The patch that changes the pod to the planned state.
fn difference(planned: &Pod, have: &Found, mark: &str) -> Value {
    let mut change = json!({});
    let env = env::wanted(planned, mark, &have.env);
    let state = &have.state;
    let mounts = api::mounts(planned);
    let (name, ports) = (&planned.object.naming.name, sets::known(&planned.ports));
    for (member, wanted, differs) in [
        ("name", json!(name.known()), state.object.naming.name != *name),
        ("image", json!(planned.image.known()), state.image != planned.image),
        ("args", json!(planned.args.known().map_or("", String::as_str)), state.args != planned.args),
        ("disk", json!(planned.disk.known()), state.disk != planned.disk),
        ("ports", json!(ports), sets::known(&state.ports) != ports),
        ("env", json!(env), have.env != env),
        (
            "registry",
            json!(planned.registry_auth_id.known()),
            state.registry_auth_id != planned.registry_auth_id,
        ),
        ("locked", json!(planned.locked.is_true()), state.locked != planned.locked.is_true().into()),
        (
            "globalNetworking",
            json!(planned.global_networking.is_true()),
            state.global_networking != planned.global_networking.is_true().into(),
        ),
        ("mounts", mounts.clone(), api::mounts(state) != mounts),
    ] {
        if differs {
            change[member] = wanted;
        }
    }
    change
}

/// Starts the pod if it was stopped, and waits until its container runs.
async fn run(planned: &Pod, work: &Work<'_>, was: &str) -> Result<Found, Diagnostics> {
    let Work { cloud: runpod, op, .. } = work;
    let id = planned.object.id()?;
    if matches!(was, "EXITED" | "ERROR") {
        match api::act(runpod, id, "start").await {
            Ok(()) => {}
            // The response was lost, or something else started the pod: its status decides.
            Err(error) if error.is_ambiguous() || error.status == 409 => {}
            Err(error) => return Err(op.explain(error)),
        }
    }
    if !planned.wait_for_running.is_true() {
        return op.call(|| api::get(runpod, planned)).await;
    }
    let found = op
        .until("RUNNING", || async {
            let found = api::get(runpod, planned).await?;
            Ok(match found.status.as_str() {
                "PROVISIONING" | "STARTING" => Poll::Pending(told(&found)),
                _ => Poll::Ready(found),
            })
        })
        .await?;
    if found.status == "RUNNING" { Ok(found) } else { Err(op.explain(failed(&found))) }
}

/// Stops the pod and waits until it has stopped.
async fn stop(planned: &Pod, work: &Work<'_>) -> Result<Found, Diagnostics> {
    let Work { cloud: runpod, op, .. } = work;
    let id = planned.object.id()?;
    op.until("EXITED", || async {
        let found = api::get(runpod, planned).await?;
        if matches!(found.status.as_str(), "EXITED" | "ERROR") {
            return Ok(Poll::Ready(found));
        }
        match api::act(runpod, id, "stop").await {
            Ok(()) => {}
            Err(error) if error.is_ambiguous() || (error.status == 409 && !found.state.locked.is_true()) => {}
            Err(error) => return Err(error),
        }
        Ok(Poll::Pending(found.status))
    })
    .await
}

/// A status in which a container may be stuck, with the most common reason.
fn told(found: &Found) -> String {
    match found.state.registry_auth_id.known() {
        Some(registry) => format!(
            "{} (RunPod shows the same status if it cannot pull the image; the registry credential {registry} may \
             have expired, as Amazon ECR tokens do after 12 hours)",
            found.status
        ),
        None => found.status.clone(),
    }
}

/// The error for a pod that has ended instead of running.
fn failed(found: &Found) -> Diagnostic {
    let Found { state, status, .. } = found;
    let id = state.object.id.known().map_or("without an ID", String::as_str);
    if status == "EXITED" {
        return Diagnostic::error(
            "The container exited",
            format!(
                "The pod {id} started, but its program exited immediately.\n\nCheck the pod's container log in the \
                 RunPod console. If the program is meant to exit, set `wait_for_running = false`."
            ),
        );
    }
    let hint = match state.registry_auth_id.known() {
        Some(registry) => format!(
            "The registry credential {registry}, which the pod uses to pull its image, may have expired; Amazon ECR \
             tokens expire after 12 hours. Set a new token in `password_wo` of the `warren_runpod_registry_auth`, \
             raise `password_wo_version`, and apply again."
        ),
        None => format!(
            "Check that {} exists and is public, and check the pod's system log in the RunPod console, then apply \
             again. A private image needs `registry_auth_id`.",
            state.image.known().map_or_else(|| "the image".to_owned(), |image| format!("{image:?}"))
        ),
    };
    Diagnostic::error(
        "The container cannot start",
        format!("RunPod reported status {status} for pod {id}.\n\n{hint}"),
    )
}
