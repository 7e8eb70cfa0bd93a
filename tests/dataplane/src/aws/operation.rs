//! Requests as S3 and ECR understand them.

use super::access::ACCOUNT;

/// A request to a service that has policies.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Operation {
    pub(super) action: String,
    pub(super) resource: String,
    pub(super) bucket: Option<String>,
    /// The access key ID of the signature.
    pub(super) signer: Option<String>,
    pub(super) speaks: Speaks,
}

/// How a service says no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speaks {
    /// XML.
    S3,
    /// The protocol of registries.
    Registry,
    /// JSON, as most APIs of AWS.
    Json,
}

/// The first line of a request, and its header.
struct Head<'a> {
    text: &'a str,
    method: &'a str,
    path: &'a str,
    query: &'a str,
    host: String,
}

impl Operation {
    /// Reads the head of a request. None for other services, and for operations that are not told apart here.
    pub(super) fn read(head: &str, region: &str) -> Option<Operation> {
        let head = Head::read(head)?;
        let of = |service: &str| format!("{service}.{region}.amazonaws.com");
        if let Some(label) = head.host.strip_suffix(&of("s3")) {
            of_s3(&head, label)
        } else if head.host.ends_with(&format!(".{}", of("dkr.ecr"))) {
            of_registry(&head, region)
        } else if head.host == of("api.ecr") {
            let target = head.header("x-amz-target")?;
            let action = target.strip_prefix("AmazonEC2ContainerRegistry_V20150921.")?;
            // What others are about is in the body.
            (action == "GetAuthorizationToken").then(|| Operation {
                action: format!("ecr:{action}"),
                resource: "*".to_owned(),
                bucket: None,
                signer: head.signer(),
                speaks: Speaks::Json,
            })
        } else {
            None
        }
    }
}

/// The bucket is in the host name ("Virtual hosting of buckets") or first in the path.
fn of_s3(head: &Head<'_>, label: &str) -> Option<Operation> {
    let (bucket, key) = match label {
        "" => head.path.split_once('/').unwrap_or((head.path, "")),
        label => (label.strip_suffix('.')?, head.path),
    };
    // "Actions, resources, and condition keys for Amazon S3" in the Service Authorization Reference.
    let action = match (head.method, bucket.is_empty(), key.is_empty()) {
        ("GET", true, _) => "s3:ListAllMyBuckets",
        ("GET", _, true) if head.asks("policy") => "s3:GetBucketPolicy",
        ("PUT", _, true) if head.asks("policy") => "s3:PutBucketPolicy",
        ("GET" | "HEAD", _, true) => "s3:ListBucket",
        ("PUT", _, true) => "s3:CreateBucket",
        ("DELETE", _, true) => "s3:DeleteBucket",
        ("GET" | "HEAD", ..) => "s3:GetObject",
        ("PUT" | "POST", ..) => "s3:PutObject",
        ("DELETE", ..) => "s3:DeleteObject",
        _ => return None,
    };
    let resource = match (bucket, key) {
        ("", _) => "*".to_owned(),
        (bucket, "") => format!("arn:aws:s3:::{bucket}"),
        (bucket, key) => format!("arn:aws:s3:::{bucket}/{key}"),
    };
    let (action, bucket) = (action.to_owned(), Some(bucket.to_owned()));
    Some(Operation { action, resource, bucket, signer: head.signer(), speaks: Speaks::S3 })
}

/// A pull "calls the BatchGetImage and GetDownloadUrlForLayer APIs" ("Private registry authentication" and "IAM policies for pulling
/// images" in the ECR User Guide). The registry here wants no token; that of AWS is one of a caller of the account.
fn of_registry(head: &Head<'_>, region: &str) -> Option<Operation> {
    let name = head.path.strip_prefix("v2/")?;
    let (name, action) = match (head.method, name.split_once("/manifests/"), name.split_once("/blobs/")) {
        ("GET" | "HEAD", Some((name, _)), _) => (name, "ecr:BatchGetImage"),
        ("GET", _, Some((name, _))) => (name, "ecr:GetDownloadUrlForLayer"),
        ("HEAD", _, Some((name, _))) => (name, "ecr:BatchCheckLayerAvailability"),
        ("PUT", Some((name, _)), _) => (name, "ecr:PutImage"),
        _ => return None,
    };
    Some(Operation {
        action: action.to_owned(),
        resource: format!("arn:aws:ecr:{region}:{ACCOUNT}:repository/{name}"),
        bucket: None,
        signer: Some("token".to_owned()),
        speaks: Speaks::Registry,
    })
}

