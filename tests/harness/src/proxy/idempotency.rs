//! Client tokens: the same token with the same parameters gives the same object.

use std::collections::BTreeMap;

use super::request::Request;
use crate::front::reply::{Rejection, Reply};
use crate::query::Params;

/// Answers by action, region and token.
#[derive(Debug, Default)]
pub(super) struct Tokens(BTreeMap<(String, String, String), (Params, Reply)>);

fn key(request: &Request) -> Option<(String, String, String)> {
    let token = request.params.get("ClientToken");
    (!token.is_empty() && !request.is_read())
        .then(|| (request.action.clone(), request.region.clone(), token.to_owned()))
}

impl Tokens {
    /// The answer that this token has had before.
    pub(super) fn replay(&self, request: &Request) -> Option<Result<Reply, Rejection>> {
        let (params, reply) = self.0.get(&key(request)?)?;
        Some(if *params == request.params {
            Ok(reply.clone())
        } else {
            Err(Rejection::new(
                "IdempotentParameterMismatch",
                "The client token you have provided is associated with a resource with different parameters",
            ))
        })
    }

    /// Remembers the answer of a call that succeeded; `params` are those that the client sent.
    pub(super) fn keep(&mut self, request: &Request, params: Params, reply: &Reply) {
        if let Some(key) = key(request) {
            self.0.insert(key, (params, reply.clone()));
        }
    }
}
