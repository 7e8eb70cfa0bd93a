//! Who may do what in S3: the policy of the endpoint that a request came through, and the policy of the bucket.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use anyhow::{Context as _, Result};

use super::account::{Account, EndpointKind};
use super::policy::{Caller, Effect, Policy, Request};
use crate::lab::Gate;

/// The account of everything here, as the emulator numbers it.
const ACCOUNT: &str = "123456789012";

/// The policies of a region.
#[derive(Debug)]
pub(super) struct Access {
    endpoints: BTreeMap<String, Endpoint>,
    /// The buckets of the account, with their policies.
    buckets: BTreeMap<String, Option<Policy>>,
    /// What follows a bucket in a host name.
    suffix: String,
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

/// A request as S3 understands it.
#[derive(Debug, PartialEq, Eq)]
struct Operation {
    action: &'static str,
    bucket: String,
    key: String,
    /// The access key ID of the signature.
    signer: Option<String>,
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
        Ok(Access { endpoints, buckets, suffix: format!("s3.{}.amazonaws.com", account.region) })
    }

    /// Why a request is refused, in the words of "Access denied error message examples" ("Troubleshoot access denied (403
    /// Forbidden) errors in Amazon S3").
    fn refuses(&self, endpoint: Option<&str>, operation: &Operation, peer: IpAddr) -> Option<String> {
        let caller = operation.signer.as_ref().map(|key| Caller {
            account: ACCOUNT.to_owned(),
            arn: format!("arn:aws:iam::{ACCOUNT}:user/{key}"),
        });
        let resource = match (operation.bucket.as_str(), operation.key.as_str()) {
            ("", _) => "*".to_owned(),
            (bucket, "") => format!("arn:aws:s3:::{bucket}"),
            (bucket, key) => format!("arn:aws:s3:::{bucket}/{key}"),
        };
        let endpoint = endpoint.and_then(|id| Some((id, self.endpoints.get(id)?)));
        let keys = self.context(endpoint, operation, caller.as_ref(), peer);
        let action = operation.action;
        let request = Request { action, resource: &resource, caller: caller.as_ref(), keys: &keys };

        let own = self.buckets.get(&operation.bucket);
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
        if self.buckets.contains_key(&operation.bucket) {
            keys.insert("aws:resourceaccount", ACCOUNT.to_owned());
        }
        keys
    }
}

impl Gate for Door {
    /// The answer of S3 to a request that it refuses: "Error responses" in its API reference.
    fn refuses(&self, head: &str, peer: SocketAddr) -> Option<String> {
        let operation = Operation::read(head, &self.access.suffix)?;
        let message = self.access.refuses(self.endpoint.as_deref(), &operation, peer.ip())?;
        let message = message.replace('"', "&quot;");
        let body = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>AccessDenied</Code><Message>{message}</Message>\
             <RequestId>0A49CE4060975EAC</RequestId><HostId>lab</HostId></Error>"
        );
        Some(format!(
            "HTTP/1.1 403 Forbidden\r\ncontent-type: application/xml\r\nx-amz-request-id: 0A49CE4060975EAC\r\n\
             content-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        ))
    }
}

impl Operation {
    /// Reads the head of a request for S3: the bucket is in the host name ("Virtual hosting of buckets") or first in the path.
    fn read(head: &str, suffix: &str) -> Option<Operation> {
        let mut lines = head.lines();
        let mut first = lines.next()?.split(' ');
        let (method, target) = (first.next()?, first.next()?);
        let header = |wanted: &str| {
            let mut all = head.lines().skip(1).filter_map(|line| line.split_once(':'));
            all.find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.trim())
        };
        let host = header("host")?.split(':').next()?.to_ascii_lowercase();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let path = path.strip_prefix('/')?;
        let (bucket, key) = match host.strip_suffix(suffix)? {
            "" => path.split_once('/').unwrap_or((path, "")),
            label => (label.strip_suffix('.')?, path),
        };
        let has = |name: &str| query.split('&').any(|part| part.split('=').next() == Some(name));
        // "Actions, resources, and condition keys for Amazon S3" in the Service Authorization Reference.
        let action = match (method, bucket.is_empty(), key.is_empty()) {
            ("GET", true, _) => "s3:ListAllMyBuckets",
            ("GET", _, true) if has("policy") => "s3:GetBucketPolicy",
            ("PUT", _, true) if has("policy") => "s3:PutBucketPolicy",
            ("GET" | "HEAD", _, true) => "s3:ListBucket",
            ("PUT", _, true) => "s3:CreateBucket",
            ("DELETE", _, true) => "s3:DeleteBucket",
            ("GET" | "HEAD", ..) => "s3:GetObject",
            ("PUT" | "POST", ..) => "s3:PutObject",
            ("DELETE", ..) => "s3:DeleteObject",
            _ => return None,
        };
        let signed =
            header("authorization").and_then(|value| value.split_once("Credential=")).map(|(_, it)| it);
        let presigned = query.split('&').find_map(|part| part.strip_prefix("X-Amz-Credential="));
        let signer = signed.or(presigned).and_then(|scope| scope.split(['/', '%']).next());
        let signer = signer.map(str::to_owned);
        Some(Operation { action, bucket: bucket.to_owned(), key: key.to_owned(), signer })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(head: &str) -> Option<Operation> {
        Operation::read(head, "s3.us-east-1.amazonaws.com")
    }

    #[test]
    fn a_bucket_is_in_the_host_name_or_in_the_path() {
        let signed =
            "authorization: AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, Signature=0";
        for head in [
            format!("GET /part/0?versionId=1 HTTP/1.1\r\nHost: a.b.s3.us-east-1.amazonaws.com\r\n{signed}\r\n\r\n"),
            format!("GET /a.b/part/0 HTTP/1.1\r\n{signed}\r\nhost: s3.us-east-1.amazonaws.com:443\r\n\r\n"),
            "HEAD /part/0?X-Amz-Credential=test%2F20260101 HTTP/1.1\r\nhost: a.b.s3.us-east-1.amazonaws.com\r\n\r\n".into(),
        ] {
            let (bucket, key) = ("a.b".to_owned(), "part/0".to_owned());
            let expected = Operation { action: "s3:GetObject", bucket, key, signer: Some("test".to_owned()) };
            assert_eq!(read(&head), Some(expected), "{head}");
        }
        let listed =
            read("GET /?list-type=2 HTTP/1.1\r\nhost: corpus.s3.us-east-1.amazonaws.com\r\n\r\n").unwrap();
        assert_eq!((listed.action, listed.key.as_str(), listed.signer), ("s3:ListBucket", "", None));
        assert_eq!(read("GET / HTTP/1.1\r\nhost: api.ecr.us-east-1.amazonaws.com\r\n\r\n"), None);
    }
}
