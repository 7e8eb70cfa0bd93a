//! Requests and answers checked against the document.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use serde_json::Value;

use super::{Document, Method, Schema, exceptions};
use crate::pattern;

/// Who sends what is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// A client.
    Request,
    /// The service.
    Response,
}

/// What is wrong with a request or an answer. Fields are named by their path from `resource`, the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// The method has no such parameter.
    UnknownParameter(String),
    /// A required parameter is absent.
    MissingParameter(String),
    /// A parameter's value is not of its type, pattern, enumeration or bounds.
    BadParameter { name: String, value: String, expected: String },
    /// The method takes a body and there is none.
    NoBody,
    /// The method takes no body and there is one.
    UnexpectedBody,
    /// The body is not JSON.
    NotJson(String),
    /// An object has no such field.
    UnknownField { path: String, name: String },
    /// A required field is absent.
    MissingField(String),
    /// A field's value is not of its type, format, pattern or enumeration.
    BadField { path: String, value: String, expected: String },
    /// A field that only the service sets.
    OutputOnly(String),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownParameter(name) => write!(
                f,
                "Invalid JSON payload received. Unknown name \"{name}\": Cannot bind query parameter. Field '{name}' could \
                 not be found in request message."
            ),
            Self::MissingParameter(name) => write!(f, "Required parameter: {name}"),
            Self::BadParameter { name, value, expected } => {
                write!(f, "Invalid value for field '{name}': '{value}'. Expected {expected}.")
            }
            Self::NoBody => f.write_str("Required field 'resource' not specified"),
            Self::UnexpectedBody => f.write_str("Request body is not allowed for this method."),
            Self::NotJson(error) => write!(f, "Invalid JSON payload received. {error}"),
            Self::UnknownField { path, name } => write!(
                f,
                "Invalid JSON payload received. Unknown name \"{name}\" at '{path}': Cannot find field."
            ),
            Self::MissingField(path) => write!(f, "Required field '{path}' not specified"),
            Self::BadField { path, value, expected } => {
                write!(f, "Invalid value for field '{path}': '{value}'. Expected {expected}.")
            }
            Self::OutputOnly(path) => {
                write!(f, "Invalid value for field '{path}': the field is output only and was sent.")
            }
        }
    }
}

impl Problem {
    /// The `reason` of the error that Google answers with.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::MissingParameter(_) | Self::MissingField(_) | Self::NoBody => "required",
            Self::BadParameter { .. } | Self::BadField { .. } | Self::OutputOnly(_) => "invalid",
            Self::UnknownParameter(_)
            | Self::UnexpectedBody
            | Self::NotJson(_)
            | Self::UnknownField { .. } => "badRequest",
        }
    }
}

impl Document {
    /// Checks the parameters of a request. `query` has a value for each time a name was written.
    pub(crate) fn check_parameters(
        &self,
        method: &Method,
        path: &BTreeMap<String, String>,
        query: &[(String, String)],
    ) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (name, value) in path.iter().chain(query.iter().map(|(name, value)| (name, value))) {
            let known = method.parameters.get(name).or_else(|| self.parameters.get(name));
            let known = known.or_else(|| self.parameters.get(name.strip_prefix('$').unwrap_or(name)));
            let waived = exceptions::parameter(name);
            match (waived, known) {
                (Some(values), _) => {
                    if !matches(values, value) {
                        problems.push(bad_parameter(name, value, values));
                    }
                }
                (None, Some(schema)) => {
                    if let Some(expected) = parameter_fault(schema, value) {
                        problems.push(bad_parameter(name, value, &expected));
                    }
                    let times = query.iter().filter(|(other, _)| other == name).count();
                    if times > 1 && !schema.repeated {
                        problems.push(bad_parameter(name, value, "one value"));
                    }
                }
                (None, None) => problems.push(Problem::UnknownParameter(name.clone())),
            }
        }
        for (name, schema) in &method.parameters {
            let sent = path.contains_key(name) || query.iter().any(|(sent, _)| sent == name);
            if schema.required && !sent {
                problems.push(Problem::MissingParameter(name.clone()));
            }
        }
        problems
    }

    /// Checks a body of the request, or of the answer, of a method against its schema.
    pub(crate) fn check_body(&self, method: &Method, side: Side, body: &Value) -> Vec<Problem> {
        let schema = match side {
            Side::Request => &method.request,
            Side::Response => &method.response,
        };
        let mut check = Check { document: self, method: &method.id, side, problems: Vec::new() };
        if let Some(name) = schema {
            check.named(name, body, "resource");
        }
        check.problems
    }
}

