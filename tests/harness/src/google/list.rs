//! Lists: filter, order, pages.

use serde_json::{Value, json};

use super::error::Refusal;
use super::filter::Filter;
use super::request::Request;

/// One page.
pub(crate) struct Page {
    pub(crate) items: Vec<Value>,
    /// The token of the next page, where there is one.
    pub(crate) next: Option<String>,
}

/// The page that a request asks for. Sizes are `maxResults` or `pageSize`, at most `largest`.
pub(crate) fn page(request: &Request, items: Vec<Value>, largest: Option<usize>) -> Result<Page, Refusal> {
    let filter = Filter::parse(request.query("filter").unwrap_or_default())?;
    let mut items: Vec<Value> = items.into_iter().filter(|item| filter.passes(item)).collect();
    match request.query("orderBy").unwrap_or_default() {
        "" | "name" => {}
        "creationTimestamp desc" => {
            items.sort_by(|one, other| text(other, "creationTimestamp").cmp(text(one, "creationTimestamp")));
        }
        other => return Err(Refusal::invalid("orderBy", other, "Only name or creationTimestamp desc.")),
    }
    let asked = request.query("maxResults").or_else(|| request.query("pageSize"));
    let asked = asked.and_then(|size| size.parse::<usize>().ok()).filter(|size| *size > 0).unwrap_or(500);
    if asked > 500 && request.query("maxResults").is_some() {
        return Err(Refusal::invalid("maxResults", &asked.to_string(), "Must be at most 500."));
    }
    let size = largest.unwrap_or(500).min(asked).max(1);
    let start = match request.query("pageToken").unwrap_or_default() {
        "" => 0,
        token => token
            .strip_prefix("page-")
            .and_then(|start| start.parse::<usize>().ok())
            .ok_or_else(|| Refusal::invalid("pageToken", token, "Invalid page token."))?,
    };
    let end = (start + size).min(items.len());
    let next = (end < items.len()).then(|| format!("page-{end}"));
    let items = items.into_iter().skip(start).take(size).collect();
    Ok(Page { items, next })
}

impl Page {
    /// A list of Compute; `kind` is the kind of one item.
    pub(crate) fn compute(self, kind: &str, link: &str) -> Value {
        let mut list = json!({"kind": format!("{kind}List"), "id": link.trim_start_matches(super::key::COMPUTE), "selfLink": link});
        // Like Google, an empty list leaves the field out.
        if !self.items.is_empty() {
            list["items"] = Value::Array(self.items);
        }
        if let Some(next) = self.next {
            list["nextPageToken"] = json!(next);
        }
        list
    }
}

fn text<'a>(item: &'a Value, field: &str) -> &'a str {
    item[field].as_str().unwrap_or_default()
}
