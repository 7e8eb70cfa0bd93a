//! A change that has started, and the API that serves its operation.

use google_cloud_compute_v1::model::Operation;

use crate::error::{ApiError, OrMissing as _};
use crate::link::{self, Link};

/// A change that has started.
#[derive(Clone, Debug)]
pub(crate) struct Begun {
    /// Such as `networks.insert`.
    pub(crate) call: &'static str,
    pub(crate) service: Service,
    /// Name of the operation.
    pub(crate) name: String,
}

/// The API that serves an operation.
#[derive(Clone, Debug)]
pub(crate) enum Service {
    /// Compute Engine, whose operations belong to a project and a place in it.
    Compute { project: String, place: Place },
    /// Artifact Registry, whose operations have long names.
    Registry,
    /// Access Context Manager, whose operations have long names too.
    Perimeters,
    /// Cloud DNS, whose operations belong to a zone.
    Dns { project: String, zone: String },
}

/// The place of an operation in its project.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    Global,
    Region(String),
    Zone(String),
}

impl Begun {
    /// The change of the object `id`, from the response of `call`.
    pub(crate) fn new(call: &'static str, id: &str, operation: Operation) -> Result<Begun, ApiError> {
        let Link { project, .. } = Link::parse(id).ok_or_else(|| ApiError::absent(call, id))?;
        let last = |url: Option<&str>| link::last(url).map(str::to_owned);
        let place = match (last(operation.zone.as_deref()), last(operation.region.as_deref())) {
            (Some(zone), _) => Place::Zone(zone),
            (None, Some(region)) => Place::Region(region),
            (None, None) => Place::Global,
        };
        Ok(Begun {
            call,
            service: Service::Compute { project, place },
            name: operation.name.or_missing(call, "name")?,
        })
    }

    /// A change in Artifact Registry, from the name of its operation.
    pub(crate) fn in_registry(call: &'static str, name: String) -> Result<Begun, ApiError> {
        Ok(Begun { call, service: Service::Registry, name: name.or_missing(call, "name")? })
    }

    /// A change of the zone `id` in Cloud DNS, from the name of its operation.
    pub(crate) fn in_dns(call: &'static str, id: &str, name: Option<String>) -> Result<Begun, ApiError> {
        let (project, zone) = link::global(call, id)?;
        Ok(Begun { call, service: Service::Dns { project, zone }, name: name.or_missing(call, "id")? })
    }

    /// A change in Access Context Manager, from the name of its operation.
    pub(crate) fn in_perimeters(call: &'static str, name: String) -> Result<Begun, ApiError> {
        Ok(Begun { call, service: Service::Perimeters, name: name.or_missing(call, "name")? })
    }
}

/// Starts a change of the object `id`, with a request ID that makes a retried call the same change.
macro_rules! begin {
    ($name:literal, $id:expr, $call:expr) => {{
        use google_cloud_gax::options::RequestOptionsBuilder as _;
        let call = $call.set_request_id($crate::client::request_id($name)).with_idempotency(true);
        $crate::begun::Begun::new($name, $id, $crate::error::Named::named(call.send().await, $name)?)?
    }};
}
pub(crate) use begin;
