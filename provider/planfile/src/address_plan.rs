//! Address-plan files in YAML, JSON, TOML or CSV, with the attributes of `warren_address_plan`.

use crate::node::{Kind, Node};
use crate::{InputError, Source};
use std::collections::{BTreeMap, BTreeSet};
use warren_cidr::{
    CidrError, Cloud, Growth, IpNet, NetworkRequest, Request, SubnetRequest, Want, parse_cidr,
};
use warren_model::{Defect, Position, Site};

const ROOT: &[&str] = &["fabric", "networks", "owner", "pools", "reserved"];
const NETWORK: &[&str] = &["cidr", "cloud", "growth", "hosts", "pool", "pools", "prefix", "subnets"];
const SUBNET: &[&str] = &["cidr", "growth", "hosts", "prefix", "subnets"];

/// An address plan as written in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct AddressPlan {
    /// Name of the file.
    pub file: String,
    /// Its owner: set by the user, else named in the file, else the name of the file.
    pub owner: String,
    /// Its fabric, if the file names one.
    pub fabric: Option<String>,
    /// The request for the solver.
    pub request: Request,
    /// Positions by the paths of the solver: `hub/public`, `pools.aws`, `reserved.docker`.
    pub sites: BTreeMap<String, Site>,
    /// Invalid ranges. `request` contains those with host bits without these bits, and omits the others.
    pub defects: Vec<Defect>,
}

pub(crate) fn read(source: &Source<'_>, tree: &Node) -> Result<AddressPlan, Vec<InputError>> {
    let mut reader = Reader { file: source.name, ..Reader::default() };
    if tree.is_null() {
        reader.error(tree.at, "", "the address plan is empty");
        return Err(reader.errors);
    }
    reader.keys(tree, "", ROOT);
    let text = |reader: &mut Reader<'_>, key: &str| {
        tree.get(key).and_then(|node| reader.text(node, key)).filter(|text| !text.is_empty())
    };
    let fabric = text(&mut reader, "fabric");
    let named = text(&mut reader, "owner");
    let owner = source.owner.map(str::to_owned).or(named).unwrap_or_else(|| source.name.to_owned());
    let mut request = Request {
        pools: reader.ranges(tree, "pools"),
        reserved: reader.ranges(tree, "reserved"),
        ..Request::default()
    };
    match tree.get("networks") {
        Some(networks) => {
            for (key, node) in reader.map(networks, "networks") {
                let path = format!("networks.{key}");
                reader.site(key.clone(), &path, node.at);
                if let Some(network) = reader.network(node, &key, &path) {
                    request.networks.insert(key, network);
                }
            }
        }
        None if tree.entries().is_empty() => reader.error(tree.at, "", "the address plan is empty"),
        None => reader.error(tree.at, "", "the address plan has no `networks`"),
    }
    if !reader.errors.is_empty() {
        reader.errors.sort();
        reader.errors.dedup();
        return Err(reader.errors);
    }
    let defects = reader
        .defects
        .into_iter()
        .map(|(site, error)| Defect { owner: owner.clone(), site, error })
        .collect();
    Ok(AddressPlan { file: source.name.to_owned(), owner, fabric, request, sites: reader.sites, defects })
}

#[derive(Default)]
struct Reader<'a> {
    file: &'a str,
    errors: Vec<InputError>,
    defects: Vec<(Site, CidrError)>,
    sites: BTreeMap<String, Site>,
}

