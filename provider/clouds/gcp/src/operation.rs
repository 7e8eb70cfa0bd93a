//! Long-running operations: most changes start with a call and end when their operation succeeds or fails.

use google_cloud_compute_v1::model::Operation;
use google_cloud_compute_v1::model::operation::Status;
use google_cloud_dns_v1::model::operation::Status as DnsStatus;
use google_cloud_gax::error::Error;
use google_cloud_longrunning::model::Operation as LongRunning;
use google_cloud_longrunning::model::operation::Result as Outcome;
use tf_provider_rs::Diagnostics;
use warren_managed::retry::{Patience, Purpose};
use warren_managed::{Object, Poll, adopt};

use crate::account::Gcp;
use crate::begun::{Begun, Place, Service};
use crate::error::{ApiError, Failure as _, Named as _, OrMissing as _};
use crate::session::Work;

/// Makes a change and waits until it is done, retrying while another change blocks it. `change` returns `None` when there is
/// nothing to do.
pub(crate) async fn carry_out<F>(work: &Work<'_>, mut change: impl FnMut() -> F) -> Result<(), Diagnostics>
where
    F: Future<Output = Result<Option<Begun>, ApiError>>,
{
    let Work { op, cloud: gcp, .. } = work;
    let mut patience = Patience::new(op, Purpose::Call);
    loop {
        let Some(begun) = op.call(&mut change).await? else { return Ok(()) };
        match end(work, gcp, &begun).await? {
            Ok(()) => return Ok(()),
            Err(error) => patience.after(error).await?,
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
    let mut patience = Patience::new(op, Purpose::Release);
    let mut known = || {
        let call = delete();
        async { ApiError::if_found(call.await) }
    };
    loop {
        let Some(begun) = op.release(&mut known).await? else { break };
        match end(work, gcp, &begun).await? {
            Ok(()) => break,
            Err(error) if error.is_not_found() => break,
            Err(error) => patience.after(error).await?,
        }
    }
    op.until_gone(look).await
}

/// Waits for the create of `planned`, if this process has started it. A create that another change made fail is started
/// again.
pub(crate) async fn landed<O: Object<Cloud = Gcp>>(work: &Work<'_>, planned: &O) -> Result<(), Diagnostics> {
    let gcp = &work.cloud;
    let (id, marks) = (planned.id().value()?, planned.marks(gcp)?);
    landed_by(work, planned, id, || planned.find(gcp), || planned.create(gcp, &marks)).await
}

/// As [`landed`], for the part `id` of `planned` that `find` finds and `create` creates.
pub(crate) async fn landed_by<O, F, C>(
    work: &Work<'_>,
    planned: &O,
    id: &str,
    find: impl Fn() -> F,
    create: impl Fn() -> C,
) -> Result<(), Diagnostics>
where
    O: Object<Cloud = Gcp>,
    F: Future<Output = Result<Vec<String>, ApiError>>,
    C: Future<Output = Result<String, ApiError>>,
{
    let Work { op, cloud: gcp, .. } = work;
    let mut patience = Patience::new(op, Purpose::Call);
    while let Some(begun) = gcp.take_begun(id) {
        match end(work, gcp, &begun).await? {
            Ok(()) => return Ok(()),
            Err(error) => patience.after(error).await?,
        }
        adopt::ensure(work, planned, &find, &create).await?;
    }
    Ok(())
}

/// Waits until the operation is done and returns its outcome.
async fn end(work: &Work<'_>, gcp: &Gcp, begun: &Begun) -> Result<Result<(), ApiError>, Diagnostics> {
    work.op
        .until("done", || async {
            let outcome = match &begun.service {
                Service::Registry => {
                    let call = gcp.clients.artifacts().await?.get_operation().set_name(&begun.name);
                    long_running(begun, call.send().await.named("operations.get")?)
                }
                Service::Perimeters => {
                    let call = gcp.clients.perimeters().await?.get_operation().set_name(&begun.name);
                    long_running(begun, call.send().await.named("operations.get")?)
                }
                Service::Dns { project, zone } => in_dns(gcp, begun, project, zone).await?,
                Service::Compute { project, place } => in_compute(gcp, begun, project, place).await?,
            };
            Ok(outcome
                .map_or_else(|| Poll::Pending(format!("operation {} is not done", begun.name)), Poll::Ready))
        })
        .await
}

/// Outcome of a Compute Engine operation; `None` while it is in progress.
async fn in_compute(
    gcp: &Gcp,
    begun: &Begun,
    project: &str,
    place: &Place,
) -> Result<Option<Result<(), ApiError>>, ApiError> {
    let Begun { name, .. } = begun;
    let operation = match place {
        Place::Region(region) => {
            let call = gcp.clients.region_operations().await?.get().set_project(project).set_region(region);
            call.set_operation(name).send().await.named("regionOperations.get")
        }
        Place::Zone(zone) => {
            let call = gcp.clients.zone_operations().await?.get().set_project(project).set_zone(zone);
            call.set_operation(name).send().await.named("zoneOperations.get")
        }
        Place::Global => {
            let call = gcp.clients.global_operations().await?.get().set_project(project);
            call.set_operation(name).send().await.named("globalOperations.get")
        }
    }?;
    Ok((operation.status == Some(Status::Done)).then(|| outcome(begun, operation)))
}

/// Outcome of a Cloud DNS operation, which cannot fail; `None` while it is in progress.
async fn in_dns(
    gcp: &Gcp,
    begun: &Begun,
    project: &str,
    zone: &str,
) -> Result<Option<Result<(), ApiError>>, ApiError> {
    let call = gcp.clients.dns_operations().await?.get().set_project(project).set_managed_zone(zone);
    let operation = call.set_operation(&begun.name).send().await.named("managedZoneOperations.get")?;
    Ok((operation.status == Some(DnsStatus::Done)).then_some(Ok(())))
}

/// Outcome of an operation of another API; `None` while it is in progress.
fn long_running(begun: &Begun, operation: LongRunning) -> Option<Result<(), ApiError>> {
    operation.done.then(|| match operation.result {
        Some(Outcome::Error(status)) => Err(ApiError::new(begun.call, &Error::service((&*status).into()))),
        _ => Ok(()),
    })
}

/// The outcome of a Compute Engine operation that is done.
pub(crate) fn outcome(begun: &Begun, operation: Operation) -> Result<(), ApiError> {
    let status = operation.http_error_status_code.and_then(|status| u16::try_from(status).ok());
    let Some(error) = operation.error.and_then(|error| error.errors.into_iter().next()) else {
        return Ok(());
    };
    Err(ApiError {
        operation: begun.call,
        reason: error.code.or_missing(begun.call, "error.errors.code")?,
        message: error
            .message
            .or(operation.http_error_message)
            .or_missing(begun.call, "error.errors.message")?,
        // The operation itself has an answer, so its failure is not ambiguous.
        status: status.filter(|status| *status < 500).unwrap_or(400),
    })
}
