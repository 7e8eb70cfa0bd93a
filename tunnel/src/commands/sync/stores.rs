//! Clients of stores, with credentials as the clouds' own tools find them.

use std::path::PathBuf;
use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue};
use object_store::ClientOptions;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, Checksum};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use warren_sync::net::Http;
use warren_sync::{Location, Objects, Place, Remote};
use zeroize::Zeroizing;

use super::google::AgentToken;
use super::profile::{self, Profile};
use crate::agent;
use crate::commands::exec::own_credentials;
use crate::runtime::problem::{Context as _, Problem, Result};
use crate::runtime::uapi;

/// Asks S3 for the checksum of an object
/// (<https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetObject.html>). The request is signed with it.
const MODE: HeaderName = HeaderName::from_static("x-amz-checksum-mode");

const FULL_URI: &str = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
const TOKEN_FILE: &str = "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE";

/// Reads variables of the environment.
pub(super) type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// One end of a transfer.
///
/// # Errors
/// Credentials or settings are not valid.
pub(super) fn place(
    location: &Location,
    http: &dyn Fn() -> Result<Http>,
    get: Variables<'_>,
) -> Result<Place> {
    let url = location.to_string().trim_end_matches('/').to_owned();
    match location {
        Location::Folder(path) => Ok(Place::Folder(path.clone())),
        Location::S3 { bucket, prefix } => {
            let base = s3(bucket, get)?.with_http_connector(http()?);
            let mode = HeaderMap::from_iter([(MODE, HeaderValue::from_static("ENABLED"))]);
            let asking = base.clone().with_client_options(ClientOptions::new().with_default_headers(mode));
            let built = |builder: AmazonS3Builder| -> Result<Arc<dyn Objects>> {
                Ok(Arc::new(builder.build().while_doing(|| url.clone())?))
            };
            Ok(Place::Store(Remote {
                read: built(asking)?,
                write: built(base)?,
                prefix: prefix.clone(),
                url,
                keeps_crc: false,
            }))
        }
        Location::Google { bucket, prefix } => {
            let mut builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(bucket);
            let file = get("GOOGLE_APPLICATION_CREDENTIALS");
            let token = file.map(|path| AgentToken::of(&path, http)).transpose()?.flatten();
            let of_agent = token.is_some();
            if let Some(token) = token {
                builder = builder.with_credentials(Arc::new(token));
            }
            if let Some(host) = get("STORAGE_EMULATOR_HOST").filter(|host| !host.is_empty()) {
                let host = if host.contains("://") { host } else { format!("http://{host}") };
                builder = builder.with_base_url(&host);
                if !of_agent {
                    builder = builder.with_config(GoogleConfigKey::BearerToken, "emulator");
                }
            }
            let http = http()?;
            let built = |builder: GoogleCloudStorageBuilder| {
                builder.build().while_doing(|| url.clone()).map_err(|problem| {
                    problem.hint("set GOOGLE_APPLICATION_CREDENTIALS to a credentials file, or use the service account of the instance")
                })
            };
            let write = built(builder.clone().with_http_connector(http.clone()))?;
            // Both have the same tokens.
            let asking = builder.with_credentials(Arc::clone(write.credentials()));
            let read = built(asking.with_http_connector(http.as_stored()))?;
            Ok(Place::Store(Remote {
                read: Arc::new(read),
                write: Arc::new(write),
                prefix: prefix.clone(),
                url,
                keeps_crc: true,
            }))
        }
    }
}

fn s3(bucket: &str, get: Variables<'_>) -> Result<AmazonS3Builder> {
    let mut builder = AmazonS3Builder::from_env().with_bucket_name(bucket);
    if get("AWS_CHECKSUM_ALGORITHM").is_none() {
        // S3 verifies each part, and combines them to the checksum of the object.
        builder = builder.with_checksum_algorithm(Checksum::CRC64NVME);
    }
    let region = get("AWS_REGION").or_else(|| get("AWS_DEFAULT_REGION"));
    let profile = profile::read(get)?;
    let Profile { key_id, secret, token, region: of_profile, indirect } = profile;
    if let Some(region) = region.or(of_profile) {
        builder = builder.with_region(region);
    }
    let elsewhere = ["AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE"];
    let skipped =
        builder.get_config_value(&AmazonS3ConfigKey::SkipSignature).is_some_and(|skip| skip == "true");
    if skipped || elsewhere.iter().any(|name| get(name).is_some()) {
        return Ok(builder);
    }
    match (key_id, secret, indirect) {
        (Some(id), Some(secret), _) => {
            builder = builder.with_access_key_id(id.as_str()).with_secret_access_key(secret.as_str());
            if let Some(token) = token {
                builder = builder.with_token(token.as_str());
            }
        }
        // After the files, as in the SDKs.
        _ if get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI").is_some() => {}
        _ if get(FULL_URI).is_some() => {
            for (key, name) in [
                (AmazonS3ConfigKey::ContainerCredentialsFullUri, FULL_URI),
                (AmazonS3ConfigKey::ContainerAuthorizationTokenFile, TOKEN_FILE),
            ] {
                if let Some(value) = get(name) {
                    builder = builder.with_config(key, value);
                }
            }
        }
        (_, _, Some(setting)) => {
            return Err(Problem::new(format!(
                "the AWS profile gets its credentials by {setting}, which sync does not support"
            ))
            .hint("run `eval \"$(aws configure export-credentials --format env)\"` first"));
        }
        _ => {}
    }
    Ok(builder)
}

/// The variables by which programs find credentials of a running agent's gateway, without those that replace the user's own.
pub(super) fn of_agent(get: Variables<'_>) -> Vec<(String, String)> {
    let found = uapi::running().iter().find_map(agent::credentials_of);
    own_credentials(found.unwrap_or_default(), get)
}

/// The folder of what runs to a store remember.
pub(super) fn state(get: Variables<'_>) -> PathBuf {
    let base = get("XDG_STATE_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
    let home = || get("HOME").map(|home| PathBuf::from(home).join(".local/state"));
    base.or_else(home).unwrap_or_else(std::env::temp_dir).join("warren-tunnel/sync")
}

/// The file with more certificate authorities that AWS's tools read.
pub(super) fn authorities(get: Variables<'_>) -> Result<Option<Zeroizing<Vec<u8>>>> {
    let Some(path) = get("AWS_CA_BUNDLE").filter(|path| !path.is_empty()) else { return Ok(None) };
    let read = std::fs::read(&path).while_doing(|| format!("AWS_CA_BUNDLE: reading {path}"))?;
    Ok(Some(Zeroizing::new(read)))
}
