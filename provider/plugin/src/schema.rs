//! Schemas: attributes, nested attributes, defaults, validators and plan modifiers.
//!
//! ```
//! use tf_provider_rs::schema::{Attribute, Schema};
//!
//! let schema = Schema::new("A private network.")
//!     .attribute(Attribute::string("cidr_block").required().replaces().describe("CIDR notation."))
//!     .attribute(Attribute::string("id").computed().keeps().describe("Assigned by the cloud."));
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::diagnostic::Diagnostics;
use crate::path::Path;
use crate::types::Type;
use crate::value::Value;

/// A check of one known, non-null attribute value. Unknown values are not handed to it: the
/// check runs again when they are known.
pub type Validator = Arc<dyn Fn(&Value, &Path, &mut Diagnostics) + Send + Sync>;

/// The schema of a resource, data source, ephemeral resource or of the provider itself.
#[derive(Clone, Default)]
pub struct Schema {
    /// Version of the state format; see [`crate::Resource::upgrade`].
    pub version: i64,
    /// Markdown.
    pub description: String,
    /// In the order in which they were declared.
    pub attributes: Vec<Attribute>,
}

impl Schema {
    /// A schema without attributes; `description` is Markdown.
    pub fn new(description: &str) -> Schema {
        Schema { description: description.to_owned(), ..Schema::default() }
    }

    /// Sets the version of the state format (0 unless said).
    #[must_use]
    pub fn version(mut self, version: i64) -> Schema {
        self.version = version;
        self
    }

    /// Adds an attribute.
    #[must_use]
    pub fn attribute(mut self, attribute: Attribute) -> Schema {
        self.attributes.push(attribute);
        self
    }

    /// Adds several attributes.
    #[must_use]
    pub fn attributes(mut self, attributes: impl IntoIterator<Item = Attribute>) -> Schema {
        self.attributes.extend(attributes);
        self
    }

    /// The object type that values of this schema have.
    pub fn ty(&self) -> Type {
        object_type(&self.attributes)
    }
}

/// What an attribute holds.
#[derive(Clone)]
pub enum Shape {
    /// A value of a plain type.
    Plain(Type),
    /// Nested attributes.
    Nested(Nesting, Vec<Attribute>),
}

/// How nested attributes are held together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nesting {
    /// One object.
    Single,
    /// A list of objects.
    List,
    /// A set of objects.
    Set,
    /// A map of objects.
    Map,
}

/// What happens to an attribute in a plan, beside what the user wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// Computed and not configured: unknown whenever the object changes.
    #[default]
    UnknownOnChange,
    /// Computed and not configured: keeps its value through updates.
    Prior,
}

/// One attribute.
#[derive(Clone)]
pub struct Attribute {
    /// Its name, `[a-z][a-z0-9_]*`.
    pub name: String,
    /// What it holds.
    pub shape: Shape,
    /// Markdown.
    pub description: String,
    /// The user must set it.
    pub required: bool,
    /// The user may set it.
    pub optional: bool,
    /// The provider may set it.
    pub computed: bool,
    /// Hidden in plan output.
    pub sensitive: bool,
    /// Never stored in plan or state (Terraform >= 1.11).
    pub write_only: bool,
    /// Deprecation is shown by Terraform when it is used.
    pub deprecated: bool,
    /// Taken when the user sets nothing; the attribute becomes computed.
    pub default: Option<Value>,
    /// Behaviour of a computed value.
    pub keep: Keep,
    /// A change of it replaces the object.
    pub replace: bool,
    /// Checks of known values.
    pub validators: Vec<Validator>,
}

impl Attribute {
    /// An attribute of any shape.
    pub fn new(name: &str, shape: Shape) -> Attribute {
        Attribute {
            name: name.to_owned(),
            shape,
            description: String::new(),
            required: false,
            optional: false,
            computed: false,
            sensitive: false,
            write_only: false,
            deprecated: false,
            default: None,
            keep: Keep::default(),
            replace: false,
            validators: Vec::new(),
        }
    }

    /// An attribute of a plain type.
    pub fn of(name: &str, ty: Type) -> Attribute {
        Attribute::new(name, Shape::Plain(ty))
    }

    /// A string.
    pub fn string(name: &str) -> Attribute {
        Attribute::of(name, Type::String)
    }

    /// A boolean.
    pub fn bool(name: &str) -> Attribute {
        Attribute::of(name, Type::Bool)
    }

    /// A number.
    pub fn number(name: &str) -> Attribute {
        Attribute::of(name, Type::Number)
    }

