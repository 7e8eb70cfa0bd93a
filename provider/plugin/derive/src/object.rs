//! Structs: schema, conversions and identity.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{DeriveInput, Error, Expr, ExprLit, Field, Ident, Lit, Result, Type};

use crate::input::{Container, Kind, documentation, fields};
use crate::options::{Identity, Options};

/// Names that Terraform uses for its own arguments of a resource.
const RESERVED: [&str; 7] =
    ["connection", "count", "depends_on", "for_each", "lifecycle", "provider", "provisioner"];

/// A field with its options.
struct Member<'a> {
    ident: &'a Ident,
    ty: &'a Type,
    name: String,
    documentation: String,
    options: Options,
}

impl<'a> Member<'a> {
    fn read(kind: Kind, field: &'a Field) -> Result<Member<'a>> {
        let Some(ident) = &field.ident else { return Err(Error::new(field.span(), "a field has a name")) };
        let options = Options::read(field)?;
        let name = options.name.as_ref().map_or_else(
            || {
                let name = ident.to_string();
                name.strip_prefix("r#").map_or(name.clone(), str::to_owned)
            },
            syn::LitStr::value,
        );
        let member =
            Member { ident, ty: &field.ty, name, documentation: documentation(&field.attrs), options };
        member.check(kind)?;
        Ok(member)
    }

    fn check(&self, kind: Kind) -> Result<()> {
        let fail = |problem: String| Err(Error::new(self.ident.span(), problem));
        if self.options.flatten || self.options.skip {
            return Ok(());
        }
        let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if !self.name.starts_with(|c: char| c.is_ascii_lowercase()) || !self.name.chars().all(letters) {
            return fail(format!(
                "`{}` is not an attribute name: it begins with a lower-case letter, followed by such letters, \
                 digits and underscores",
                self.name
            ));
        }
        if kind != Kind::Resource && self.options.identity.is_some() {
            return fail(
                "only an attribute of a resource, not of a shared object, can identify it".to_owned(),
            );
        }
        if kind.is_named() && RESERVED.contains(&self.name.as_str()) {
            return fail(format!("Terraform uses `{}` for itself: choose another name", self.name));
        }
        if self.documentation.is_empty() && self.options.description.is_none() {
            return fail(format!(
                "describe `{}` in a doc comment; the registry shows it as the description",
                self.name
            ));
        }
        Ok(())
    }

    /// The expression that pushes its schema onto `attributes`.
    fn attribute(&self) -> TokenStream {
        let ty = self.ty;
        if self.options.skip {
            return TokenStream::new();
        }
        if self.options.flatten {
            return quote_spanned!(ty.span()=>
                attributes.extend(<#ty as ::tf_provider_rs::model::Object>::attributes());
            );
        }
        let Member { name, documentation, options, .. } = self;
        let description = match &options.description {
            Some(description) => quote!(&#description),
            None => quote!(#documentation),
        };
        let mut calls = Vec::new();
        for (set, call) in [
            (options.required, quote!(.required())),
            (options.optional, quote!(.optional())),
            (options.computed, quote!(.computed())),
            (options.keeps, quote!(.keeps())),
            (options.replaces, quote!(.replaces())),
            (options.sensitive, quote!(.sensitive())),
            (options.write_only, quote!(.write_only())),
            (options.block, quote!(.block())),
        ] {
            calls.extend(set.then_some(call));
        }
        if let Some(default) = &options.default {
            let default = self.default(default);
            calls.push(quote!(.default(#default)));
        }
        calls.extend(options.deprecated.iter().map(|message| quote!(.deprecated(#message))));
        calls.extend(options.validators.iter().map(|check| quote_spanned!(check.span()=> .validate(#check))));
        calls.extend(
            options.modifiers.iter().map(|modifier| quote_spanned!(modifier.span()=> .modify(#modifier))),
        );
        for (option, method) in [
            (&options.semantic_equals, quote!(semantic_equals)),
            (&options.min_items, quote!(min_items)),
            (&options.max_items, quote!(max_items)),
        ] {
            calls.extend(option.iter().map(|value| quote_spanned!(value.span()=> .#method(#value))));
        }
        let shape = quote_spanned!(ty.span()=> <#ty as ::tf_provider_rs::model::AttributeType>::shape());
        quote!(
            attributes.push(
                ::tf_provider_rs::schema::Attribute::new(#name, #shape).describe(#description) #(#calls)*
            );
        )
    }

    /// The default as a value. Other expressions than text have the type of the field.
    fn default(&self, default: &Expr) -> TokenStream {
        let ty = self.ty;
        match default {
            // Text is the default of every type that is a string for Terraform.
            Expr::Lit(ExprLit { lit: Lit::Str(_), .. }) => {
                quote_spanned!(default.span()=> ::tf_provider_rs::model::text_default::<#ty>(#default))
            }
            _ => quote_spanned!(default.span()=> {
                let default: #ty = ::tf_provider_rs::Attr::Known(#default);
                ::tf_provider_rs::model::ToValue::to_value(&default)
            }),
        }
    }

    /// The expression that reads the field from `value`.
    fn read_field(&self) -> TokenStream {
        let Member { ident, ty, name, .. } = self;
        if self.options.skip {
            return quote!(#ident: ::std::default::Default::default(),);
        }
        if self.options.flatten {
            return quote_spanned!(ty.span()=>
                #ident: ::tf_provider_rs::model::FromValue::from_value(value, path)?,
            );
        }
        quote_spanned!(ty.span()=>
            #ident: ::tf_provider_rs::model::FromValue::from_value(
                value.get(#name).unwrap_or(&::tf_provider_rs::Value::Null),
                &path.attribute(#name),
            )?,
        )
    }

    /// The statement that writes the field into `items`.
    fn write_field(&self) -> TokenStream {
        let Member { ident, name, .. } = self;
        if self.options.skip {
            return TokenStream::new();
        }
        if self.options.flatten {
            return quote!(
                if let ::tf_provider_rs::Value::Object(shared) = ::tf_provider_rs::model::ToValue::to_value(&self.#ident) {
                    items.extend(shared);
                }
            );
        }
        quote!(
            items.insert(
                ::std::string::String::from(#name),
                ::tf_provider_rs::model::ToValue::to_value(&self.#ident),
            );
        )
    }
}

/// The implementations for a struct.
pub(crate) fn expand(kind: Kind, input: &DeriveInput) -> Result<TokenStream> {
    let container = Container::read(kind, input)?;
    let members: Vec<Member<'_>> =
        fields(input)?.into_iter().map(|field| Member::read(kind, field)).collect::<Result<_>>()?;
    let documentation = documentation(&input.attrs);
    if kind != Kind::Object && documentation.is_empty() && container.description.is_none() {
        return Err(Error::new(
            input.ident.span(),
            "describe it in a doc comment; the registry shows it as the description",
        ));
    }
    let conversions = conversions(input, &members);
    let object = object(input, &container, &documentation, &members);
    let shared = shared(input, &members);
    let model = (kind != Kind::Object).then(|| model(kind, input, &container, &members));
    Ok(quote!(#conversions #object #shared #model))
}

fn conversions(input: &DeriveInput, members: &[Member<'_>]) -> TokenStream {
    let ident = &input.ident;
    let (generics, arguments, bounds) = input.generics.split_for_impl();
    let reads = members.iter().map(Member::read_field);
    let writes = members.iter().map(Member::write_field);
    quote!(
        #[automatically_derived]
        impl #generics ::tf_provider_rs::model::FromValue for #ident #arguments #bounds {
            fn from_value(
                value: &::tf_provider_rs::Value,
                path: &::tf_provider_rs::Path,
            ) -> ::std::result::Result<Self, ::tf_provider_rs::model::ValueError> {
                if !matches!(value, ::tf_provider_rs::Value::Object(_) | ::tf_provider_rs::Value::Map(_)) {
                    return Err(::tf_provider_rs::model::ValueError::shape(path, "an object", value));
                }
                Ok(Self { #(#reads)* })
            }
        }

        #[automatically_derived]
        impl #generics ::tf_provider_rs::model::ToValue for #ident #arguments #bounds {
            fn to_value(&self) -> ::tf_provider_rs::Value {
                let mut items = ::std::collections::BTreeMap::new();
                #(#writes)*
                ::tf_provider_rs::Value::Object(items)
            }
        }
    )
}

fn object(
    input: &DeriveInput,
    container: &Container,
    documentation: &str,
    members: &[Member<'_>],
) -> TokenStream {
    let ident = &input.ident;
    let (generics, arguments, bounds) = input.generics.split_for_impl();
    let attributes = members.iter().map(Member::attribute);
    let description = match &container.description {
        Some(description) => quote!(::std::string::String::from(#description)),
        None => quote!(::std::string::String::from(#documentation)),
    };
    let texts = container.texts.iter().map(|(word, text)| {
        let placeholder = format!("{{{word}}}");
        quote!(
            for attribute in &mut attributes {
                attribute.description = attribute.description.replace(#placeholder, #text);
            }
        )
    });
    quote!(
        #[automatically_derived]
        impl #generics ::tf_provider_rs::model::Object for #ident #arguments #bounds {
            fn description() -> ::std::string::String {
                #description
            }

            fn attributes() -> ::std::vec::Vec<::tf_provider_rs::schema::Attribute> {
                let mut attributes = ::std::vec::Vec::new();
                #(#attributes)*
                #(#texts)*
                attributes
            }
        }

        #[automatically_derived]
        impl #generics ::tf_provider_rs::model::AttributeType for #ident #arguments #bounds {
            fn shape() -> ::tf_provider_rs::schema::Shape {
                ::tf_provider_rs::schema::Shape::Nested(
                    ::tf_provider_rs::schema::Nesting::Single,
                    <Self as ::tf_provider_rs::model::Object>::attributes(),
                )
            }
        }
    )
}

/// `AsRef` and `AsMut` of the attributes that several resources share. Attributes of a type that is a parameter have none,
/// because two parameters may be the same type.
fn shared(input: &DeriveInput, members: &[Member<'_>]) -> TokenStream {
    let ident = &input.ident;
    let (generics, arguments, bounds) = input.generics.split_for_impl();
    members
        .iter()
        .filter(|member| member.options.flatten && !is_parameter(input, member.ty))
        .map(|Member { ident: field, ty, .. }| {
            quote!(
                #[automatically_derived]
                impl #generics ::std::convert::AsRef<#ty> for #ident #arguments #bounds {
                    fn as_ref(&self) -> &#ty {
                        &self.#field
                    }
                }

                #[automatically_derived]
                impl #generics ::std::convert::AsMut<#ty> for #ident #arguments #bounds {
                    fn as_mut(&mut self) -> &mut #ty {
                        &mut self.#field
                    }
                }
            )
        })
        .collect()
}

/// Whether a type is a type parameter of the struct.
fn is_parameter(input: &DeriveInput, ty: &syn::Type) -> bool {
    let syn::Type::Path(path) = ty else { return false };
    input.generics.type_params().any(|parameter| path.path.is_ident(&parameter.ident))
}

fn model(kind: Kind, input: &DeriveInput, container: &Container, members: &[Member<'_>]) -> TokenStream {
    let ident = &input.ident;
    let (generics, arguments, bounds) = input.generics.split_for_impl();
    let name = container.name.as_ref().map_or_else(|| quote!(""), |name| quote!(#name));
    let validators =
        container.validators.iter().map(|check| quote_spanned!(check.span()=> .validate(#check)));
    let deprecated = container.deprecated.iter().map(|message| quote!(.deprecated(#message)));
    let schema = (!container.validators.is_empty() || container.deprecated.is_some()).then(|| {
        quote!(
            fn schema() -> ::tf_provider_rs::Schema {
                ::tf_provider_rs::Schema::new(&<Self as ::tf_provider_rs::model::Object>::description())
                    .version(<Self as ::tf_provider_rs::model::Model>::VERSION)
                    .attributes(<Self as ::tf_provider_rs::model::Object>::attributes())
                    #(#validators)*
                    #(#deprecated)*
            }
        )
    });
    let version = container.version.as_ref().map(|version| {
        quote!(
            const VERSION: i64 = #version;
        )
    });
    let identity = (kind == Kind::Resource).then(|| identity(members));
    quote!(
        #[automatically_derived]
        impl #generics ::tf_provider_rs::model::Model for #ident #arguments #bounds {
            const TYPE_NAME: &'static str = #name;
            #version
            #schema
            #identity
        }
    )
}

/// The identity of a resource, if any attribute belongs to it.
fn identity(members: &[Member<'_>]) -> TokenStream {
    let parts: Vec<(&Member<'_>, Identity)> =
        members.iter().filter_map(|member| Some((member, member.options.identity?))).collect();
    if parts.is_empty() {
        return TokenStream::new();
    }
    let attributes = parts.iter().map(|(member, identity)| {
        let Member { name, documentation, options, ty, .. } = member;
        let description = match &options.description {
            Some(description) => quote!(&#description),
            None => quote!(#documentation),
        };
        let required = *identity == Identity::Required;
        quote_spanned!(ty.span()=> .attribute(
            #name,
            <#ty as ::tf_provider_rs::model::AttributeType>::shape().ty(),
            #required,
            #description,
        ))
    });
    let values = parts.iter().map(|(Member { name, ident, .. }, _)| {
        quote!((#name, ::tf_provider_rs::model::ToValue::to_value(&self.#ident)))
    });
    quote!(
        fn identity() -> ::std::option::Option<::tf_provider_rs::IdentitySchema> {
            Some(::tf_provider_rs::IdentitySchema::new() #(#attributes)*)
        }

        fn identity_of(&self) -> ::std::option::Option<::tf_provider_rs::Value> {
            Some(::tf_provider_rs::Value::object([#(#values),*]))
        }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(kind: Kind, source: &str) -> String {
        let input = syn::parse_str(source).unwrap();
        expand(kind, &input).unwrap_err().to_string()
    }

    #[test]
    fn mistakes_are_compile_errors() {
        let field = |field: &str| format!("#[resource(name = \"a_b\")] /** A. */ struct A {{ {field} }}");
        let told: Vec<String> = [
            "/** X. */ x: Attr<String>",
            "#[attr(required)] x: Attr<String>",
            "/** X. */ #[attr(required, optional)] x: Attr<String>",
            "/** X. */ #[attr(optional, default = true)] x: Attr<bool>",
            "/** X. */ #[attr(optional, write_only, computed)] x: Attr<String>",
            "/** X. */ #[attr(required, keeps)] x: Attr<String>",
            "/** X. */ #[attr(computed, replaces)] x: Attr<String>",
            "/** X. */ #[attr(computed, validate = check)] x: Attr<String>",
            "/** X. */ #[attr(required, required)] x: Attr<String>",
            "/** X. */ #[attr(needed)] x: Attr<String>",
            "/** X. */ #[attr(required)] Name: Attr<String>",
            "/** X. */ #[attr(required)] count: Attr<i64>",
            "#[attr(flatten, required)] x: Shared",
            "/** X. */ #[attr(block, required)] x: Vec<Rule>",
            "/** X. */ #[attr(required, min_items = 1)] x: Vec<Rule>",
            "/** X. */ #[attr(computed, identity = \"perhaps\")] x: Attr<String>",
        ]
        .iter()
        .map(|source| format!("{source}\n  {}", refused(Kind::Resource, &field(source))))
        .chain([
            refused(Kind::Resource, "/** A. */ struct A {}"),
            refused(Kind::Resource, "#[resource(name = \"a_b\")] struct A {}"),
            refused(Kind::Provider, "#[provider(name = \"a\")] /** A. */ struct A {}"),
            refused(Kind::Object, "struct A { /** X. */ #[attr(computed, identity)] x: Attr<String> }"),
            refused(Kind::Object, "struct A(String);"),
            refused(Kind::Object, "enum A { B }"),
        ])
        .collect();
        insta::assert_snapshot!(told.join("\n"));
    }
}
