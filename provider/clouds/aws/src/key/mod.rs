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

mod api;
mod ephemeral;
mod model;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Change, Diagnostics, async_trait};
use warren_gateways::store::{self, Stored};
use warren_managed::Object;

use crate::error::ApiError;
use crate::parameter;
use crate::session::{Aws, Session, Work};
use crate::tags::Tags;
pub(crate) use ephemeral::SigningKeyValue;
pub(crate) use model::{Key, Named};

#[async_trait]
impl<K: Named> Object for Key<K> {
    async fn plan(_session: &Session, change: &mut Change<Key<K>>, _diagnostics: &mut Diagnostics) {
        if let Some(prior) = &change.prior {
            change.planned.key.plan(&prior.key);
        }
    }

    async fn find(&self, aws: &Aws) -> Result<Vec<String>, ApiError> {
        parameter::find(aws, self.object.name()?).await
    }

    async fn create(&self, aws: &Aws, tags: &Tags) -> Result<String, ApiError> {
        api::put(aws, self, Some(tags)).await?;
        Ok(self.object.name()?.to_owned())
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<Key<K>, Diagnostics> {
        store::reconcile(self, work).await
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Key<K>>, Diagnostics> {
        store::read(self, work).await
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        store::delete(self, work).await
    }
}

#[async_trait]
impl<K: Named> Stored for Key<K> {
    const WANTED: &'static str = "rotated";

    fn is_stored(&self, found: &Key<K>) -> bool {
        self.key.is_stored(&found.key)
    }

    async fn add(&self, aws: &Aws) -> Result<(), ApiError> {
        api::put(aws, self, None).await
    }

    async fn mark(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        parameter::settle_tags(work, &self.object).await
    }

    async fn get(&self, aws: &Aws) -> Result<Key<K>, ApiError> {
        api::get(aws, self).await
    }

    async fn remove(&self, aws: &Aws) -> Result<(), ApiError> {
        parameter::delete(aws, self.object.id()?).await
    }
}