impl Reader<'_> {
    fn error(&mut self, at: Position, path: &str, message: impl Into<String>) {
        self.error_hint(at, path, message, None);
    }

    fn error_hint(&mut self, at: Position, path: &str, message: impl Into<String>, hint: Option<String>) {
        let (file, path) = (self.file.to_owned(), path.to_owned());
        self.errors.push(InputError { file, at: Some(at), path, message: message.into(), hint });
    }

    fn site(&mut self, solver_path: String, path: &str, at: Position) {
        let site = Site { file: self.file.to_owned(), path: path.to_owned(), at: Some(at) };
        self.sites.insert(solver_path, site);
    }

    /// Reports values that are not maps, and unknown keys.
    fn keys(&mut self, node: &Node, path: &str, known: &[&str]) {
        let _ = self.map(node, path);
        for entry in crate::node::unknown_keys(node, known) {
            let near = known
                .iter()
                .map(|word| (strsim::damerau_levenshtein(word, &short(&entry.key)), *word))
                .min()
                .filter(|(distance, word)| *distance <= 1 + word.len() / 4)
                .map(|(_, word)| format!("did you mean `{word}`?"));
            let hint = near.unwrap_or_else(|| format!("the keys are {}", known.join(", ")));
            let message = format!("unknown key {:?}", short(&entry.key));
            self.error_hint(entry.key_at, path, message, Some(hint));
        }
    }

    /// The entries of a map. Reports duplicate keys.
    fn map<'n>(&mut self, node: &'n Node, path: &str) -> Vec<(String, &'n Node)> {
        if !matches!(node.kind, Kind::Map(_)) {
            self.error(node.at, path, format!("expected a map, found {}", node.what()));
        }
        let mut seen = BTreeSet::new();
        for entry in node.entries() {
            if !seen.insert(entry.key.as_str()) {
                self.error(entry.key_at, path, format!("duplicate key {:?}", short(&entry.key)));
            }
        }
        node.entries().iter().map(|entry| (entry.key.to_string(), &entry.value)).collect()
    }

    fn text(&mut self, node: &Node, path: &str) -> Option<String> {
        let text = node.text().map(str::to_owned);
        if text.is_none() {
            self.error(node.at, path, format!("expected a string, found {}", node.what()));
        }
        text
    }

    /// A list of strings, or one string.
    fn texts<'n>(&mut self, node: &'n Node, path: &str) -> Vec<(String, &'n Node)> {
        match &node.kind {
            Kind::Text(text) => vec![(text.clone(), node)],
            Kind::List(items) => {
                items.iter().filter_map(|item| Some((self.text(item, path)?, item))).collect()
            }
            _ => {
                self.error(node.at, path, format!("expected a list of strings, found {}", node.what()));
                Vec::new()
            }
        }
    }

    fn cidr(&mut self, text: &str, at: Position, path: &str) -> Option<IpNet> {
        parse_cidr(text)
            .or_else(|error| {
                let meant = match &error {
                    CidrError::HostBits { meant, .. } => Some(*meant),
                    _ => None,
                };
                let site = Site { file: self.file.to_owned(), path: path.to_owned(), at: Some(at) };
                self.defects.push((site, error));
                meant.ok_or(())
            })
            .ok()
    }

    /// `pools` or `reserved`: lists of ranges by name.
    fn ranges(&mut self, tree: &Node, section: &str) -> BTreeMap<String, Vec<IpNet>> {
        let Some(node) = tree.get(section) else { return BTreeMap::new() };
        let mut found = BTreeMap::new();
        for (key, value) in self.map(node, section) {
            let path = format!("{section}.{key}");
            self.site(path.clone(), &path, value.at);
            let texts = self.texts(value, &path);
            let nets = texts.iter().filter_map(|(text, item)| self.cidr(text, item.at, &path)).collect();
            found.insert(key, nets);
        }
        found
    }

    fn network(&mut self, node: &Node, key: &str, path: &str) -> Option<NetworkRequest> {
        self.keys(node, path, NETWORK);
        let mut pools = Vec::new();
        for name in ["pool", "pools"] {
            if let Some(value) = node.get(name) {
                pools.extend(self.texts(value, &format!("{path}.{name}")).into_iter().map(|(text, _)| text));
            }
        }
        if node.get("pool").is_some() && node.get("pools").is_some() {
            self.error(node.at, path, "`pool` and `pools` are both set; keep one of them");
        }
        let cloud = node.get("cloud").and_then(|value| {
            let path = format!("{path}.cloud");
            let text = self.text(value, &path)?;
            text.parse::<Cloud>().map_err(|error| self.error(value.at, &path, error.to_string())).ok()
        });
        let want = self.want(node, path);
        let growth = self.growth(node, path);
        let subnets = self.subnets(node, key, path);
        Some(NetworkRequest { pools, want: want?, growth, cloud, family: None, subnets })
    }

    fn subnets(&mut self, node: &Node, key: &str, path: &str) -> BTreeMap<String, SubnetRequest> {
        let Some(value) = node.get("subnets") else { return BTreeMap::new() };
        let mut found = BTreeMap::new();
        for (name, inner) in self.map(value, &format!("{path}.subnets")) {
            let solver = format!("{key}/{name}");
            let path = format!("{path}.subnets.{name}");
            self.site(solver.clone(), &path, inner.at);
            self.keys(inner, &path, SUBNET);
            let want = self.want(inner, &path);
            let growth = self.growth(inner, &path);
            let subnets = self.subnets(inner, &solver, &path);
            if let Some(want) = want {
                found.insert(name, SubnetRequest { want, growth, subnets });
            }
        }
        found
    }

    fn want(&mut self, node: &Node, path: &str) -> Option<Want> {
        let given: Vec<&str> =
            ["cidr", "prefix", "hosts"].into_iter().filter(|key| node.get(key).is_some()).collect();
        let [key] = given[..] else {
            let message = match given[..] {
                [] => "none of `cidr`, `prefix` and `hosts` is set".to_owned(),
                _ => format!("`{}` cannot be set together", given.join("` and `")),
            };
            if matches!(node.kind, Kind::Map(_)) {
                self.error_hint(
                    node.at,
                    path,
                    message,
                    Some("set exactly one of `cidr`, `prefix` and `hosts`".into()),
                );
            }
            return None;
        };
        let value = node.get(key)?;
        let path = format!("{path}.{key}");
        if key == "cidr" {
            let text = self.text(value, &path)?;
            return self.cidr(&text, value.at, &path).map(Want::Pinned);
        }
        let Kind::Number(number) = &value.kind else {
            self.error(value.at, &path, format!("expected a number, found {}", value.what()));
            return None;
        };
        let want = match key {
            "prefix" => number.parse().ok().filter(|prefix| *prefix <= 128).map(Want::Prefix),
            _ => number.parse().ok().map(Want::Hosts),
        };
        if want.is_none() {
            let bounds =
                if key == "prefix" { "a whole number from 0 to 128" } else { "a whole number of 0 or more" };
            self.error(value.at, &path, format!("{} is not {bounds}", short(number)));
        }
        want
    }

    fn growth(&mut self, node: &Node, path: &str) -> Growth {
        let Some(value) = node.get("growth") else { return Growth::NONE };
        let path = format!("{path}.growth");
        let factor = match &value.kind {
            Kind::Number(number) => number.replace('_', "").parse::<f64>().ok(),
            _ => None,
        };
        match factor.map(Growth::new) {
            Some(Ok(growth)) => return growth,
            Some(Err(error)) => self.error(value.at, &path, error.to_string()),
            None => self.error(value.at, &path, format!("expected a number, found {}", value.what())),
        }
        Growth::NONE
    }
}

/// A name, truncated for messages and comparisons.
fn short(text: &str) -> String {
    let mut cut: String = text.chars().take(60).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    cut
}
