//! Validators for attributes and objects (terraform-plugin-framework-validators).
//!
//! ```
//! use tf_provider_rs::validators::{at_most, conflicts_with, each, length_between, one_of};
//! use tf_provider_rs::{Attribute, Schema, Type};
//!
//! Schema::new("A rule.")
//!     .attributes([
//!         Attribute::string("protocol").required().validate(one_of(["tcp", "udp"])),
//!         Attribute::number("port").optional().validate(at_most(65_535)),
//!         Attribute::of("names", Type::list(Type::String)).optional().validate(each(length_between(1, 63))),
//!         Attribute::string("cidr").optional(),
//!         Attribute::string("group").optional(),
//!     ])
//!     .validate(conflicts_with(["cidr", "group"]));
//! ```
//!
//! A validator runs on known, non-null values. Parts may be unknown or null: they are not validated.

mod compound;
mod objects;
mod values;

pub use compound::{all, any, each, keys, values};
pub use objects::{also_requires, at_least_one_of, conflicts_with, exactly_one_of};
pub use values::{
    at_least, at_most, between, length_at_least, length_at_most, length_between, matches_regex, none_of,
    one_of, size_at_least, size_at_most, size_between,
};

/// The type that [`matches_regex`] accepts.
pub use regex::Regex;

#[cfg(test)]
mod tests;
