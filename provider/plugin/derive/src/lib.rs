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
#[proc_macro_derive(Resource, attributes(resource, attr))]
pub fn resource(input: TokenStream) -> TokenStream {
    expand(Kind::Resource, input)
}

/// Makes a struct the schema and the result of a data source.
#[proc_macro_derive(DataSource, attributes(data_source, attr))]
pub fn data_source(input: TokenStream) -> TokenStream {
    expand(Kind::DataSource, input)
}

/// Makes a struct the schema and the result of an ephemeral resource.
#[proc_macro_derive(Ephemeral, attributes(ephemeral, attr))]
pub fn ephemeral(input: TokenStream) -> TokenStream {
    expand(Kind::Ephemeral, input)
}

/// Makes a struct the schema of an action's configuration.
#[proc_macro_derive(Action, attributes(action, attr))]
pub fn action(input: TokenStream) -> TokenStream {
    expand(Kind::Action, input)
}

/// Makes a struct the schema of the configuration with which a list resource searches.
#[proc_macro_derive(ListResource, attributes(list_resource, attr))]
pub fn list_resource(input: TokenStream) -> TokenStream {
    expand(Kind::ListResource, input)
}

/// Makes a struct the schema of the provider block.
#[proc_macro_derive(Provider, attributes(provider, attr))]
pub fn provider(input: TokenStream) -> TokenStream {
    expand(Kind::Provider, input)
}

/// Makes a struct the type of nested attributes, or attributes that several resources share.
#[proc_macro_derive(Object, attributes(object, attr))]
pub fn object(input: TokenStream) -> TokenStream {
    expand(Kind::Object, input)
}

/// Makes an enum the type of a string attribute that accepts certain values only.
#[proc_macro_derive(Choice, attributes(choice))]
pub fn choice(input: TokenStream) -> TokenStream {
    let expanded = syn::parse(input).and_then(|input| choice::expand(&input));
    expanded.unwrap_or_else(syn::Error::into_compile_error).into()
}

fn expand(kind: Kind, input: TokenStream) -> TokenStream {
    let expanded = syn::parse(input).and_then(|input| object::expand(kind, &input));
    expanded.unwrap_or_else(syn::Error::into_compile_error).into()
}
