//! MessagePack to value. The input is not trusted: every length is checked against what is left.

use std::collections::BTreeMap;

use rmp::Marker;

use super::super::{CodecError, MAX_DEPTH, Reason, at_index, mismatch, wanted};
use super::{MAX_REFINEMENT, REFINED, key};
use crate::path::Step;
use crate::types::Type;
use crate::value::{Number, Refinement, Value};

/// Reads the one value of type `ty` that `bytes` is.
///
/// # Errors
/// When it is none; the error names the attribute. No input makes it panic.
pub fn decode(bytes: &[u8], ty: &Type) -> Result<Value, CodecError> {
    let mut reader = Reader { rest: bytes, depth: 0 };
    let value = reader.value(ty)?;
    match reader.rest.len() {
        0 => Ok(value),
        left => Err(Reason::Trailing(left).into()),
    }
}

struct Reader<'a> {
    rest: &'a [u8],
    depth: usize,
}

/// What a marker says, with lengths and scalars read.
enum Head<'a> {
    Nil,
    Bool(bool),
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    Bytes(&'a [u8], &'static str),
    Array(usize),
    Map(usize),
    Extension(i8, &'a [u8]),
}

impl Head<'_> {
    fn kind(&self) -> &'static str {
        match self {
            Head::Nil => "null",
            Head::Bool(_) => "a bool",
            Head::Signed(_) | Head::Unsigned(_) | Head::Float(_) => "a number",
            Head::Bytes(_, kind) => kind,
            Head::Array(_) => "a sequence",
            Head::Map(_) => "a map",
            Head::Extension(..) => "an unknown value",
        }
    }
}

