//! Secret Manager API calls for keys and configurations: the only file with its SDK's types.
//!
//! A version contains only its payload. A public note about it is stored in the secret's annotations, under the number that
//! the version will get, and is written before the version:
//!
//! ```text
//! warren-version-3 = "warren rotation=2026-11 public=…"   then version 3
//! ```
//!
//! If the run is killed before it adds the version, the next run writes the note again. A version whose response was lost is
//! found under its number at once: version numbers are strongly consistent, while `latest` can lag.

use std::collections::{BTreeMap, BTreeSet};

use google_cloud_gax::options::RequestOptionsBuilder as _;
use google_cloud_iam_v1::model::{Binding, Policy};
use google_cloud_secretmanager_v1::model::replication::user_managed::Replica;
use google_cloud_secretmanager_v1::model::secret_version::State;
use google_cloud_secretmanager_v1::model::{
    CustomerManagedEncryption, Replication, Secret as Body, SecretPayload, SecretVersion, replication,
};
use google_cloud_wkt::FieldMask;
use tf_provider_rs::{Diagnostics, Object, Path, Value};
use warren_managed::sets::Texts;
use zeroize::Zeroizing;

use crate::account::Gcp;
use crate::error::{ApiError, Failure as _, Named as _, OrMissing as _, non_empty};
use crate::labels::{self, Labelled};
use crate::link;
use crate::session::Work;

/// Prefix of the annotation of a version; its number follows.
const NOTE: &str = "warren-version-";

/// A secret without its payloads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Secret {
    /// `projects/P/secrets/N`.
    pub(crate) id: String,
    /// Its last part.
    pub(crate) name: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) annotations: BTreeMap<String, String>,
    pub(crate) store: Store,
    pub(crate) etag: String,
}

/// How payloads are stored, which cannot be changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Store {
    /// Locations; empty means automatic replication.
    pub(crate) locations: BTreeSet<String>,
    /// The Cloud KMS key, if it is not one that Google manages.
    pub(crate) kms_key: Option<String>,
}

impl Store {
    fn replication(&self) -> Replication {
        let encryption =
            || self.kms_key.as_ref().map(|key| CustomerManagedEncryption::new().set_kms_key_name(key));
        if self.locations.is_empty() {
            let automatic = replication::Automatic::new();
            return Replication::new()
                .set_automatic(automatic.set_or_clear_customer_managed_encryption(encryption()));
        }
        let replica = |location| {
            Replica::new().set_location(location).set_or_clear_customer_managed_encryption(encryption())
        };
        let replicas = self.locations.iter().map(replica);
        Replication::new().set_user_managed(replication::UserManaged::new().set_replicas(replicas))
    }
}

impl From<Replication> for Store {
    fn from(replication: Replication) -> Store {
        let key = |encryption: &CustomerManagedEncryption| encryption.kms_key_name.clone();
        let automatic = replication.automatic().and_then(|it| it.customer_managed_encryption.as_ref());
        let replicas = replication.user_managed().map(|it| it.replicas.as_slice()).unwrap_or_default();
        let mut keys = replicas.iter().filter_map(|replica| replica.customer_managed_encryption.as_ref());
        Store {
            locations: replicas.iter().map(|replica| replica.location.clone()).collect(),
            kms_key: automatic.or_else(|| keys.next()).map(key),
        }
    }
}

impl Secret {
    /// The note of a version.
    pub(crate) fn note(&self, number: i64) -> Option<&str> {
        self.annotations.get(&annotation(number)).map(String::as_str)
    }

    /// The highest version that was ever announced.
    fn announced(&self) -> Option<i64> {
        self.annotations.keys().filter_map(|key| key.strip_prefix(NOTE)?.parse().ok()).max()
    }
}

/// A version without its payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Version {
    /// From 1.
    pub(crate) number: i64,
    /// Whether its payload can be read.
    pub(crate) enabled: bool,
}

impl Version {
    /// The version in the response of `call`.
    fn found(call: &'static str, version: &SecretVersion) -> Result<Version, ApiError> {
        Ok(Version { number: number(call, &version.name)?, enabled: version.state == State::Enabled })
    }
}

/// The number at the end of a version's name.
fn number(call: &'static str, name: &str) -> Result<i64, ApiError> {
    name.rsplit('/').next().and_then(|number| number.parse().ok()).or_missing(call, "name")
}

/// The attribute of [`Store::locations`].
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct Replicas {
    /// Regions that store the secret, such as `us-central1`, for organisations with data residency requirements. Changing
    /// this replaces the secret. Defaults to automatic replication, where Google chooses the locations.
    #[attr(optional, replaces, validate = check_locations)]
    pub(crate) replica_locations: Texts,
}

