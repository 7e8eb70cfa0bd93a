//! `cidr_overlaps`.

use tf_provider_rs::function::Signature;
use tf_provider_rs::{Function, FunctionError, Type, Value};

use super::{ranges, read_ranges, signature, text};

/// `cidr_overlaps(ranges list(string)) list(object({ outer = string, inner = string }))`
pub(super) struct CidrOverlaps;

impl Function for CidrOverlaps {
    fn signature(&self) -> Signature {
        signature(
            "cidr_overlaps",
            "Returns every pair of ranges that overlap.",
            "Returns every pair of elements of `ranges` that overlap; in each pair, `outer` contains or equals \
             `inner`. The list is empty if no ranges overlap, so \
             `length(provider::warren::cidr_overlaps(var.ranges)) == 0` works as a validation condition.",
            vec![ranges("ranges", "Ranges in CIDR notation.")],
            Type::list(Type::object([("outer", Type::String), ("inner", Type::String)])),
        )
    }

    fn call(&self, arguments: &[Value]) -> Result<Value, FunctionError> {
        let nets = read_ranges(arguments, 0)?;
        let pairs = warren_cidr::overlaps(&nets);
        let pair = |(outer, inner): (usize, usize)| {
            Value::object([("outer", text(&nets[outer])), ("inner", text(&nets[inner]))])
        };
        Ok(Value::List(pairs.pairs().map(pair).collect()))
    }
}
