//! `terraform show -json`: plans and states, format version 1.

mod address;
mod aws;
mod aws_services;
mod azure;
mod google;
mod google_services;
mod links;
mod local;
mod locate;
mod outline;
mod raw_state;
mod references;
mod resource;
mod role;
mod runpod;
pub(crate) mod topology;

pub(crate) use outline::FILE;

use crate::node::Node;
use crate::{Input, InputError, Source};
use locate::Locator;
use references::References;
use resource::{Resource, Values};
use role::{Role, is};
use std::collections::BTreeMap;
use warren_cidr::{CidrError, parse_cidr};
use warren_model::{Attachment, Block, Defect, How, Model, NetworkRef, Position, Site, Subnet};

/// Reads resources with one role into the model.
type Reader = fn(&mut Context<'_>, &Resource<'_>);

/// Readers by cloud. Networks are read first, so that other resources can refer to them.
const CLOUDS: &[&[(Role, Reader)]] = &[
    aws::READERS,
    aws_services::READERS,
    google::READERS,
    google_services::READERS,
    azure::READERS,
    local::READERS,
    runpod::READERS,
    links::READERS,
];

/// What subnets and peerings refer to.
const NETWORKS: &[Role] = &["aws.vpc", "gcp.network", "azure.network"];

/// What is inside a network.
const SUBNETS: &[Role] = &["aws.subnet", "gcp.subnetwork", "azure.subnet"];

pub(crate) fn looks_like(tree: &Node) -> bool {
    ["format_version", "planned_values", "resource_changes", "terraform_version"]
        .iter()
        .any(|key| tree.get(key).is_some())
        || raw_state::is_state(tree)
}

/// Rejects what Terraform prints for people and for other programs, with the command that prints a plan.
pub(crate) fn check_text(file: &str, text: &str) -> Result<(), InputError> {
    let start: String = text.trim_start().chars().take(4096).collect();
    let what = if start.starts_with('{') {
        start
            .lines()
            .next()
            .is_some_and(|line| line.contains("\"@level\":"))
            .then_some("the log of `terraform plan -json`")
    } else {
        let said =
            ["Terraform will perform the following actions", "OpenTofu will perform the following actions"];
        said.iter().any(|words| start.contains(words)).then_some("a plan as text")
    };
    what.map_or(Ok(()), |what| Err(unreadable(file, None, format!("this is {what}, not a plan as JSON"))))
}

/// The tree of a plan or state of any readable format, as `terraform show -json` prints it today.
pub(crate) fn prepare(file: &str, tree: Node) -> Result<Node, InputError> {
    if raw_state::is_state(&tree) {
        return match raw_state::version(&tree) {
            Some("4") => Ok(raw_state::convert(tree)),
            _ => Err(InputError {
                hint: Some(
                    "run `terraform apply` with Terraform 0.12 or later, which upgrades the state".to_owned(),
                ),
                ..unreadable(
                    file,
                    tree.get("version").map(|node| node.at),
                    "this is a state file of Terraform 0.11 or older; only version 4 can be read".to_owned(),
                )
            }),
        };
    }
    let version = tree.get("format_version").and_then(Node::text).unwrap_or_default();
    // Terraform 0.12 to 1.0 wrote 0.1 and 0.2, with the same structure.
    if !version.starts_with("1.") && !version.starts_with("0.") {
        let message =
            "unsupported format version; only versions 0 and 1 of Terraform's JSON output can be read";
        return Err(InputError {
            path: "format_version".to_owned(),
            ..unreadable(file, tree.get("format_version").map(|node| node.at), message.to_owned())
        });
    }
    Ok(tree)
}

fn unreadable(file: &str, at: Option<Position>, message: String) -> InputError {
    InputError {
        file: file.to_owned(),
        at,
        path: String::new(),
        message,
        hint: Some("create the file with `terraform show -json PLANFILE > plan.json`".to_owned()),
    }
}

