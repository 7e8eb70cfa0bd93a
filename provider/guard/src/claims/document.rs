//! The claims document: versioned JSON, sorted, one claim per line.

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use super::{Claim, ClaimRole, StoreError};
use crate::Key;

/// The supported format version.
const VERSION: u64 = 1;

/// Everything in one claims file or object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Document {
    version: u64,
    pub(crate) fabric: String,
    pub(crate) claims: Vec<Claim>,
}

/// Read first, so that a newer format is reported as such regardless of its content.
#[derive(Deserialize)]
struct Version {
    version: u64,
}

impl Document {
    /// A document without claims.
    pub(crate) fn new(fabric: &str) -> Document {
        Document { version: VERSION, fabric: fabric.to_owned(), claims: Vec::new() }
    }

    /// Parses a document of `fabric`. `None` (no file yet) yields an empty document.
    pub(crate) fn parse(text: Option<&[u8]>, fabric: &str, place: &str) -> Result<Document, StoreError> {
        let Some(text) = text else { return Ok(Document::new(fabric)) };
        let corrupt = |error: serde_json::Error| StoreError::Corrupt {
            place: place.to_owned(),
            line: error.line(),
            column: error.column(),
            cause: without_position(&error.to_string()),
        };
        let version: Version = serde_json::from_slice(text).map_err(corrupt)?;
        if version.version != VERSION {
            return Err(StoreError::Version { place: place.to_owned(), version: version.version });
        }
        let document: Document = serde_json::from_slice(text).map_err(corrupt)?;
        if document.fabric != fabric {
            return Err(StoreError::OtherFabric {
                place: place.to_owned(),
                theirs: document.fabric,
                ours: fabric.to_owned(),
            });
        }
        Ok(document)
    }

    /// The text to store.
    pub(crate) fn text(&self) -> Result<String, serde_json::Error> {
        let lines: Vec<String> = self
            .claims
            .iter()
            .map(|claim| Ok(format!("\n    {}", serde_json::to_string(claim)?)))
            .collect::<Result<_, serde_json::Error>>()?;
        let fabric = serde_json::to_string(&self.fabric)?;
        let end = if lines.is_empty() { "" } else { "\n  " };
        let claims = lines.join(",");
        let version = self.version;
        Ok(format!(
            "{{\n  \"version\": {version},\n  \"fabric\": {fabric},\n  \"claims\": [{claims}{end}]\n}}\n"
        ))
    }

    /// Claims `nets`, replacing earlier claims of the same owner and key. Returns conflicting claims of other owners,
    /// in which case nothing changes.
    pub(crate) fn claim(&mut self, owner: &str, key: &Key, role: ClaimRole, nets: &[IpNet]) -> Vec<Claim> {
        let overlap = |a: &IpNet, b: &IpNet| a.contains(b) || b.contains(a);
        let taken: Vec<Claim> = self
            .claims
            .iter()
            .filter(|claim| claim.owner != owner && nets.iter().any(|net| overlap(net, &claim.net)))
            .cloned()
            .collect();
        if taken.is_empty() {
            self.release(owner, key);
            self.claims.extend(nets.iter().map(|net| Claim {
                owner: owner.to_owned(),
                kind: key.kind.to_string(),
                name: key.name.clone(),
                net: net.trunc(),
                role,
            }));
            self.claims.sort();
            self.claims.dedup();
        }
        taken
    }

    /// Removes the claims of an owner's key.
    pub(crate) fn release(&mut self, owner: &str, key: &Key) {
        self.claims.retain(|claim| claim.owner != owner || claim.kind != key.kind || claim.name != key.name);
    }
}

/// Removes the position, which the error reports separately.
fn without_position(text: &str) -> String {
    text.split(" at line ").next().unwrap_or(text).to_owned()
}