impl<'a> Head<'a> {
    fn read(text: &'a str) -> Option<Head<'a>> {
        let mut first = text.lines().next()?.split(' ');
        let (method, target) = (first.next()?, first.next()?);
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut head = Head { text, method, path: path.strip_prefix('/')?, query, host: String::new() };
        head.host = head.header("host")?.split(':').next()?.to_ascii_lowercase();
        Some(head)
    }

    fn header(&self, wanted: &str) -> Option<&'a str> {
        let mut all = self.text.lines().skip(1).filter_map(|line| line.split_once(':'));
        all.find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.trim())
    }

    fn asks(&self, name: &str) -> bool {
        self.query.split('&').any(|part| part.split('=').next() == Some(name))
    }

    fn signer(&self) -> Option<String> {
        let signed = self.header("authorization").and_then(|value| value.split_once("Credential="));
        let presigned = || self.query.split('&').find_map(|part| part.strip_prefix("X-Amz-Credential="));
        let scope = signed.map(|(_, scope)| scope).or_else(presigned)?;
        scope.split(['/', '%']).next().map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(head: &str) -> Option<Operation> {
        Operation::read(head, "us-east-1")
    }

    #[test]
    fn a_bucket_is_in_the_host_name_or_in_the_path() {
        let signed =
            "authorization: AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, Signature=0";
        let presigned = "HEAD /part/0?X-Amz-Credential=test%2F20260101 HTTP/1.1\r\nhost: a.b.s3.us-east-1.amazonaws.com\r\n\r\n";
        for head in [
            &format!(
                "GET /part/0?versionId=1 HTTP/1.1\r\nHost: a.b.s3.us-east-1.amazonaws.com\r\n{signed}\r\n\r\n"
            ),
            &format!("GET /a.b/part/0 HTTP/1.1\r\n{signed}\r\nhost: s3.us-east-1.amazonaws.com:443\r\n\r\n"),
            presigned,
        ] {
            let operation = read(head).unwrap();
            assert_eq!(operation.action, "s3:GetObject", "{head}");
            assert_eq!(operation.resource, "arn:aws:s3:::a.b/part/0", "{head}");
            assert_eq!(
                (operation.bucket.as_deref(), operation.signer.as_deref()),
                (Some("a.b"), Some("test"))
            );
        }
        let listed =
            read("GET /?list-type=2 HTTP/1.1\r\nhost: corpus.s3.us-east-1.amazonaws.com\r\n\r\n").unwrap();
        assert_eq!((listed.action.as_str(), listed.signer), ("s3:ListBucket", None));
        assert_eq!(listed.resource, "arn:aws:s3:::corpus");
    }

    #[test]
    fn a_pull_reads_images_and_asks_where_layers_are() {
        for (line, action) in [
            ("GET /v2/llm/trainer/manifests/1", Some("ecr:BatchGetImage")),
            ("GET /v2/llm/trainer/blobs/sha256:ab", Some("ecr:GetDownloadUrlForLayer")),
            ("GET /v2/", None),
        ] {
            let host = "123456789012.dkr.ecr.us-east-1.amazonaws.com";
            let operation = read(&format!("{line} HTTP/1.1\r\nhost: {host}\r\n\r\n"));
            assert_eq!(operation.as_ref().map(|it| it.action.as_str()), action);
            let name = "arn:aws:ecr:us-east-1:123456789012:repository/llm/trainer";
            assert!(operation.is_none_or(|it| it.resource == name));
        }
        assert_eq!(read("GET / HTTP/1.1\r\nhost: sts.us-east-1.amazonaws.com\r\n\r\n"), None);
    }
}
