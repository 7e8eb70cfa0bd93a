//! Long-running operations: most changes start with a call and end when their operation succeeds or fails.

use google_cloud_compute_v1::model::Operation;
use google_cloud_compute_v1::model::operation::Status;
use google_cloud_gax::error::Error;
use google_cloud_longrunning::model::Operation as LongRunning;
use google_cloud_longrunning::model::operation::Result as Outcome;
use tf_provider_rs::Diagnostics;
use warren_managed::{Pause, Poll};

use crate::error::{ApiError, Failure, Named};
use crate::link;
use crate::session::{Gcp, Work};

/// A change that has started.
#[derive(Clone, Debug)]
pub(crate) struct Begun {
    /// Such as `networks.insert`.
    call: &'static str,
    project: String,
    place: Place,
    name: String,
}

/// The API that serves the operation.
#[derive(Clone, Debug)]
enum Place {
    Global,
    Region(String),
    Zone(String),
    /// Artifact Registry, whose operations have long names.
    Registry,
    /// Access Context Manager, whose operations have long names too.
    Perimeters,
}

impl Begun {
    /// The change of the object `id`, from the response of `call`.
    pub(crate) fn new(call: &'static str, id: &str, operation: Operation) -> Begun {
        let link = link::Link::parse(id);
        let last = |url: &Option<String>| url.as_deref()?.rsplit('/').next().map(str::to_owned);
        let place =
            last(&operation.zone).map(Place::Zone).or_else(|| last(&operation.region).map(Place::Region));
        Begun {
            call,
            project: link.map(|link| link.project).unwrap_or_default(),
            place: place.unwrap_or(Place::Global),
            name: operation.name.unwrap_or_default(),
        }
    }

    /// A change in Artifact Registry, from the name of its operation.
    pub(crate) fn in_registry(call: &'static str, name: String) -> Begun {
        Begun { call, project: String::new(), place: Place::Registry, name }
    }

    /// A change in Access Context Manager, from the name of its operation.
    pub(crate) fn in_perimeters(call: &'static str, name: String) -> Begun {
        Begun { call, project: String::new(), place: Place::Perimeters, name }
    }
}

/// Starts a change of the object `id`, with a request ID that makes a retried call the same change.
macro_rules! begin {
    ($name:literal, $id:expr, $call:expr) => {{
        use google_cloud_gax::options::RequestOptionsBuilder as _;
        let call = $call.set_request_id($crate::client::request_id()).with_idempotency(true);
        $crate::operation::Begun::new($name, $id, $crate::error::Named::named(call.send().await, $name)?)
    }};
}
pub(crate) use begin;

