//! `warren_aws_wireguard_key`, `warren_aws_signing_key`, `warren_aws_tls_key`: keys whose private half is
//! stored only in Parameter Store.
//!
//! The note of a version is the description of the parameter, written in the same call as the value. It
//! contains the public key and the rotation label. Therefore a read decrypts nothing, and a rotation whose
//! response was lost is not repeated:
//!
//! ```text
//! create   put version 1 with note and tags
//! rotate   note has the planned rotation? yes: done | no: put the next version
//! state    public half of the last version, and of the one before, which can still be read as `NAME:VERSION`
//! ```

mod ephemeral;
mod schema;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Change, Diagnostics, Schema, async_trait};

use crate::error::ApiError;
use crate::parameter::{self, Put};
use crate::session::{Aws, Session, Work};
use crate::tags::Tags;
pub(crate) use ephemeral::SigningKeyValue;
pub(crate) use schema::Key;
use schema::Stored;
use warren_gateways::key::{Kind, Note, Signing, Tls, Wireguard};
use warren_managed::{Failure, Object};

/// A key type with a resource type.
pub(crate) trait Named: Kind {
    /// The resource type.
    const TYPE: &'static str;
}

impl Named for Wireguard {
    const TYPE: &'static str = "warren_aws_wireguard_key";
}

impl Named for Signing {
    const TYPE: &'static str = "warren_aws_signing_key";
}

impl Named for Tls {
    const TYPE: &'static str = "warren_aws_tls_key";
}

#[async_trait]
impl<K: Named> Object for Key<K> {
    fn schema() -> Schema {
        schema::schema::<K>()
    }

    async fn plan(_session: &Session, change: &mut Change<Key<K>>, _diagnostics: &mut Diagnostics) {
        if let Some(prior) = &change.prior {
            change.planned.plan_rotation(prior);
        }
    }

    async fn find(&self, aws: &Aws) -> Result<Vec<String>, ApiError> {
        parameter::find(aws, self.name.text()).await
    }

    async fn create(&self, aws: &Aws, tags: &Tags) -> Result<String, ApiError> {
        put(aws, self, Some(tags)).await?;
        Ok(self.name.text().to_owned())
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<Key<K>, Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let name = self.id.text();
        let rotated = || async { Ok(look(aws, name).await?.has(&self.rotation)) };
        op.settle("rotated", rotated, || put(aws, self, None)).await?;
        parameter::settle_tags(work, name, &self.tags).await?;
        let stored = op.call(|| look(aws, name)).await?;
        Ok(schema::state(aws, stored, self))
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Key<K>>, Diagnostics> {
        let stored = ApiError::if_found(look(&work.cloud, self.id.text()).await)?;
        Ok(stored.map(|stored| schema::state(&work.cloud, stored, self)))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: aws, op, .. } = work;
        let name = self.id.text();
        op.delete(|| parameter::delete(aws, name), || parameter::versions(aws, name)).await
    }
}

/// Generates and stores a key; the private key is zeroised when this returns.
async fn put<K: Named>(aws: &Aws, planned: &Key<K>, tags: Option<&Tags>) -> Result<(), ApiError> {
    let pair = K::make().map_err(|error| ApiError::unsent("PutParameter", &error))?;
    let note = Note { rotation: planned.rotation.known().cloned(), public: pair.public.clone() };
    let put = Put {
        name: planned.name.text(),
        value: &pair.secret,
        description: &note.to_string(),
        secure: Some(planned.kms_key_id.known().map(String::as_str)),
        tags,
    };
    parameter::put(aws, &put).await.map(drop)
}

/// The key `name`; an error if it does not exist.
async fn look(aws: &Aws, name: &str) -> Result<Stored, ApiError> {
    let versions = parameter::versions(aws, name).await?;
    Ok(Stored { name: name.to_owned(), versions, tags: parameter::tags(aws, name).await? })
}
