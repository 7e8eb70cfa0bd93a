//! The provider's schemas, as far as a client needs them.

use std::collections::BTreeMap;

pub use crate::Nesting;
use crate::Type;
use crate::proto::tfplugin6 as proto;
use anyhow::{Context as _, Result, bail};

/// All schemas of a provider.
#[derive(Clone, Debug)]
pub struct Schemas {
    /// The provider block.
    pub provider: ResourceSchema,
    /// Managed resources by type name.
    pub resources: BTreeMap<String, ResourceSchema>,
    /// Data sources by type name.
    pub data_sources: BTreeMap<String, ResourceSchema>,
    /// Ephemeral resources by type name.
    pub ephemerals: BTreeMap<String, ResourceSchema>,
    /// The `config` blocks of list resources by type name.
    pub list_resources: BTreeMap<String, ResourceSchema>,
    /// The `config` blocks of actions by type name.
    pub actions: BTreeMap<String, ResourceSchema>,
    /// `provider_meta` blocks.
    pub meta: Option<ResourceSchema>,
    /// Functions by name.
    pub functions: BTreeMap<String, FunctionSchema>,
}

/// The schema of one object type.
#[derive(Clone, Debug)]
pub struct ResourceSchema {
    /// Version of the state format.
    pub version: i64,
    /// Type of its values.
    pub ty: Type,
    /// Its attributes.
    pub attributes: Vec<Attribute>,
    /// Type of its identity, if it has one.
    pub identity: Option<Type>,
    /// The attributes of its identity.
    pub identity_attributes: Vec<IdentityAttribute>,
}

/// An attribute of an identity.
#[derive(Clone, Debug)]
pub struct IdentityAttribute {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Whether an import by identity needs it.
    pub required: bool,
}

/// An attribute.
#[derive(Clone, Debug)]
pub struct Attribute {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// The provider may set it.
    pub computed: bool,
    /// Never stored.
    pub write_only: bool,
    /// Written as a block, so that a collection is never null.
    pub block: bool,
    /// Its nested attributes, if it has some.
    pub nested: Option<(Nesting, Vec<Attribute>)>,
}

/// The signature of a function.
#[derive(Clone, Debug)]
pub struct FunctionSchema {
    /// Types of the positional parameters.
    pub parameters: Vec<Type>,
    /// Type of all further arguments.
    pub variadic: Option<Type>,
    /// Type of the result.
    pub result: Type,
}

impl FunctionSchema {
    /// The type of the argument at `position`.
    pub(super) fn parameter(&self, position: usize) -> Result<&Type> {
        self.parameters.get(position).or(self.variadic.as_ref()).context("too many arguments")
    }
}

impl Schemas {
    /// The schema of a managed resource.
    ///
    /// # Errors
    /// There is none.
    pub fn resource(&self, type_name: &str) -> Result<&ResourceSchema> {
        self.resources.get(type_name).with_context(|| format!("the provider has no resource {type_name}"))
    }

    /// The signature of a function.
    ///
    /// # Errors
    /// There is none.
    pub fn function(&self, name: &str) -> Result<&FunctionSchema> {
        self.functions.get(name).with_context(|| format!("the provider has no function {name}"))
    }

