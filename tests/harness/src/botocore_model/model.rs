//! A service model as botocore writes it, reduced to what validation needs.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use anyhow::{Result, bail};
use http::HeaderMap;
use serde::Deserialize;

use crate::query::Params;

/// One service's operations and shapes.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) protocol: Protocol,
    operations: BTreeMap<String, Operation>,
    shapes: BTreeMap<String, Shape>,
}

/// How parameters are written on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    /// Form parameters; lists are flat and names begin with a capital letter.
    Ec2,
    /// Form parameters; lists have a `member` level.
    Query,
    /// JSON documents.
    Json,
    /// XML documents, with parameters in the path and the query.
    RestXml,
}

#[derive(Debug, Deserialize)]
struct File {
    metadata: Metadata,
    operations: BTreeMap<String, Operation>,
    shapes: BTreeMap<String, Shape>,
}

#[derive(Debug, Deserialize)]
struct Metadata {
    protocol: String,
}

#[derive(Debug, Deserialize)]
struct Operation {
    http: Option<Http>,
    input: Option<Reference>,
    output: Option<Reference>,
    #[serde(default)]
    errors: Vec<Reference>,
}

/// How an operation is requested.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Http {
    method: String,
    request_uri: String,
    response_code: Option<u16>,
}

/// A use of a shape, with the names it has in that place.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Reference {
    pub(super) shape: String,
    location_name: Option<String>,
    /// Where the member is in a request or an answer with XML; absent for the document.
    pub(super) location: Option<String>,
    query_name: Option<String>,
    /// The element around an answer of the query protocol.
    result_wrapper: Option<String>,
    /// Whether the member makes a repeated request take effect once.
    #[serde(default)]
    idempotency_token: bool,
    #[serde(default)]
    pub(super) xml_attribute: bool,
    #[serde(default)]
    flattened: bool,
}

impl Reference {
    /// Whether the entries of this list have no element around them.
    pub(super) fn is_flat(&self) -> bool {
        self.flattened
    }
}

/// A type.
#[derive(Debug, Deserialize)]
pub(super) struct Shape {
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) members: BTreeMap<String, Reference>,
    #[serde(default)]
    pub(super) required: Vec<String>,
    #[serde(default)]
    pub(super) flattened: bool,
    pub(super) member: Option<Reference>,
    pub(super) key: Option<Reference>,
    pub(super) value: Option<Reference>,
    #[serde(default, rename = "enum")]
    pub(super) values: Vec<String>,
    pub(super) min: Option<f64>,
    pub(super) max: Option<f64>,
    pub(super) pattern: Option<String>,
    /// The member that is the whole body.
    pub(super) payload: Option<String>,
    error: Option<ErrorTrait>,
}

impl Shape {
    fn required_members(&self) -> impl Iterator<Item = (&str, &Reference)> {
        self.required.iter().filter_map(|name| Some((name.as_str(), self.members.get(name)?)))
    }
}

/// How an error is named on the wire.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ErrorTrait {
    code: Option<String>,
    http_status_code: Option<u16>,
}

/// An error that an operation declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Declared {
    pub(super) code: String,
    pub(super) status: Option<u16>,
}

/// The output of an operation.
pub(super) struct Output<'a> {
    pub(super) shape: Option<&'a Shape>,
    /// The element around the members, in the query protocol.
    pub(super) wrapper: Option<&'a str>,
    /// The status of an answer, where the model has one.
    pub(super) status: Option<u16>,
}

impl Model {
    /// The operations whose requests may have a client token. Older models do not mark it as one.
    pub(super) fn accept_tokens(&self) -> impl Iterator<Item = &str> {
        let marked = |operation: &Operation| {
            let input = operation.input.as_ref().and_then(|input| self.shapes.get(&input.shape));
            let mut members = input.into_iter().flat_map(|shape| &shape.members);
            members.any(|(name, member)| name == "ClientToken" || member.idempotency_token)
        };
        self.operations.iter().filter(move |(_, operation)| marked(operation)).map(|(name, _)| name.as_str())
    }

    pub(super) fn parse(text: &[u8]) -> Result<Self> {
        let file: File = serde_json::from_slice(text)?;
        let protocol = match file.metadata.protocol.as_str() {
            "ec2" => Protocol::Ec2,
            "query" => Protocol::Query,
            "json" => Protocol::Json,
            "rest-xml" => Protocol::RestXml,
            other => bail!("protocol `{other}` is not known here"),
        };
        Ok(Self { protocol, operations: file.operations, shapes: file.shapes })
    }

    /// The input shape of an operation: `None` where there is no such operation, `Some(None)` where it takes nothing.
    pub(super) fn input(&self, action: &str) -> Option<Option<&Shape>> {
        let operation = self.operations.get(action)?;
        Some(operation.input.as_ref().and_then(|reference| self.shape(reference)))
    }