pub(crate) fn read(source: &Source<'_>, tree: &Node) -> Input {
    let resources = resource::collect(tree);
    let references =
        References::new(tree, resources.iter().map(|resource| resource.address.as_str()).collect());
    let owner = source
        .owner
        .map(str::to_owned)
        .or_else(|| references.provider_text("warren", "owner").map(str::to_owned))
        .unwrap_or_else(|| source.name.to_owned());
    let mut context = Context {
        file: source.name,
        owner: &owner,
        resources: &resources,
        by_role: BTreeMap::new(),
        by_address: resources.iter().map(|resource| (resource.address.as_str(), resource)).collect(),
        locator: Locator::new(tree, &references, resources.iter()),
        ids: BTreeMap::new(),
        addresses: BTreeMap::new(),
        clusters: Vec::new(),
        services: Vec::new(),
        auto_mode: Vec::new(),
        model: Model::default(),
    };
    for resource in resources.iter().filter(|resource| is(resource.kind, NETWORKS)) {
        let id = context.id(resource);
        context.addresses.entry(id.clone()).or_insert(&resource.address);
        context.ids.insert(&resource.address, id);
    }
    for resource in &resources {
        if let Some(role) = role::role(resource.kind) {
            context.by_role.entry(role).or_default().push(resource);
        }
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
    google_services::settle(&mut context);
    google::settle(&mut context);
    if resource::partial(tree) {
        context.model.partial.push(source.name.to_owned());
    }
    let model = Box::new(context.model);
    Input::Terraform { owner, model }
}

/// State shared by the readers of one file.
struct Context<'a> {
    file: &'a str,
    owner: &'a str,
    resources: &'a [Resource<'a>],
    by_role: BTreeMap<Role, Vec<&'a Resource<'a>>>,
    by_address: BTreeMap<&'a str, &'a Resource<'a>>,
    locator: Locator<'a>,
    /// Identities of networks by resource address.
    ids: BTreeMap<&'a str, String>,
    /// The first address of each identity.
    addresses: BTreeMap<String, &'a str>,
    /// Ranges of Google's clusters, which may be those of subnetworks.
    clusters: Vec<google::ClusterRange>,
    /// Ranges of Google's services, which may be inside a range that is allocated to them.
    services: Vec<Subnet>,
    /// Blocks of Google's auto mode networks.
    auto_mode: Vec<Subnet>,
    model: Model,
}