impl<'a> Reader<'a> {
    fn value(&mut self, ty: &Type) -> Result<Value, CodecError> {
        let head = self.head()?;
        match (ty, head) {
            (_, Head::Nil) => Ok(Value::Null),
            (ty, Head::Extension(kind, body)) => unknown(kind, body, ty),
            (Type::Bool, Head::Bool(value)) => Ok(Value::Bool(value)),
            (Type::String, Head::Bytes(bytes, _)) => Ok(Value::String(text(bytes)?.to_owned())),
            (Type::Dynamic, Head::Array(length)) => self.nested(|reader| reader.dynamic(length)),
            (Type::List(element), Head::Array(length)) => {
                self.nested(|reader| reader.sequence(length, element, true)).map(Value::List)
            }
            (Type::Set(element), Head::Array(length)) => {
                self.nested(|reader| reader.sequence(length, element, false)).map(Value::set)
            }
            (Type::Tuple(types), Head::Array(length)) => self.nested(|reader| reader.tuple(length, types)),
            (Type::Map(element), Head::Map(length)) => self.nested(|reader| reader.map(length, element)),
            (Type::Object(attributes), Head::Map(length)) => {
                self.nested(|reader| reader.object(length, attributes))
            }
            (Type::Number, head) => number(&head).map(Value::Number),
            (ty, head) => Err(mismatch(ty, head.kind())),
        }
    }

    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, CodecError>) -> Result<T, CodecError> {
        if self.depth == MAX_DEPTH {
            return Err(Reason::TooDeep.into());
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn sequence(&mut self, length: usize, element: &Type, ordered: bool) -> Result<Vec<Value>, CodecError> {
        let mut items = Vec::new();
        for index in 0..length {
            let item = self.value(element);
            // Elements of sets have no address: an error inside one belongs to the set.
            items.push(if ordered { item.map_err(|error| error.within(|| at_index(index)))? } else { item? });
        }
        Ok(items)
    }

    fn tuple(&mut self, length: usize, types: &[Type]) -> Result<Value, CodecError> {
        if length != types.len() {
            return Err(Reason::Length { expected: types.len(), got: length }.into());
        }
        let items = types
            .iter()
            .enumerate()
            .map(|(index, ty)| self.value(ty).map_err(|error| error.within(|| at_index(index))));
        items.collect::<Result<_, _>>().map(Value::Tuple)
    }

    fn map(&mut self, length: usize, element: &Type) -> Result<Value, CodecError> {
        let mut items = BTreeMap::new();
        for _ in 0..length {
            let name = self.key()?;
            let item = self.value(element).map_err(|error| error.within(|| Step::Key(name.to_owned())))?;
            if items.insert(name.to_owned(), item).is_some() {
                return Err(Reason::DuplicateKey(name.to_owned()).into());
            }
        }
        Ok(Value::Map(items))
    }

    fn object(&mut self, length: usize, attributes: &BTreeMap<String, Type>) -> Result<Value, CodecError> {
        let mut items = BTreeMap::new();
        for _ in 0..length {
            let name = self.key()?;
            let ty = attributes.get(name).ok_or_else(|| Reason::UnexpectedAttribute(name.to_owned()))?;
            let item = self.value(ty).map_err(|error| error.within(|| Step::Attribute(name.to_owned())))?;
            if items.insert(name.to_owned(), item).is_some() {
                return Err(Reason::DuplicateKey(name.to_owned()).into());
            }
        }
        match attributes.keys().find(|name| !items.contains_key(*name)) {
            None => Ok(Value::Object(items)),
            Some(name) => Err(Reason::MissingAttribute(name.clone()).into()),
        }
    }

    fn dynamic(&mut self, length: usize) -> Result<Value, CodecError> {
        if length != 2 {
            return Err(Reason::Length { expected: 2, got: length }.into());
        }
        let Head::Bytes(json, _) = self.head()? else { return Err(Reason::InvalidType.into()) };
        let ty = serde_json::from_slice(json)
            .ok()
            .and_then(|json| Type::from_json(&json))
            .ok_or(Reason::InvalidType)?;
        let value = self.value(&ty)?;
        Ok(Value::Dynamic(Box::new(ty), Box::new(value)))
    }

    fn key(&mut self) -> Result<&'a str, CodecError> {
        match self.head()? {
            Head::Bytes(bytes, _) => text(bytes),
            other => Err(mismatch(&Type::String, other.kind())),
        }
    }

    fn head(&mut self) -> Result<Head<'a>, CodecError> {
        let [marker] = self.array()?;
        Ok(match Marker::from_u8(marker) {
            Marker::Null => Head::Nil,
            Marker::True => Head::Bool(true),
            Marker::False => Head::Bool(false),
            Marker::FixPos(value) => Head::Unsigned(value.into()),
            Marker::FixNeg(value) => Head::Signed(value.into()),
            Marker::U8 => Head::Unsigned(u8::from_be_bytes(self.array()?).into()),
            Marker::U16 => Head::Unsigned(u16::from_be_bytes(self.array()?).into()),
            Marker::U32 => Head::Unsigned(u32::from_be_bytes(self.array()?).into()),
            Marker::U64 => Head::Unsigned(u64::from_be_bytes(self.array()?)),
            Marker::I8 => Head::Signed(i8::from_be_bytes(self.array()?).into()),
            Marker::I16 => Head::Signed(i16::from_be_bytes(self.array()?).into()),
            Marker::I32 => Head::Signed(i32::from_be_bytes(self.array()?).into()),
            Marker::I64 => Head::Signed(i64::from_be_bytes(self.array()?)),
            Marker::F32 => Head::Float(f32::from_be_bytes(self.array()?).into()),
            Marker::F64 => Head::Float(f64::from_be_bytes(self.array()?)),
            Marker::FixStr(length) => Head::Bytes(self.bytes(length.into())?, "a string"),
            Marker::Str8 => Head::Bytes(self.sized::<1>()?, "a string"),
            Marker::Str16 => Head::Bytes(self.sized::<2>()?, "a string"),
            Marker::Str32 => Head::Bytes(self.sized::<4>()?, "a string"),
            Marker::Bin8 => Head::Bytes(self.sized::<1>()?, "bytes"),
            Marker::Bin16 => Head::Bytes(self.sized::<2>()?, "bytes"),
            Marker::Bin32 => Head::Bytes(self.sized::<4>()?, "bytes"),
            Marker::FixArray(length) => Head::Array(self.claimed(length.into(), 1)?),
            Marker::Array16 => Head::Array(self.counted::<2>(1)?),
            Marker::Array32 => Head::Array(self.counted::<4>(1)?),
            Marker::FixMap(length) => Head::Map(self.claimed(length.into(), 2)?),
            Marker::Map16 => Head::Map(self.counted::<2>(2)?),
            Marker::Map32 => Head::Map(self.counted::<4>(2)?),
            Marker::FixExt1 => self.extension(1)?,
            Marker::FixExt2 => self.extension(2)?,
            Marker::FixExt4 => self.extension(4)?,
            Marker::FixExt8 => self.extension(8)?,
            Marker::FixExt16 => self.extension(16)?,
            Marker::Ext8 => self.sized_extension::<1>()?,
            Marker::Ext16 => self.sized_extension::<2>()?,
            Marker::Ext32 => self.sized_extension::<4>()?,
            Marker::Reserved => {
                return Err(Reason::Mismatch { expected: "a value", got: "a reserved byte" }.into());
            }
        })
    }

    fn extension(&mut self, length: usize) -> Result<Head<'a>, CodecError> {
        let kind = i8::from_be_bytes(self.array()?);
        Ok(Head::Extension(kind, self.bytes(length)?))
    }

    fn sized_extension<const N: usize>(&mut self) -> Result<Head<'a>, CodecError> {
        let length = self.length::<N>()?;
        self.extension(length)
    }

    /// A length and as many bytes.
    fn sized<const N: usize>(&mut self) -> Result<&'a [u8], CodecError> {
        let length = self.length::<N>()?;
        self.bytes(length)
    }

    /// A number of elements of at least `each` bytes.
    fn counted<const N: usize>(&mut self, each: usize) -> Result<usize, CodecError> {
        let length = self.length::<N>()?;
        self.claimed(length, each)
    }

    fn claimed(&self, length: usize, each: usize) -> Result<usize, CodecError> {
        if length > self.rest.len() / each {
            return Err(Reason::Truncated.into());
        }
        Ok(length)
    }

    /// An unsigned big-endian number of `N` bytes, at most 4.
    fn length<const N: usize>(&mut self) -> Result<usize, CodecError> {
        Ok(self.array::<N>()?.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], CodecError> {
        let (array, rest) = self.rest.split_first_chunk().ok_or(Reason::Truncated)?;
        self.rest = rest;
        Ok(*array)
    }

    fn bytes(&mut self, length: usize) -> Result<&'a [u8], CodecError> {
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or(Reason::Truncated)?;
        self.rest = rest;
        Ok(bytes)
    }
}

