//! Pages of describes. The emulator always answers with everything; the first page is cut from that, and the later
//! ones from what was kept then, so that a listing holds nothing twice while the world changes.

use std::collections::BTreeMap;

use super::request::Request;
use crate::botocore_model::{Models, Pagination};
use crate::front::reply::Rejection;
use crate::xml::Element;

/// Answers whose first page was given out, by the token of the page that follows.
#[derive(Debug, Default)]
pub(super) struct Pages {
    kept: BTreeMap<String, (String, Element)>,
}

/// The page that the caller asked for.
#[derive(Debug)]
pub(super) struct Page {
    set: String,
    limit: usize,
    token: Option<String>,
}

/// Takes the paging parameters out of a request and says which page to answer with; `None` for everything.
///
/// # Errors
/// `MaxResults` is out of the action's bounds.
pub(super) fn take(
    models: &Models,
    request: &mut Request,
    largest: Option<usize>,
) -> Result<Option<Page>, Rejection> {
    let asks = request.params.has("MaxResults") || request.params.has("NextToken");
    if !request.is_read() || (largest.is_none() && !asks) {
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
    let token = request.params.remove("NextToken").filter(|token| !token.is_empty());
    let limit = asked.into_iter().chain(largest).min().unwrap_or(usize::MAX);
    Ok(Some(Page { set, limit, token }))
}

impl Pages {
    /// The answer to a request that continues a listing; `None` where it begins one.
    ///
    /// # Errors
    /// The token was not given out for this action.
    pub(super) fn following(&mut self, action: &str, page: &Page) -> Result<Option<Element>, Rejection> {
        let Some(token) = &page.token else { return Ok(None) };
        match self.kept.get(token) {
            // A repeated request gets the same page again: the answer to the first may have been lost.
            Some((listed, answer)) if listed == action => {
                let mut answer = answer.clone();
                self.cut(action, page, &mut answer);
                Ok(Some(answer))
            }
            _ => Err(Rejection::new("InvalidNextToken", format!("The token '{token}' is invalid"))),
        }
    }

    /// Leaves one page's items in the answer, and keeps the rest under the token of the next page.
    pub(super) fn cut(&mut self, action: &str, page: &Page, answer: &mut Element) {
        answer.children.retain(|child| child.name != "nextToken");
        let mut rest = answer.clone();
        let Some(set) = answer.child_mut(&page.set) else { return };
        if set.children.len() <= page.limit {
            return;
        }
        set.children.truncate(page.limit);
        if let Some(set) = rest.child_mut(&page.set) {
            set.children.drain(..page.limit);
        }
        let token = format!("page-{:08}", self.kept.len() + 1);
        answer.set_text("nextToken", &token);
        self.kept.insert(token, (action.to_owned(), rest));
    }
}
