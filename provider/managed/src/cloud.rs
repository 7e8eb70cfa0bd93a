//! What the shared life needs to know of a cloud.

use std::fmt::Display;

use tf_provider_rs::{Diagnostic, Diagnostics, IdentitySchema, ImportRequest, Value, async_trait};

use tf_provider_rs::model::{FromValue, ToValue};

use crate::session::Session;

/// The routing domain and the repo or team that a run works for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// The routing domain; inside it no two ranges may overlap.
    pub fabric: String,
    /// Whose state manages the objects.
    pub owner: String,
}

/// A configured account of a cloud.
#[async_trait]
pub trait Cloud: Sized + Send + Sync + 'static {
    /// How messages call the cloud, such as `AWS`.
    const NAME: &'static str;
    /// What is missing when the provider block has no such account: summary, detail.
    const ABSENT: (&'static str, &'static str);
    /// What is wrong when the account is not known yet: summary, detail.
    const UNKNOWN: (&'static str, &'static str);
    /// Whether the cloud itself refuses two objects of one name, so that a create which meets a conflict finds
    /// the object by looking again.
    const UNIQUE_NAMES: bool;

    /// The account's attribute of the provider block.
    type Config: FromValue + ToValue + Send + Sync;
    /// What a failed call tells.
    type Error: Failure;
    /// What tells an object of ours from others, given in the create call.
    type Marks: Send + Sync;
    /// What one run plans, for checks between resources.
    type Memory: Memory;

    /// The account that a provider block describes.
    ///
    /// # Errors
    /// What the user has to mend in it.
    async fn connect(config: &Self::Config, scope: Scope) -> Result<Self, Diagnostics>;

    /// The identity of an object beside its id.
    fn identity() -> IdentitySchema;

    /// The identity of the object `id`; `cloud` is absent while the account is not known.
    fn identity_of(cloud: Option<&Self>, id: &str) -> Value;

    /// The id that an import asks for.
    ///
    /// # Errors
    /// When the request is of another account, or names nothing.
    fn import(session: &Session<Self>, request: &ImportRequest) -> Result<String, Diagnostics>;
}

/// What a run remembers of its plan.
pub trait Memory: Default + Send + Sync {
    /// Begins another run in the same process.
    fn clear(&self);
}

/// A cloud whose resources share no plan.
impl Memory for () {
    fn clear(&self) {}
}

/// What a failed call tells, by what is to be done about it.
pub trait Failure: Display + Into<Diagnostic> + Send + Sync + Sized {
    /// Whether the object, or one that the call names, does not exist (any more, or yet).
    fn is_not_found(&self) -> bool;

    /// Whether something still uses the object.
    fn is_in_use(&self) -> bool;

    /// Whether the cloud asks to call less often.
    fn is_throttle(&self) -> bool;

    /// Whether the cloud may have done what it was asked although it did not say so.
    fn is_ambiguous(&self) -> bool;

    /// Whether another object is in the way.
    fn is_conflict(&self) -> bool;

    /// Whether the same call, made of a new look at the object, works when another change is done.
    fn is_not_ready(&self) -> bool {
        false
    }

    /// Success when the object is gone already.
    ///
    /// # Errors
    /// All but "not found".
    fn unless_gone(result: Result<(), Self>) -> Result<(), Self> {
        match result {
            Err(error) if error.is_not_found() => Ok(()),
            other => other,
        }
    }

    /// What was found, if anything was.
    ///
    /// # Errors
    /// All but "not found".
    fn if_found<T>(result: Result<T, Self>) -> Result<Option<T>, Self> {
        match result {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }
}
