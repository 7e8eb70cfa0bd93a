//! Who may do what in S3 and ECR: the policy of the endpoint that a request came through, and the policy of the bucket.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::account::{Account, EndpointKind};
use super::operation::{Operation, Speaks};
use super::policy::{Caller, Effect, Policy, Request};
use crate::lab::Gate;

/// The account of everything here, as the emulator numbers it.
pub(super) const ACCOUNT: &str = "123456789012";

/// The policies of a region.
#[derive(Debug)]
pub(super) struct Access {
    endpoints: BTreeMap<String, Endpoint>,
    /// The buckets of the account, with their policies.
    buckets: BTreeMap<String, Option<Policy>>,
    region: String,
}

#[derive(Debug)]
struct Endpoint {
    vpc: String,
    /// None allows everything: the default policy "allows full access to the service".
    policy: Option<Policy>,
}

/// What decides about requests that arrive at one place: at an endpoint, or at S3's public addresses.
#[derive(Clone, Debug)]
pub(super) struct Door {
    pub(super) access: Arc<Access>,
    /// The endpoint's ID.
    pub(super) endpoint: Option<String>,
}

impl Access {
    /// Reads the policies of an account.
    ///
    /// # Errors
    /// One of them is not evaluated here.
    pub(super) fn of(account: &Account) -> Result<Access> {
        let mut endpoints = BTreeMap::new();
        for endpoint in &account.endpoints {
            let read = match endpoint.kind {
                EndpointKind::Gateway { .. } => Policy::read_of_gateway,
                EndpointKind::Interface { .. } => Policy::read,
            };
            let policy = endpoint.policy.as_deref().map(read).transpose();
            let policy = policy.with_context(|| endpoint.id.clone())?;
            endpoints.insert(endpoint.id.clone(), Endpoint { vpc: endpoint.vpc.clone(), policy });
        }
        let mut buckets = BTreeMap::new();
        for bucket in &account.buckets {
            let policy = bucket.policy.as_deref().map(Policy::read).transpose();
            buckets.insert(bucket.name.clone(), policy.with_context(|| bucket.name.clone())?);
        }
        Ok(Access { endpoints, buckets, region: account.region.clone() })
    }

    /// Why a request is refused, in the words of "Access denied error message examples" ("Troubleshoot access denied (403
    /// Forbidden) errors in Amazon S3").
    fn refuses(&self, endpoint: Option<&str>, operation: &Operation, peer: IpAddr) -> Option<String> {
        let caller = operation.signer.as_ref().map(|key| Caller {
            account: ACCOUNT.to_owned(),
            arn: format!("arn:aws:iam::{ACCOUNT}:user/{key}"),
        });
        let endpoint = endpoint.and_then(|id| Some((id, self.endpoints.get(id)?)));
        let keys = self.context(endpoint, operation, caller.as_ref(), peer);
        let Operation { action, resource, .. } = operation;
        let request = Request { action, resource, caller: caller.as_ref(), keys: &keys };

        let own = operation.bucket.as_ref().and_then(|bucket| self.buckets.get(bucket));
        let by_endpoint = endpoint.and_then(|(_, endpoint)| Some(endpoint.policy.as_ref()?.effect(&request)));
        let by_bucket = own.and_then(|policy| Some(policy.as_ref()?.effect(&request)));
        // Callers of the account may do everything by policies of their own. Whose bucket is not the account's lets everyone in.
        let by_identity = caller.is_some() || own.is_none();
        let reason = match (by_endpoint, by_bucket) {
            (Some(Effect::Denied), _) => "with an explicit deny in a VPC endpoint policy".to_owned(),
            (_, Some(Effect::Denied)) => "with an explicit deny in a resource-based policy".to_owned(),
            (Some(Effect::Silent), _) => format!("because no VPC endpoint policy allows the {action} action"),
            (_, None | Some(Effect::Silent)) if !by_identity => {
                format!("because no resource-based policy allows the {action} action")
            }
            _ => return None,
        };
        let who = caller.map_or_else(|| "anonymous".to_owned(), |caller| caller.arn);
        Some(format!(
            "User: {who} is not authorized to perform: {action} on resource: \"{resource}\" {reason}"
        ))
    }

    /// The request context, after "AWS global condition context keys": `aws:SourceVpce`, `aws:SourceVpc` and `aws:VpcSourceIp` are
    /// there "only if the requester uses a VPC endpoint", `aws:SourceIp` is "not present" then.
    fn context(
        &self,
        endpoint: Option<(&str, &Endpoint)>,
        operation: &Operation,
        caller: Option<&Caller>,
        peer: IpAddr,
    ) -> BTreeMap<&'static str, String> {
        // Servers here speak TLS, or stand for one that does.
        let mut keys = BTreeMap::from([("aws:securetransport", "true".to_owned())]);
        match endpoint {
            Some((id, endpoint)) => {
                keys.insert("aws:sourcevpce", id.to_owned());
                keys.insert("aws:sourcevpc", endpoint.vpc.clone());
                keys.insert("aws:vpcsourceip", peer.to_string());
            }
            None => {
                keys.insert("aws:sourceip", peer.to_string());
            }
        }
        if let Some(caller) = caller {
            keys.insert("aws:principalarn", caller.arn.clone());
            keys.insert("aws:principalaccount", caller.account.clone());
        }
        if operation.bucket.as_ref().is_none_or(|bucket| self.buckets.contains_key(bucket)) {
            keys.insert("aws:resourceaccount", ACCOUNT.to_owned());
        }
        keys
    }
}

impl Gate for Door {
    fn refuses(&self, head: &str, peer: SocketAddr) -> Option<String> {
        let operation = Operation::read(head, &self.access.region)?;
        let message = self.access.refuses(self.endpoint.as_deref(), &operation, peer.ip())?;
        let quoted = Value::from(message.as_str());
        let (status, kind, body) = match operation.speaks {
            // "Error responses" in the API reference of S3.
            Speaks::S3 => (
                "403 Forbidden",
                "application/xml",
                format!(
                    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>AccessDenied</Code><Message>{}</Message>\
                     <RequestId>0A49CE4060975EAC</RequestId><HostId>lab</HostId></Error>",
                    message.replace('"', "&quot;")
                ),
            ),
            // The distribution specification of OCI, "Error codes".
            Speaks::Registry => (
                "403 Forbidden",
                "application/json",
                format!("{{\"errors\":[{{\"code\":\"DENIED\",\"message\":{quoted}}}]}}"),
            ),
            // "Common errors" in the API reference of ECR: the status code is 400.
            Speaks::Json => (
                "400 Bad Request",
                "application/x-amz-json-1.1",
                format!("{{\"__type\":\"AccessDeniedException\",\"Message\":{quoted}}}"),
            ),
        };
        Some(format!(
            "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nx-amz-request-id: 0A49CE4060975EAC\r\n\
             content-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        ))
    }
}
