//! The claims document: versioned JSON, sorted, one claim per line.

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use super::{Claim, StoreError, Wanted};
use crate::Key;

/// The format version that is written. Claims of version 1 have no location.
const VERSION: u64 = 2;
const OLDEST: u64 = 1;

/// How long the claim of a plan counts, in seconds, unless it is applied or planned again.
const PLANNED: u64 = 3600;

/// Everything in one claims file or object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
        if !(OLDEST..=VERSION).contains(&version.version) {
            return Err(StoreError::Version { place: place.to_owned(), version: version.version });
        }
        let mut document: Document = serde_json::from_slice(text).map_err(corrupt)?;
        document.version = VERSION;
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

    /// Claims the ranges of a resource, replacing its earlier claims. Returns conflicting claims, in which case nothing
    /// changes.
    pub(crate) fn claim(&mut self, owner: &str, wanted: &Wanted, now: u64) -> Vec<Claim> {
        let taken = self.taken(owner, wanted, now);
        if taken.is_empty() {
            let Wanted { key, role, nets, .. } = wanted;
            self.adopt(owner, key, nets);
            self.claims.retain(|claim| !claim.is_of(owner, key));
            self.claims.extend(nets.iter().map(|net| Claim::new(owner, key, *role, net)));
            self.sort();
        }
        taken
    }

    /// Claims the ranges of a resource for a plan. The claims of the object as it exists stay. Returns conflicting
    /// claims, in which case nothing changes.
    pub(crate) fn plan(&mut self, owner: &str, wanted: &Wanted, now: u64) -> Vec<Claim> {
        let taken = self.taken(owner, wanted, now);
        if taken.is_empty() && !self.holds(owner, wanted, now) {
            let Wanted { key, role, nets, .. } = wanted;
            self.claims.retain(|claim| !claim.is_of(owner, key) || claim.planned_until.is_none());
            for net in nets {
                let settled = |claim: &Claim| claim.is_named(owner, key) && claim.net == net.trunc();
                if !self.claims.iter().any(|claim| settled(claim) && may_be(claim, key)) {
                    let claim = Claim::new(owner, key, *role, net);
                    self.claims.push(Claim { planned_until: Some(now + PLANNED), ..claim });
                }
            }
            self.sort();
        }
        taken
    }

    /// Whether the ranges of a plan are claimed for at least another half of the usual time.
    pub(crate) fn holds(&self, owner: &str, wanted: &Wanted, now: u64) -> bool {
        let Wanted { key, nets, .. } = wanted;
        let lasting = |claim: &Claim| claim.planned_until.is_none_or(|until| until >= now + PLANNED / 2);
        let planned = |claim: &&Claim| claim.is_of(owner, key) && claim.planned_until.is_some();
        nets.iter().all(|net| {
            let mut own = self.claims.iter().filter(|claim| claim.is_named(owner, key) && may_be(claim, key));
            own.any(|claim| claim.net == net.trunc() && lasting(claim))
        }) && self.claims.iter().filter(planned).all(|claim| nets.iter().any(|net| claim.net == net.trunc()))
    }

    /// Whether the ranges are claimed, by a plan or for good.
    pub(crate) fn has(&self, owner: &str, Wanted { key, nets, .. }: &Wanted) -> bool {
        let claimed =
            |net: &IpNet| self.claims.iter().any(|claim| claim.is_of(owner, key) && claim.net == net.trunc());
        !nets.is_empty() && nets.iter().all(claimed)
    }

    /// Removes the claims of an owner's key.
    pub(crate) fn release(&mut self, owner: &str, key: &Key) {
        let located = self.claims.iter().any(|claim| claim.is_of(owner, key));
        self.claims.retain(|claim| !claim.is_of(owner, key));
        // A claim without a location is of this resource if it had no other one, or if no other resource is left.
        let others =
            self.claims.iter().any(|claim| claim.is_named(owner, key) && !claim.location().is_empty());
        if !(located && others) {
            self.claims.retain(|claim| !claim.is_named(owner, key) || !claim.location().is_empty());
        }
    }

    /// Removes the claims of plans that were not applied in time.
    pub(crate) fn lapse(&mut self, now: u64) {
        self.claims.retain(|claim| !claim.lapsed(now));
    }

    /// The claims that forbid to claim the ranges: of other owners, and where the processes of a run cannot meet, those
    /// of the same owner in other locations.
    fn taken(&self, owner: &str, wanted: &Wanted, now: u64) -> Vec<Claim> {
        let Wanted { key, nets, own_elsewhere, .. } = wanted;
        let elsewhere = |claim: &Claim| {
            let location = claim.location();
            *own_elsewhere && !location.is_empty() && !key.location.is_empty() && location != key.location
        };
        let counts = |claim: &&Claim| (claim.owner != owner || elsewhere(claim)) && !claim.lapsed(now);
        let overlapping = |claim: &&Claim| nets.iter().any(|net| claim.overlaps(net));
        self.claims.iter().filter(counts).filter(overlapping).cloned().collect()
    }

    /// Removes the claims without a location that are of this resource: those of its type and name that overlap it.
    fn adopt(&mut self, owner: &str, key: &Key, nets: &[IpNet]) {
        if self.claims.iter().any(|claim| claim.is_of(owner, key) && claim.planned_until.is_none()) {
            return;
        }
        self.claims.retain(|claim| {
            let unlocated = claim.is_named(owner, key) && claim.location().is_empty();
            !(unlocated && nets.iter().any(|net| claim.overlaps(net)))
        });
    }

    fn sort(&mut self) {
        self.claims.sort();
        self.claims.dedup();
    }
}

/// Whether a claim with the type and name of `key` can be of that resource.
fn may_be(claim: &Claim, key: &Key) -> bool {
    let location = claim.location();
    location == key.location || location.is_empty()
}

/// Removes the position, which the error reports separately.
fn without_position(text: &str) -> String {
    text.split(" at line ").next().unwrap_or(text).to_owned()
}