fn check_locations(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let mut told =
        |what: &str| diagnostics.error_at(path.clone(), "Invalid replica locations", what.to_owned());
    let locations = value.as_slice().unwrap_or_default();
    if locations.is_empty() {
        told("The set contains no region. Omit the attribute to let Google choose the locations.");
    }
    for location in locations.iter().filter_map(Value::as_str) {
        let letters = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
        if location == "global" || location.is_empty() || !location.chars().all(letters) {
            told(&format!("{location:?} is not a region. Use a region such as `us-central1`."));
        }
    }
}

fn annotation(number: i64) -> String {
    format!("{NOTE}{number}")
}

/// Creates a secret without versions and returns its ID.
pub(crate) async fn create<M: Labelled>(gcp: &Gcp, planned: &M, store: &Store) -> Result<String, ApiError> {
    let id = planned.place(&gcp.project)?;
    let body = Body::new().set_replication(store.replication()).set_labels(labels::all(gcp, planned)?);
    let call = gcp.clients.secrets().await?.create_secret().set_parent(format!("projects/{}", gcp.project));
    let call = call.set_secret_id(planned.name().value()?).set_secret(body);
    call.send().await.named("secrets.create").map(|_| id)
}

/// Finds the secret of this name if an interrupted create of ours left it.
pub(crate) async fn find<M: Labelled>(
    gcp: &Gcp,
    planned: &M,
    store: &Store,
) -> Result<Vec<String>, ApiError> {
    let id = planned.place(&gcp.project)?;
    let Some(found) = ApiError::if_found(get(gcp, &id).await)? else { return Ok(Vec::new()) };
    labels::adoptable(gcp, planned, &found.labels, || Ok(found.store == *store))
}

/// Reads the secret `id`; not found is an error.
pub(crate) async fn get(gcp: &Gcp, id: &str) -> Result<Secret, ApiError> {
    const GET: &str = "secrets.get";
    let (_, name) = link::global(GET, id)?;
    let found = gcp.clients.secrets().await?.get_secret().set_name(id).send().await.named(GET)?;
    Ok(Secret {
        id: id.to_owned(),
        name,
        labels: found.labels.into_iter().collect(),
        annotations: found.annotations.into_iter().collect(),
        store: found.replication.map(Store::from).or_missing(GET, "replication")?,
        etag: found.etag.or_missing(GET, "etag")?,
    })
}

/// The version that was added last; `None` when there is none yet.
pub(crate) async fn last(gcp: &Gcp, secret: &Secret) -> Result<Option<Version>, ApiError> {
    let last = ApiError::if_found(version(gcp, &secret.id, "latest").await)?;
    let shown = last.map_or(0, |version| version.number);
    match secret.announced().filter(|number| *number > shown) {
        Some(number) => {
            let hidden = ApiError::if_found(version(gcp, &secret.id, &number.to_string()).await)?;
            Ok(hidden.or(last))
        }
        None => Ok(last),
    }
}

async fn version(gcp: &Gcp, id: &str, number: &str) -> Result<Version, ApiError> {
    let call = gcp.clients.secrets().await?.get_secret_version().set_name(format!("{id}/versions/{number}"));
    Version::found("versions.get", &call.send().await.named("versions.get")?)
}

/// Adds a version with its note. It does not retry, because a retry would add another version.
pub(crate) async fn add(gcp: &Gcp, id: &str, payload: &str, note: &str) -> Result<(), ApiError> {
    let secret = get(gcp, id).await?;
    let number = last(gcp, &secret).await?.map_or(0, |version| version.number) + 1;
    announce(gcp, secret, number, note).await?;
    let bytes = payload.as_bytes().to_vec();
    let payload = SecretPayload::new().set_data_crc32c(i64::from(crc32c::crc32c(&bytes))).set_data(bytes);
    let call = gcp.clients.secrets().await?.add_secret_version().set_parent(id).set_payload(payload);
    let made = Version::found("secrets.addVersion", &call.send().await.named("secrets.addVersion")?)?;
    if made.number != number {
        // Another client has added a version in between, so the note belongs to another number.
        announce(gcp, get(gcp, id).await?, made.number, note).await?;
    }
    Ok(())
}

/// Writes the note of the version `number`. Removes other notes, except that of the previous version; other annotations
/// stay.
async fn announce(gcp: &Gcp, secret: Secret, number: i64, note: &str) -> Result<(), ApiError> {
    let mut annotations = secret.annotations;
    annotations.retain(|key, _| {
        let of = key.strip_prefix(NOTE).and_then(|number| number.parse::<i64>().ok());
        of.is_none_or(|of| of == number - 1)
    });
    annotations.insert(annotation(number), note.to_owned());
    let body = Body::new().set_name(secret.id).set_etag(secret.etag).set_annotations(annotations);
    update(gcp, body, "annotations").await
}

