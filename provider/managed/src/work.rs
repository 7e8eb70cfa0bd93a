//! One operation on an object.

use std::sync::Arc;

use tf_provider_rs::Context;

use crate::cloud::Cloud;
use crate::session::Session;
use crate::wait::Op;

/// An operation on one object with its context.
pub struct Work<'a, C: Cloud> {
    /// The state that the resources of the cloud share.
    pub session: &'a Session<C>,
    /// The Terraform call.
    pub ctx: &'a Context,
    /// The account.
    pub cloud: Arc<C>,
    /// The retries and the deadline of the operation.
    pub op: Op<C::Error>,
}
