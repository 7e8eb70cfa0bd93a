//! Executes the requests of operators.

use super::Inner;
use crate::gateway::admin::{AdminRequest, AdminResponse};
use crate::runtime::problem::{Problem, Result};
use crate::runtime::sandbox;

/// Executes a request of an operator.
///
/// # Errors
/// The request cannot be executed.
pub(super) fn answer(request: &AdminRequest, inner: &Inner) -> Result<AdminResponse> {
    let refused = |refusal: warren_lease::Refusal| Problem::new(refusal.to_string());
    let leases = inner.leases.clone();
    Ok(match *request {
        AdminRequest::Status => AdminResponse::Status(Box::new(inner.status()?)),
        AdminRequest::Peers => AdminResponse::Peers(inner.peers()?),
        AdminRequest::Evict { key, until } => {
            inner.wait(async move { leases.evict(key, until).await })?.map_err(refused)?;
            tracing::info!(peer = %key, %until, "evicted");
            inner.events.add(format!("{key} was evicted until {until}"));
            AdminResponse::Done(format!("{key} is evicted until {until}"))
        }
        AdminRequest::Readmit { key } => {
            inner.wait(async move { leases.readmit(key).await })?.map_err(refused)?;
            tracing::info!(peer = %key, "readmitted");
            inner.events.add(format!("{key} was readmitted"));
            AdminResponse::Done(format!("{key} may enrol again"))
        }
        AdminRequest::EvictToken { token, until } => {
            inner.wait(async move { leases.revoke(token, until, true).await })?.map_err(refused)?;
            tracing::info!(%token, %until, "token evicted");
            inner.events.add(format!("token {token} was evicted until {until}"));
            AdminResponse::Done(format!("token {token} is evicted until {until}; its leases are ended"))
        }
        AdminRequest::ReadmitToken { token } => {
            inner.wait(async move { leases.accept(token).await })?.map_err(refused)?;
            tracing::info!(%token, "token readmitted");
            inner.events.add(format!("token {token} was readmitted"));
            AdminResponse::Done(format!("token {token} is accepted again"))
        }
        AdminRequest::Drain { draining, stay } => AdminResponse::Done(inner.drain(draining, stay)?),
        AdminRequest::Revoke { token, until, peers } => {
            inner.wait(async move { leases.revoke(token, until, peers).await })?.map_err(refused)?;
            tracing::info!(%token, peers, "revoked");
            inner.events.add(format!("token {token} was revoked"));
            let rest = if peers { "its leases are ended" } else { "its leases stay" };
            AdminResponse::Done(format!("token {token} is revoked; {rest}"))
        }
        AdminRequest::Reload => {
            AdminResponse::Done(format!("reloaded: {}", inner.reload().map_err(sandbox::explain)?))
        }
    })
}
