//! Google's discovery documents: the methods of an API, their parameters and the shapes of bodies, as Google's own
//! Python client ships them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use regex::Regex;
use serde::Deserialize;

use crate::pattern;
use crate::venv::Venv;

mod check;
mod exceptions;

pub(crate) use check::{Problem, Side};
pub use exceptions::{EXCEPTIONS, Exception, Waiver};

/// The documents that the double serves, by file name.
const DOCUMENTS: [&str; 7] = [
    "compute.v1.json",
    "artifactregistry.v1.json",
    "accesscontextmanager.v1.json",
    "secretmanager.v1.json",
    "iam.v1.json",
    "dns.v1.json",
    "networkconnectivity.v1.json",
];

/// One API as its document describes it.
#[derive(Debug)]
pub struct Document {
    /// Name of the API, such as `compute`.
    pub name: String,
    /// Day of the document, such as `20261106`.
    pub revision: String,
    /// All methods, those of nested resources too.
    pub methods: Vec<Method>,
    /// Schemas by name.
    pub schemas: BTreeMap<String, Schema>,
    /// Query parameters that every method takes.
    pub parameters: BTreeMap<String, Schema>,
}

/// One method of an API.
#[derive(Debug)]
pub struct Method {
    /// Its id, such as `compute.networks.insert`.
    pub id: String,
    /// The HTTP method.
    pub verb: String,
    /// The path's template with the leading slash: `/compute/v1/projects/{project}/global/networks`.
    pub template: String,
    /// Parameters of path and query by name.
    pub parameters: BTreeMap<String, Schema>,
    /// The schema of the body, where it takes one.
    pub request: Option<String>,
    /// The schema of the answer, where it gives one.
    pub response: Option<String>,
    /// The path as a regular expression, where a parameter spans segments.
    route: Option<Regex>,
}

/// A schema of a body, or a parameter: the document writes both alike.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Schema {
    /// Another schema that stands here.
    #[serde(rename = "$ref")]
    pub reference: Option<String>,
    /// `string`, `integer`, `number`, `boolean`, `array`, `object` or `any`.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// `int32`, `uint32`, `int64`, `uint64`, `float`, `double`, `byte`, `google-datetime` ...
    pub format: Option<String>,
    /// Accepted values.
    #[serde(rename = "enum")]
    pub values: Vec<String>,
    /// A regular expression for the whole text.
    pub pattern: Option<String>,
    /// Members of an object.
    pub properties: BTreeMap<String, Schema>,
    /// Elements of an array.
    pub items: Option<Box<Schema>>,
    /// Values of a map.
    pub additional_properties: Option<Box<Schema>>,
    /// Whether only the service sets it.
    pub read_only: bool,
    /// Prose; may begin with `[Output Only]` where `read_only` is not set.
    pub description: String,
    /// What else is said of it.
    pub annotations: Annotations,
    /// `path` or `query`, of a parameter.
    pub location: Option<String>,
    /// Whether a parameter must be there.
    pub required: bool,
    /// Whether a parameter may be repeated.
    pub repeated: bool,
    /// Smallest value of a parameter.
    pub minimum: Option<String>,
    /// Largest value of a parameter.
    pub maximum: Option<String>,
}

/// The annotations of a field.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Annotations {
    /// Ids of the methods whose body must have the field.
    pub required: Vec<String>,
}

impl Schema {
    /// Whether only the service sets it. The mark is missing on some fields whose prose says so.
    pub fn is_output_only(&self) -> bool {
        let prose = self.description.trim_start();
        let begins =
            |mark: &str| prose.get(..mark.len()).is_some_and(|start| start.eq_ignore_ascii_case(mark));
        self.read_only || begins("[output only]") || begins("output only")
    }

