//! Value to MessagePack.

use std::convert::Infallible;

use rmp::encode::buffer::ByteBuf;
use rmp::encode::{
    ValueWriteError, write_array_len, write_bin, write_bool, write_ext_meta, write_f64, write_map_len,
    write_nil, write_sint, write_str, write_uint,
};

use super::super::{CodecError, Reason, at_index, kind, mismatch};
use super::{MAX_PREFIX, MAX_REFINEMENT, REFINED, UNKNOWN, key};
use crate::path::Step;
use crate::types::Type;
use crate::value::{Number, Refinement, Value};

/// Writes `value`, which is of type `ty`. Maps and objects are written in key order, so equal
/// values give equal bytes.
///
/// # Errors
/// When `value` is not of type `ty`; the error names the attribute.
pub fn encode(value: &Value, ty: &Type) -> Result<Vec<u8>, CodecError> {
    let mut out = ByteBuf::new();
    write(&mut out, value, ty)?;
    Ok(out.into_vec())
}

impl From<ValueWriteError<Infallible>> for CodecError {
    fn from(error: ValueWriteError<Infallible>) -> Self {
        match error {
            ValueWriteError::InvalidMarkerWrite(never) | ValueWriteError::InvalidDataWrite(never) => {
                match never {}
            }
        }
    }
}

impl From<Infallible> for CodecError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

fn write(out: &mut ByteBuf, value: &Value, ty: &Type) -> Result<(), CodecError> {
    match (value, ty) {
        (Value::Null, _) => write_nil(out)?,
        (Value::Unknown(refinement), ty) => write_unknown(out, refinement.as_deref(), ty)?,
        (Value::Dynamic(own, value), Type::Dynamic) => {
            write_array_len(out, 2)?;
            write_bin(out, own.to_json().to_string().as_bytes())?;
            write(out, value, own)?;
        }
        (Value::Bool(value), Type::Bool) => write_bool(out, *value)?,
        (Value::Number(value), Type::Number) => write_number(out, value)?,
        (Value::String(value), Type::String) => write_str(out, value)?,
        (Value::List(items), Type::List(element)) => {
            write_array_len(out, length(items.len())?)?;
            for (index, item) in items.iter().enumerate() {
                write(out, item, element).map_err(|error| error.within(|| at_index(index)))?;
            }
        }
        (Value::Set(items), Type::Set(element)) => {
            write_array_len(out, length(items.len())?)?;
            for item in items {
                write(out, item, element)?;
            }
        }
        (Value::Tuple(items), Type::Tuple(types)) => {
            if items.len() != types.len() {
                return Err(Reason::Length { expected: types.len(), got: items.len() }.into());
            }
            write_array_len(out, length(items.len())?)?;
            for (index, (item, ty)) in items.iter().zip(types).enumerate() {
                write(out, item, ty).map_err(|error| error.within(|| at_index(index)))?;
            }
        }
        (Value::Map(items), Type::Map(element)) => {
            write_map_len(out, length(items.len())?)?;
            for (name, item) in items {
                write_str(out, name)?;
                write(out, item, element).map_err(|error| error.within(|| Step::Key(name.clone())))?;
            }
        }
        (Value::Object(items), Type::Object(attributes)) => {
            if let Some(name) = items.keys().find(|name| !attributes.contains_key(*name)) {
                return Err(Reason::UnexpectedAttribute(name.clone()).into());
            }
            write_map_len(out, length(attributes.len())?)?;
            for (name, ty) in attributes {
                let item = items.get(name).ok_or_else(|| Reason::MissingAttribute(name.clone()))?;
                write_str(out, name)?;
                write(out, item, ty).map_err(|error| error.within(|| Step::Attribute(name.clone())))?;
            }
        }
        (other, ty) => return Err(mismatch(ty, kind(other))),
    }
    Ok(())
}

/// Lengths are 32 bits on the wire; messages end long before.
fn length(items: usize) -> Result<u32, CodecError> {
    u32::try_from(items).map_err(|_| Reason::Length { expected: u32::MAX as usize, got: items }.into())
}

fn write_number(out: &mut ByteBuf, number: &Number) -> Result<(), CodecError> {
    if let Some(whole) = number.to_i64() {
        write_sint(out, whole)?;
    } else if let Some(float) = number.to_exact_f64().filter(|float| float.fract() != 0.0) {
        // A whole number never becomes a float: Terraform would round its decimal form to 53 bits and report that the planned value
        // has changed.
        write_f64(out, float)?;
    } else {
        write_str(out, &number.to_string())?;
    }
    Ok(())
}

fn write_unknown(out: &mut ByteBuf, refinement: Option<&Refinement>, ty: &Type) -> Result<(), CodecError> {
    let body = match refinement {
        Some(refinement) => refinement_body(refinement, ty)?,
        None => None,
    };
    match body.and_then(|body| Some((u32::try_from(body.len()).ok()?, body))) {
        Some((length, body)) if body.len() <= MAX_REFINEMENT => {
            write_ext_meta(out, length, REFINED)?;
            out.as_mut_vec().extend(body);
        }
        _ => {
            write_ext_meta(out, 1, UNKNOWN)?;
            out.as_mut_vec().push(0);
        }
    }
    Ok(())
}

/// The refinement map with the entries that `ty` can have; `None` when none is left.
fn refinement_body(refinement: &Refinement, ty: &Type) -> Result<Option<Vec<u8>>, CodecError> {
    let mut entries = 0;
    let mut body = ByteBuf::new();
    // A dynamic value has no type yet that a refinement could be about.
    if let Some(null) = refinement.null.filter(|_| *ty != Type::Dynamic) {
        entries += 1;
        write_uint(&mut body, key::NULL)?;
        write_bool(&mut body, null)?;
    }
    if let (Type::String, Some(prefix)) = (ty, &refinement.prefix) {
        entries += 1;
        write_uint(&mut body, key::PREFIX)?;
        write_str(&mut body, &prefix[..prefix.floor_char_boundary(MAX_PREFIX)])?;
    }
    if *ty == Type::Number {
        for (name, bound) in [(key::LOWER, &refinement.lower), (key::UPPER, &refinement.upper)] {
            if let Some((number, inclusive)) = bound {
                entries += 1;
                write_uint(&mut body, name)?;
                write_array_len(&mut body, 2)?;
                write_number(&mut body, number)?;
                write_bool(&mut body, *inclusive)?;
            }
        }
    }
    if matches!(ty, Type::List(_) | Type::Set(_) | Type::Map(_)) {
        let bounds = [(key::MIN_LENGTH, refinement.min_length), (key::MAX_LENGTH, refinement.max_length)];
        for (name, bound) in bounds {
            if let Some(length) = bound {
                entries += 1;
                write_uint(&mut body, name)?;
                write_uint(&mut body, length)?;
            }
        }
    }
    if entries == 0 {
        return Ok(None);
    }
    let mut map = ByteBuf::new();
    write_map_len(&mut map, entries)?;
    map.as_mut_vec().extend(body.into_vec());
    Ok(Some(map.into_vec()))
}
