//! `terraform show -json`: plans and states, format version 1.

mod aws;
mod configuration;
mod google;
mod local;
mod resource;
mod role;
mod runpod;
pub(crate) mod topology;

use crate::node::Node;
use crate::{Input, InputError, Source};
use configuration::Configuration;
use resource::{Resource, Values};
use role::{Role, is};
use std::collections::{BTreeMap, BTreeSet};
use warren_cidr::{CidrError, parse_cidr};
use warren_model::{Block, Defect, Model, NetworkRef, Position, Site};

/// Reads resources with one role into the model.
type Reader = fn(&mut Context<'_>, &Resource<'_>);

/// Readers by cloud. Networks are read first, so that other resources can refer to them.
const CLOUDS: &[&[(Role, Reader)]] = &[aws::READERS, google::READERS, local::READERS, runpod::READERS];

/// What subnets and peerings refer to.
const NETWORKS: &[Role] = &["aws.vpc", "gcp.network"];

pub(crate) fn looks_like(tree: &Node) -> bool {
    ["format_version", "planned_values", "resource_changes", "terraform_version"]
        .iter()
        .any(|key| tree.get(key).is_some())
}

/// Rejects any format version except 1.
pub(crate) fn check_version(file: &str, tree: &Node) -> Result<(), InputError> {
    let version = tree.get("format_version").and_then(Node::text).unwrap_or_default();
    if !version.starts_with("1.") {
        return Err(InputError {
            file: file.to_owned(),
            at: tree.get("format_version").map(|node| node.at),
            path: "format_version".to_owned(),
            message: "unsupported format version; only version 1 of Terraform's JSON output can be read"
                .to_owned(),
            hint: Some("create the file with `terraform show -json PLANFILE > plan.json`".to_owned()),
        });
    }
    Ok(())
}

pub(crate) fn read(source: &Source<'_>, tree: &Node) -> Result<Input, InputError> {
    check_version(source.name, tree)?;
    let resources = resource::collect(tree);
    let configuration = Configuration::new(tree);
    let owner = source
        .owner
        .map(str::to_owned)
        .or_else(|| configuration.provider_constant("warren", "owner").map(str::to_owned))
        .unwrap_or_else(|| source.name.to_owned());
    let mut context = Context {
        file: source.name,
        owner: &owner,
        resources: &resources,
        configuration,
        ids: BTreeMap::new(),
        addresses: resources.iter().map(|resource| resource.address.as_str()).collect(),
        model: Model::default(),
    };
    for resource in resources.iter().filter(|resource| is(resource.kind, NETWORKS)) {
        let id = context.id(resource);
        context.ids.insert(&resource.address, id);
    }
    // Networks first: the other readers look for them.
    let (networks, others): (Vec<_>, Vec<_>) =
        resources.iter().partition(|resource| is(resource.kind, NETWORKS));
    for resource in networks.into_iter().chain(others) {
        let role = role::role(resource.kind);
        let reader = CLOUDS.iter().copied().flatten().find(|(reads, _)| Some(*reads) == role);
        if let Some((_, reader)) = reader {
            reader(&mut context, resource);
        }
    }
    let model = Box::new(context.model);
    Ok(Input::Terraform { owner, model })
}

/// State shared by the readers of one file.
struct Context<'a> {
    file: &'a str,
    owner: &'a str,
    resources: &'a [Resource<'a>],
    configuration: Configuration<'a>,
    /// Identities of networks by resource address.
    ids: BTreeMap<&'a str, String>,
    addresses: BTreeSet<&'a str>,
    model: Model,
}