fn text(bytes: &[u8]) -> Result<&str, CodecError> {
    std::str::from_utf8(bytes).map_err(|_| Reason::NotUtf8.into())
}

fn number(head: &Head<'_>) -> Result<Number, CodecError> {
    match head {
        Head::Signed(value) => Ok(Number::from(*value)),
        Head::Unsigned(value) => Ok(Number::from(*value)),
        Head::Float(value) => Number::from_f64(*value).ok_or_else(|| Reason::NotANumber.into()),
        Head::Bytes(digits, "a string") => {
            Number::parse(text(digits)?).ok_or_else(|| Reason::NotANumber.into())
        }
        other => Err(mismatch(&Type::Number, other.kind())),
    }
}

/// Extension types that are not known yet mean an unknown value without refinements, as they do
/// in Terraform.
fn unknown(kind: i8, body: &[u8], ty: &Type) -> Result<Value, CodecError> {
    if kind != REFINED || body.len() <= 1 || *ty == Type::Dynamic {
        return Ok(Value::UNKNOWN);
    }
    if body.len() > MAX_REFINEMENT {
        return Err(Reason::InvalidRefinement.into());
    }
    let refinement = refinement(body, ty).map_err(|_| CodecError::from(Reason::InvalidRefinement))?;
    Ok(if refinement == Refinement::default() {
        Value::UNKNOWN
    } else {
        Value::Unknown(Some(Box::new(refinement)))
    })
}

/// Reads the entries that `ty` can have. Entries of unknown keys are passed over: they only say
/// more about the value.
fn refinement(body: &[u8], ty: &Type) -> Result<Refinement, CodecError> {
    let mut reader = Reader { rest: body, depth: 0 };
    let Head::Map(length) = reader.head()? else { return Err(Reason::InvalidRefinement.into()) };
    let mut refinement = Refinement::default();
    let collection = matches!(ty, Type::List(_) | Type::Set(_) | Type::Map(_));
    for _ in 0..length {
        match (number(&reader.head()?)?.to_u64(), ty) {
            (Some(key::NULL), _) => refinement.null = Some(reader.bool()?),
            (Some(key::PREFIX), Type::String) => refinement.prefix = Some(reader.key()?.to_owned()),
            (Some(key::LOWER), Type::Number) => refinement.lower = Some(reader.bound()?),
            (Some(key::UPPER), Type::Number) => refinement.upper = Some(reader.bound()?),
            (Some(key::MIN_LENGTH), _) if collection => refinement.min_length = Some(reader.count()?),
            (Some(key::MAX_LENGTH), _) if collection => refinement.max_length = Some(reader.count()?),
            _ => reader.skip()?,
        }
    }
    Ok(refinement)
}

impl Reader<'_> {
    fn bool(&mut self) -> Result<bool, CodecError> {
        match self.head()? {
            Head::Bool(value) => Ok(value),
            other => Err(mismatch(&Type::Bool, other.kind())),
        }
    }

    fn count(&mut self) -> Result<u64, CodecError> {
        number(&self.head()?)?.to_u64().ok_or_else(|| Reason::NotANumber.into())
    }

    fn bound(&mut self) -> Result<(Number, bool), CodecError> {
        match self.head()? {
            Head::Array(2) => Ok((number(&self.head()?)?, self.bool()?)),
            other => Err(Reason::Mismatch { expected: wanted(&Type::Number), got: other.kind() }.into()),
        }
    }

    /// Passes over one value of any type.
    fn skip(&mut self) -> Result<(), CodecError> {
        match self.head()? {
            Head::Array(length) => self.nested(|reader| (0..length).try_for_each(|_| reader.skip())),
            Head::Map(length) => self.nested(|reader| (0..2 * length).try_for_each(|_| reader.skip())),
            _ => Ok(()),
        }
    }
}
