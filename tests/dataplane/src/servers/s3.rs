//! Objects in an emulated S3.

use anyhow::Result;

use super::curl::{curl, curl_data};

/// The header in place of a signature, which the emulator does not check.
pub const SIGNED: &str = "Authorization: AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, \
                          SignedHeaders=host, Signature=0";

/// Stores an object in a bucket of the S3 at `endpoint`. The bucket is created.
///
/// # Errors
/// S3 refuses it.
pub fn put_object(endpoint: &str, bucket: &str, key: &str, object: &[u8]) -> Result<()> {
    curl(&["--request", "PUT", "--header", SIGNED, &format!("{endpoint}/{bucket}")])?;
    let binary = ["--request", "PUT", "--header", "content-type: application/octet-stream"];
    curl_data(&[&binary[..], &["--header", SIGNED, &format!("{endpoint}/{bucket}/{key}")]].concat(), object)
        .map(drop)
}

/// Creates a bucket with a policy in the S3 at `endpoint`.
///
/// # Errors
/// S3 refuses it.
pub(crate) fn put_policy(endpoint: &str, bucket: &str, policy: Option<&str>) -> Result<()> {
    curl(&["--request", "PUT", "--header", SIGNED, &format!("{endpoint}/{bucket}")])?;
    if let Some(policy) = policy {
        let json = ["--request", "PUT", "--header", "content-type: application/json", "--header", SIGNED];
        curl_data(&[&json[..], &[&format!("{endpoint}/{bucket}?policy")]].concat(), policy.as_bytes())?;
    }
    Ok(())
}
