//! Errors of a transfer: where, what, and one thing to do.

use std::error::Error as _;
use std::fmt::Write as _;
use std::io;

/// The hint for a store that does not answer.
const PATH: &str =
    "check the path to the store (`warren-tunnel status`, HTTPS_PROXY), its endpoint, and its region";

/// What a caller does about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The source changed during its transfer; the transfer of the object starts again.
    Changed,
    /// The object or file does not exist.
    Missing,
    /// The store has forgotten an upload in parts; the transfer of the object starts again.
    Forgotten,
    /// The store was not reached, or did not answer; what is completed stays for the next run.
    Unreached,
    /// Something else; the object is reported as failed.
    Other,
}

/// A failed operation on one place. The text contains no credentials.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}")]
pub struct SyncError {
    /// The URL or path.
    pub place: String,
    /// What happened.
    pub what: String,
    /// What to do about it.
    pub hint: Option<&'static str>,
    /// How callers treat it.
    pub kind: Kind,
}

impl SyncError {
    /// An error without a hint.
    pub fn new(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self { place: place.into(), what: what.into(), hint: None, kind: Kind::Other }
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(mut self, hint: &'static str) -> Self {
        self.hint = Some(hint);
        self
    }

    /// The source is not what it was when the transfer began.
    pub fn changed(place: impl Into<String>) -> Self {
        let what = "changed while it was transferred";
        Self { kind: Kind::Changed, ..Self::new(place, what) }
            .hint("wait until its writer is done, and run the command again")
    }

    /// A failed operation on a file or folder.
    pub fn io(place: impl Into<String>, error: &io::Error) -> Self {
        let kind = if error.kind() == io::ErrorKind::NotFound { Kind::Missing } else { Kind::Other };
        let failed = Self { kind, ..Self::new(place, error.to_string()) };
        match error.kind() {
            io::ErrorKind::StorageFull => {
                failed.hint("free space, and run the command again; completed parts are kept")
            }
            io::ErrorKind::PermissionDenied => failed.hint("check the owner and mode of the folder"),
            _ => failed,
        }
    }

    /// A failed request to a store.
    pub fn store(place: impl Into<String>, error: &object_store::Error) -> Self {
        use object_store::Error as E;
        let mut what = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            let text = cause.to_string();
            // Most errors of a store repeat their cause.
            if !what.contains(&text) {
                _ = write!(what, ": {text}");
            }
            source = cause.source();
        }
        let code = element(&what, "Code").map(str::to_owned);
        if let Some(code) = &code {
            let message = element(&what, "Message").unwrap_or_default();
            what = format!("the store answered {code}: {message}");
        }
        let failed = Self::new(place, what.split_whitespace().collect::<Vec<_>>().join(" "));
        if let Some(hint) = code.as_deref().and_then(hint) {
            let kind = match code.as_deref() {
                Some("PreconditionFailed") => Kind::Changed,
                Some("NoSuchUpload") => Kind::Forgotten,
                _ => failed.kind,
            };
            return Self { kind, ..failed }.hint(hint);
        }
        match error {
            E::NotFound { .. } => Self { kind: Kind::Missing, ..failed }
                .hint("check the names of the bucket and the folder, and the region (AWS_REGION)"),
            E::Precondition { .. } | E::NotModified { .. } => Self { kind: Kind::Changed, ..failed }
                .hint("wait until its writer is done, and run the command again"),
            E::PermissionDenied { .. } | E::Unauthenticated { .. } => failed.hint(
                "the credentials need to list the bucket, and to read or write its objects; AWS also answers this for expired ones",
            ),
            E::Generic { .. } if code.is_none() => Self { kind: Kind::Unreached, ..failed }.hint(PATH),
            _ => failed.hint(PATH),
        }
    }
}

/// The text of the first element of that name in an answer of S3 or Google.
fn element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    rest.split_once("</").map(|(value, _)| value)
}

/// What to do about an error code (<https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html>,
/// <https://cloud.google.com/storage/docs/xml-api/reference-status>).
fn hint(code: &str) -> Option<&'static str> {
    Some(match code {
        "NoSuchBucket" => "check the name of the bucket, and the endpoint if you set one",
        "NoSuchUpload" => "run the command again",
        "AccessDenied" => {
            "the credentials need to list the bucket, and to read or write its objects; check also the policies of the bucket and of the VPC endpoint"
        }
        "InvalidAccessKeyId"
        | "ExpiredToken"
        | "InvalidToken"
        | "TokenRefreshRequired"
        | "AuthenticationRequired" => "renew the credentials",
        "SignatureDoesNotMatch" | "RequestTimeTooSkewed" => {
            "check the secret key, and the clock of this machine"
        }
        "PermanentRedirect" | "AuthorizationHeaderMalformed" | "IllegalLocationConstraintException" => {
            "set AWS_REGION to the region of the bucket"
        }
        "SlowDown" | "ServiceUnavailable" => "use fewer --connections",
        "PreconditionFailed" => "wait until its writer is done, and run the command again",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_the_store_is_shortened_and_explained() {
        let body = "404 Not Found: <?xml version=\"1.0\"?> <Error><Code>NoSuchBucket</Code><Message>The bucket is not there</Message></Error>";
        let error = object_store::Error::Generic { store: "S3", source: body.into() };
        let shown = SyncError::store("s3://b/x", &error);
        assert_eq!(shown.to_string(), "s3://b/x: the store answered NoSuchBucket: The bucket is not there");
        assert_eq!(shown.hint, hint("NoSuchBucket"));
        let other = object_store::Error::Generic { store: "S3", source: "connection refused".into() };
        let shown = SyncError::store("s3://b/x", &other);
        assert_eq!((shown.kind, shown.hint), (Kind::Unreached, Some(PATH)));
    }
}
