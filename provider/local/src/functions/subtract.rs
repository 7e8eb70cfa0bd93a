//! `cidr_subtract`.

use tf_provider_rs::function::Signature;
use tf_provider_rs::{Function, FunctionError, Type, Value};

use super::{list, ranges, read_ranges, signature};

/// `cidr_subtract(from list(string), remove list(string)) list(string)`
pub(super) struct CidrSubtract;

impl Function for CidrSubtract {
    fn signature(&self) -> Signature {
        signature(
            "cidr_subtract",
            "Removes ranges from other ranges.",
            "Returns the fewest CIDR ranges that cover exactly the addresses of `from` that are not in `remove`, \
             sorted by address, IPv4 before IPv6.",
            vec![
                ranges("from", "Ranges in CIDR notation; they may overlap."),
                ranges("remove", "Ranges in CIDR notation; they may be outside `from`."),
            ],
            Type::list(Type::String),
        )
    }

    fn call(&self, arguments: &[Value]) -> Result<Value, FunctionError> {
        let (from, remove) = (read_ranges(arguments, 0)?, read_ranges(arguments, 1)?);
        Ok(list(&warren_cidr::subtract(&from, &remove)))
    }
}
