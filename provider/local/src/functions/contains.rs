//! `cidr_contains`.

use tf_provider_rs::function::{Parameter, Signature};
use tf_provider_rs::{Function, FunctionError, Type, Value};

use super::{ranges, read_range, read_ranges, signature};

/// `cidr_contains(outer list(string), inner string) bool`
pub(super) struct CidrContains;

impl Function for CidrContains {
    fn signature(&self) -> Signature {
        signature(
            "cidr_contains",
            "Reports whether a list of ranges contains a range.",
            "Returns `true` if every address of `inner` is in at least one range of `outer`. Several ranges can \
             contain `inner` together, such as its two halves. An empty list contains nothing, and an IPv4 range \
             never contains an IPv6 range.",
            vec![
                ranges("outer", "Ranges in CIDR notation."),
                Parameter::new("inner", Type::String, "Range in CIDR notation."),
            ],
            Type::Bool,
        )
    }

    fn call(&self, arguments: &[Value]) -> Result<Value, FunctionError> {
        let (outer, inner) = (read_ranges(arguments, 0)?, read_range(arguments, 1)?);
        Ok(Value::Bool(warren_cidr::contains(&outer, &inner)))
    }
}
