//! The attributes that all Google Cloud objects share: name, ID, project, the mark of their owner, and timeouts.

use std::fmt::Debug;
use std::marker::PhantomData;

use tf_provider_rs::{Attr, Diagnostic, Diagnostics, NotKnown, Object, Path, Value};
use warren_guard::Location;
pub(crate) use warren_managed::Common;
use warren_managed::{HasShared, Scope, Shared, Timeouts};

use crate::account::Gcp;
use crate::error::ApiError;
use crate::link::{self, Link};
use crate::marker::{self, Marker};

/// The attributes of every Google Cloud object. `M` shows whose it is, `N` is the form of its name, and `R` says whether
/// the user chooses its project.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct GcpObject<M: Mark, N: Naming = Name, R: Reach = Project> {
    #[attr(required, replaces, validate = N::check, description = N::DESCRIPTION)]
    pub(crate) name: Attr<String>,
    /// ID in the form {id}.
    #[attr(computed, keeps)]
    pub(crate) id: Attr<String>,
    #[attr(flatten)]
    pub(crate) reach: R,
    #[attr(flatten)]
    pub(crate) mark: M,
    /// Timeouts for operations that wait for Google.
    #[attr(optional)]
    pub(crate) timeouts: Attr<Timeouts>,
    #[attr(skip)]
    pub(crate) naming: PhantomData<N>,
}

impl<M: Mark, N: Naming, R: Reach> GcpObject<M, N, R> {
    /// The name.
    ///
    /// # Errors
    /// It is not known yet.
    #[track_caller]
    pub(crate) fn name(&self) -> Result<&str, NotKnown> {
        self.name.value().map(String::as_str)
    }

    /// The ID.
    ///
    /// # Errors
    /// It is not known yet.
    #[track_caller]
    pub(crate) fn id(&self) -> Result<&str, NotKnown> {
        self.id.value().map(String::as_str)
    }

    /// The attributes of the object that has this name and mark; its ID and timeouts are those of `self`.
    pub(crate) fn found(&self, name: impl Into<String>, mark: M) -> GcpObject<M, N, R> {
        GcpObject { name: Attr::Known(name.into()), mark, ..self.clone() }
    }
}

impl<M: Mark, N: Naming, R: Reach> Shared for GcpObject<M, N, R> {
    type Cloud = Gcp;

    fn name(&self) -> &Attr<String> {
        &self.name
    }

    fn id(&self) -> &Attr<String> {
        &self.id
    }

    fn set_id(&mut self, id: &str) {
        self.id = id.into();
    }

    fn site(&self) -> Option<&Attr<String>> {
        self.reach.project()
    }

    fn set_site(&mut self, project: &str) {
        self.reach.set_project(project);
    }

    fn timeouts(&self) -> &Attr<Timeouts> {
        &self.timeouts
    }

    fn marks(&self, gcp: &Gcp) -> Result<String, NotKnown> {
        Ok(self.mark.description(&gcp.scope, self.name()?))
    }

    fn plan_marks(&mut self, gcp: Option<&Gcp>) {
        self.mark.plan(gcp.map(|gcp| &gcp.scope), &self.name);
    }
}

/// Whether the user chooses the project of an object.
pub(crate) trait Reach:
    tf_provider_rs::model::Object + Clone + Debug + Default + PartialEq + Send + Sync + 'static
{
    /// The project; `None` if it follows from other attributes.
    fn project(&self) -> Option<&Attr<String>> {
        None
    }

    /// Sets the project.
    fn set_project(&mut self, _project: &str) {}
}

/// An object in a project of its own.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct Project {
    /// ID of the project. Changing this replaces the {noun}. Defaults to the project of the provider.
    #[attr(optional, computed, keeps, replaces, validate = link::check_project)]
    pub(crate) project: Attr<String>,
}

impl Reach for Project {
    fn project(&self) -> Option<&Attr<String>> {
        Some(&self.project)
    }

    fn set_project(&mut self, project: &str) {
        self.project = project.into();
    }
}

/// An object in the project of the object that it is part of, or in none.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct Part {}

impl Reach for Part {}

/// Shows whose an object is.
pub(crate) trait Mark:
    tf_provider_rs::model::Object + Clone + Debug + Default + PartialEq + Send + Sync + 'static
{
    /// The description of the object `name` of this fabric and owner, for objects that are marked there.
    fn description(&self, _scope: &Scope, _name: &str) -> String {
        String::new()
    }

    /// Plans the visible part of the mark; `scope` is `None` while the project is not known.
    fn plan(&mut self, _scope: Option<&Scope>, _name: &Attr<String>) {}
}

/// The mark of an object that is part of another one and cannot be marked.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct Unmarked {}

impl Mark for Unmarked {}

/// A marked description that can be updated.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct Description {
    /// Description. The provider stores it after a marker, `[warren:fabric/owner/name]`, by which the next apply finds
    /// the object if this one is interrupted. Updated in place.
    #[attr(optional, validate = marker::check)]
    pub(crate) description: Attr<String>,
}

impl Mark for Description {
    fn description(&self, scope: &Scope, name: &str) -> String {
        Marker::new(scope, name).with(self.description.as_deref())
    }
}

