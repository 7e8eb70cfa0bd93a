//! The interface of a cloud for the shared resource lifecycle.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;
use tf_provider_rs::model::{FromValue, ToValue};
use tf_provider_rs::{Diagnostics, IdentitySchema, ImportRequest, Value, async_trait};
use warren_guard::{LiveSource, Location};

use crate::failure::Failure;

/// The routing domain and the repo or team of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// The routing domain; inside it no two ranges may overlap.
    pub fabric: String,
    /// The repo or team whose state manages the objects.
    pub owner: String,
}

/// Where an object is: attributes of its identity, such as its account and region. Empty means everywhere, such as the
/// region of a global object.
pub type Place = BTreeMap<&'static str, String>;

/// An attribute of the identity that says where the object is.
#[derive(Clone, Copy, Debug)]
pub struct Locator {
    /// The attribute of the identity.
    pub attribute: &'static str,
    /// In messages, such as `region`.
    pub noun: &'static str,
    /// How to configure it, such as "set `aws.region`".
    pub setting: &'static str,
}

/// What an import names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The ID of the object.
    pub id: String,
    /// Its [`Cloud::SITE`], if the request has one.
    pub site: Option<String>,
}

/// A configured account of a cloud.
#[async_trait]
pub trait Cloud: Sized + Send + Sync + 'static {
    /// The name of the cloud in messages, such as `AWS`.
    const NAME: &'static str;
    /// The diagnostic if the provider block has no such account: summary, detail.
    const ABSENT: (&'static str, &'static str);
    /// The diagnostic if the account is not known yet: summary, detail.
    const UNKNOWN: (&'static str, &'static str);
    /// Whether the cloud rejects two objects with the same name, so that a create with a conflict finds the
    /// object by reading again.
    const UNIQUE_NAMES: bool;

    /// The account's attribute of the provider block.
    type Config: FromValue + ToValue + Send + Sync;
    /// The error of a failed call.
    type Error: Failure;
    /// The marks that identify an object of ours, set in the create call.
    type Marks: Send + Sync;
    /// The plan of one run, for checks between resources.
    type Memory: Memory;

    /// Connects to the account of a provider block.
    ///
    /// # Errors
    /// The provider block is invalid.
    async fn connect(config: &Self::Config, scope: Scope) -> Result<Self, Diagnostics>;

    /// The fabric and the owner of the objects.
    fn scope(&self) -> &Scope;

    /// The identity schema of objects.
    fn identity() -> IdentitySchema;

    /// The identity of the object `id` at this site, which is `None` for a global object; `cloud` is `None` while the
    /// account is not known.
    fn identity_of(cloud: Option<&Self>, id: &str, site: Option<&str>) -> Value;

    /// The attributes of the identity that say where an object is. A cloud whose IDs are globally unique and contain
    /// the place needs none.
    const LOCATORS: &'static [Locator] = &[];

    /// The locator that a resource may set itself, such as `region` or `project`; its value is the site of the object.
    /// Defaults to that of the provider block.
    const SITE: Option<&'static str> = None;

    /// The site that an ID contains.
    fn site_of(_id: &str) -> Option<String> {
        None
    }

    /// The same account at another site, with the same credentials. [`crate::Session`] keeps the result.
    #[must_use]
    fn at(self: &Arc<Self>, _site: &str) -> Arc<Self> {
        Arc::clone(self)
    }

    /// Checks that the provider block permits objects at this site.
    ///
    /// # Errors
    /// It does not.
    fn admits(&self, _site: &str) -> Result<(), Diagnostics> {
        Ok(())
    }

    /// The live networks of the account at this site, for the guard.
    fn live(self: &Arc<Self>) -> Option<Arc<dyn LiveSource>> {
        None
    }

    /// Further sites whose live networks the guard reads.
    fn live_sites(&self) -> Vec<String> {
        Vec::new()
    }

    /// Upgrades a stored identity of an older version. By default its values stay, which suits added optional
    /// attributes.
    ///
    /// # Errors
    /// The version is unknown.
    fn upgrade_identity(_version: i64, identity: Json) -> Result<Json, Diagnostics> {
        Ok(identity)
    }

    /// Learns the configured place, if that takes a call. Runs before every operation, so it must remember the result,
    /// but not a failure. Its calls are repeated until the deadline of the operation.
    ///
    /// # Errors
    /// The place stays unknown.
    async fn locate(&self) -> Result<(), Diagnostics> {
        Ok(())
    }

    /// The configured place, as far as it is known.
    fn place(&self) -> Place {
        Place::new()
    }

    /// The configured location, in which names are unique. The guard compares ranges by it.
    fn location(&self) -> Location {
        Location::default()
    }

    /// The place of an object as its state shows it.
    fn place_of(_state: &Value) -> Place {
        Place::new()
    }

    /// The object in an import request; `account` is the configured one. Objects of a type that is not `sited` are
    /// global.
    ///
    /// # Errors
    /// The request names another account, or nothing.
    fn import(
        account: Result<Arc<Self>, Diagnostics>,
        request: &ImportRequest,
        sited: bool,
    ) -> Result<Imported, Diagnostics>;
}

/// The memory of a run about its plan.
pub trait Memory: Default + Send + Sync {
    /// Starts another run in the same process.
    fn clear(&self);
}

/// A cloud whose resources share nothing at plan time.
impl Memory for () {
    fn clear(&self) {}
}
