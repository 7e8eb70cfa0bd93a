//! Functions for IPv4 and IPv6 ranges in CIDR notation.

mod contains;
mod merge;
mod next;
mod overlaps;
mod subtract;
#[cfg(test)]
mod tests;

use ipnet::IpNet;
use tf_provider_rs::function::{Parameter, Signature};
use tf_provider_rs::{FunctionError, Registry, Type, Value};
use warren_cidr::parse_cidr;

/// Registers all functions.
pub(crate) fn register(registry: Registry) -> Registry {
    registry
        .function(contains::CidrContains)
        .function(merge::CidrMerge)
        .function(next::CidrNext)
        .function(overlaps::CidrOverlaps)
        .function(subtract::CidrSubtract)
}

fn signature(
    name: &str,
    summary: &str,
    description: &str,
    parameters: Vec<Parameter>,
    result: Type,
) -> Signature {
    Signature { description: description.to_owned(), parameters, ..Signature::new(name, summary, result) }
}

/// A parameter that accepts a list of ranges.
fn ranges(name: &str, description: &str) -> Parameter {
    Parameter::new(name, Type::list(Type::String), description)
}

/// The list of ranges passed at `position`.
fn read_ranges(arguments: &[Value], position: usize) -> Result<Vec<IpNet>, FunctionError> {
    let items = arguments.get(position).and_then(Value::as_slice).unwrap_or_default();
    items
        .iter()
        .enumerate()
        .map(|(index, item)| range(item).map_err(|text| at(position, format!("element {index}: {text}"))))
        .collect()
}

/// The range passed at `position`.
fn read_range(arguments: &[Value], position: usize) -> Result<IpNet, FunctionError> {
    range(arguments.get(position).unwrap_or(&Value::Null)).map_err(|text| at(position, text))
}

fn range(value: &Value) -> Result<IpNet, String> {
    let text = value.as_str().ok_or("a range must not be null")?;
    parse_cidr(text).map_err(|error| error.to_string())
}

fn at(position: usize, text: String) -> FunctionError {
    FunctionError::argument(i64::try_from(position).unwrap_or(i64::MAX), text)
}

/// Ranges as a list of strings.
fn list(nets: &[IpNet]) -> Value {
    Value::List(nets.iter().map(text).collect())
}

fn text(net: &IpNet) -> Value {
    Value::String(net.to_string())
}
