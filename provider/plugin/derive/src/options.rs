//! The options of a field: `#[attr(..)]`.

use proc_macro2::Span;
use syn::{Error, Expr, Field, LitStr, Result, Token};

/// The options of one attribute.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) required: bool,
    pub(crate) optional: bool,
    pub(crate) computed: bool,
    pub(crate) default: Option<Expr>,
    pub(crate) keeps: bool,
    pub(crate) replaces: bool,
    pub(crate) sensitive: bool,
    pub(crate) write_only: bool,
    pub(crate) block: bool,
    pub(crate) flatten: bool,
    pub(crate) skip: bool,
    pub(crate) identity: Option<Identity>,
    pub(crate) deprecated: Option<Expr>,
    pub(crate) description: Option<Expr>,
    pub(crate) name: Option<LitStr>,
    pub(crate) validators: Vec<Expr>,
    pub(crate) modifiers: Vec<Expr>,
    pub(crate) semantic_equals: Option<Expr>,
    pub(crate) min_items: Option<Expr>,
    pub(crate) max_items: Option<Expr>,
}

/// Whether import by identity requires the attribute.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Identity {
    Required,
    Optional,
}

const KNOWN: &str = "`required`, `optional`, `computed`, `default = ..`, `keeps`, `replaces`, `sensitive`, \
                     `write_only`, `block`, `flatten`, `skip`, `identity`, `deprecated = \"..\"`, `description = ..`, \
                     `name = \"..\"`, `validate = ..`, `modify = ..`, `semantic_equals = ..`, `min_items = ..` and \
                     `max_items = ..`";

impl Options {
    pub(crate) fn read(field: &Field) -> Result<Options> {
        let mut options = Options::default();
        let mut at = None;
        for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("attr")) {
            at.get_or_insert(attribute.path().segments[0].ident.span());
            attribute.parse_nested_meta(|meta| {
                let name = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
                let flag = match name.as_str() {
                    "required" => Some(&mut options.required),
                    "optional" => Some(&mut options.optional),
                    "computed" => Some(&mut options.computed),
                    "keeps" => Some(&mut options.keeps),
                    "replaces" => Some(&mut options.replaces),
                    "sensitive" => Some(&mut options.sensitive),
                    "write_only" => Some(&mut options.write_only),
                    "block" => Some(&mut options.block),
                    "flatten" => Some(&mut options.flatten),
                    "skip" => Some(&mut options.skip),
                    _ => None,
                };
                if let Some(flag) = flag {
                    if std::mem::replace(flag, true) {
                        return Err(meta.error("this option is given twice"));
                    }
                    return Ok(());
                }
                match name.as_str() {
                    "default" => options.default = Some(meta.value()?.parse()?),
                    "deprecated" => options.deprecated = Some(meta.value()?.parse()?),
                    "description" => options.description = Some(meta.value()?.parse()?),
                    "name" => options.name = Some(meta.value()?.parse()?),
                    "validate" => options.validators.push(meta.value()?.parse()?),
                    "modify" => options.modifiers.push(meta.value()?.parse()?),
                    "semantic_equals" => options.semantic_equals = Some(meta.value()?.parse()?),
                    "min_items" => options.min_items = Some(meta.value()?.parse()?),
                    "max_items" => options.max_items = Some(meta.value()?.parse()?),
                    "identity" => {
                        options.identity = Some(Identity::Required);
                        if meta.input.peek(Token![=]) {
                            let word: LitStr = meta.value()?.parse()?;
                            options.identity = Some(match word.value().as_str() {
                                "required" => Identity::Required,
                                "optional" => Identity::Optional,
                                _ => return Err(Error::new(word.span(), "write `required` or `optional`")),
                            });
                        }
                    }
                    _ => return Err(meta.error(format!("unknown option; the options are {KNOWN}"))),
                }
                Ok(())
            })?;
        }
        let name = field.ident.as_ref().map(syn::Ident::span);
        options.check(at.or(name).unwrap_or_else(Span::call_site))?;
        Ok(options)
    }

    /// Rejects combinations that mean nothing or that Terraform refuses.
    fn check(&self, at: Span) -> Result<()> {
        let set_by_user = self.required || self.optional || self.default.is_some();
        let other = set_by_user
            || self.computed
            || self.keeps
            || self.replaces
            || self.sensitive
            || self.write_only
            || self.block
            || self.identity.is_some()
            || self.deprecated.is_some()
            || self.name.is_some()
            || !self.validators.is_empty()
            || !self.modifiers.is_empty()
            || self.semantic_equals.is_some()
            || self.min_items.is_some()
            || self.max_items.is_some();
        let problem = if self.flatten || self.skip {
            (other || self.flatten && self.skip)
                .then_some("`flatten` and `skip` stand alone: remove the other options")
        } else if !self.block && (self.min_items.is_some() || self.max_items.is_some()) {
            Some("`min_items` and `max_items` are options of a `block`; validate an attribute instead")
        } else if self.block {
            (set_by_user || self.computed || self.write_only).then_some(
                "a block is always optional: remove `required`, `optional`, `computed` and `default`; `min_items = 1` requires one",
            )
        } else if !set_by_user && !self.computed {
            Some("say who sets the attribute: add `required`, `optional`, `computed` or `default = ..`")
        } else if self.required && (self.optional || self.computed || self.default.is_some()) {
            Some("a required attribute cannot be `optional` or `computed`, and has no `default`")
        } else if self.default.is_some() && (self.optional || self.computed) {
            Some("`default` implies `optional` and `computed`: remove them")
        } else if self.write_only && (self.computed || self.default.is_some()) {
            Some("a write-only attribute is never stored, so it cannot be `computed` or have a `default`")
        } else if self.keeps && !self.computed {
            Some("only a `computed` attribute keeps its prior value: remove `keeps`")
        } else if self.replaces && !set_by_user {
            Some("only an attribute that the user sets can replace the object: remove `replaces`")
        } else if !self.validators.is_empty() && !set_by_user {
            Some("only an attribute that the user sets is validated: remove `validate`")
        } else {
            None
        };
        problem.map_or(Ok(()), |problem| Err(Error::new(at, problem)))
    }
}
