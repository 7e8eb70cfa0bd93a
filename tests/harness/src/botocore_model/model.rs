//! A service model as botocore writes it, reduced to what validation needs.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use serde::Deserialize;

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
}

/// How an operation is requested.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Http {
    method: String,
    request_uri: String,
}

/// A use of a shape, with the names it has in that place.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Reference {
    pub(super) shape: String,
    location_name: Option<String>,
    /// Where the member is in a request with XML; absent for the document.
    pub(super) location: Option<String>,
    query_name: Option<String>,
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
    pub(super) value: Option<Reference>,
    #[serde(default, rename = "enum")]
    pub(super) values: Vec<String>,
    pub(super) min: Option<f64>,
    pub(super) max: Option<f64>,
}

impl Model {
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

    /// The operation that is requested with this method and path, and the parameters in the path.
    pub(super) fn route(&self, method: &str, path: &str) -> Option<(&str, Vec<(String, String)>)> {
        let given: Vec<&str> = segments(path);
        self.operations.iter().find_map(|(name, operation)| {
            let http = operation.http.as_ref().filter(|http| http.method == method)?;
            let wanted = segments(&http.request_uri);
            let mut params = Vec::new();
            for (wanted, given) in wanted.iter().zip(&given) {
                match wanted.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
                    Some(param) => params.push((param.to_owned(), (*given).to_owned())),
                    None if wanted == given => {}
                    None => return None,
                }
            }
            (wanted.len() == given.len()).then_some((name.as_str(), params))
        })
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
}

fn segments(path: &str) -> Vec<&str> {
    path.trim_matches('/').split('/').collect()
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
