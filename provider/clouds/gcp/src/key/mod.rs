//! `warren_gcp_wireguard_key`, `warren_gcp_signing_key`, `warren_gcp_tls_key`: keys whose private half is stored in Secret Manager
//! and nowhere else.
//!
//! A version's note (an annotation of the secret, written before the version) holds the public key and the rotation that
//! requested it. So a read needs no payload, and a rotation whose response was lost is not repeated:
//!
//! ```text
//! create   secret with labels
//! rotate   the last version's note has the planned rotation? yes: done | no: note of the next version, then the version
//! state    public key of the last version, and of the previous one, which can still be read
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
use crate::secret;
use crate::session::{Gcp, Session, Work};
pub(crate) use ephemeral::SigningKeyValue;
pub(crate) use model::{Key, Named};

#[async_trait]
impl<K: Named> Object for Key<K> {
    fn validate(&self, _session: &Session, diagnostics: &mut Diagnostics) {
        self.check(diagnostics);
    }

    async fn plan(_session: &Session, change: &mut Change<Key<K>>, _diagnostics: &mut Diagnostics) {
        if let Some(prior) = &change.prior {
            change.planned.key.plan(&prior.key);
        }
    }

    async fn find(&self, gcp: &Gcp) -> Result<Vec<String>, ApiError> {
        secret::find(gcp, self, &self.store()).await
    }

    async fn create(&self, gcp: &Gcp, _description: &String) -> Result<String, ApiError> {
        secret::create(gcp, self, &self.store()).await
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

    async fn add(&self, gcp: &Gcp) -> Result<(), ApiError> {
        api::add(gcp, self).await
    }

    async fn prune(&self, gcp: &Gcp) -> Result<(), ApiError> {
        secret::prune(gcp, self.object.id()?).await
    }

    async fn mark(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        secret::settle_labels(work, self).await
    }

    async fn get(&self, gcp: &Gcp) -> Result<Key<K>, ApiError> {
        api::get(gcp, self).await
    }

    async fn remove(&self, gcp: &Gcp) -> Result<(), ApiError> {
        secret::delete(gcp, self.object.id()?).await
    }
}
