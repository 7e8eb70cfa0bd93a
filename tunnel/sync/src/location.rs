//! Where objects are: `s3://BUCKET/FOLDER`, `gs://BUCKET/FOLDER`, `file:///PATH`, or a path.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// A folder of a store or of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// A folder of this machine.
    Folder(PathBuf),
    /// A folder of an S3 bucket; the prefix has no slash at either end.
    S3 {
        /// The bucket.
        bucket: String,
        /// The folder in it; may be empty.
        prefix: String,
    },
    /// A folder of a Google Cloud Storage bucket.
    Google {
        /// The bucket.
        bucket: String,
        /// The folder in it; may be empty.
        prefix: String,
    },
}

/// Why a text is no location.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LocationError {
    /// Another scheme.
    #[error("unsupported scheme `{0}`; write s3://, gs://, file:/// or a path")]
    Scheme(String),
    /// No bucket, or one with characters that no bucket has.
    #[error("no valid bucket name; write s3://BUCKET/FOLDER/ or gs://BUCKET/FOLDER/")]
    Bucket,
    /// A host in a file URL.
    #[error("a file URL has three slashes: file:///PATH")]
    Host,
    /// A segment that stores and file systems read differently.
    #[error("the folder contains an empty segment, `.` or `..`")]
    Segment,
    /// Nothing.
    #[error("the location is empty")]
    Empty,
}

impl FromStr for Location {
    type Err = LocationError;

    fn from_str(text: &str) -> Result<Self, LocationError> {
        let Some((scheme, rest)) = text.split_once("://") else {
            return if text.is_empty() { Err(LocationError::Empty) } else { Ok(Self::Folder(text.into())) };
        };
        match scheme {
            "file" if rest.starts_with('/') => Ok(Self::Folder(rest.into())),
            "file" => Err(LocationError::Host),
            "s3" => bucket(rest).map(|(bucket, prefix)| Self::S3 { bucket, prefix }),
            "gs" => bucket(rest).map(|(bucket, prefix)| Self::Google { bucket, prefix }),
            other => Err(LocationError::Scheme(other.to_owned())),
        }
    }
}

fn bucket(rest: &str) -> Result<(String, String), LocationError> {
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    if bucket.is_empty() || !bucket.chars().all(allowed) {
        return Err(LocationError::Bucket);
    }
    let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
    let odd = |segment: &str| matches!(segment, "" | "." | "..");
    if !prefix.is_empty() && prefix.split('/').any(odd) {
        return Err(LocationError::Segment);
    }
    Ok((bucket.to_owned(), prefix.to_owned()))
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path) => path.display().fmt(f),
            Self::S3 { bucket, prefix } => write!(f, "s3://{bucket}/{prefix}"),
            Self::Google { bucket, prefix } => write!(f, "gs://{bucket}/{prefix}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_read_and_written() {
        for (text, shown) in [
            ("s3://acme-data/llm/", "s3://acme-data/llm"),
            ("gs://b", "gs://b/"),
            ("file:///data", "/data"),
            ("./x", "./x"),
        ] {
            assert_eq!(text.parse::<Location>().unwrap().to_string(), shown);
        }
    }

    #[test]
    fn what_is_no_folder_is_refused() {
        use LocationError as E;
        for (text, error) in [
            ("", E::Empty),
            ("https://x/y", E::Scheme("https".into())),
            ("s3:///x", E::Bucket),
            ("s3://a@b/x", E::Bucket),
            ("file://host/x", E::Host),
            ("s3://b/a//b", E::Segment),
            ("s3://b/../c", E::Segment),
        ] {
            assert_eq!(text.parse::<Location>().unwrap_err(), error, "{text}");
        }
    }
}
