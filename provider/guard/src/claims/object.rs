//! Claims in an object store, changed by conditional writes.

use std::fmt;
use std::sync::Arc;

use futures::{TryFutureExt as _, TryStreamExt as _};
use object_store::aws::{AmazonS3Builder, AwsCredential};
use object_store::gcp::{GcpCredential, GoogleCloudStorageBuilder};
use object_store::path::Path;
use object_store::{
    Certificate, ClientOptions, CredentialProvider, Error, ObjectStore, ObjectStoreExt as _, PutMode,
    PutOptions, PutPayload, UpdateVersion,
};
use tf_provider_rs::async_trait;

use super::store::LIMIT;
use crate::config::{CredentialSource, GcsOptions, S3Options, TokenSource};

/// A claims object.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    store: Arc<dyn ObjectStore>,
    path: Path,
}

/// The version of an object when it was read, used as the condition of the next write.
#[derive(Clone, Debug)]
pub(crate) enum Seen {
    Nothing,
    Version(UpdateVersion),
}

/// Whether a conditional write succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    Yes,
    /// Another process changed the object after it was read.
    Overtaken,
}

impl Object {
    pub(crate) fn s3(bucket: &str, key: &str, options: &S3Options) -> Result<Object, Error> {
        let mut builder = AmazonS3Builder::from_env().with_bucket_name(bucket);
        if let Some(path) = &options.ca_bundle {
            let unreadable = |error: std::io::Error| Error::Generic { store: "S3", source: Box::new(error) };
            let authorities = Certificate::from_pem_bundle(&std::fs::read(path).map_err(unreadable)?)?;
            let client =
                authorities.into_iter().fold(ClientOptions::new(), ClientOptions::with_root_certificate);
            builder = builder.with_client_options(client);
        }
        if options.allow_http {
            builder = builder.with_allow_http(true);
        }
        if let Some(region) = &options.region {
            builder = builder.with_region(region);
        }
        if let Some(endpoint) = &options.endpoint {
            builder = builder.with_endpoint(endpoint);
        }
        if let Some(source) = &options.credentials {
            builder = builder.with_credentials(Arc::new(Handed(Arc::clone(source))));
        }
        Ok(Object { store: Arc::new(builder.build()?), path: Path::parse(key)? })
    }

    pub(crate) fn gcs(bucket: &str, key: &str, options: &GcsOptions) -> Result<Object, Error> {
        let mut builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(bucket);
        if let Some(source) = &options.tokens {
            builder = builder.with_credentials(Arc::new(HandedToken(Arc::clone(source))));
        }
        Ok(Object { store: Arc::new(builder.build()?), path: Path::parse(key)? })
    }

    #[cfg(test)]
    pub(crate) fn of(store: Arc<dyn ObjectStore>, key: &str) -> Object {
        Object { store, path: Path::from(key) }
    }

    pub(crate) async fn read(&self) -> Result<(Option<Vec<u8>>, Seen), Error> {
        match self.store.get(&self.path).await {
            Ok(got) => {
                let version =
                    UpdateVersion { e_tag: got.meta.e_tag.clone(), version: got.meta.version.clone() };
                let mut text = Vec::new();
                let mut parts = got.into_stream();
                // One byte more than the limit shows that the object is too large.
                while let Some(part) = parts.try_next().await? {
                    text.extend_from_slice(&part);
                    if u64::try_from(text.len()).is_ok_and(|length| length > LIMIT) {
                        break;
                    }
                }
                Ok((Some(text), Seen::Version(version)))
            }
            Err(Error::NotFound { .. }) => Ok((None, Seen::Nothing)),
            Err(error) => Err(error),
        }
    }

    /// Writes if the object is unchanged: `If-None-Match: *` or `If-Match: etag` (on GCS, by generation).
    pub(crate) async fn write(&self, text: String, seen: Seen) -> Result<Written, Error> {
        let mode = match seen {
            Seen::Nothing => PutMode::Create,
            Seen::Version(version) => PutMode::Update(version),
        };
        let options = PutOptions { mode, ..PutOptions::default() };
        match self.store.put_opts(&self.path, PutPayload::from(text), options).await {
            Ok(_) => Ok(Written::Yes),
            // An object that was removed in the meantime is reported as missing.
            Err(Error::AlreadyExists { .. } | Error::Precondition { .. } | Error::NotFound { .. }) => {
                Ok(Written::Overtaken)
            }
            Err(error) => Err(error),
        }
    }
}

/// Credentials that the caller resolves.
struct Handed(Arc<dyn CredentialSource>);

impl fmt::Debug for Handed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handed(redacted)")
    }
}

#[async_trait]
impl CredentialProvider for Handed {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AwsCredential>> {
        let credentials =
            self.0.credentials().map_err(|text| Error::Generic { store: "S3", source: text.into() }).await?;
        Ok(Arc::new(AwsCredential {
            key_id: credentials.access_key_id,
            secret_key: credentials.secret_access_key,
            token: credentials.session_token,
        }))
    }
}

/// A token that the caller obtains.
struct HandedToken(Arc<dyn TokenSource>);

impl fmt::Debug for HandedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HandedToken(redacted)")
    }
}

#[async_trait]
impl CredentialProvider for HandedToken {
    type Credential = GcpCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<GcpCredential>> {
        let bearer =
            self.0.token().map_err(|text| Error::Generic { store: "GCS", source: text.into() }).await?;
        Ok(Arc::new(GcpCredential { bearer }))
    }
}