    /// Whether the text fits the pattern as a whole, where there is one.
    pub(crate) fn fits(&self, text: &str) -> bool {
        self.pattern.as_deref().is_none_or(|pattern| pattern::fits(pattern, text) != Some(false))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawDocument {
    name: String,
    revision: String,
    service_path: String,
    parameters: BTreeMap<String, Schema>,
    schemas: BTreeMap<String, Schema>,
    resources: BTreeMap<String, RawResource>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawResource {
    methods: BTreeMap<String, RawMethod>,
    resources: BTreeMap<String, RawResource>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawMethod {
    id: String,
    http_method: String,
    path: String,
    #[serde(default)]
    parameters: BTreeMap<String, Schema>,
    request: Option<Schema>,
    response: Option<Schema>,
}

impl Document {
    /// Reads one document.
    ///
    /// # Errors
    /// It cannot be read or is not a discovery document.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let raw: RawDocument = serde_json::from_slice(&text)
            .with_context(|| format!("{} is not a discovery document", path.display()))?;
        let mut methods = Vec::new();
        for resource in raw.resources.into_values() {
            collect(resource, &raw.service_path, &mut methods)?;
        }
        methods.sort_by(|one, other| one.id.cmp(&other.id));
        Ok(Self {
            name: raw.name,
            revision: raw.revision,
            methods,
            schemas: raw.schemas,
            parameters: raw.parameters,
        })
    }

    /// The documents of all APIs that the double serves, read once in a process.
    ///
    /// # Errors
    /// The Python environment lacks them.
    pub fn all() -> Result<Arc<Vec<Self>>> {
        static LOADED: Mutex<Option<Arc<Vec<Document>>>> = Mutex::new(None);
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(documents) = &*loaded {
            return Ok(Arc::clone(documents));
        }
        let folder = Venv::ensure()?.discovery_documents()?;
        let documents: Result<Vec<_>> = DOCUMENTS.iter().map(|name| Self::read(&folder.join(name))).collect();
        Ok(Arc::clone(loaded.insert(Arc::new(documents?))))
    }

    /// The method with this id.
    pub fn method(&self, id: &str) -> Option<&Method> {
        self.methods.iter().find(|method| method.id == id)
    }
}

impl Method {
    /// The values of the path's parameters, where the path is this method's.
    pub(crate) fn bind(&self, path: &str) -> Option<BTreeMap<String, String>> {
        let Some(route) = &self.route else { return self.bind_segments(path) };
        let found = route.captures(path)?;
        let value = |name: &str| found.name(name).map_or_else(String::new, |found| decoded(found.as_str()));
        Some(route.capture_names().flatten().map(|name| (name.to_owned(), value(name))).collect())
    }

    /// As most paths are: each parameter is one segment.
    fn bind_segments(&self, path: &str) -> Option<BTreeMap<String, String>> {
        let (mut template, mut given) = (self.template.split('/'), path.split('/'));
        let mut bound = BTreeMap::new();
        loop {
            match (template.next(), given.next()) {
                (None, None) => return Some(bound),
                (Some(template), Some(given)) => {
                    match template.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
                        Some(_) if given.is_empty() => return None,
                        Some(name) => drop(bound.insert(name.to_owned(), decoded(given))),
                        None if template == given => {}
                        None => return None,
                    }
                }
                _ => return None,
            }
        }
    }

    /// Whether a parameter stands for several segments of the path, so that its pattern decides about the route.
    pub(crate) fn spans_segments(&self) -> bool {
        self.route.is_some()
    }
}

fn collect(resource: RawResource, service_path: &str, methods: &mut Vec<Method>) -> Result<()> {
    for raw in resource.methods.into_values() {
        let template = format!("/{service_path}{}", raw.path);
        let spans = template.contains("{+");
        let route = spans.then(|| route(&template).with_context(|| format!("path of {}", raw.id)));
        methods.push(Method {
            id: raw.id,
            verb: raw.http_method,
            template,
            parameters: raw.parameters,
            request: raw.request.and_then(|schema| schema.reference),
            response: raw.response.and_then(|schema| schema.reference),
            route: route.transpose()?,
        });
    }
    resource.resources.into_values().try_for_each(|nested| collect(nested, service_path, methods))
}

/// A path, or a segment of one, without percent signs.
pub(crate) fn decoded(segment: &str) -> String {
    let form = format!("v={}", segment.replace('+', "%2B"));
    url::form_urlencoded::parse(form.as_bytes()).map(|(_, value)| value.into_owned()).collect()
}

/// A template as a regular expression: `{name}` is one segment, `{+name}` one or more.
fn route(template: &str) -> Result<Regex> {
    let mut pattern = String::from("^");
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        pattern.push_str(&regex::escape(before));
        let (name, after) = after.split_once('}').context("a brace is not closed")?;
        match name.strip_prefix('+') {
            Some(name) => pattern.push_str(&format!("(?P<{name}>.+?)")),
            None => pattern.push_str(&format!("(?P<{name}>[^/]+)")),
        }
        rest = after;
    }
    pattern.push_str(&regex::escape(rest));
    pattern.push('$');
    Ok(Regex::new(&pattern)?)
}