/// Makes a change and waits until it is done, retrying while another change blocks it. `change` returns `None` when there is
/// nothing to do.
pub(crate) async fn carry_out<F>(work: &Work<'_>, mut change: impl FnMut() -> F) -> Result<(), Diagnostics>
where
    F: Future<Output = Result<Option<Begun>, ApiError>>,
{
    let Work { op, cloud: gcp, .. } = work;
    let mut pause = Pause::default();
    loop {
        let Some(begun) = op.call(&mut change).await? else { return Ok(()) };
        match end(work, gcp, &begun).await? {
            Ok(()) => return Ok(()),
            Err(error) if error.is_not_ready() && !op.is_expired() => op.sleep(pause.grow()).await?,
            Err(error) => return Err(op.explain(error)),
        }
    }
}

/// Deletes an object, retrying while something still uses it, and polls until it is gone.
pub(crate) async fn remove<T, D, L>(
    work: &Work<'_>,
    mut delete: impl FnMut() -> D,
    look: impl FnMut() -> L,
) -> Result<(), Diagnostics>
where
    D: Future<Output = Result<Begun, ApiError>>,
    L: Future<Output = Result<T, ApiError>>,
{
    let Work { op, cloud: gcp, .. } = work;
    let mut pause = Pause::default();
    let mut known = || {
        let call = delete();
        async { ApiError::if_found(call.await) }
    };
    loop {
        let Some(begun) = op.release(&mut known).await? else { break };
        match end(work, gcp, &begun).await? {
            Ok(()) => break,
            Err(error) if error.is_not_found() => break,
            Err(error) if (error.is_in_use() || error.is_not_ready()) && !op.is_expired() => {
                tracing::debug!(%error, "retrying delete");
                op.sleep(pause.grow()).await?;
            }
            Err(error) => return Err(op.explain(error)),
        }
    }
    op.until_gone(look).await
}

/// Waits for the create of `id`, if this process has started it.
pub(crate) async fn landed(work: &Work<'_>, id: &str) -> Result<(), Diagnostics> {
    let Work { op, cloud: gcp, .. } = work;
    match gcp.take_begun(id) {
        Some(begun) => end(work, gcp, &begun).await?.map_err(|error| op.explain(error)),
        None => Ok(()),
    }
}

/// Waits until the operation is done and returns its outcome.
async fn end(work: &Work<'_>, gcp: &Gcp, begun: &Begun) -> Result<Result<(), ApiError>, Diagnostics> {
    work.op
        .until("done", || async {
            let looked = match &begun.place {
                Place::Registry => {
                    let call = gcp.clients.artifacts.get_operation().set_name(&begun.name);
                    long_running(begun, call.send().await.named("operations.get")?)
                }
                Place::Perimeters => {
                    let call = gcp.clients.perimeters.get_operation().set_name(&begun.name);
                    long_running(begun, call.send().await.named("operations.get")?)
                }
                Place::Global | Place::Region(_) | Place::Zone(_) => in_compute(gcp, begun).await?,
            };
            Ok(looked
                .map_or_else(|| Poll::Pending(format!("operation {} is not done", begun.name)), Poll::Ready))
        })
        .await
}

/// Outcome of a Compute Engine operation; `None` while it is in progress.
async fn in_compute(gcp: &Gcp, begun: &Begun) -> Result<Option<Result<(), ApiError>>, ApiError> {
    let operation = match &begun.place {
        Place::Region(region) => {
            let call = gcp.clients.region_operations.get().set_region(region);
            call.set_project(&begun.project)
                .set_operation(&begun.name)
                .send()
                .await
                .named("regionOperations.get")
        }
        Place::Zone(zone) => {
            let call = gcp.clients.zone_operations.get().set_zone(zone);
            call.set_project(&begun.project)
                .set_operation(&begun.name)
                .send()
                .await
                .named("zoneOperations.get")
        }
        _ => {
            let call = gcp.clients.global_operations.get();
            call.set_project(&begun.project)
                .set_operation(&begun.name)
                .send()
                .await
                .named("globalOperations.get")
        }
    }?;
    Ok((operation.status == Some(Status::Done)).then(|| outcome(begun, operation)))
}

/// Outcome of an operation of another API; `None` while it is in progress.
fn long_running(begun: &Begun, operation: LongRunning) -> Option<Result<(), ApiError>> {
    operation.done.then(|| match operation.result {
        Some(Outcome::Error(status)) => Err(ApiError::new(begun.call, &Error::service((&*status).into()))),
        _ => Ok(()),
    })
}

fn outcome(begun: &Begun, operation: Operation) -> Result<(), ApiError> {
    let status = operation.http_error_status_code.and_then(|status| u16::try_from(status).ok());
    match operation.error.map(|error| error.errors).unwrap_or_default().into_iter().next() {
        None => Ok(()),
        Some(error) => Err(ApiError {
            operation: begun.call,
            reason: error.code.unwrap_or_default(),
            message: error.message.or(operation.http_error_message).unwrap_or_default(),
            // The operation itself has an answer, so its failure is not ambiguous.
            status: status.filter(|status| *status < 500).unwrap_or(400),
        }),
    }
}
