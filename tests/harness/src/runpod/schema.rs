//! The published schema of RunPod's REST API, and the check of a value against it.
//!
//! The check knows the keywords of JSON Schema 2020-12 that the document uses; any other keyword is an error, so that
//! a newer document is not checked by half. It is our own because the `jsonschema` crate turns on another feature of
//! `serde_json`, and with that every cloud's client would be compiled a second time (decision 5).

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Map, Value};

use crate::pattern;
use crate::query::Params;

/// Paths and schemas of version 2.0.0; the file says where they come from.
const DOCUMENT: &str = include_str!("../../data/runpod-v2.json");

/// RFC 3339, section 5.6.
const DATE_TIME: &str = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)";

/// What tells nothing about which values fit.
const SILENT: [&str; 1] = ["default"];
/// What is checked.
const CHECKED: [&str; 21] = [
    "$ref",
    "additionalProperties",
    "allOf",
    "anyOf",
    "enum",
    "format",
    "if",
    "items",
    "maxItems",
    "maxLength",
    "maximum",
    "minLength",
    "minProperties",
    "minimum",
    "not",
    "pattern",
    "properties",
    "required",
    "then",
    "type",
    "unevaluatedProperties",
];

/// The document.
#[derive(Clone, Debug)]
pub struct Document {
    root: Value,
}

/// An operation of the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Such as `createPod`.
    pub id: String,
    /// Where the operation is in the document: path template and lower-case method.
    pub at: (String, String),
    /// What the path says: `id`.
    pub bound: Vec<(String, String)>,
}

impl Document {
    /// Reads the document that comes with the harness.
    ///
    /// # Errors
    /// It is not JSON, or uses keywords that the check does not know.
    pub fn read() -> Result<Self> {
        let root: Value = serde_json::from_str(DOCUMENT).context("the document is not JSON")?;
        let document = Self { root };
        for (name, schema) in document.schemas() {
            document.known(schema).with_context(|| format!("schema {name}"))?;
        }
        Ok(document)
    }