async fn update(gcp: &Gcp, body: Body, field: &str) -> Result<(), ApiError> {
    let mask = FieldMask::default().set_paths([field]);
    let call = gcp.clients.secrets().await?.update_secret().set_secret(body).set_update_mask(mask);
    call.with_idempotency(true).send().await.named("secrets.patch").map(drop)
}

/// Sets the planned labels of a secret if they differ.
pub(crate) async fn settle_labels<M: Labelled>(work: &Work<'_>, planned: &M) -> Result<(), Diagnostics> {
    let Work { cloud: gcp, op, .. } = work;
    let id = planned.id().value()?;
    let want = labels::all(gcp, planned)?;
    op.call(|| async {
        if get(gcp, id).await?.labels == want {
            return Ok(());
        }
        update(gcp, Body::new().set_name(id).set_labels(want.clone()), "labels").await
    })
    .await
}

/// Destroys the payloads of all versions before the previous one.
pub(crate) async fn prune(gcp: &Gcp, id: &str) -> Result<(), ApiError> {
    let secret = get(gcp, id).await?;
    let keep = last(gcp, &secret).await?.map_or(0, |version| version.number) - 1;
    let mut token = String::new();
    loop {
        let call = gcp.clients.secrets().await?.list_secret_versions().set_parent(id).set_page_token(token);
        let page = call.send().await.named("versions.list")?;
        for version in page.versions.into_iter().filter(|version| version.state != State::Destroyed) {
            let number = number("versions.list", &version.name)?;
            if number < keep {
                let call = gcp.clients.secrets().await?.destroy_secret_version();
                call.set_name(format!("{id}/versions/{number}")).send().await.named("versions.destroy")?;
            }
        }
        match non_empty(page.next_page_token) {
            Some(next) => token = next,
            None => return Ok(()),
        }
    }
}

/// Reads the payload of a version, or of `latest`; not found is an error, and so is a payload that does not match the
/// checksum that Google stores.
pub(crate) async fn read(gcp: &Gcp, id: &str, version: &str) -> Result<(i64, Zeroizing<String>), ApiError> {
    const ACCESS: &str = "versions.access";
    let name = format!("{id}/versions/{version}");
    let call = gcp.clients.secrets().await?.access_secret_version().set_name(name);
    let answer = call.send().await.named(ACCESS)?;
    let number = number(ACCESS, &answer.name)?;
    let payload = answer.payload.or_missing(ACCESS, "payload")?;
    if payload.data_crc32c.is_some_and(|sum| sum != i64::from(crc32c::crc32c(&payload.data))) {
        return Err(ApiError::garbled(ACCESS, &format!("{id}, version {number}")));
    }
    Ok((number, Zeroizing::new(String::from_utf8_lossy(&payload.data).into_owned())))
}

/// Deletes a secret with all its versions; not found is an error.
pub(crate) async fn delete(gcp: &Gcp, id: &str) -> Result<(), ApiError> {
    gcp.clients.secrets().await?.delete_secret().set_name(id).send().await.named("secrets.delete")
}

/// Role that permits a principal to read a secret's payloads.
const READER: &str = "roles/secretmanager.secretAccessor";

/// Whether `member` may read the secret `id`; not found is an error.
pub(crate) async fn may_read(gcp: &Gcp, id: &str, member: &str) -> Result<bool, ApiError> {
    Ok(policy(gcp, id).await?.bindings.iter().any(|binding| lets(binding, member)))
}

/// Grants or revokes the access of `member` to the secret `id`. The rest of the secret's policy stays the same.
pub(crate) async fn let_read(gcp: &Gcp, id: &str, member: &str, may: bool) -> Result<(), ApiError> {
    let mut policy = policy(gcp, id).await?;
    if policy.bindings.iter().any(|binding| lets(binding, member)) == may {
        return Ok(());
    }
    if may {
        policy.bindings.push(Binding::new().set_role(READER).set_members([member]));
    } else {
        for binding in policy.bindings.iter_mut().filter(|binding| lets(binding, member)) {
            binding.members.retain(|other| other != member);
        }
        policy.bindings.retain(|binding| !binding.members.is_empty());
    }
    let call = gcp.clients.secrets().await?.set_iam_policy().set_resource(id).set_policy(policy);
    // The policy's etag makes a retry harmless.
    call.with_idempotency(true).send().await.named("secrets.setIamPolicy").map(drop)
}

/// Reads the policy with its conditions, so that writing it back does not lose conditions of others.
async fn policy(gcp: &Gcp, id: &str) -> Result<Policy, ApiError> {
    let options = google_cloud_iam_v1::model::GetPolicyOptions::new().set_requested_policy_version(3);
    let call = gcp.clients.secrets().await?.get_iam_policy().set_resource(id).set_options(options);
    call.send().await.named("secrets.getIamPolicy")
}

fn lets(binding: &Binding, member: &str) -> bool {
    binding.role == READER
        && binding.condition.is_none()
        && binding.members.iter().any(|other| other == member)
}
