//! The derive macros of [`tf-provider-rs`](https://docs.rs/tf-provider-rs), which documents and re-exports them.
//!
//! A struct is the schema and the state at once. Doc comments are the descriptions, field types are the types of
//! attributes, and `#[attr(..)]` says who sets an attribute. A mistake is a compile error at its line.

mod choice;
mod input;
mod object;
mod options;

use proc_macro::TokenStream;

use crate::input::Kind;

/// Makes a struct the schema and the state of a managed resource.
///
/// The struct also derives `Clone`, `Debug`, `Default` and `PartialEq`. Its doc comment is the description. Fields have
/// the type `Attr<T>`, because a configuration can leave out a value or contain one that is not known yet.
///
/// # Options of the struct
///
/// | `#[resource(..)]` | effect |
/// |---|---|
/// | `name = "example_thing"` | the type name, which is required |
/// | `version = 1` | the version of the state format |
/// | `description = ..` | replaces the doc comment |
/// | `deprecated = "Use x instead."` | a warning where the type is used |
/// | `validate = conflicts_with(["a", "b"])` | a validator of the whole configuration; repeatable |
/// | any other word, such as `noun = "thing"` | replaces `{noun}` in the descriptions of the attributes |
///
/// The other macros have the same options in `#[data_source(..)]`, `#[ephemeral(..)]`, `#[action(..)]`,
/// `#[list_resource(..)]` and `#[provider(..)]`. Only resources have a `version`, and a provider has no `name`.
/// `#[object(..)]` has a `description` and placeholders.
///
/// # Options of a field
///
/// Each field has a doc comment, which is the description, and says who sets the attribute.
///
/// | `#[attr(..)]` | effect |
/// |---|---|
/// | `required` | the user must set it |
/// | `optional` | the user may set it |
/// | `computed` | the provider sets it; with `optional`, only if the user does not |
/// | `default = 3` | the user may set it, otherwise it has this value of the type of the field |
/// | `keeps` | a computed value stays the same in updates |
/// | `replaces` | a change replaces the object |
/// | `identity`, `identity = "optional"` | part of the identity, which import requires or not |
/// | `sensitive` | plans hide it; a field of type `Secret` needs it as well |
/// | `write_only` | never stored in plan or state; read it from the configuration |
/// | `deprecated = "Use x instead."` | a warning where it is set |
/// | `validate = between(1, 5)` | a validator of known values; repeatable |
/// | `modify = requires_replace_if_configured()` | a plan modifier; repeatable |
/// | `semantic_equals = ..` | whether two values mean the same |
/// | `name = "type"` | another name than that of the field; `r#type` is `type` as well |
/// | `description = ..` | replaces the doc comment |
/// | `block`, `min_items = 1`, `max_items = 2` | nested attributes are written as blocks |
/// | `flatten` | the attributes of this `Object` belong to the struct itself |
/// | `skip` | no attribute; the field has its default value |
#[proc_macro_derive(Resource, attributes(resource, attr))]
pub fn resource(input: TokenStream) -> TokenStream {
    expand(Kind::Resource, input)
}

/// Makes a struct the schema and the result of a data source. Its options are those of [`macro@Resource`].
#[proc_macro_derive(DataSource, attributes(data_source, attr))]
pub fn data_source(input: TokenStream) -> TokenStream {
    expand(Kind::DataSource, input)
}

/// Makes a struct the schema and the result of an ephemeral resource. Its options are those of [`macro@Resource`].
#[proc_macro_derive(Ephemeral, attributes(ephemeral, attr))]
pub fn ephemeral(input: TokenStream) -> TokenStream {
    expand(Kind::Ephemeral, input)
}

/// Makes a struct the schema of an action's configuration. Its options are those of [`macro@Resource`].
#[proc_macro_derive(Action, attributes(action, attr))]
pub fn action(input: TokenStream) -> TokenStream {
    expand(Kind::Action, input)
}

/// Makes a struct the schema of the configuration with which a list resource searches. Its options are those of
/// [`macro@Resource`].
#[proc_macro_derive(ListResource, attributes(list_resource, attr))]
pub fn list_resource(input: TokenStream) -> TokenStream {
    expand(Kind::ListResource, input)
}

/// Makes a struct the schema of the provider block. Its options are those of [`macro@Resource`].
#[proc_macro_derive(Provider, attributes(provider, attr))]
pub fn provider(input: TokenStream) -> TokenStream {
    expand(Kind::Provider, input)
}

/// Makes a struct the type of nested attributes, or attributes that several resources share. Its options are those of
/// [`macro@Resource`].
#[proc_macro_derive(Object, attributes(object, attr))]
pub fn object(input: TokenStream) -> TokenStream {
    expand(Kind::Object, input)
}

/// Makes an enum the type of a string attribute that accepts certain values only.
///
/// Each variant has its value: `#[choice("tcp")] Tcp`. A variant `#[choice(other)] Other(String)` accepts all other
/// values. The macro implements `as_str`, `Display` and `FromStr`, and lists the variants in `ALL`.
#[proc_macro_derive(Choice, attributes(choice))]
pub fn choice(input: TokenStream) -> TokenStream {
    let expanded = syn::parse(input).and_then(|input| choice::expand(&input));
    expanded.unwrap_or_else(syn::Error::into_compile_error).into()
}

fn expand(kind: Kind, input: TokenStream) -> TokenStream {
    let expanded = syn::parse(input).and_then(|input| object::expand(kind, &input));
    expanded.unwrap_or_else(syn::Error::into_compile_error).into()
}