    /// All schemas by name.
    pub fn schemas(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.root["components"]["schemas"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, schema)| (name.as_str(), schema))
    }

    /// The operation that a request is for.
    pub fn operation(&self, method: &str, path: &str) -> Option<Operation> {
        let method = method.to_lowercase();
        self.root["paths"].as_object()?.iter().find_map(|(template, item)| {
            let bound = bind(template, path)?;
            let id = item[&method]["operationId"].as_str()?.to_owned();
            Some(Operation { id, at: (template.clone(), method.clone()), bound })
        })
    }

    /// What is wrong with a request's body; no body is `Null`.
    pub fn check_request(&self, operation: &Operation, body: &Value) -> Vec<String> {
        let schema = &self.find(operation)["requestBody"]["content"]["application/json"]["schema"];
        match (schema.is_null(), body.is_null()) {
            (true, true) => Vec::new(),
            (true, false) => vec!["$: the operation takes no body".to_owned()],
            (false, _) => self.check(schema, body),
        }
    }

    /// What is wrong with a request's query. Lists are separated by commas.
    pub(crate) fn check_query(&self, operation: &Operation, query: &Params) -> Vec<String> {
        let parameters = self.find(operation)["parameters"].as_array().into_iter().flatten();
        let known: BTreeMap<&str, &Value> = parameters
            .map(|parameter| {
                parameter["$ref"].as_str().map_or(parameter, |reference| self.resolve(reference))
            })
            .filter(|parameter| parameter["in"] == "query")
            .filter_map(|parameter| Some((parameter["name"].as_str()?, &parameter["schema"])))
            .collect();
        let mut problems = Vec::new();
        for (name, text) in query.iter() {
            match known.get(name) {
                Some(schema) => {
                    self.look(schema, &self.read_parameter(schema, text), &format!("?{name}"), &mut problems);
                }
                None => problems.push(format!("?: parameter '{name}' not allowed")),
            }
        }
        problems
    }

    /// The value of a parameter in a query.
    fn read_parameter(&self, schema: &Value, text: &str) -> Value {
        let schema = schema["$ref"].as_str().map_or(schema, |reference| self.resolve(reference));
        match schema["type"].as_str() {
            Some("array") => {
                text.split(',').map(|part| self.read_parameter(&schema["items"], part)).collect()
            }
            Some("integer" | "boolean") => serde_json::from_str(text).unwrap_or_else(|_| Value::from(text)),
            _ => Value::from(text),
        }
    }

    /// What is wrong with an answer; no body is `Null`.
    pub fn check_response(&self, operation: &Operation, status: u16, body: &Value) -> Vec<String> {
        let responses = &self.find(operation)["responses"];
        let mut response = &responses[status.to_string()];
        if response.is_null() {
            if status < 400 {
                return vec![format!("$: the operation has no answer {status}")];
            }
            response = &responses["default"];
        }
        if let Some(reference) = response["$ref"].as_str() {
            response = self.resolve(reference);
        }
        let content = response["content"].as_object();
        match content.and_then(|content| content.values().next()) {
            None if body.is_null() => Vec::new(),
            None => vec![format!("$: answer {status} has no body")],
            Some(media) => self.check(&media["schema"], body),
        }
    }

    fn find(&self, operation: &Operation) -> &Value {
        &self.root["paths"][&operation.at.0][&operation.at.1]
    }

    fn resolve(&self, reference: &str) -> &Value {
        self.root.pointer(reference.trim_start_matches('#')).unwrap_or(&Value::Null)
    }

    /// What is wrong with a value.
    pub fn check(&self, schema: &Value, value: &Value) -> Vec<String> {
        let mut problems = Vec::new();
        self.look(schema, value, "$", &mut problems);
        problems
    }

    /// Checks one value; returns the members that the schema knows, which `unevaluatedProperties` asks for.
    fn look(&self, schema: &Value, value: &Value, at: &str, problems: &mut Vec<String>) -> BTreeSet<String> {
        let mut known = BTreeSet::new();
        let Some(schema) = schema.as_object() else { return known };
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            known.extend(self.look(self.resolve(reference), value, at, problems));
        }
        for part in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            known.extend(self.look(part, value, at, problems));
        }
        if let Some(parts) = schema.get("anyOf").and_then(Value::as_array)
            && !parts.iter().any(|part| self.check(part, value).is_empty())
        {
            problems.push(format!("{at}: fits none of the alternatives"));
        }
        if let (Some(condition), Some(then)) = (schema.get("if"), schema.get("then"))
            && self.check(condition, value).is_empty()
        {
            known.extend(self.look(then, value, at, problems));
        }
        if let Some(not) = schema.get("not")
            && self.check(not, value).is_empty()
        {
            problems.push(format!("{at}: is what it must not be"));
        }
        plain(schema, value, at, problems);
        match value {
            Value::Object(members) => known.extend(self.members(schema, members, at, problems)),
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.look(
                        schema.get("items").unwrap_or(&Value::Null),
                        item,
                        &format!("{at}[{index}]"),
                        problems,
                    );
                }
            }
            _ => {}
        }
        if let (Some(Value::Bool(false)), Value::Object(members)) =
            (schema.get("unevaluatedProperties"), value)
        {
            for name in members.keys().filter(|name| !known.contains(*name)) {
                problems.push(format!("{at}: additional properties '{name}' not allowed"));
            }
        }
        known
    }

    fn members(
        &self,
        schema: &Map<String, Value>,
        members: &Map<String, Value>,
        at: &str,
        problems: &mut Vec<String>,
    ) -> BTreeSet<String> {
        let mut known = BTreeSet::new();
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, value) in members {
            let path = format!("{at}.{name}");
            match (properties.and_then(|properties| properties.get(name)), schema.get("additionalProperties"))
            {
                (Some(property), _) => {
                    self.look(property, value, &path, problems);
                    known.insert(name.clone());
                }
                (None, Some(Value::Bool(false))) => {
                    problems.push(format!("{at}: additional properties '{name}' not allowed"));
                }
                (None, Some(others)) => {
                    self.look(others, value, &path, problems);
                    known.insert(name.clone());
                }
                (None, None) => {}
            }
        }
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        for name in required.filter_map(Value::as_str).filter(|name| !members.contains_key(*name)) {
            problems.push(format!("{at}: missing property {name}"));
        }
        known
    }

    /// Refuses a document that says more than is checked.
    fn known(&self, schema: &Value) -> Result<()> {
        let Some(schema) = schema.as_object() else { return Ok(()) };
        for (keyword, value) in schema {
            let keyword = keyword.as_str();
            ensure!(CHECKED.contains(&keyword) || SILENT.contains(&keyword), "unknown keyword {keyword}");
            match (keyword, value) {
                ("properties", Value::Object(properties)) => {
                    properties.values().try_for_each(|property| self.known(property))?;
                }
                ("allOf" | "anyOf", Value::Array(parts)) => {
                    parts.iter().try_for_each(|part| self.known(part))?;
                }
                ("items" | "if" | "then" | "not" | "additionalProperties", part) => self.known(part)?,
                ("$ref", Value::String(reference)) => {
                    ensure!(!self.resolve(reference).is_null(), "{reference} leads nowhere");
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The keywords that concern the value itself.
fn plain(schema: &Map<String, Value>, value: &Value, at: &str, problems: &mut Vec<String>) {
    let mut refuse = |why: String| problems.push(format!("{at}: {why}"));
    if let Some(kinds) = schema.get("type") {
        let kinds: Vec<&str> = match kinds {
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
            one => one.as_str().into_iter().collect(),
        };
        if !kinds.iter().any(|kind| is(kind, value)) {
            refuse(format!("is not of type {}", kinds.join(" or ")));
            return;
        }
    }
    if let Some(Value::Array(choices)) = schema.get("enum")
        && !choices.contains(value)
    {
        refuse(format!("{value} is none of {}", Value::Array(choices.clone())));
    }
    let bound = |keyword: &str| schema.get(keyword).and_then(Value::as_f64);
    if let Some(number) = value.as_f64() {
        if bound("minimum").is_some_and(|least| number < least) {
            refuse(format!("{number} is too small"));
        }
        if bound("maximum").is_some_and(|most| number > most) {
            refuse(format!("{number} is too large"));
        }
    }
    let size = |keyword: &str| schema.get(keyword).and_then(Value::as_u64);
    let count = |length: usize| u64::try_from(length).unwrap_or(u64::MAX);
    match value {
        Value::String(text) => {
            if size("minLength").is_some_and(|least| count(text.chars().count()) < least) {
                refuse("is too short".to_owned());
            }
            if size("maxLength").is_some_and(|most| count(text.chars().count()) > most) {
                refuse("is too long".to_owned());
            }
            if let Some(pattern) = schema.get("pattern").and_then(Value::as_str)
                && pattern::occurs(pattern, text) != Some(true)
            {
                refuse(format!("does not match {pattern}"));
            }
            if schema.get("format").and_then(Value::as_str) == Some("date-time")
                && pattern::fits(DATE_TIME, text) != Some(true)
            {
                refuse("is no date-time".to_owned());
            }
        }
        Value::Array(items) if size("maxItems").is_some_and(|most| count(items.len()) > most) => {
            refuse("has too many items".to_owned());
        }
        Value::Object(members) if size("minProperties").is_some_and(|least| count(members.len()) < least) => {
            refuse("has too few properties".to_owned());
        }
        _ => {}
    }
}

fn is(kind: &str, value: &Value) -> bool {
    match kind {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => false,
    }
}

/// What a path binds in a template.
fn bind(template: &str, path: &str) -> Option<Vec<(String, String)>> {
    let (mut bound, mut parts) = (Vec::new(), path.split('/'));
    for segment in template.split('/') {
        let part = parts.next()?;
        match segment.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
            Some(name) if !part.is_empty() => bound.push((name.to_owned(), part.to_owned())),
            None if part == segment => {}
            _ => return None,
        }
    }
    parts.next().is_none().then_some(bound)
}