    pub(super) fn read(
        answer: &proto::get_provider_schema::Response,
        identities: &proto::get_resource_identity_schemas::Response,
    ) -> Result<Schemas> {
        let all = |schemas: &BTreeMap<String, proto::Schema>| {
            schemas
                .iter()
                .map(|(name, schema)| Ok((name.clone(), object(Some(schema)).context(name.clone())?)))
                .collect::<Result<BTreeMap<_, _>>>()
        };
        let mut resources = all(&answer.resource_schemas)?;
        for (name, identity) in &identities.identity_schemas {
            let resource = resources.get_mut(name).context("the identity of no resource")?;
            let attributes = &identity.identity_attributes;
            let types =
                attributes.iter().map(|attribute| Ok((attribute.name.clone(), ty(&attribute.r#type)?)));
            resource.identity = Some(Type::Object(types.collect::<Result<_>>()?));
            let described = attributes.iter().map(|attribute| IdentityAttribute {
                name: attribute.name.clone(),
                description: attribute.description.clone(),
                required: attribute.required_for_import,
            });
            resource.identity_attributes = described.collect();
        }
        Ok(Schemas {
            provider: object(answer.provider.as_ref()).context("the provider block")?,
            resources,
            data_sources: all(&answer.data_source_schemas)?,
            ephemerals: all(&answer.ephemeral_resource_schemas)?,
            list_resources: all(&answer.list_resource_schemas)?,
            actions: answer
                .action_schemas
                .iter()
                .map(|(name, action)| {
                    Ok((name.clone(), object(action.schema.as_ref()).context(name.clone())?))
                })
                .collect::<Result<_>>()?,
            meta: answer
                .provider_meta
                .as_ref()
                .map(|schema| object(Some(schema)).context("provider_meta"))
                .transpose()?,
            functions: answer
                .functions
                .iter()
                .map(|(name, signature)| Ok((name.clone(), function(signature)?)))
                .collect::<Result<_>>()?,
        })
    }
}

fn object(schema: Option<&proto::Schema>) -> Result<ResourceSchema> {
    let schema = schema.context("no schema")?;
    let block = schema.block.as_ref().context("no block")?;
    let attributes = attributes(block)?;
    Ok(ResourceSchema {
        version: schema.version,
        ty: object_type(&attributes),
        attributes,
        identity: None,
        identity_attributes: Vec::new(),
    })
}

/// The attributes of a block, then its nested blocks, which are nested attributes to a client.
fn attributes(block: &proto::schema::Block) -> Result<Vec<Attribute>> {
    block.attributes.iter().map(attribute).chain(block.block_types.iter().map(nested_block)).collect()
}

fn nested_block(nested: &proto::schema::NestedBlock) -> Result<Attribute> {
    use proto::schema::nested_block::NestingMode;
    let nesting = match nested.nesting() {
        NestingMode::Single | NestingMode::Group => Nesting::Single,
        NestingMode::List => Nesting::List,
        NestingMode::Set => Nesting::Set,
        NestingMode::Map => Nesting::Map,
        NestingMode::Invalid => bail!("{} has no nesting mode", nested.type_name),
    };
    let attributes = attributes(nested.block.as_ref().context("no block")?)?;
    Ok(Attribute {
        name: nested.type_name.clone(),
        ty: nested_type(nesting, &attributes),
        computed: false,
        write_only: false,
        block: true,
        nested: Some((nesting, attributes)),
    })
}

fn nested_type(nesting: Nesting, attributes: &[Attribute]) -> Type {
    let object = object_type(attributes);
    match nesting {
        Nesting::Single => object,
        Nesting::List => Type::list(object),
        Nesting::Set => Type::set(object),
        Nesting::Map => Type::map(object),
    }
}

fn attribute(attribute: &proto::schema::Attribute) -> Result<Attribute> {
    let nested = match &attribute.nested_type {
        None => None,
        Some(nested) => {
            let attributes = nested.attributes.iter().map(self::attribute).collect::<Result<Vec<_>>>()?;
            Some((nesting(nested.nesting())?, attributes))
        }
    };
    let ty = match &nested {
        None => ty(&attribute.r#type).with_context(|| attribute.name.clone())?,
        Some(_) if !attribute.r#type.is_empty() => bail!("{} has two types", attribute.name),
        Some((nesting, attributes)) => nested_type(*nesting, attributes),
    };
    Ok(Attribute {
        name: attribute.name.clone(),
        ty,
        computed: attribute.computed,
        write_only: attribute.write_only,
        block: false,
        nested,
    })
}

fn nesting(nesting: proto::schema::object::NestingMode) -> Result<Nesting> {
    use proto::schema::object::NestingMode;
    match nesting {
        NestingMode::Single => Ok(Nesting::Single),
        NestingMode::List => Ok(Nesting::List),
        NestingMode::Set => Ok(Nesting::Set),
        NestingMode::Map => Ok(Nesting::Map),
        NestingMode::Invalid => bail!("no nesting mode"),
    }
}

fn object_type(attributes: &[Attribute]) -> Type {
    Type::Object(attributes.iter().map(|attribute| (attribute.name.clone(), attribute.ty.clone())).collect())
}

fn function(function: &proto::Function) -> Result<FunctionSchema> {
    let result = function.r#return.as_ref().context("a function without result")?;
    Ok(FunctionSchema {
        parameters: function
            .parameters
            .iter()
            .map(|parameter| ty(&parameter.r#type))
            .collect::<Result<_>>()?,
        variadic: function.variadic_parameter.as_ref().map(|parameter| ty(&parameter.r#type)).transpose()?,
        result: ty(&result.r#type)?,
    })
}

fn ty(json: &[u8]) -> Result<Type> {
    Type::from_json(&serde_json::from_slice(json)?).context("not a type")
}
