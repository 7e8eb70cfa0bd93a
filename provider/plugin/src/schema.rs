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

pub use crate::block::BlockItems;
use crate::diagnostic::Diagnostics;
use crate::path::Path;
use crate::plan_modifiers::{ModifyRequest, ModifyResponse, PlanModifier};
use crate::semantic::{self, SemanticEquality, SemanticEquals};
use crate::types::Type;
use crate::value::Value;

/// Validates one known, non-null attribute value. Unknown values are validated later, when they are known.
pub type Validator = Arc<dyn Fn(&Value, &Path, &mut Diagnostics) + Send + Sync>;

/// The schema of a resource, data source, ephemeral resource or of the provider itself.
#[derive(Clone, Default)]
pub struct Schema {
    /// Version of the state format; see [`crate::Resource::upgrade`].
    pub version: i64,
    /// Description in Markdown.
    pub description: String,
    /// Makes Terraform show a warning where it is used: the reason, and what to use instead.
    pub deprecated: Option<String>,
    /// Attributes in the order of their declaration.
    pub attributes: Vec<Attribute>,
    /// Validators of the whole configuration.
    pub validators: Vec<Validator>,
}

impl Schema {
    /// A schema without attributes; `description` is Markdown.
    pub fn new(description: &str) -> Schema {
        Schema { description: description.to_owned(), ..Schema::default() }
    }

    /// Sets the version of the state format, which defaults to 0.
    #[must_use]
    pub fn version(mut self, version: i64) -> Schema {
        self.version = version;
        self
    }

