//! Scripted failures.

use std::collections::BTreeMap;
use std::time::Duration;

use http::StatusCode;

use super::call::{Call, Service};
use super::reply::Rejection;

/// A failure that happens to calls that match. Which, and how often, is told by the builder's methods:
///
/// ```
/// use warren_harness::Fault;
///
/// // The second and third CreateSubnet are throttled.
/// let fault = Fault::throttle().on("CreateSubnet").skip(1).times(2);
/// // Every fifth call of any kind loses its answer after the emulator has acted.
/// let chaos = Fault::cut_after().every(5).times(u32::MAX);
/// # drop((fault, chaos));
/// ```
#[derive(Clone, Debug)]
pub struct Fault {
    effect: Effect,
    action: Option<String>,
    param: Option<(String, String)>,
    skip: u32,
    every: u32,
    left: u32,
    matched: u32,
    /// How often each request is hit, where requests are told apart, and how often each was.
    each: Option<(u32, BTreeMap<String, u32>)>,
    writes: bool,
}

/// What a fault does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The service's own throttling error: 503 `RequestLimitExceeded` from EC2, 503 `SlowDown` from S3, 400
    /// `ThrottlingException` from JSON services, 429 `rateLimitExceeded` from Google, 429 `SlowDown` from its buckets, 429
    /// with `Retry-After` from RunPod, 400 `Throttling` from others. The emulator does not see the call.
    Throttle,
    /// An error with this status, code and message. The emulator does not see the call.
    Error {
        /// HTTP status.
        status: u16,
        /// Error code.
        code: String,
        /// Error message.
        message: String,
    },
    /// The connection ends before the emulator sees the call.
    CutBefore,
    /// The emulator handles the call, then the connection ends without an answer.
    CutAfter,
    /// The call waits this long before the emulator sees it.
    Delay(Duration),
    /// Google only: the call is accepted, its operation ends in this error and has no effect.
    FailLate {
        /// Error code, such as `RESOURCE_OPERATION_RATE_EXCEEDED`.
        code: String,
        /// Error message.
        message: String,
    },
    /// Google only: someone else has changed the object just before, so that the fingerprint sent is stale.
    Overtaken,
    /// Buckets only: one bit of the object changes on its way.
    Corrupt,
}

impl Fault {
    /// A fault that hits the next call of any action once.
    pub fn new(effect: Effect) -> Self {
        Self {
            effect,
            action: None,
            param: None,
            skip: 0,
            every: 1,
            left: 1,
            matched: 0,
            each: None,
            writes: false,
        }
    }

    /// Throttling.
    pub fn throttle() -> Self {
        Self::new(Effect::Throttle)
    }

    /// A 500 `InternalError`.
    pub fn internal_error() -> Self {
        Self::error(500, "InternalError", "An internal error has occurred")
    }

    /// Any error.
    pub fn error(status: u16, code: &str, message: &str) -> Self {
        Self::new(Effect::Error { status, code: code.to_owned(), message: message.to_owned() })
    }

    /// A connection cut before the emulator sees the call.
    pub fn cut_before() -> Self {
        Self::new(Effect::CutBefore)
    }

    /// A connection cut after the emulator has handled the call.
    pub fn cut_after() -> Self {
        Self::new(Effect::CutAfter)
    }

    /// A delay.
    pub fn delay(time: Duration) -> Self {
        Self::new(Effect::Delay(time))
    }

    /// An operation of Google that is accepted and fails late.
    pub fn fail_late(code: &str, message: &str) -> Self {
        Self::new(Effect::FailLate { code: code.to_owned(), message: message.to_owned() })
    }

    /// A change by someone else just before the call, on Google.
    pub fn overtaken() -> Self {
        Self::new(Effect::Overtaken)
    }

    /// One bit of an object that changes between a client and a bucket.
    pub fn corrupt() -> Self {
        Self::new(Effect::Corrupt)
    }

    /// Only calls of this action match.
    pub fn on(mut self, action: &str) -> Self {
        self.action = Some(action.to_owned());
        self
    }