/// The user's part of a description as the API returns it.
impl From<Option<&str>> for Description {
    fn from(description: Option<&str>) -> Description {
        Description { description: marker::user(description) }
    }
}

/// A marked description that cannot be updated.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct FixedDescription {
    /// Description. The provider stores it after a marker, `[warren:fabric/owner/name]`, by which the next apply finds
    /// the object if this one is interrupted. Changing this replaces the {noun}.
    #[attr(optional, replaces, validate = marker::check)]
    pub(crate) description: Attr<String>,
}

impl Mark for FixedDescription {
    fn description(&self, scope: &Scope, name: &str) -> String {
        Marker::new(scope, name).with(self.description.as_deref())
    }
}

/// The user's part of a description as the API returns it.
impl From<Option<&str>> for FixedDescription {
    fn from(description: Option<&str>) -> FixedDescription {
        FixedDescription { description: marker::user(description) }
    }
}

/// The form of a name.
pub(crate) trait Naming: Clone + Debug + Default + PartialEq + Send + Sync + 'static {
    /// Description of the attribute `name`.
    const DESCRIPTION: &'static str;

    /// A check of the attribute `name`.
    fn check(value: &Value, path: &Path, diagnostics: &mut Diagnostics);
}

/// RFC 1035.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Name;

impl Naming for Name {
    const DESCRIPTION: &'static str = "Name of the {noun}, unique in the {scope}: 1 to 63 lowercase letters, digits \
                                       or hyphens, starting with a letter and not ending with a hyphen. Changing \
                                       this replaces the {noun}.";

    fn check(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
        link::check_name(value, path, diagnostics);
    }
}

/// A model whose ID consists of its project, region and name.
pub(crate) trait Located: Common<Cloud = Gcp> {
    /// Such as `networks`.
    const COLLECTION: &'static str;

    /// Region, location or zone; `None` for a global object.
    fn region(&self) -> Option<&Attr<String>> {
        None
    }

    /// The region, if it defaults to that of the provider.
    fn region_mut(&mut self) -> Option<&mut Attr<String>> {
        None
    }

    /// The ID of the object in this project.
    ///
    /// # Errors
    /// A part of it is not known.
    fn place(&self, project: &str) -> Result<String, NotKnown> {
        let region = self.region().map(Attr::value).transpose()?.cloned();
        let (collection, name) = (Self::COLLECTION.to_owned(), self.name().value()?.clone());
        Ok(Link { project: project.to_owned(), region, collection, name }.to_string())
    }

    /// Whether a create may adopt the existing object of this name: its description names this fabric, owner and name, and
    /// `same` says that its immutable settings match.
    ///
    /// # Errors
    /// The object belongs to someone else, or its immutable settings differ.
    fn adoptable(
        &self,
        gcp: &Gcp,
        description: Option<&str>,
        same: impl FnOnce() -> Result<bool, ApiError>,
    ) -> Result<Vec<String>, ApiError> {
        let id = self.place(&gcp.project)?;
        let taken = |why: String| Err(ApiError::taken(Self::KIND, format!("{id} already exists and {why}")));
        match marker::split(description).0 {
            Some(marker) if marker == Marker::new(&gcp.scope, self.name().value()?) => {
                if same()? {
                    Ok(vec![id])
                } else {
                    taken("belongs to this owner, but differs in a setting that cannot be changed".to_owned())
                }
            }
            Some(Marker { fabric, owner, .. }) => {
                taken(format!("belongs to owner {owner} of fabric {fabric}"))
            }
            None => taken("was not created by this provider".to_owned()),
        }
    }
}

/// Plans what follows from the project: the mark, the default region, and the ID, which consists of project, region and
/// name.
pub(crate) fn plan<O>(object: &mut O, gcp: Option<&Gcp>)
where
    O: Located + HasShared,
    O::Shared: Shared<Cloud = Gcp>,
{
    AsMut::<O::Shared>::as_mut(object).plan_marks(gcp);
    let Some(gcp) = gcp else { return };
    if !object.id().is_unknown() {
        return;
    }
    if let (Some(region), Some(default)) = (object.region_mut(), &gcp.region)
        && region.is_unknown()
    {
        *region = default.as_str().into();
    }
    if let Ok(id) = object.place(&gcp.project) {
        object.set_id(&id);
    }
}

/// Where the object is: the project, and the region of a regional object.
pub(crate) fn location(object: &impl Located, gcp: Option<&Gcp>) -> Location {
    let Some(gcp) = gcp else { return Location::default() };
    let region = object.region().map(|region| region.as_deref().or(gcp.region.as_deref()));
    Location::gcp(&gcp.project, region.flatten().unwrap_or_default())
}

/// Rejects a regional object without a region.
pub(crate) fn has_region(attribute: &str, region: &Attr<String>) -> Result<(), Diagnostics> {
    if region.is_known() {
        return Ok(());
    }
    Err(Diagnostic::error(
        "Missing region",
        format!(
            "Neither the resource nor `gcp.region` in the provider block sets a region. Set one, such as \
             `{attribute} = \"us-central1\"`."
        ),
    )
    .at(Path::of(attribute))
    .into())
}

/// An error with a full stop, unless it ends in a question.
pub(crate) fn sentence(error: &str) -> String {
    let end = if error.ends_with('?') { "" } else { "." };
    format!("{error}{end}")
}
