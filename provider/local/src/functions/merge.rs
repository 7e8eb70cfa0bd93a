//! `cidr_merge`.

use tf_provider_rs::function::Signature;
use tf_provider_rs::{Function, FunctionError, Type, Value};

use super::{list, ranges, read_ranges, signature};

/// `cidr_merge(ranges list(string)) list(string)`
pub(super) struct CidrMerge;

impl Function for CidrMerge {
    fn signature(&self) -> Signature {
        signature(
            "cidr_merge",
            "Merges ranges into the fewest ranges that cover the same addresses.",
            "Returns the fewest CIDR ranges that cover exactly the addresses of `ranges`, sorted by address, IPv4 \
             before IPv6.",
            vec![ranges("ranges", "Ranges in CIDR notation; they may overlap.")],
            Type::list(Type::String),
        )
    }

    fn call(&self, arguments: &[Value]) -> Result<Value, FunctionError> {
        Ok(list(&warren_cidr::merge(&read_ranges(arguments, 0)?)))
    }
}