    /// What an operation answers with; `None` where there is no such operation.
    pub(super) fn output(&self, action: &str) -> Option<Output<'_>> {
        let operation = self.operations.get(action)?;
        let reference = operation.output.as_ref();
        Some(Output {
            shape: reference.and_then(|reference| self.shape(reference)),
            wrapper: reference.and_then(|reference| reference.result_wrapper.as_deref()),
            status: operation.http.as_ref().and_then(|http| http.response_code),
        })
    }

    /// The errors that an operation declares. EC2 declares none.
    pub(super) fn errors(&self, action: &str) -> Vec<Declared> {
        let references =
            self.operations.get(action).map(|operation| operation.errors.as_slice()).unwrap_or_default();
        let declared = |reference: &Reference| {
            let told = self.shape(reference).and_then(|shape| shape.error.as_ref());
            let code = told.and_then(|told| told.code.clone()).unwrap_or_else(|| reference.shape.clone());
            Declared { code, status: told.and_then(|told| told.http_status_code) }
        };
        references.iter().map(declared).collect()
    }

    /// The operation that is requested with this method, path, query and headers, and the parameters in the path. Of
    /// several it is the one that lacks least of what it requires, and then the one that asks for most.
    pub(super) fn route(
        &self,
        method: &str,
        path: &str,
        query: &Params,
        headers: &HeaderMap,
    ) -> Option<(&str, Vec<(String, String)>)> {
        let fitting = self.operations.iter().filter_map(|(name, operation)| {
            let http = operation.http.as_ref().filter(|http| http.method == method)?;
            let wanted = http.request_uri.split_once('?').map_or(http.request_uri.as_str(), |(path, _)| path);
            let params = in_path(&segments(wanted), &segments(path))?;
            let demanded = self.demanded(name);
            let fits = demanded.iter().all(|(name, value)| query.iter().any(|given| given == (name, value)));
            let (mut there, mut lacking) = (demanded.iter().count(), 0);
            let input = operation.input.as_ref().and_then(|reference| self.shape(reference));
            for (member, reference) in input.into_iter().flat_map(Shape::required_members) {
                let wire = self.wire_name(member, reference);
                let given = match reference.location.as_deref() {
                    Some("querystring") => query.has_name(&wire),
                    Some("header") => headers.contains_key(&wire),
                    _ => continue,
                };
                if given { there += 1 } else { lacking += 1 }
            }
            fits.then_some(((lacking, Reverse(there)), name.as_str(), params))
        });
        fitting.min_by_key(|(rank, ..)| *rank).map(|(_, name, params)| (name, params))
    }

    /// What a request of the operation has in its query besides parameters, such as `list-type=2`.
    pub(super) fn demanded(&self, action: &str) -> Params {
        let http = self.operations.get(action).and_then(|operation| operation.http.as_ref());
        let query = http.and_then(|http| http.request_uri.split_once('?')).map_or("", |(_, query)| query);
        Params::from_form(query.as_bytes())
    }

    pub(super) fn shape(&self, reference: &Reference) -> Option<&Shape> {
        self.shapes.get(&reference.shape)
    }

    /// The name a member of a structure has on the wire.
    pub(super) fn wire_name(&self, name: &str, member: &Reference) -> String {
        match self.protocol {
            Protocol::Ec2 => member
                .query_name
                .clone()
                .unwrap_or_else(|| capitalised(member.location_name.as_deref().unwrap_or(name))),
            Protocol::Query | Protocol::RestXml => {
                member.location_name.clone().unwrap_or_else(|| name.to_owned())
            }
            Protocol::Json => name.to_owned(),
        }
    }

    /// The name a member has in an answer.
    pub(super) fn answer_name<'a>(&self, name: &'a str, member: &'a Reference) -> &'a str {
        match self.protocol {
            Protocol::Json => name,
            _ => member.location_name.as_deref().unwrap_or(name),
        }
    }
}

fn segments(path: &str) -> Vec<&str> {
    path.trim_matches('/').split('/').collect()
}

/// The parameters in a path; the last may be the rest of it (`{Key+}`).
fn in_path(wanted: &[&str], given: &[&str]) -> Option<Vec<(String, String)>> {
    let mut params = Vec::new();
    for (place, wanted) in wanted.iter().enumerate() {
        let text = given.get(place)?;
        match wanted.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
            Some(param) => match param.strip_suffix('+') {
                Some(param) => {
                    params.push((param.to_owned(), given[place..].join("/")));
                    return Some(params);
                }
                None if text.is_empty() => return None,
                None => params.push((param.to_owned(), (*text).to_owned())),
            },
            None if wanted == text => {}
            None => return None,
        }
    }
    (wanted.len() == given.len()).then_some(params)
}

fn capitalised(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// `paginators-1.json`.
#[derive(Debug, Deserialize)]
pub(super) struct Paginators {
    pagination: BTreeMap<String, Paginator>,
}

#[derive(Debug, Deserialize)]
struct Paginator {
    result_key: serde_json::Value,
}

/// How one action's answers are paged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pagination {
    /// The XML element that holds the items.
    pub(crate) set: String,
    /// Bounds of `MaxResults`, where the model states them.
    pub(crate) bounds: Option<(usize, usize)>,
}

impl Paginators {
    pub(super) fn of(&self, action: &str, model: &Model) -> Option<Pagination> {
        let member = self.pagination.get(action)?.result_key.as_str()?;
        let operation = model.operations.get(action)?;
        let output = model.shape(operation.output.as_ref()?)?;
        let set = output.members.get(member)?.location_name.clone().unwrap_or_else(|| member.to_owned());
        let limit = model.shape(operation.input.as_ref()?)?.members.get("MaxResults");
        let bounds = limit
            .and_then(|limit| model.shape(limit))
            .and_then(|shape| Some((shape.min? as usize, shape.max? as usize)));
        Some(Pagination { set, bounds })
    }
}
