//! The attributes that the models of all objects share: name, ID and timeouts.

use tf_provider_rs::{Attr, Context, Diagnostics, Model, NotKnown, Path, Value};
use warren_guard::{Key, Location};

use crate::cloud::Cloud;
pub use crate::timeouts::Operation;
use crate::timeouts::{self, Timeouts};
use crate::wait::Op;

/// A model with the attributes that every object of its cloud has.
pub trait Common: Model {
    /// The cloud of the objects.
    type Cloud: Cloud;
    /// The resource type, such as `warren_aws_vpc`.
    const KIND: &'static str;

    /// Unique among the objects of one type, fabric and owner.
    fn name(&self) -> &Attr<String>;

    /// Assigned by the cloud.
    fn id(&self) -> &Attr<String>;

    /// Timeouts of operations.
    fn timeouts(&self) -> &Attr<Timeouts>;

    /// Sets the ID.
    fn set_id(&mut self, id: &str);

    /// The attribute [`Cloud::SITE`]. `None` if the object is global, or is where another one is.
    fn site(&self) -> Option<&Attr<String>> {
        None
    }

    /// Sets the site.
    fn set_site(&mut self, _site: &str) {}

    /// The marks that identify the object, set in the create call.
    ///
    /// # Errors
    /// An attribute that they contain has no value.
    fn marks(&self, cloud: &Self::Cloud) -> Result<<Self::Cloud as Cloud>::Marks, NotKnown>;

    /// Plans the visible part of the marks; `cloud` is `None` while the account is not known.
    fn plan_marks(&mut self, _cloud: Option<&Self::Cloud>) {}

    /// The text with the site of the object: names, and IDs that users choose, are unique at one site only.
    fn local(&self, text: &str) -> String {
        match self.site().and_then(Attr::known) {
            Some(site) => format!("{text}@{site}"),
            None => text.to_owned(),
        }
    }

    /// Where the object is; `cloud` is `None` while the account is not known.
    fn location(&self, cloud: Option<&Self::Cloud>) -> Location {
        cloud.map(Cloud::location).unwrap_or_default()
    }

    /// The name of the object in messages: `warren_aws_vpc "hub" (vpc-1)`. An object whose name is its ID has it once.
    fn label(&self) -> String {
        let mut label = Self::KIND.to_owned();
        if let Some(name) = self.name().known()
            && self.name() != self.id()
        {
            label += &format!(" {name:?}");
        }
        if let Some(id) = self.id().known() {
            label += &format!(" ({id})");
        }
        label
    }

    /// An operation on the object.
    fn op(&self, ctx: &Context, operation: Operation) -> Op<<Self::Cloud as Cloud>::Error> {
        let timeout = timeouts::of(self.timeouts(), operation);
        Op::new(ctx, Self::Cloud::NAME, self.label(), timeout)
    }
}

/// The attributes that all objects of a cloud share, as one struct that each model flattens.
pub trait Shared: Send + Sync {
    /// The cloud of the objects.
    type Cloud: Cloud;

    /// Unique among the objects of one type, fabric and owner.
    fn name(&self) -> &Attr<String>;

    /// Assigned by the cloud.
    fn id(&self) -> &Attr<String>;

    /// Sets the ID.
    fn set_id(&mut self, id: &str);

    /// The attribute [`Cloud::SITE`]. `None` if the object is global, or is where another one is.
    fn site(&self) -> Option<&Attr<String>> {
        None
    }

    /// Sets the site.
    fn set_site(&mut self, _site: &str) {}

    /// Where the object is; `cloud` is `None` while the account is not known.
    fn location(&self, cloud: Option<&Self::Cloud>) -> Location {
        cloud.map(Cloud::location).unwrap_or_default()
    }

    /// Timeouts of operations.
    fn timeouts(&self) -> &Attr<Timeouts>;

    /// The marks that identify the object, set in the create call.
    ///
    /// # Errors
    /// An attribute that they contain has no value.
    fn marks(&self, cloud: &Self::Cloud) -> Result<<Self::Cloud as Cloud>::Marks, NotKnown>;

    /// Plans the visible part of the marks; `cloud` is `None` while the account is not known.
    fn plan_marks(&mut self, _cloud: Option<&Self::Cloud>) {}
}

/// A model with the attributes that all objects of its cloud share.
pub trait HasShared: Model + AsRef<Self::Shared> + AsMut<Self::Shared> {
    /// The shared attributes.
    type Shared: Shared;

    /// Where the object is; `cloud` is `None` while the account is not known.
    fn location(&self, cloud: Option<&<Self::Shared as Shared>::Cloud>) -> Location {
        self.as_ref().location(cloud)
    }

    /// Plans what follows from the account; `cloud` is `None` while the account is not known.
    fn plan_marks(&mut self, cloud: Option<&<Self::Shared as Shared>::Cloud>) {
        self.as_mut().plan_marks(cloud);
    }

    /// The marks that identify the object, set in the create call.
    ///
    /// # Errors
    /// An attribute that they contain has no value.
    fn marks(
        &self,
        cloud: &<Self::Shared as Shared>::Cloud,
    ) -> Result<<<Self::Shared as Shared>::Cloud as Cloud>::Marks, NotKnown> {
        self.as_ref().marks(cloud)
    }
}

impl<M: HasShared> Common for M {
    type Cloud = <M::Shared as Shared>::Cloud;
    const KIND: &'static str = M::TYPE_NAME;

    fn name(&self) -> &Attr<String> {
        self.as_ref().name()
    }

    fn id(&self) -> &Attr<String> {
        self.as_ref().id()
    }

    fn location(&self, cloud: Option<&Self::Cloud>) -> Location {
        HasShared::location(self, cloud)
    }

    fn timeouts(&self) -> &Attr<Timeouts> {
        self.as_ref().timeouts()
    }

    fn set_id(&mut self, id: &str) {
        self.as_mut().set_id(id);
    }

    fn site(&self) -> Option<&Attr<String>> {
        self.as_ref().site()
    }

    fn set_site(&mut self, site: &str) {
        self.as_mut().set_site(site);
    }

    fn marks(&self, cloud: &Self::Cloud) -> Result<<Self::Cloud as Cloud>::Marks, NotKnown> {
        HasShared::marks(self, cloud)
    }

    fn plan_marks(&mut self, cloud: Option<&Self::Cloud>) {
        HasShared::plan_marks(self, cloud);
    }
}

/// The key of the resource for the guard; `cloud` is `None` while the account is not known.
///
/// # Errors
/// The resource has no name.
pub fn key<M: Common>(model: &M, cloud: Option<&M::Cloud>) -> Result<Key, NotKnown> {
    Ok(Key::new(M::KIND, model.name().value()?.as_str()).at(model.location(cloud)))
}

/// The state after a create or update: the plan, with values from the cloud where the plan was unknown.
///
/// A read right after a change may return the old value, so the confirmed value counts.
pub(crate) fn merge_planned<M: Model>(planned: &M, found: &M) -> Result<M, Diagnostics> {
    let (Value::Object(planned), Value::Object(mut found)) = (planned.to_value(), found.to_value()) else {
        return Ok(found.clone());
    };
    for (name, value) in planned {
        if value.is_wholly_known() {
            found.insert(name, value);
        }
    }
    Ok(M::from_value(&Value::Object(found), &Path::root())?)
}