impl Context<'_> {
    /// The identity of a resource: the ID in the cloud, if known.
    fn id(&self, resource: &Resource<'_>) -> String {
        // Google's self link names the project, its id may be either form.
        let known = ["self_link", "id"].iter().find_map(|key| resource.values.text(key));
        known.map_or_else(|| format!("{}!{}", self.file, resource.address), canonical)
    }

    /// The resources with some roles.
    fn of_roles<'s>(&'s self, roles: &'s [Role]) -> impl Iterator<Item = &'s Resource<'s>> {
        roles.iter().filter_map(|role| self.by_role.get(role)).flatten().copied()
    }

    /// The resource with an ID.
    fn with_id<'s>(&'s self, roles: &'s [Role], id: &str) -> Option<&'s Resource<'s>> {
        let id = canonical(id);
        self.of_roles(roles).find(|resource| {
            ["self_link", "id"]
                .iter()
                .any(|key| resource.values.text(key).is_some_and(|own| canonical(own) == id))
        })
    }

    fn site(&self, resource: &Resource<'_>, attribute: &str, at: Option<Position>) -> Site {
        let path = format!("{}.{attribute}", resource.address);
        // Terraform prints one long line, so its columns are not useful.
        let at = at.filter(|at| at.line > 1);
        Site { file: self.file.to_owned(), path, at }
    }

    /// Records a range that is known only after apply.
    fn late(&mut self, resource: &Resource<'_>, attribute: &str) {
        self.model.unknown.push(format!("{}.{attribute}", resource.address));
    }

    /// Reads a range, and records unknown and sensitive ones. `Err` if the range exists but is unknown.
    fn block(
        &mut self,
        resource: &Resource<'_>,
        values: &Values<'_>,
        key: &str,
        path: &str,
    ) -> Result<Option<Block>, ()> {
        match values.attribute(key) {
            resource::Attribute::Unknown => {
                self.late(resource, path);
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

    /// The ranges of a list of strings, and whether all are known.
    fn blocks(&mut self, resource: &Resource<'_>, attribute: &str) -> (Vec<Block>, bool) {
        let (mut blocks, mut complete) = (Vec::new(), true);
        match resource.values.attribute(attribute) {
            resource::Attribute::Known(node) => {
                for (index, item) in node.items().iter().enumerate() {
                    let site = self.site(resource, &format!("{attribute}[{index}]"), Some(item.at));
                    // An unknown item is null in the list.
                    match item.text().map(|text| self.parse(text, site)) {
                        Some(Ok(block)) => blocks.extend(block),
                        Some(Err(())) => complete = false,
                        None => {
                            self.late(resource, &format!("{attribute}[{index}]"));
                            complete = false;
                        }
                    }
                }
            }
            resource::Attribute::Absent => {}
            resource::Attribute::Unknown => {
                self.late(resource, attribute);
                complete = false;
            }
            resource::Attribute::Sensitive => {
                self.model.sensitive += 1;
                complete = false;
            }
        }
        (blocks, complete)
    }

    /// Whether a range that the cloud may compute exists: providers mark such an attribute as unknown in every create, even
    /// if the configuration does not request it.
    fn asked_for(&self, resource: &Resource<'_>, attribute: &str) -> bool {
        let asks = |flag: &str| matches!(resource.values.attribute(flag), resource::Attribute::Known(node) if node.is_true());
        let unknown = matches!(resource.values.attribute(attribute), resource::Attribute::Unknown);
        !unknown
            || ["assign_generated_ipv6", "assign_generated_ipv6_cidr_block"].into_iter().any(asks)
            || resource.values.text("ipv6_ipam_pool_id").is_some()
            || self.locator.references.wrote(resource, attribute).unwrap_or(true)
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

    /// The network that an attribute names: by its known value, or else as [`Locator`] finds it.
    fn network(&self, resource: &Resource<'_>, attribute: &str) -> NetworkRef {
        self.found(resource, attribute).map_or(NetworkRef::Unknown, |(id, _)| NetworkRef::Id(id))
    }

    /// The network of a subnet, recorded for the report.
    fn attach(&mut self, resource: &Resource<'_>, attribute: &str) -> NetworkRef {
        let found = self.found(resource, attribute);
        let network = found.as_ref().map(|(id, _)| self.address_of(id));
        self.model.attachments.push(Attachment {
            subnet: resource.address.clone(),
            owner: self.owner.to_owned(),
            file: self.file.to_owned(),
            network,
            how: found.as_ref().map(|(_, how)| *how),
        });
        found.map_or(NetworkRef::Unknown, |(id, _)| NetworkRef::Id(id))
    }

    /// The address of the network with an ID, or else the ID.
    fn address_of(&self, id: &str) -> String {
        (*self.addresses.get(id).unwrap_or(&id)).to_owned()
    }

    fn found(&self, resource: &Resource<'_>, attribute: &str) -> Option<(String, How)> {
        if let Some(text) = resource.values.text(attribute) {
            return Some((self.known_network(resource, text), How::Id));
        }
        if !matches!(resource.values.attribute(attribute), resource::Attribute::Unknown) {
            return None;
        }
        let (address, how) = self.locator.find(resource, attribute, NETWORKS)?;
        Some((self.ids.get(address.as_str())?.clone(), how))
    }

    /// Google also accepts the bare name of a network, which then means the only network with that name in the file.
    fn known_network(&self, resource: &Resource<'_>, text: &str) -> String {
        let id = canonical(text);
        if id.contains('/') || id.starts_with("vpc-") || self.addresses.contains_key(&id) {
            return id;
        }
        // Networks of two projects may have the same name.
        let project = resource.values.text("project");
        let differs = |other: &Resource<'_>| {
            project.zip(other.values.text("project")).is_some_and(|(one, other)| one != other)
        };
        let mut named = self
            .of_roles(&["gcp.network"])
            .filter(|other| other.values.text("name") == Some(text) && !differs(other));
        match (named.next(), named.next()) {
            (Some(network), None) => self.id(network),
            (None, _) => project.map_or(id, |project| format!("projects/{project}/global/networks/{text}")),
            _ => id,
        }
    }
}

/// `https://www.googleapis.com/compute/v1/projects/p/global/networks/n` and `projects/p/global/networks/n` are the same network.
pub(super) fn canonical(text: &str) -> String {
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
