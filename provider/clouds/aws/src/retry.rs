//! The policy of retries ([`warren_managed::retry`]) in the SDK.
//!
//! The SDK asks a classifier after each failed attempt, and gets the caller's identity before each attempt. The classifier
//! applies the policy, and the identity waits for the budget of the service. The SDK's own quota of retries, which many
//! throttled calls use up, is unlimited.
//!
//! | setting | effect |
//! |---|---|
//! | none | a call is repeated until the timeout of the resource |
//! | `max_attempts`, `AWS_MAX_ATTEMPTS` | a call fails after that many attempts, but a wait continues with the next poll |
//! | `AWS_RETRY_MODE=adaptive` | the SDK's limit of the rate applies in addition to the budget |

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use aws_config::SdkConfig;
use aws_config::identity::IdentityCache;
use aws_config::retry::RetryConfig;
use aws_sdk_ec2::config::retry::{RetryPartition, TokenBucket};
use aws_smithy_runtime_api::client::identity::{
    IdentityFuture, ResolveCachedIdentity, SharedIdentityCache, SharedIdentityResolver,
};
use aws_smithy_runtime_api::client::interceptors::context::InterceptorContext;
use aws_smithy_runtime_api::client::retries::classifiers::{
    ClassifyRetry, RetryAction, RetryClassifierPriority,
};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::config_bag::ConfigBag;
use warren_managed::Remedy;
use warren_managed::retry::{self, Budget};

use crate::{call_log, error};

/// More attempts than fit before any deadline. The SDK computes a sum over all attempts before each call, so it is not larger.
const UNLIMITED: u32 = 10_000;

/// The SDK's settings; without a number of attempts, only the classifier ends the attempts of a call.
pub(crate) fn config(max_attempts: Option<u32>) -> RetryConfig {
    RetryConfig::standard()
        .with_max_attempts(max_attempts.unwrap_or(UNLIMITED))
        .with_initial_backoff(retry::FIRST)
        .with_max_backoff(retry::LONGEST)
}

/// An unlimited quota of retries. The clients of a service share the limit of the rate in the mode `adaptive`.
pub(crate) fn partition(service: &str, sdk: &SdkConfig) -> RetryPartition {
    static ALL: Mutex<BTreeMap<String, RetryPartition>> = Mutex::new(BTreeMap::new());
    let name = name(service, sdk);
    let new = || RetryPartition::custom(name.clone()).token_bucket(TokenBucket::unlimited()).build();
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    all.entry(name.clone()).or_insert_with(new).clone()
}

/// A service in a region.
fn name(service: &str, sdk: &SdkConfig) -> String {
    format!("{service} {}", sdk.region().map_or("", |region| region.as_ref()))
}

/// The policy for the clients of a service, whose budget is that of the region.
pub(crate) fn policy(service: &str, sdk: &SdkConfig) -> (Classifier, Admission) {
    let budget = Budget::of(&name(service, sdk));
    let identities = sdk.identity_cache().unwrap_or_else(|| IdentityCache::lazy().build());
    (Classifier { budget: Arc::clone(&budget) }, Admission { budget, identities })
}

/// Decides whether a call is attempted again.
#[derive(Debug)]
pub(crate) struct Classifier {
    budget: Arc<Budget>,
}

impl ClassifyRetry for Classifier {
    fn classify_retry(&self, ctx: &InterceptorContext) -> RetryAction {
        if !ctx.is_failed() {
            return RetryAction::NoActionIndicated;
        }
        let remedy = remedy(ctx);
        if remedy == Remedy::Throttled {
            self.budget.throttled();
        }
        // A call that must not be repeated has the SDK's retries disabled.
        if !retry::repeats(remedy, true) {
            RetryAction::RetryForbidden
        } else if remedy == Remedy::Throttled {
            RetryAction::throttling_error()
        } else {
            RetryAction::transient_error()
        }
    }

    fn name(&self) -> &'static str {
        "one policy"
    }

    /// After those of the SDK, whose decisions it overrides.
    fn priority(&self) -> RetryClassifierPriority {
        RetryClassifierPriority::run_after(RetryClassifierPriority::transient_error_classifier())
    }
}

/// The remedy of a failed attempt. A call without credentials or to a host that cannot be reached is not lost.
fn remedy(ctx: &InterceptorContext) -> Remedy {
    match (ctx.response(), ctx.output_or_error()) {
        (Some(response), _) => {
            let code = call_log::code(response).unwrap_or_default();
            error::of_attempt(&code, response.status().as_u16())
        }
        (None, Some(Err(error))) if error.is_timeout_error() => Remedy::Lost,
        (None, Some(Err(error))) if error.as_connector_error().is_some_and(|error| !error.is_user()) => {
            Remedy::Lost
        }
        _ => Remedy::Final,
    }
}

/// Lets a call have its identity once the budget of the service admits it.
#[derive(Debug)]
pub(crate) struct Admission {
    budget: Arc<Budget>,
    identities: SharedIdentityCache,
}

impl ResolveCachedIdentity for Admission {
    fn resolve_cached_identity<'a>(
        &'a self,
        resolver: SharedIdentityResolver,
        runtime_components: &'a RuntimeComponents,
        config_bag: &'a ConfigBag,
    ) -> IdentityFuture<'a> {
        IdentityFuture::new(async move {
            self.budget.admit().await;
            self.identities.resolve_cached_identity(resolver, runtime_components, config_bag).await
        })
    }
}
