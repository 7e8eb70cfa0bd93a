//! The MessagePack form of values.
//! Source: plugin protocol 6, `DynamicValue.msgpack`. Whole numbers of up to 64 bits are encoded
//! as the smallest possible integer, fractions as a float if that is exact, and all other numbers as decimal text. Unknown values are extensions: type 0 without refinements, type 12
//! with a map of refinements. A value of a `dynamic` attribute is a pair of its type (JSON, as bytes) and the value.

mod decode;
mod encode;

pub use decode::decode;
pub use encode::encode;

/// Extension type of a plain unknown value.
const UNKNOWN: i8 = 0;
/// Extension type of an unknown value with refinements.
const REFINED: i8 = 12;
/// Terraform rejects longer refinements.
const MAX_REFINEMENT: usize = 1024;
/// Maximum length of a string prefix in a refinement, in bytes.
const MAX_PREFIX: usize = 256;

/// Keys of the refinement map.
mod key {
    pub(super) const NULL: u64 = 1;
    pub(super) const PREFIX: u64 = 2;
    pub(super) const LOWER: u64 = 3;
    pub(super) const UPPER: u64 = 4;
    pub(super) const MIN_LENGTH: u64 = 5;
    pub(super) const MAX_LENGTH: u64 = 6;
}