impl Document {
    /// The body of a request with the names of enumerations in place of their numbers.
    pub(crate) fn with_names(&self, method: &Method, mut body: Value) -> Value {
        if let Some(name) = &method.request {
            self.name_all(self.schemas.get(name), name, &mut body);
        }
        body
    }

    fn name_all(&self, schema: Option<&Schema>, owner: &str, value: &mut Value) {
        let Some(schema) = schema else { return };
        if let Some(name) = &schema.reference {
            return self.name_all(self.schemas.get(name), name, value);
        }
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    let field = schema.properties.get(name);
                    let owner = field.map_or_else(|| owner.to_owned(), |_| format!("{owner}.{name}"));
                    self.name_all(field.or(schema.additional_properties.as_deref()), &owner, member);
                }
            }
            Value::Array(values) => {
                values.iter_mut().for_each(|value| self.name_all(schema.items.as_deref(), owner, value));
            }
            Value::Number(number) if !schema.values.is_empty() => {
                let name = number.as_i64().and_then(|number| exceptions::name_of(owner, number));
                if let Some(name) = name {
                    *value = Value::String(name.to_owned());
                }
            }
            _ => {}
        }
    }
}

impl Method {
    /// The body of a request without what the path has too, where an exception allows that.
    pub(crate) fn without_path(&self, path: &BTreeMap<String, String>, mut body: Value) -> Value {
        if let Some(members) = body.as_object_mut()
            && exceptions::repeats_path(&self.id)
        {
            members.retain(|name, value| path.get(name).is_none_or(|bound| value != bound.as_str()));
        }
        body
    }
}

fn bad_parameter(name: &str, value: &str, expected: &str) -> Problem {
    Problem::BadParameter { name: name.to_owned(), value: value.to_owned(), expected: expected.to_owned() }
}

/// What a parameter's value should have been.
fn parameter_fault(schema: &Schema, value: &str) -> Option<String> {
    let kind = schema.kind.as_deref().unwrap_or("string");
    let parsed: Value = match kind {
        "boolean" => match value {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => return Some("true or false".to_owned()),
        },
        "integer" | "number" => match value.parse::<serde_json::Number>() {
            Ok(number) => Value::Number(number),
            Err(_) => return Some(format!("a number ({})", schema.format.as_deref().unwrap_or(kind))),
        },
        _ => Value::String(value.to_owned()),
    };
    let number = parsed.as_f64();
    let bound = |bound: &Option<String>| bound.as_ref().and_then(|bound| bound.parse::<f64>().ok());
    if let (Some(number), Some(minimum)) = (number, bound(&schema.minimum))
        && number < minimum
    {
        return Some(format!("at least {minimum}"));
    }
    if let (Some(number), Some(maximum)) = (number, bound(&schema.maximum))
        && number > maximum
    {
        return Some(format!("at most {maximum}"));
    }
    scalar_fault(schema, kind, &parsed, Side::Request)
}

struct Check<'a> {
    document: &'a Document,
    method: &'a str,
    side: Side,
    problems: Vec<Problem>,
}

