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
            "Whether a range lies inside others",
            "True if every address of `inner` is in one of the ranges of `outer`. Two halves contain their whole; an \
             empty list contains nothing; no IPv4 range contains an IPv6 range.",
            vec![
                ranges("outer", "Ranges in CIDR notation."),
                Parameter::new("inner", Type::String, "A range in CIDR notation."),
            ],
            Type::Bool,
        )
    }

    fn call(&self, arguments: &[Value]) -> Result<Value, FunctionError> {
        let (outer, inner) = (read_ranges(arguments, 0)?, read_range(arguments, 1)?);
        Ok(Value::Bool(warren_cidr::contains(&outer, &inner)))
    }
}