    /// Marks it as deprecated; `message` is the reason, and what to use instead.
    #[must_use]
    pub fn deprecated(mut self, message: &str) -> Schema {
        self.deprecated = Some(message.to_owned());
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

    /// Adds a validator of the whole configuration, such as [`crate::validators::conflicts_with`].
    #[must_use]
    pub fn validate(
        mut self,
        check: impl Fn(&Value, &Path, &mut Diagnostics) + Send + Sync + 'static,
    ) -> Schema {
        self.validators.push(Arc::new(check));
        self
    }

    /// The object type of values of this schema.
    pub fn ty(&self) -> Type {
        object_type(&self.attributes)
    }
}

/// The shape of an attribute's value.
#[derive(Clone)]
pub enum Shape {
    /// A value of a plain type.
    Plain(Type),
    /// Nested attributes.
    Nested(Nesting, Vec<Attribute>),
}

impl Shape {
    /// The type of the value.
    pub fn ty(&self) -> Type {
        match self {
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

/// The collection that holds nested attributes.
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

/// How a computed attribute is planned if the configuration does not set it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// Unknown whenever the object changes.
    #[default]
    UnknownOnChange,
    /// Keeps its prior value through updates.
    Prior,
}

/// An attribute of a schema.
#[derive(Clone)]
pub struct Attribute {
    /// The name, `[a-z][a-z0-9_]*`.
    pub name: String,
    /// The shape of the value.
    pub shape: Shape,
    /// Description in Markdown.
    pub description: String,
    /// Whether the user must set it.
    pub required: bool,
    /// Whether the user may set it.
    pub optional: bool,
    /// Whether the provider may set it.
    pub computed: bool,
    /// Whether plan output hides the value.
    pub sensitive: bool,
    /// Whether the value is never stored in plan or state (Terraform 1.11 or later).
    pub write_only: bool,
    /// Makes Terraform show a warning where it is used: the reason, and what to use instead.
    pub deprecated: Option<String>,
    /// Value to use if the user sets none; makes the attribute computed.
    pub default: Option<Value>,
    /// How a computed value is planned.
    pub keep: Keep,
    /// Whether a change replaces the object.
    pub replace: bool,
    /// Validators, run on known values.
    pub validators: Vec<Validator>,
    /// Plan modifiers, run in order on creates and updates.
    pub modifiers: Vec<PlanModifier>,
    /// Whether two values mean the same.
    pub semantic: Option<SemanticEquality>,
    /// Whether nested attributes are written as blocks, and how many of them there may be.
    pub block: Option<BlockItems>,
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
            deprecated: None,
            default: None,
            keep: Keep::default(),
            replace: false,
            validators: Vec::new(),
            modifiers: Vec::new(),
            semantic: None,
            block: None,
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

    /// Nested attributes in a collection of type `nesting`.
    pub fn nested(
        name: &str,
        nesting: Nesting,
        attributes: impl IntoIterator<Item = Attribute>,
    ) -> Attribute {
        Attribute::new(name, Shape::Nested(nesting, attributes.into_iter().collect()))
    }

    /// Requires the user to set it.
    #[must_use]
    pub fn required(mut self) -> Attribute {
        self.required = true;
        self
    }

    /// Allows the user to set it.
    #[must_use]
    pub fn optional(mut self) -> Attribute {
        self.optional = true;
        self
    }

    /// Lets the provider set it; together with [`Attribute::optional`], only if the user does not.
    #[must_use]
    pub fn computed(mut self) -> Attribute {
        self.computed = true;
        self
    }

    /// Sets the description in Markdown, used in the registry's documentation.
    #[must_use]
    pub fn describe(mut self, description: &str) -> Attribute {
        self.description = description.to_owned();
        self
    }

    /// Hides the value in plan output.
    #[must_use]
    pub fn sensitive(mut self) -> Attribute {
        self.sensitive = true;
        self
    }

    /// Passes the value to the provider without ever storing it. If the attribute is set and the client does not
    /// support write-only attributes, the server returns an error, because the client would store the value.
    #[must_use]
    pub fn write_only(mut self) -> Attribute {
        self.write_only = true;
        self
    }

    /// Marks it as deprecated; `message` is the reason, and what to use instead.
    #[must_use]
    pub fn deprecated(mut self, message: &str) -> Attribute {
        self.deprecated = Some(message.to_owned());
        self
    }

    /// Makes it optional, with a default value.
    #[must_use]
    pub fn default(mut self, value: impl Into<Value>) -> Attribute {
        self.optional = true;
        self.computed = true;
        self.default = Some(value.into());
        self
    }

    /// Keeps a computed value through updates, by planning its prior value.
    #[must_use]
    pub fn keeps(mut self) -> Attribute {
        self.keep = Keep::Prior;
        self
    }

    /// Replaces the object if the attribute changes.
    #[must_use]
    pub fn replaces(mut self) -> Attribute {
        self.replace = true;
        self
    }

    /// Adds a plan modifier; see [`crate::plan_modifiers`].
    #[must_use]
    pub fn modify(
        mut self,
        modifier: impl Fn(&ModifyRequest<'_>, &mut ModifyResponse) + Send + Sync + 'static,
    ) -> Attribute {
        self.modifiers.push(Arc::new(modifier));
        self
    }

    /// Keeps the earlier spelling of a value if `same` says that the new one means the same; see
    /// [`crate::semantic`]. In a collection, `same` is asked about the whole and then about each element.
    #[must_use]
    pub fn semantic_equals(
        mut self,
        same: impl Fn(&Value, &Value) -> bool + Send + Sync + 'static,
    ) -> Attribute {
        self.semantic = Some(Arc::new(same));
        self
    }

    /// Same as [`Attribute::semantic_equals`], with the equality of a type.
    #[must_use]
    pub fn semantic<T: SemanticEquals>(mut self) -> Attribute {
        self.semantic = Some(semantic::of_type::<T>());
        self
    }

    /// Writes nested attributes as blocks: `rule { port = 80 }`. The name is then usually a singular. Blocks exist for
    /// compatibility with older providers; prefer nested attributes.
    ///
    /// A block is always optional; see [`Attribute::min_items`]. Blocks may be nested in blocks, not in attributes.
    #[must_use]
    pub fn block(mut self) -> Attribute {
        self.block.get_or_insert_default();
        self
    }

    /// Makes it a block with a minimum number. A single block with a minimum of 1 is required.
    #[must_use]
    pub fn min_items(mut self, min: u32) -> Attribute {
        self.block.get_or_insert_default().min = min;
        self
    }

    /// Makes it a block with a maximum number.
    #[must_use]
    pub fn max_items(mut self, max: u32) -> Attribute {
        self.block.get_or_insert_default().max = Some(max);
        self
    }

    /// Adds a validator, run on known, non-null values.
    #[must_use]
    pub fn validate(
        mut self,
        check: impl Fn(&Value, &Path, &mut Diagnostics) + Send + Sync + 'static,
    ) -> Attribute {
        self.validators.push(Arc::new(check));
        self
    }

    /// The type of the value.
    pub fn ty(&self) -> Type {
        self.shape.ty()
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

/// The identity of a resource: the values that identify the object permanently.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IdentitySchema {
    /// Version of the identity format.
    pub version: i64,
    /// The attributes of the identity.
    pub attributes: Vec<IdentityAttribute>,
}

/// An attribute of an identity.
#[derive(Clone, Debug, PartialEq)]
pub struct IdentityAttribute {
    /// The name.
    pub name: String,
    /// The type: a primitive or a list of primitives.
    pub ty: Type,
    /// Whether import requires it. Otherwise it is optional.
    pub required_for_import: bool,
    /// Description in Markdown.
    pub description: String,
}

impl IdentitySchema {
    /// An identity without attributes, version 0.
    pub fn new() -> IdentitySchema {
        IdentitySchema::default()
    }

    /// Sets the version of the identity format, which defaults to 0; see [`crate::Resource::upgrade_identity`].
    #[must_use]
    pub fn version(mut self, version: i64) -> IdentitySchema {
        self.version = version;
        self
    }

    /// Adds a string that import requires.
    #[must_use]
    pub fn required(self, name: &str, description: &str) -> IdentitySchema {
        self.attribute(name, Type::String, true, description)
    }

    /// Adds a string that is optional for import.
    #[must_use]
    pub fn optional(self, name: &str, description: &str) -> IdentitySchema {
        self.attribute(name, Type::String, false, description)
    }

    /// Adds an attribute of any primitive type, or of a list of one.
    #[must_use]
    pub fn attribute(
        mut self,
        name: &str,
        ty: Type,
        required_for_import: bool,
        description: &str,
    ) -> IdentitySchema {
        self.attributes.push(IdentityAttribute {
            name: name.to_owned(),
            ty,
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
