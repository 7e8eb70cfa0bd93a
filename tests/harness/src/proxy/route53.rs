//! Route 53 takes time: the emulator makes every change at once, and knows any change.
//!
//! ```text
//! change -> PENDING (N reads of the change) -> INSYNC
//! ```

use std::collections::BTreeMap;

use bytes::Bytes;
use http::StatusCode;

use crate::front::reply::{self, Rejection, Reply};
use crate::xml::Element;

/// The reads that still show each change as pending.
#[derive(Debug, Default)]
pub(super) struct Changes(BTreeMap<String, u32>);

impl Changes {
    /// Notes the change that an answer names, under an ID of its own.
    pub(super) fn begun(&mut self, sequence: u64, answer: &mut Element, pending: u32) {
        let Some(info) = answer.child_mut("ChangeInfo") else { return };
        let id = format!("C{sequence:020}");
        info.set_text("Id", &format!("/change/{id}"));
        info.set_text("Status", if pending > 0 { "PENDING" } else { "INSYNC" });
        self.0.insert(id, pending);
    }

    /// The answer to GetChange.
    pub(super) fn get(&mut self, id: &str) -> Result<Reply, Rejection> {
        let Some(left) = self.0.get_mut(id) else {
            let message = format!("Could not find resource with ID: {id}");
            return Err(Rejection::with_status(StatusCode::NOT_FOUND, "NoSuchChange", message));
        };
        let status = if *left > 0 { "PENDING" } else { "INSYNC" };
        *left = left.saturating_sub(1);
        let mut info = Element::new("ChangeInfo");
        info.children = vec![
            Element::leaf("Id", &format!("/change/{id}")),
            Element::leaf("Status", status),
            Element::leaf("SubmittedAt", "2026-01-02T03:04:05.000Z"),
        ];
        let mut root = Element::new("GetChangeResponse");
        root.attributes = vec![("xmlns".into(), "https://route53.amazonaws.com/doc/2013-04-01/".into())];
        root.children.push(info);
        Ok(reply::xml(&root))
    }
}

/// Writes `*` in names as Route 53 does.
pub(super) fn escape(answer: &mut Element) {
    if let Some(sets) = answer.child_mut("ResourceRecordSets") {
        for set in &mut sets.children {
            let alias = set.child_mut("AliasTarget").and_then(|target| target.child_mut("DNSName"));
            if let Some(name) = alias {
                name.text = name.text.replace('*', "\\052");
            }
            if let Some(name) = set.child_mut("Name") {
                name.text = name.text.replace('*', "\\052");
            }
        }
    }
}

/// The document of a request with names as the emulator keeps them.
pub(super) fn unescaped(body: &Bytes) -> Bytes {
    match std::str::from_utf8(body) {
        Ok(text) if text.contains("\\052") => text.replace("\\052", "*").into(),
        _ => body.clone(),
    }
}
