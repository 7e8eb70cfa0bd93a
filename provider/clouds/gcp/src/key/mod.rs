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

mod ephemeral;
mod schema;
#[cfg(test)]
mod tests;

use tf_provider_rs::{Change, Diagnostics, Schema, async_trait};
use warren_gateways::key::{Kind, Note, Signing, Tls, Wireguard};
use warren_managed::Object;

use crate::error::{ApiError, Failure};
use crate::secret;
use crate::session::{Gcp, Session, Work};
pub(crate) use ephemeral::SigningKeyValue;
pub(crate) use schema::Key;
use schema::Stored;

/// A kind of key with a resource type.
pub(crate) trait Named: Kind {
    /// The resource type.
    const TYPE: &'static str;
}

impl Named for Wireguard {
    const TYPE: &'static str = "warren_gcp_wireguard_key";
}

impl Named for Signing {
    const TYPE: &'static str = "warren_gcp_signing_key";
}

impl Named for Tls {
    const TYPE: &'static str = "warren_gcp_tls_key";
}

#[async_trait]
impl<K: Named> Object for Key<K> {
    fn schema() -> Schema {
        schema::schema::<K>()
    }

    fn validate(&self, _session: &Session, diagnostics: &mut Diagnostics) {
        schema::check(self, diagnostics);
    }

    async fn plan(_session: &Session, change: &mut Change<Key<K>>, _diagnostics: &mut Diagnostics) {
        if let Some(prior) = &change.prior {
            change.planned.plan_rotation(prior);
        }
    }

    async fn find(&self, gcp: &Gcp) -> Result<Vec<String>, ApiError> {
        secret::find(gcp, self, &self.store()).await
    }

    async fn create(&self, gcp: &Gcp, _description: &String) -> Result<String, ApiError> {
        secret::create(gcp, self, &self.store()).await
    }

    async fn reconcile(&self, work: &Work<'_>) -> Result<Key<K>, Diagnostics> {
        let Work { cloud: gcp, op, .. } = work;
        let id = self.id.text();
        let rotated = || async { Ok(look(gcp, id).await?.has(&self.rotation)) };
        if op.settle("rotated", rotated, || put(gcp, self)).await? {
            op.call(|| secret::prune(gcp, id)).await?;
        }
        secret::settle_labels(work, self).await?;
        let stored = op.call(|| look(gcp, id)).await?;
        Ok(schema::state(stored, self))
    }

    async fn read(&self, work: &Work<'_>) -> Result<Option<Key<K>>, Diagnostics> {
        let stored = ApiError::if_found(look(&work.cloud, self.id.text()).await)?;
        Ok(stored.map(|stored| schema::state(stored, self)))
    }

    async fn delete(&self, work: &Work<'_>) -> Result<(), Diagnostics> {
        let Work { cloud: gcp, op, .. } = work;
        let id = self.id.text();
        op.delete(|| secret::delete(gcp, id), || secret::get(gcp, id)).await
    }
}

/// Generates a key and adds it; the private key is zeroised when this returns.
async fn put<K: Named>(gcp: &Gcp, planned: &Key<K>) -> Result<(), ApiError> {
    let pair = K::make().map_err(|error| ApiError::unsent("secrets.addVersion", &error))?;
    let note = Note { rotation: planned.rotation.known().cloned(), public: pair.public.clone() };
    secret::add(gcp, planned.id.text(), &pair.secret, &note.to_string()).await
}

/// Reads the key `id`; not found is an error.
async fn look(gcp: &Gcp, id: &str) -> Result<Stored, ApiError> {
    let secret = secret::get(gcp, id).await?;
    let last = secret::last(gcp, &secret).await?;
    Ok(Stored { secret, last })
}
