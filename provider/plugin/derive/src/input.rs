//! What the macros read from an item, before anything is generated.

use syn::spanned::Spanned as _;
use syn::{Attribute, DeriveInput, Error, Expr, Lit, Meta, Result};

/// The type of object that a struct describes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Resource,
    DataSource,
    Ephemeral,
    Action,
    ListResource,
    Provider,
    Object,
}

impl Kind {
    /// The attribute with the options of the struct.
    pub(crate) fn attribute(self) -> &'static str {
        match self {
            Kind::Resource => "resource",
            Kind::DataSource => "data_source",
            Kind::Ephemeral => "ephemeral",
            Kind::Action => "action",
            Kind::ListResource => "list_resource",
            Kind::Provider => "provider",
            Kind::Object => "object",
        }
    }

    /// Whether it has a type name that users write.
    pub(crate) fn is_named(self) -> bool {
        !matches!(self, Kind::Provider | Kind::Object)
    }
}

/// The options of a struct.
#[derive(Default)]
pub(crate) struct Container {
    pub(crate) name: Option<Expr>,
    pub(crate) version: Option<Expr>,
    pub(crate) description: Option<Expr>,
    pub(crate) deprecated: Option<Expr>,
    /// Validators of the whole object.
    pub(crate) validators: Vec<Expr>,
    /// Texts for the `{placeholders}` in the descriptions of attributes.
    pub(crate) texts: Vec<(String, Expr)>,
}

impl Container {
    pub(crate) fn read(kind: Kind, input: &DeriveInput) -> Result<Container> {
        let mut options = Container::default();
        for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident(kind.attribute())) {
            attribute.parse_nested_meta(|meta| {
                let Some(word) = meta.path.get_ident().map(ToString::to_string) else {
                    return Err(meta.error("an option is one word"));
                };
                let slot = match word.as_str() {
                    "name" if kind.is_named() => &mut options.name,
                    "version" if kind == Kind::Resource => &mut options.version,
                    "description" => &mut options.description,
                    "deprecated" if kind != Kind::Object => &mut options.deprecated,
                    "validate" if kind != Kind::Object => {
                        options.validators.push(meta.value()?.parse()?);
                        return Ok(());
                    }
                    "name" | "version" | "deprecated" | "validate" => {
                        return Err(meta.error(format!("`{}` has no option `{word}`", kind.attribute())));
                    }
                    _ => {
                        let text = meta.value()?.parse()?;
                        options.texts.push((word, text));
                        return Ok(());
                    }
                };
                if slot.is_some() {
                    return Err(meta.error("this option is given twice"));
                }
                *slot = Some(meta.value()?.parse()?);
                Ok(())
            })?;
        }
        if kind.is_named() && options.name.is_none() {
            let kind = kind.attribute();
            return Err(Error::new(
                input.ident.span(),
                format!("its type name is missing: add `#[{kind}(name = \"example_thing\")]`"),
            ));
        }
        Ok(options)
    }
}

/// The text of doc comments: lines of a paragraph are joined, and an empty line separates paragraphs. Fenced code
/// is unchanged.
pub(crate) fn documentation(attributes: &[Attribute]) -> String {
    let mut paragraphs = vec![String::new()];
    let mut code = false;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("doc")) {
        let Meta::NameValue(meta) = &attribute.meta else { continue };
        let Expr::Lit(literal) = &meta.value else { continue };
        let Lit::Str(text) = &literal.lit else { continue };
        for line in text.value().split('\n') {
            let trimmed = line.trim();
            let fence = trimmed.starts_with("```");
            let Some(paragraph) = paragraphs.last_mut() else { continue };
            if code || fence {
                if !paragraph.is_empty() {
                    paragraph.push('\n');
                }
                paragraph.push_str(line.strip_prefix(' ').unwrap_or(line).trim_end());
                code ^= fence;
                continue;
            }
            match (trimmed.is_empty(), paragraph.is_empty()) {
                (true, true) => {}
                (true, false) => paragraphs.push(String::new()),
                (false, true) => paragraph.push_str(trimmed),
                (false, false) => {
                    paragraph.push(if keeps_its_line(trimmed, paragraph) { '\n' } else { ' ' });
                    paragraph.push_str(trimmed);
                }
            }
        }
    }
    paragraphs.retain(|paragraph| !paragraph.is_empty());
    paragraphs.join("\n\n")
}

/// Whether `line` of a list, a table or after code stays on its own line.
fn keeps_its_line(line: &str, paragraph: &str) -> bool {
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = number.len() < line.len() && number.starts_with(". ");
    let item = line.starts_with("- ") || line.starts_with("* ") || numbered;
    item || line.starts_with('|') || paragraph.ends_with("```")
}

/// The fields of a struct with names.
pub(crate) fn fields(input: &DeriveInput) -> Result<Vec<&syn::Field>> {
    match &input.data {
        syn::Data::Struct(data) if matches!(data.fields, syn::Fields::Named(_)) => {
            Ok(data.fields.iter().collect())
        }
        _ => Err(Error::new(input.span(), "an object is a struct with named fields")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_lists_and_tables_keep_their_lines() {
        let source = "/// Manages\n/// a thing.\n///\n/// ```hcl\n/// thing \"a\" {\n///   b = 1\n///\n/// }\n/// ```\n\
                      /// Steps:\n/// 1. One\n///    more\n/// 2. Two\n///\n/// | a |\n/// |---|\nstruct A {}";
        let input: DeriveInput = syn::parse_str(source).unwrap();
        let expected = "Manages a thing.\n\n```hcl\nthing \"a\" {\n  b = 1\n\n}\n```\nSteps:\n1. One more\n2. Two\n\n\
                        | a |\n|---|";
        assert_eq!(documentation(&input.attrs), expected);
    }
}