impl Check<'_> {
    fn named(&mut self, name: &str, value: &Value, path: &str) {
        match self.document.schemas.get(name) {
            Some(schema) => self.value(schema, name, value, path),
            None => self.bad(path, value, &format!("schema {name}, which the document lacks")),
        }
    }

    /// `owner` is `Schema.field` where the value is a field's, else the schema's name.
    fn value(&mut self, schema: &Schema, owner: &str, value: &Value, path: &str) {
        if let Some(name) = &schema.reference {
            return self.named(name, value, path);
        }
        if value.is_null() && self.side == Side::Request {
            return;
        }
        match schema.kind.as_deref().unwrap_or("any") {
            "any" => {}
            "array" => {
                let Some(values) = value.as_array() else { return self.bad(path, value, "a list") };
                let Some(items) = &schema.items else { return };
                for (place, value) in values.iter().enumerate() {
                    self.value(items, owner, value, &format!("{path}[{place}]"));
                }
            }
            "object" => self.object(schema, owner, value, path),
            kind => {
                if self.side == Side::Request
                    && !schema.values.is_empty()
                    && value.as_i64().is_some_and(|number| exceptions::name_of(owner, number).is_some())
                {
                    return;
                }
                if let Some(expected) = scalar_fault(schema, kind, value, self.side) {
                    self.bad(path, value, &expected);
                }
            }
        }
    }

    fn object(&mut self, schema: &Schema, owner: &str, value: &Value, path: &str) {
        let Some(members) = value.as_object() else { return self.bad(path, value, "an object") };
        if schema.properties.is_empty() && schema.additional_properties.is_none() {
            return;
        }
        for (name, member) in members {
            let place = format!("{path}.{name}");
            if let Some(field) = schema.properties.get(name) {
                let full = format!("{owner}.{name}");
                if self.side == Side::Request
                    && field.is_output_only()
                    && !exceptions::may_send(self.method, &full)
                {
                    self.problems.push(Problem::OutputOnly(place.clone()));
                }
                self.value(field, &full, member, &place);
            } else if let Some(values) = &schema.additional_properties {
                self.value(values, owner, member, &place);
            } else {
                self.problems.push(Problem::UnknownField { path: path.to_owned(), name: name.clone() });
            }
        }
        if self.side == Side::Response {
            return;
        }
        for (name, field) in &schema.properties {
            let marked = field.annotations.required.iter().any(|method| method == self.method);
            let absent = members.get(name).is_none_or(|value| value.is_null() || value == "");
            if absent && exceptions::is_required(self.method, &format!("{owner}.{name}"), marked) {
                self.problems.push(Problem::MissingField(format!("{path}.{name}")));
            }
        }
    }

    fn bad(&mut self, path: &str, value: &Value, expected: &str) {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        self.problems.push(Problem::BadField { path: path.to_owned(), value, expected: expected.to_owned() });
    }
}

/// What a scalar should have been, where it is not that.
fn scalar_fault(schema: &Schema, kind: &str, value: &Value, side: Side) -> Option<String> {
    let format = schema.format.as_deref().unwrap_or_default();
    let fits = match (kind, format) {
        ("boolean", _) => value.is_boolean(),
        ("integer", "uint32") => value.as_u64().is_some_and(|number| u32::try_from(number).is_ok()),
        ("integer", _) => value.as_i64().is_some_and(|number| i32::try_from(number).is_ok()),
        ("number", _) => value.is_number(),
        // Protocol buffers' JSON writes 64-bit numbers as text and reads both.
        ("string", "int64") => text_or_number(value, side).is_some_and(|text| text.parse::<i64>().is_ok()),
        ("string", "uint64") => text_or_number(value, side).is_some_and(|text| text.parse::<u64>().is_ok()),
        // The format is the URL-safe alphabet; protocol buffers' JSON writes the other one, and reads both.
        ("string", "byte") => {
            value.as_str().is_some_and(|text| URL_SAFE.decode(text).is_ok() || STANDARD.decode(text).is_ok())
        }
        ("string", "google-datetime") => value.as_str().is_some_and(|text| {
            matches(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)", text)
        }),
        ("string", "google-duration") => {
            value.as_str().is_some_and(|text| matches(r"-?\d+(?:\.\d{1,9})?s", text))
        }
        ("string", "google-fieldmask") => {
            value.as_str().is_some_and(|text| matches(r"\*|[A-Za-z0-9_.]+(?:,[A-Za-z0-9_.]+)*", text))
        }
        ("string", _) => value.is_string(),
        _ => false,
    };
    if !fits {
        return Some(if format.is_empty() { kind.to_owned() } else { format!("{kind} ({format})") });
    }
    let text = value.as_str()?;
    if !schema.values.is_empty() && !schema.values.iter().any(|known| known == text) {
        return Some(format!("one of {}", schema.values.join(", ")));
    }
    if !schema.fits(text) {
        return Some(format!("a match of regex '{}'", schema.pattern.as_deref().unwrap_or_default()));
    }
    None
}

fn text_or_number(value: &Value, side: Side) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) if side == Side::Request => Some(number.to_string()),
        _ => None,
    }
}

fn matches(pattern: &str, text: &str) -> bool {
    pattern::fits(pattern, text) == Some(true)
}