    /// Only calls with this parameter match, such as `("CidrBlock", "10.0.0.0/16")`.
    pub fn with_param(mut self, name: &str, value: &str) -> Self {
        self.param = Some((name.to_owned(), value.to_owned()));
        self
    }

    /// The first `count` calls that match are spared.
    pub fn skip(mut self, count: u32) -> Self {
        self.skip = count;
        self
    }

    /// Of the calls that match, only each `nth` is hit; 1 hits all.
    pub fn every(mut self, nth: u32) -> Self {
        self.every = nth.max(1);
        self
    }

    /// Each request is hit this many times, and answered when it is repeated once more. A request is the same if its action
    /// and its parameters are.
    pub fn each(mut self, count: u32) -> Self {
        self.each = Some((count, BTreeMap::new()));
        self.times(u32::MAX)
    }

    /// Only calls that change something match.
    pub fn on_writes(mut self) -> Self {
        self.writes = true;
        self
    }

    /// How many calls are hit before the fault is used up.
    pub fn times(mut self, count: u32) -> Self {
        self.left = count;
        self
    }

    /// Whether this call is hit; counts it.
    fn hits(&mut self, call: &Call) -> bool {
        let named = self.action.as_ref().is_none_or(|action| *action == call.action);
        let fits = self.param.as_ref().is_none_or(|(name, value)| call.params.get(name) == value);
        if self.left == 0 || !named || !fits || (self.writes && call.is_read()) {
            return false;
        }
        self.matched += 1;
        if let Some((count, hits)) = &mut self.each {
            let hits = hits.entry(format!("{} {:?}", call.action, call.params)).or_default();
            *hits += 1;
            return *hits <= *count;
        }
        let due = self.matched > self.skip && (self.matched - self.skip).is_multiple_of(self.every);
        if due {
            self.left -= 1;
        }
        due
    }
}

/// The effect of the first fault that hits this call.
pub(super) fn strike(faults: &mut Vec<Fault>, call: &Call) -> Option<Effect> {
    let effect = faults.iter_mut().find_map(|fault| fault.hits(call).then(|| fault.effect.clone()));
    faults.retain(|fault| fault.left > 0);
    effect
}

impl Effect {
    /// The error this effect answers with, where it answers.
    pub(super) fn rejection(&self, service: Service) -> Option<Rejection> {
        match self {
            Self::Throttle => Some(match service {
                Service::Ec2 | Service::Other => Rejection::with_status(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "RequestLimitExceeded",
                    "Request limit exceeded.",
                ),
                Service::S3 => Rejection::with_status(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "SlowDown",
                    "Please reduce your request rate.",
                ),
                Service::Ecr | Service::Ssm | Service::Logs | Service::Route53Resolver => {
                    Rejection::new("ThrottlingException", "Rate exceeded")
                }
                Service::Google => Rejection::with_status(
                    StatusCode::TOO_MANY_REQUESTS,
                    "rateLimitExceeded",
                    "Quota exceeded for quota metric 'Queries' and limit 'Queries per minute'.",
                ),
                Service::GoogleStorage => Rejection::with_status(
                    StatusCode::TOO_MANY_REQUESTS,
                    "SlowDown",
                    "The object exceeded the rate limit for object mutation operations. Please reduce your request rate.",
                ),
                Service::RunPod => Rejection::with_status(
                    StatusCode::TOO_MANY_REQUESTS,
                    "Too Many Requests",
                    "rate limit exceeded for the minute window",
                ),
                Service::AutoScaling | Service::Sts | Service::Iam | Service::Route53 => {
                    Rejection::new("Throttling", "Rate exceeded")
                }
            }),
            Self::Error { status, code, message } => {
                let status = StatusCode::from_u16(*status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                Some(Rejection::with_status(status, code, message.clone()))
            }
            Self::CutBefore
            | Self::CutAfter
            | Self::Delay(_)
            | Self::FailLate { .. }
            | Self::Overtaken
            | Self::Corrupt => None,
        }
    }
}
