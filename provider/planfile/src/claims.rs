//! Reads claims files.

use crate::node::{self, Kind, Node};
use crate::{InputError, Source};
use warren_cidr::parse_cidr;
use warren_model::{Block, Defect, Model, Reservation, ReservationKind, Site};

/// Reads `{version, fabric, claims: [{owner, kind, name, net, role}]}`. In version 2, a claim also says where the object
/// is (`cloud`, `account`, `region`) and until when the claim of a plan counts (`planned_until`).
///
/// # Errors
/// The first error in the text.
pub fn read_claims(source: &Source<'_>) -> Result<Model, InputError> {
    let tree = node::parse_json(source.name, source.text.strip_prefix('\u{feff}').unwrap_or(source.text))?;
    let error = |node: &Node, path: &str, message: &str| InputError {
        file: source.name.to_owned(),
        at: Some(node.at),
        path: path.to_owned(),
        message: message.to_owned(),
        hint: None,
    };
    let version = tree
        .get("version")
        .ok_or_else(|| error(&tree, "version", "`version` is missing, so this is not a claims file"))?;
    if !["1", "2"].iter().any(|supported| version.kind == Kind::Number((*supported).to_owned())) {
        return Err(error(
            version,
            "version",
            "unsupported version; only claims files of versions 1 and 2 can be read",
        ));
    }
    let mut model = Model::default();
    let claims = tree
        .get("claims")
        .ok_or_else(|| error(&tree, "claims", "`claims` is missing, so this is not a claims file"))?;
    for (index, claim) in claims.items().iter().enumerate() {
        let path = format!("claims[{index}]");
        let text = |key: &str| {
            let node =
                claim.get(key).ok_or_else(|| error(claim, &path, &format!("the claim has no `{key}`")))?;
            let text = node.text().ok_or_else(|| {
                error(node, &path, &format!("expected a string for `{key}`, found {}", node.what()))
            })?;
            Ok((text, node.at))
        };
        let ((owner, _), (name, _), (net, at)) = (text("owner")?, text("name")?, text("net")?);
        let word = |key: &str| claim.get(key).and_then(Node::text).unwrap_or_default();
        let site = Site { file: source.name.to_owned(), path: format!("{path}.net"), at: Some(at) };
        match parse_cidr(net) {
            Ok(net) => model.reservations.push(Reservation {
                id: {
                    let parts = [owner, word("cloud"), word("account"), word("region"), name];
                    let known: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
                    format!("{}!{net}", known.join("!"))
                },
                parent: None,
                name: name.to_owned(),
                owner: owner.to_owned(),
                cloud: None,
                kind: match word("kind").contains("subnet") {
                    true => ReservationKind::Subnet,
                    false => ReservationKind::Network,
                },
                occupied: word("role") == "occupy",
                block: Block { net, site },
                // Conflicts between claims were reported to their owners when they were created.
                refused: true,
            }),
            Err(error) => model.defects.push(Defect { owner: owner.to_owned(), site, error }),
        }
    }
    Ok(model)
}
