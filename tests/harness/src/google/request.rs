//! A request as the double reads it.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method as Verb};
use serde_json::{Value, json};

use super::discovery::{Document, Method, Problem, Side};
use super::error::Refusal;
use super::key::{Key, Place};
use super::served::SERVED;
use super::world::Body;
use crate::front::{Call, Service};
use crate::query::Params;

/// A request and what the documents say of it.
#[derive(Debug)]
pub(crate) struct Request {
    /// Place of the document and of the method in it; `None` where no method has this path.
    found: Option<(usize, usize)>,
    documents: Arc<Vec<Document>>,
    verb: Verb,
    uri: String,
    headers: HeaderMap,
    path: BTreeMap<String, String>,
    query: Vec<(String, String)>,
    body: Value,
    problems: Vec<Problem>,
}

impl Request {
    /// Finds the method and checks everything that the document says of it.
    pub(crate) fn read(documents: &Arc<Vec<Document>>, raw: &http::Request<Bytes>) -> Self {
        let verb = raw.method().clone();
        let path = raw.uri().path();
        let query: Vec<(String, String)> =
            url::form_urlencoded::parse(raw.uri().query().unwrap_or_default().as_bytes())
                .into_owned()
                .collect();
        let mut request = Self {
            found: None,
            documents: Arc::clone(documents),
            verb,
            uri: raw.uri().to_string(),
            headers: raw.headers().clone(),
            path: BTreeMap::new(),
            query,
            body: Value::Null,
            problems: Vec::new(),
        };
        let Some((place, bound)) = route(documents, request.verb.as_str(), path) else { return request };
        request.found = Some(place);
        request.path = bound;
        let (document, method) = (&documents[place.0], &documents[place.0].methods[place.1]);
        let mut problems = document.check_parameters(method, &request.path, &request.query);
        let text = raw.body();
        match (&method.request, text.is_empty()) {
            (Some(_), true) => problems.push(Problem::NoBody),
            // Google's Rust client sends an empty object where there is no body to send.
            (None, false) if text.as_ref() != b"{}" => problems.push(Problem::UnexpectedBody),
            (None, _) => {}
            (Some(_), false) => match serde_json::from_slice::<Value>(text) {
                Ok(body) => {
                    let body = method.without_path(&request.path, body);
                    problems.extend(document.check_body(method, Side::Request, &body));
                    request.body = document.with_names(method, body);
                }
                Err(error) => problems.push(Problem::NotJson(error.to_string())),
            },
        }
        request.problems = problems;
        request
    }

    pub(crate) fn method(&self) -> Option<&Method> {
        self.found.map(|(document, method)| &self.documents[document].methods[method])
    }

    pub(crate) fn document(&self) -> Option<&Document> {
        self.found.map(|(document, _)| &self.documents[document])
    }

    pub(crate) fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The method's id, or the request's line where there is none.
    pub(crate) fn action(&self) -> String {
        match self.method() {
            Some(method) => method.id.clone(),
            None if self.metadata().is_some() => "metadata".to_owned(),
            None => format!("{} {}", self.verb, self.uri),
        }
    }

    /// A header; the empty text where it is absent.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// What is asked of an instance's metadata service, which the double serves below `/metadata/`.
    pub(crate) fn metadata(&self) -> Option<&str> {
        self.uri.strip_prefix("/metadata/")
    }

    /// Everything that makes it the same request as another.
    pub(crate) fn text(&self) -> String {
        format!("{} {:?} {}", self.action(), self.path, self.body)
    }

    /// A parameter of the query, without its system sign.
    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        self.query
            .iter()
            .find(|(sent, _)| sent.trim_start_matches('$') == name)
            .map(|(_, value)| value.as_str())
    }

    /// A parameter of the path; the empty text where the method has no such one.
    pub(crate) fn path(&self, name: &str) -> &str {
        self.path.get(name).map_or("", String::as_str)
    }

    /// The body, empty where there is none. Nulls are as if they were not there, except in patches.
    pub(crate) fn body(&self) -> Body {
        self.body.as_object().cloned().unwrap_or_default()
    }

    /// The place that the path of a request to Compute names.
    pub(crate) fn place(&self) -> Place {
        match (self.path.get("region"), self.path.get("zone")) {
            (Some(region), _) => Place::Region(region.clone()),
            (None, Some(zone)) => Place::Zone(zone.clone()),
            (None, None) => Place::Global,
        }
    }

    /// The object that the path of a request to Compute names, or the body where it is to be made.
    pub(crate) fn key(&self, collection: &str) -> Key {
        let named =
            self.path.iter().find(|(name, _)| !matches!(name.as_str(), "project" | "region" | "zone"));
        let name =
            named.map_or_else(|| self.body["name"].as_str().unwrap_or_default(), |(_, name)| name.as_str());
        Key::new(collection, self.path("project"), self.place(), name)
    }

    /// The id that makes a repeated request the same one.
    ///
    /// # Errors
    /// It is not a UUID, or it is zero.
    pub(crate) fn request_id(&self) -> Result<Option<&str>, Refusal> {
        let Some(id) = self.query("requestId").filter(|id| !id.is_empty()) else { return Ok(None) };
        let shape: Vec<usize> = id.split('-').map(str::len).collect();
        let digits = id.bytes().all(|letter| letter.is_ascii_hexdigit() || letter == b'-');
        let zero = id.bytes().all(|letter| letter == b'0' || letter == b'-');
        if shape == [8, 4, 4, 4, 12] && digits && !zero {
            Ok(Some(id))
        } else {
            Err(Refusal::invalid("requestId", id, "The request id must be a valid UUID and not zero."))
        }
    }

    pub(crate) fn call(&self) -> Call {
        let mut params = Params::from_json(&json!({"resource": self.body}));
        if self.body.is_null() {
            params = Params::default();
        }
        for (name, value) in self.path.iter().chain(self.query.iter().map(|(name, value)| (name, value))) {
            params.set(name, value);
        }
        Call {
            sequence: 0,
            service: Service::Google,
            action: self.action(),
            params,
            status: None,
            error: None,
            forwarded: false,
        }
    }
}

/// The method with this path. Where a parameter may span segments several can match: its pattern decides, and then the
/// longer template, so that `…/images:getIamPolicy` is not an object of that name.
fn route(
    documents: &[Document],
    verb: &str,
    path: &str,
) -> Option<((usize, usize), BTreeMap<String, String>)> {
    let methods = documents.iter().enumerate().flat_map(|(document, found)| {
        found.methods.iter().enumerate().map(move |(place, method)| ((document, place), method))
    });
    let matching = methods.filter(|(_, method)| method.verb == verb).filter_map(|(place, method)| {
        let bound = method.bind(path)?;
        let fits = |(name, value): (&String, &String)| {
            method.parameters.get(name).is_none_or(|schema| schema.fits(value))
        };
        let found = !method.spans_segments() || bound.iter().all(fits);
        found.then_some((method.template.len(), place, bound))
    });
    // Several APIs have the same paths for operations: one that the double serves is meant.
    let served = |place: &(usize, usize)| SERVED.contains(&documents[place.0].methods[place.1].id.as_str());
    matching.max_by_key(|(length, place, _)| (*length, served(place))).map(|(_, place, bound)| (place, bound))
}
