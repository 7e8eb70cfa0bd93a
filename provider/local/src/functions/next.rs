//! `cidr_next`.

use ipnet::IpNet;
use tf_provider_rs::function::{Parameter, Signature};
use tf_provider_rs::{Function, FunctionError, Type, Value};

use super::{at, ranges, read_ranges, signature, text};

/// `cidr_next(within list(string), taken list(string), prefix number) string`
pub(super) struct CidrNext;

impl Function for CidrNext {
    fn signature(&self) -> Signature {
        signature(
            "cidr_next",
            "Returns the lowest free range of a given prefix length.",
            "Returns the lowest range of prefix length `prefix` inside `within` that overlaps nothing in `taken`, \
             and fails if there is none. The result changes when `taken` changes; use `warren_address_plan` for \
             ranges that must stay the same.",
            vec![
                ranges("within", "Ranges in CIDR notation to search."),
                ranges("taken", "Ranges in CIDR notation that are in use."),
                Parameter::new(
                    "prefix",
                    Type::Number,
                    "Prefix length of the result: 0 to 32 for IPv4, 0 to 128 for IPv6.",
                ),
            ],
            Type::String,
        )
    }

    fn call(&self, arguments: &[Value]) -> Result<Value, FunctionError> {
        let (within, taken) = (read_ranges(arguments, 0)?, read_ranges(arguments, 1)?);
        if within.is_empty() {
            return Err(at(0, "the list is empty; pass at least one range to search".to_owned()));
        }
        let longest = within.iter().map(IpNet::max_prefix_len).max().unwrap_or_default();
        let number = match arguments.get(2) {
            Some(Value::Number(number)) => number.clone(),
            _ => return Err(at(2, "the prefix length is missing".to_owned())),
        };
        let prefix = number
            .to_u64()
            .and_then(|prefix| u8::try_from(prefix).ok())
            .filter(|prefix| *prefix <= longest)
            .ok_or_else(|| at(2, format!("{number} is not a whole number between 0 and {longest}")))?;
        match warren_cidr::next(&within, &taken, prefix) {
            Some(net) => Ok(text(&net)),
            None => Err(at(2, none(&within, &taken, prefix))),
        }
    }
}

fn none(within: &[IpNet], taken: &[IpNet], prefix: u8) -> String {
    let free = warren_cidr::free_blocks(within, taken);
    let size = |net: &&IpNet| net.max_prefix_len() - net.prefix_len();
    match free.iter().rev().max_by_key(size) {
        Some(largest) => format!("no /{prefix} is free; the largest free block is {largest}"),
        None => format!("no /{prefix} is free; `taken` covers all of `within`"),
    }
}