impl Context<'_> {
    /// The identity of a resource: the ID in the cloud, if known.
    fn id(&self, resource: &Resource<'_>) -> String {
        // Google's self link names the project, its id may be either form.
        let known = ["self_link", "id"].iter().find_map(|key| resource.values.text(key));
        known.map_or_else(|| format!("{}!{}", self.file, resource.address), canonical)
    }

    fn site(&self, resource: &Resource<'_>, attribute: &str, at: Option<Position>) -> Site {
        let path = format!("{}.{attribute}", resource.address);
        // Terraform prints one long line, so its columns are not useful.
        let at = at.filter(|at| at.line > 1);
        Site { file: self.file.to_owned(), path, at }
    }

    /// Reads a range, and counts unknown and sensitive ones. `Err` if the range exists but is unknown.
    fn block(
        &mut self,
        resource: &Resource<'_>,
        values: &Values<'_>,
        key: &str,
        path: &str,
    ) -> Result<Option<Block>, ()> {
        match values.attribute(key) {
            resource::Attribute::Unknown => {
                self.model.unknown += 1;
                Err(())
            }
            resource::Attribute::Sensitive => {
                self.model.sensitive += 1;
                Err(())
            }
            resource::Attribute::Absent => Ok(None),
            resource::Attribute::Known(node) => {
                let Some(text) = node.text().filter(|text| !text.is_empty()) else { return Ok(None) };
                let site = self.site(resource, path, Some(node.at));
                self.parse(text, site)
            }
        }
    }

    /// Whether a range that the cloud may compute exists: providers mark such an attribute as unknown in every create, even
    /// if the configuration does not request it.
    fn asked_for(&self, resource: &Resource<'_>, attribute: &str) -> bool {
        let asks = |flag: &str| matches!(resource.values.attribute(flag), resource::Attribute::Known(node) if node.is_true());
        let unknown = matches!(resource.values.attribute(attribute), resource::Attribute::Unknown);
        !unknown
            || ["assign_generated_ipv6", "assign_generated_ipv6_cidr_block"].into_iter().any(asks)
            || resource.values.text("ipv6_ipam_pool_id").is_some()
            || self.configuration.sets(resource, attribute)
    }

    fn parse(&mut self, text: &str, site: Site) -> Result<Option<Block>, ()> {
        match parse_cidr(text) {
            Ok(net) => Ok(Some(Block { net, site })),
            Err(error) => {
                let meant = match &error {
                    CidrError::HostBits { meant, .. } => Some(*meant),
                    _ => None,
                };
                self.model.defects.push(Defect { owner: self.owner.to_owned(), site: site.clone(), error });
                meant.map(|net| Some(Block { net, site })).ok_or(())
            }
        }
    }

    /// The network that an attribute names: by its known value, or else by the reference in the configuration.
    fn network(&self, resource: &Resource<'_>, attribute: &str) -> NetworkRef {
        if let Some(text) = resource.values.text(attribute) {
            return NetworkRef::Id(self.known_network(text));
        }
        if !matches!(resource.values.attribute(attribute), resource::Attribute::Unknown) {
            return NetworkRef::Unknown;
        }
        self.configuration
            .resolve(resource, attribute, NETWORKS, &self.addresses)
            .and_then(|address| self.ids.get(address.as_str()))
            .map_or(NetworkRef::Unknown, |id| NetworkRef::Id(id.clone()))
    }

    /// Google also accepts the bare name of a network, which then means the only network with that name in the file.
    fn known_network(&self, text: &str) -> String {
        let id = canonical(text);
        if id.contains('/') || id.starts_with("vpc-") || self.ids.values().any(|known| *known == id) {
            return id;
        }
        let mut named = self
            .resources
            .iter()
            .filter(|other| is(other.kind, NETWORKS) && other.values.text("name") == Some(text));
        match (named.next(), named.next()) {
            (Some(network), None) => self.id(network),
            _ => id,
        }
    }
}

/// `https://www.googleapis.com/compute/v1/projects/p/global/networks/n` and `projects/p/global/networks/n` are the same network.
fn canonical(text: &str) -> String {
    match text.find("/projects/") {
        Some(at) if text.starts_with("https://") => text[at + 1..].to_owned(),
        _ => text.to_owned(),
    }
}

/// The roles that have a reader.
#[cfg(test)]
fn roles_read() -> Vec<Role> {
    let networks = CLOUDS.iter().copied().flatten().map(|(role, _)| *role);
    networks.chain(topology::roles_read()).collect()
}