    /// Nested attributes held as `nesting`.
    pub fn nested(
        name: &str,
        nesting: Nesting,
        attributes: impl IntoIterator<Item = Attribute>,
    ) -> Attribute {
        Attribute::new(name, Shape::Nested(nesting, attributes.into_iter().collect()))
    }

    /// The user must set it.
    #[must_use]
    pub fn required(mut self) -> Attribute {
        self.required = true;
        self
    }

    /// The user may set it.
    #[must_use]
    pub fn optional(mut self) -> Attribute {
        self.optional = true;
        self
    }

    /// The provider sets it (with [`Attribute::optional`]: when the user does not).
    #[must_use]
    pub fn computed(mut self) -> Attribute {
        self.computed = true;
        self
    }

    /// Markdown for the registry's documentation.
    #[must_use]
    pub fn describe(mut self, description: &str) -> Attribute {
        self.description = description.to_owned();
        self
    }

    /// Hidden in plan output.
    #[must_use]
    pub fn sensitive(mut self) -> Attribute {
        self.sensitive = true;
        self
    }

    /// Handed to the provider and never stored. Clients that do not know write-only attributes
    /// get an error from the server when the attribute is set, because they would store it.
    #[must_use]
    pub fn write_only(mut self) -> Attribute {
        self.write_only = true;
        self
    }

    /// Marks it as deprecated.
    #[must_use]
    pub fn deprecated(mut self) -> Attribute {
        self.deprecated = true;
        self
    }

    /// Optional, with this value when the user sets nothing.
    #[must_use]
    pub fn default(mut self, value: impl Into<Value>) -> Attribute {
        self.optional = true;
        self.computed = true;
        self.default = Some(value.into());
        self
    }

    /// A computed value that outlives updates (its prior value is planned again).
    #[must_use]
    pub fn keeps(mut self) -> Attribute {
        self.keep = Keep::Prior;
        self
    }

    /// A change replaces the object.
    #[must_use]
    pub fn replaces(mut self) -> Attribute {
        self.replace = true;
        self
    }

    /// Adds a check, run on known, non-null values.
    #[must_use]
    pub fn validate(
        mut self,
        check: impl Fn(&Value, &Path, &mut Diagnostics) + Send + Sync + 'static,
    ) -> Attribute {
        self.validators.push(Arc::new(check));
        self
    }

    /// Its type.
    pub fn ty(&self) -> Type {
        match &self.shape {
            Shape::Plain(ty) => ty.clone(),
            Shape::Nested(nesting, attributes) => {
                let object = object_type(attributes);
                match nesting {
                    Nesting::Single => object,
                    Nesting::List => Type::list(object),
                    Nesting::Set => Type::set(object),
                    Nesting::Map => Type::map(object),
                }
            }
        }
    }
}

/// The object type of `attributes`.
pub fn object_type(attributes: &[Attribute]) -> Type {
    Type::Object(
        attributes
            .iter()
            .map(|attribute| (attribute.name.clone(), attribute.ty()))
            .collect::<BTreeMap<_, _>>(),
    )
}

/// The identity of a resource: the few values that find the object again for good.
#[derive(Clone, Debug, Default)]
pub struct IdentitySchema {
    /// Version of the identity format.
    pub version: i64,
    /// Its values.
    pub attributes: Vec<IdentityAttribute>,
}

/// One value of an identity.
#[derive(Clone, Debug)]
pub struct IdentityAttribute {
    /// Its name.
    pub name: String,
    /// Its type: a primitive or a list of primitives.
    pub ty: Type,
    /// Must be given to import; otherwise it may be given.
    pub required_for_import: bool,
    /// Markdown.
    pub description: String,
}

impl IdentitySchema {
    /// An identity without values, version 0.
    pub fn new() -> IdentitySchema {
        IdentitySchema::default()
    }

    /// Adds a string that import needs.
    #[must_use]
    pub fn required(self, name: &str, description: &str) -> IdentitySchema {
        self.with(name, description, true)
    }

    /// Adds a string that import can do without.
    #[must_use]
    pub fn optional(self, name: &str, description: &str) -> IdentitySchema {
        self.with(name, description, false)
    }

    fn with(mut self, name: &str, description: &str, required_for_import: bool) -> IdentitySchema {
        self.attributes.push(IdentityAttribute {
            name: name.to_owned(),
            ty: Type::String,
            required_for_import,
            description: description.to_owned(),
        });
        self
    }

    /// The object type of the identity.
    pub fn ty(&self) -> Type {
        Type::Object(self.attributes.iter().map(|a| (a.name.clone(), a.ty.clone())).collect())
    }
}
