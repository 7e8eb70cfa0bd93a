//! Pages of describes. The emulator always answers with everything.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;

use super::reply::Rejection;
use super::request::Request;
use crate::botocore_model::{Models, Pagination};
use crate::xml::Element;

/// The page of a describe that the caller asked for.
#[derive(Debug)]
pub(super) struct Page {
    action: String,
    set: String,
    start: usize,
    limit: usize,
}

/// Takes the paging parameters out of a request and says which page to answer with; `None` for everything.
///
/// # Errors
/// The token is not one of ours for this action, or `MaxResults` is out of the action's bounds.
pub(super) fn take(
    models: &Models,
    request: &mut Request,
    largest: Option<usize>,
) -> Result<Option<Page>, Rejection> {
    if !request.is_read()
        || (largest.is_none() && !request.params.has("MaxResults") && !request.params.has("NextToken"))
    {
        return Ok(None);
    }
    let Some(Pagination { set, bounds }) = models.pagination(&request.action) else { return Ok(None) };
    let asked = request.params.remove("MaxResults").and_then(|limit| limit.parse::<usize>().ok());
    if let (Some(asked), Some((least, most))) = (asked, bounds)
        && !(least..=most).contains(&asked)
    {
        let message = format!(
            "Value ( {asked} ) for parameter maxResults is invalid. Expecting a value between {least} and {most}."
        );
        return Err(Rejection::new("InvalidParameterValue", message));
    }
    let start = match request.params.remove("NextToken") {
        None => 0,
        Some(token) => start_of(&request.action, &token)
            .ok_or_else(|| Rejection::new("InvalidNextToken", format!("The token '{token}' is invalid")))?,
    };
    let limit = asked.into_iter().chain(largest).min().unwrap_or(usize::MAX);
    Ok(Some(Page { action: request.action.clone(), set, start, limit }))
}

impl Page {
    /// Leaves this page's items in the answer, with the token of the next page where there is one.
    pub(super) fn cut(&self, answer: &mut Element) {
        let Some(set) = answer.child_mut(&self.set) else { return };
        let total = set.children.len();
        set.children =
            std::mem::take(&mut set.children).into_iter().skip(self.start).take(self.limit).collect();
        let next = self.start.saturating_add(self.limit);
        answer.children.retain(|child| child.name != "nextToken");
        if next < total {
            answer.set_text("nextToken", &BASE64.encode(format!("{}:{next}", self.action)));
        }
    }
}

fn start_of(action: &str, token: &str) -> Option<usize> {
    let text = String::from_utf8(BASE64.decode(token).ok()?).ok()?;
    text.strip_prefix(action)?.strip_prefix(':')?.parse().ok()
}
