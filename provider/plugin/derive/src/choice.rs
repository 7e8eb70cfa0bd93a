//! Enums whose variants are the values that a string attribute accepts.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, Fields, LitStr, Result, Variant};

/// A variant and the text that stands for it.
enum Value<'a> {
    Text(&'a Variant, LitStr),
    /// A variant with one string, for values that this version does not list.
    Other(&'a Variant),
}

/// The implementations for an enum.
pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Enum(data) = &input.data else {
        return Err(Error::new(input.ident.span(), "a choice is an enum"));
    };
    let values: Vec<Value<'_>> = data.variants.iter().map(value).collect::<Result<_>>()?;
    let texts: Vec<_> = values
        .iter()
        .filter_map(|value| match value {
            Value::Text(variant, text) => Some((&variant.ident, text)),
            Value::Other(_) => None,
        })
        .collect();
    if texts.is_empty() {
        return Err(Error::new(input.ident.span(), "a choice has at least one value"));
    }
    for (index, (_, text)) in texts.iter().enumerate() {
        if texts[..index].iter().any(|(_, earlier)| earlier.value() == text.value()) {
            return Err(Error::new(text.span(), "two variants stand for this value"));
        }
    }
    let other = values.iter().find_map(|value| match value {
        Value::Other(variant) => Some(&variant.ident),
        Value::Text(..) => None,
    });
    let ident = &input.ident;
    let variants = texts.iter().map(|(variant, _)| variant).collect::<Vec<_>>();
    let words = texts.iter().map(|(_, text)| text).collect::<Vec<_>>();
    let listed = words.iter().map(|text| format!("`{}`", text.value())).collect::<Vec<_>>();
    let expected = match listed.as_slice() {
        [only] => only.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
        [] => String::new(),
    };
    let (all, other_text, fallback) = match other {
        None => (
            quote!(
                /// Every value.
                pub const ALL: &'static [#ident] = &[#(#ident::#variants),*];
            ),
            None,
            quote!(Err(::tf_provider_rs::model::NotAChoice(#expected))),
        ),
        Some(other) => (
            TokenStream::new(),
            Some(quote!(#ident::#other(text) => text,)),
            quote!(Ok(#ident::#other(other.to_owned()))),
        ),
    };
    let borrow = if other.is_some() { quote!(&str) } else { quote!(&'static str) };
    Ok(quote!(
        impl #ident {
            #all

            /// The value as text.
            pub fn as_str(&self) -> #borrow {
                match self {
                    #(#ident::#variants => #words,)*
                    #other_text
                }
            }
        }

        #[automatically_derived]
        impl ::std::fmt::Display for #ident {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        #[automatically_derived]
        impl ::std::str::FromStr for #ident {
            type Err = ::tf_provider_rs::model::NotAChoice;

            fn from_str(text: &str) -> ::std::result::Result<Self, Self::Err> {
                match text {
                    #(#words => Ok(#ident::#variants),)*
                    other => #fallback,
                }
            }
        }

        ::tf_provider_rs::text!(#ident, #expected);
    ))
}

fn value(variant: &Variant) -> Result<Value<'_>> {
    let mut found = None;
    for attribute in variant.attrs.iter().filter(|attribute| attribute.path().is_ident("choice")) {
        if attribute.parse_args::<syn::Ident>().is_ok_and(|word| word == "other") {
            let one = matches!(&variant.fields, Fields::Unnamed(fields) if fields.unnamed.len() == 1);
            if !one {
                return Err(Error::new(
                    variant.ident.span(),
                    "write the variant for other values as `Other(String)`",
                ));
            }
            return Ok(Value::Other(variant));
        }
        found = Some(attribute.parse_args::<LitStr>()?);
    }
    match (found, &variant.fields) {
        (Some(text), Fields::Unit) => Ok(Value::Text(variant, text)),
        (Some(_), _) => Err(Error::new(variant.ident.span(), "a variant with a value has no fields")),
        (None, _) => Err(Error::new(
            variant.ident.span(),
            "give the value that stands for this variant: `#[choice(\"..\")]`",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_compile_errors() {
        let told: Vec<String> = [
            "struct A {}",
            "enum A {}",
            "enum A { B }",
            "enum A { #[choice(\"b\")] B(String) }",
            "enum A { #[choice(\"b\")] B, #[choice(\"b\")] C }",
            "enum A { #[choice(\"b\")] B, #[choice(other)] C }",
        ]
        .iter()
        .map(|source| {
            let input = syn::parse_str(source).unwrap();
            format!("{source}\n  {}", expand(&input).unwrap_err())
        })
        .collect();
        insta::assert_snapshot!(told.join("\n"));
    }
}
