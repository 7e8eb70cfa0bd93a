//! Compares everything that was read and reports findings.

use crate::connections::Connections;
use crate::finding::{Subnets, Unlisted, defect};
use crate::plans::{self, cloud_findings, cloud_rule};
use crate::table::{Search, Table, World};
use crate::{Fabric, Fabrics, Finding, Pages, Report, Rule, Screen, Severity, Side, no_pages};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::num::NonZeroUsize;
use warren_cidr::Cloud;
use warren_model::{Block, Model, NetworkRef, ReservationKind};
use warren_planfile::Input;

/// Checks all inputs. `fabrics` decides how severe an overlap of two networks is. Claims of owners that are among the inputs are ignored, because the inputs are newer.
///
/// Up to `limit` findings are listed; all are counted. A thousand networks with the same range have half a million
/// conflicts, so memory holds no more than the limit.
pub fn check(
    inputs: &[Input],
    claims: Model,
    limit: Option<NonZeroUsize>,
    fabrics: &Fabrics,
    screen: &Screen,
) -> Report {
    let limit = limit.map_or(usize::MAX, NonZeroUsize::get);
    report(inputs, claims, (limit, false), fabrics, screen, |report, _| report)
}

/// Like [`check()`], for a report that lists all findings, which `write` gets. Up to `held` overlaps are in the report. `later` more
/// are counted, and the pages compute them: in address order, in sorted pages of limited size.
pub fn check_all<T>(
    inputs: &[Input],
    claims: Model,
    held: NonZeroUsize,
    fabrics: &Fabrics,
    screen: &Screen,
    write: impl FnOnce(Report, Pages<'_>) -> T,
) -> T {
    report(inputs, claims, (held.get(), true), fabrics, screen, write)
}

/// Calls `visit` with the overlaps after the first `held`.
fn each_page(
    (table, search): (&Table<'_>, &Search<'_>),
    held: usize,
    screen: &Screen,
    visit: &mut dyn FnMut(&[Finding]) -> io::Result<()>,
) -> io::Result<()> {
    const PAGE: usize = 10_000;
    let mut page = Vec::new();
    table.each_overlap(search, &screen.again(), |index, _, finding| {
        if index >= held {
            page.push(finding());
        }
        if page.len() == PAGE {
            page.sort();
            visit(&page)?;
            page.clear();
        }
        Ok(())
    })?;
    page.sort();
    visit(&page)
}

/// Maximum number of contradictions inside an address plan that are compared with a baseline.
const SCREENED: usize = 20_000;

/// The content of all inputs, and what the solver reports.
struct Gathered {
    model: Model,
    told: Vec<Finding>,
    unlisted: usize,
    /// Names of all files, and the fabrics that address plans name.
    files: BTreeSet<String>,
    named: BTreeMap<String, String>,
}

impl Gathered {
    fn new(inputs: &[Input], claims: Model, limit: usize) -> Self {
        let (mut model, mut findings) = (Model::default(), Vec::new());
        let (mut files, mut named) = (BTreeSet::new(), BTreeMap::new());
        let mut unlisted = 0;
        let mut owners = BTreeSet::new();
        for input in inputs {
            match input {
                Input::AddressPlan(plan) => {
                    let told = plans::add(plan, &mut model, limit);
                    findings.extend(told.findings);
                    unlisted += told.unlisted;
                    files.insert(plan.file.clone());
                    named.extend(plan.fabric.clone().map(|fabric| (plan.file.clone(), fabric)));
                    owners.insert(plan.owner.as_str());
                }
                Input::Terraform { owner, model: read } => {
                    files.extend(files_of(read));
                    model.merge((**read).clone());
                    owners.insert(owner);
                }
            }
        }
        let mut claims = claims;
        files.extend(files_of(&claims));
        claims.reservations.retain(|claim| !owners.contains(claim.owner.as_str()));
        model.merge(claims);
        model.sort();
        Self { model, told: findings, unlisted, files, named }
    }

    /// How the networks are connected, and the declared fabrics that match nothing.
    fn world<'a>(&'a self, fabrics: &'a Fabrics) -> (World<'a>, Vec<&'a Fabric>) {
        let mut connections = Connections::new(&self.model);
        let named: BTreeMap<&str, &str> =
            self.named.iter().map(|(file, fabric)| (file.as_str(), fabric.as_str())).collect();
        let files = self.files.iter().map(String::as_str).collect();
        let unused = connections.declare(&self.model, fabrics, &named, &files);
        (World { connections, fabrics, named }, unused)
    }
}

/// Names of the files whose ranges a model has.
fn files_of(model: &Model) -> BTreeSet<String> {
    let networks = model.networks.iter().flat_map(|network| &network.blocks);
    let subnets = model.subnets.iter().flat_map(|subnet| &subnet.blocks);
    let entries = model.reservations.iter().map(|entry| &entry.block);
    let excluded = model.excluded.iter().map(|entry| &entry.block);
    let all = networks.chain(subnets).chain(entries).chain(excluded);
    all.map(|block| block.site.file.clone()).collect()
}

fn report<T>(
    inputs: &[Input],
    claims: Model,
    (limit, all): (usize, bool),
    fabrics: &Fabrics,
    screen: &Screen,
    write: impl FnOnce(Report, Pages<'_>) -> T,
) -> T {
    // Findings are screened before they are counted, so more of them are needed than are listed.
    let most = if screen.is_active() { limit.max(SCREENED) } else { limit };
    let mut gathered = Gathered::new(inputs, claims, most);
    let mut findings = std::mem::take(&mut gathered.told);
    let (world, unused) = gathered.world(fabrics);
    let model = &gathered.model;
    findings.extend(model.defects.iter().map(|found| defect(&found.owner, &found.site, &found.error)));
    findings.extend(clouds(model));
    findings.extend(peerings(model));
    findings.extend(site_routes(model, &world));
    let table = Table::new(model, &world);
    let search = Search::new(&table);
    findings.extend(table.outside(&search));
    findings.sort();
    findings.dedup();
    screen.start();
    findings.retain(|finding| screen.keeps(finding));
    screen.start();
    let (overlaps, more) = table.overlaps(&search, (limit, all), screen);
    findings.extend(overlaps);
    let ranges = table.len();
    let subnets = Subnets::new(&model.attachments);
    let mut notes = notes(model, &gathered.named, fabrics, &subnets);
    notes.extend(unused.iter().map(|fabric| {
        format!("the fabric {} ({}) matches nothing; correct or remove it", fabric.name, fabric.place)
    }));
    let mut unknown = model.unknown.clone();
    unknown.sort();
    let most = if all { usize::MAX } else { limit };
    let later = more.errors + more.warnings;
    let unlisted = Unlisted { errors: gathered.unlisted + more.errors, ..more };
    let mut report =
        Report { subnets, unknown, ..Report::new(findings, unlisted, most, inputs.len(), ranges, notes) };
    if all {
        report.later = later;
        report.omitted -= later;
    }
    match report.later {
        0 => write(report, &no_pages),
        _ => write(report, &|visit| each_page((&table, &search), limit, screen, visit)),
    }
}

fn notes(
    model: &Model,
    named: &BTreeMap<String, String>,
    fabrics: &Fabrics,
    subnets: &Subnets,
) -> Vec<String> {
    let mut notes: Vec<String> = subnets.note().into_iter().collect();
    let ranges =
        |count: usize| if count == 1 { "1 range is".to_owned() } else { format!("{count} ranges are") };
    for file in &model.partial {
        notes.push(format!(
            "{file} is not a complete plan: it ended with an error, or was limited to some resources; the others were read from the state before it"
        ));
    }
    if !model.unknown.is_empty() {
        let count = ranges(model.unknown.len());
        notes.push(format!("{count} known only after apply and not checked: {}", listed(&model.unknown)));
    }
    if model.sensitive > 0 {
        notes.push(format!("{} marked sensitive and not checked", ranges(model.sensitive)));
    }
    let declared: Vec<&str> = fabrics.declared.iter().map(|fabric| fabric.name.as_str()).collect();
    let names: BTreeSet<&str> = named.values().map(String::as_str).collect();
    if names.len() > 1 && !names.iter().all(|name| declared.contains(name)) {
        let names: Vec<&str> = names.into_iter().collect();
        notes.push(format!(
            "the files belong to different fabrics ({}) and were checked as one",
            names.join(", ")
        ));
    }
    if declared.len() > 1 {
        notes.push(format!("networks of different fabrics ({}) were not compared", declared.join(", ")));
    }
    for (severity, what) in
        [(fabrics.connected, "connected networks"), (fabrics.unconnected, "networks that nothing connects")]
    {
        if severity.is_none() {
            notes.push(format!("overlaps of {what} are ignored"));
        }
    }
    notes
}

/// The first names, and how many more there are. The JSON report has all.
fn listed(names: &[String]) -> String {
    const NAMED: usize = 20;
    let mut sorted: Vec<&str> = names.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    let more = sorted.len().saturating_sub(NAMED);
    sorted.truncate(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", sorted.join(", "))
}

/// Rules of the clouds for each range, and for secondary ranges.
fn clouds(model: &Model) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut push = |rules: Vec<warren_cidr::Finding>, name: &str, owner: &str, block: &Block| {
        found.extend(rules.into_iter().map(|rule| Finding {
            severity: match rule.severity {
                warren_cidr::Severity::Error => Severity::Error,
                warren_cidr::Severity::Warning => Severity::Warning,
            },
            rule: cloud_rule(rule.rule),
            sides: vec![side(name, owner, block)],
            message: rule.message,
            detail: String::new(),
            hint: None,
        }));
    };
    let mut primary: BTreeMap<&str, &Block> = BTreeMap::new();
    for network in model.networks.iter().filter(|network| !network.external) {
        for block in &network.blocks {
            push(cloud_findings(network.cloud, &block.net, false), &network.name, &network.owner, block);
        }
        let first = network.blocks.first().filter(|block| block.net.addr().is_ipv4());
        if let Some(first) =
            first.filter(|first| first.site.path.starts_with(&network.name) && is_primary(first))
        {
            primary.entry(&network.id).or_insert(first);
        }
    }
    for network in &model.networks {
        let Some((first, cloud)) = primary.get(network.id.as_str()).zip(network.cloud) else { continue };
        for block in network.blocks.iter().filter(|block| block.net != first.net) {
            push(cloud.check_secondary(&first.net, &block.net), &network.name, &network.owner, block);
        }
    }
    for subnet in &model.subnets {
        for block in &subnet.blocks {
            push(cloud_findings(subnet.cloud, &block.net, true), &subnet.name, &subnet.owner, block);
        }
    }
    for entry in &model.reservations {
        let rules = cloud_findings(entry.cloud, &entry.block.net, entry.kind == ReservationKind::Subnet);
        // The solver has already reported the errors of an infeasible plan.
        let rules = rules
            .into_iter()
            .filter(|rule| !entry.refused || rule.severity == warren_cidr::Severity::Warning);
        push(rules.collect(), &entry.name, &entry.owner, &entry.block);
    }
    found
}

/// Whether a block is the primary range of a VPC, not an association.
fn is_primary(block: &Block) -> bool {
    block.site.path.ends_with(".cidr_block") && !block.site.path.contains("_association.")
}

fn peerings(model: &Model) -> Vec<Finding> {
    let mut blocks: BTreeMap<&str, Vec<(&str, &str, &Block)>> = BTreeMap::new();
    for network in &model.networks {
        let all = network.blocks.iter().map(|block| (network.name.as_str(), network.owner.as_str(), block));
        blocks.entry(&network.id).or_default().extend(all);
    }
    for subnet in model.subnets.iter().filter(|subnet| !subnet.nested) {
        if let NetworkRef::Id(id) = &subnet.network {
            let all = subnet.blocks.iter().map(|block| (subnet.name.as_str(), subnet.owner.as_str(), block));
            blocks.entry(id).or_default().extend(all);
        }
    }
    let mut found = Vec::new();
    for peering in &model.peerings {
        let (NetworkRef::Id(left), NetworkRef::Id(right)) = (&peering.left, &peering.right) else { continue };
        let (Some(left), Some(right)) = (blocks.get(left.as_str()), blocks.get(right.as_str())) else {
            continue;
        };
        if peering.left == peering.right {
            continue;
        }
        let nets =
            |side: &[(&str, &str, &Block)]| side.iter().map(|(_, _, block)| block.net).collect::<Vec<_>>();
        let cloud = peering.cloud.unwrap_or(Cloud::Overlay);
        for rule in cloud.check_peering(&nets(left), &nets(right)) {
            let mut sides = vec![Side {
                name: peering.name.clone(),
                owner: peering.owner.clone(),
                net: None,
                site: peering.site.clone(),
            }];
            for (name, owner, block) in left.iter().chain(right) {
                if [Some(rule.net), rule.other].contains(&Some(block.net)) {
                    sides.push(side(name, owner, block));
                }
            }
            found.push(Finding {
                severity: Severity::Error,
                rule: Rule::Peering,
                sides,
                message: format!("{} peers overlapping networks: {}", peering.name, rule.message),
                detail: String::new(),
                hint: Some("move one of the networks; peerings do not translate addresses".to_owned()),
            });
        }
    }
    found
}

/// Static routes to sites behind VPNs that lead into the range of a network. A broader route is normal: inside the network, its
/// own range is more specific.
fn site_routes(model: &Model, world: &World<'_>) -> Vec<Finding> {
    let (connections, fabrics) = (&world.connections, world.fabrics);
    let mut found = Vec::new();
    for route in &model.site_routes {
        let hub = route.hub.as_deref().and_then(|hub| connections.number(hub));
        let own = hub.and_then(|hub| connections.declared(hub));
        let own = own.or_else(|| world.of_file(&route.block.site.file));
        let blocks = model
            .networks
            .iter()
            .flat_map(|network| network.blocks.iter().map(move |block| (network, block)))
            .filter(|(_, block)| block.net.contains(&route.block.net));
        for (network, block) in blocks {
            let name = network.name.as_str();
            let node = connections.number(&network.id);
            let declared = node.and_then(|node| connections.declared(node));
            let declared = declared.or_else(|| world.of_file(&block.site.file));
            let linked = hub.zip(node).filter(|(hub, node)| connections.connected(*hub, *node));
            let (severity, tie, joined) = match (own.zip(declared), linked) {
                (Some((one, other)), _) if one != other => continue,
                (Some((fabric, _)), _) => (
                    fabrics.connected,
                    format!("both belong to the fabric {}", fabrics.declared[fabric].name),
                    true,
                ),
                (None, Some((hub, node))) => (
                    fabrics.connected,
                    connections
                        .path(hub, node)
                        .map(|links| format!("connected by {links}"))
                        .unwrap_or_default(),
                    true,
                ),
                (None, None) if hub.is_none() => {
                    let gateway = format!("the plan does not show the gateway of {}", route.name);
                    (fabrics.unconnected, gateway, false)
                }
                (None, None) => (fabrics.unconnected, "nothing in the files connects them".to_owned(), false),
            };
            let Some(severity) = severity else { continue };
            let why =
                "the network never sends these addresses to the site, and other networks send them there";
            let apart = "the network cannot be connected to the site later";
            let why = if joined { why } else { apart };
            found.push(Finding {
                severity,
                rule: Rule::SiteRoute,
                sides: vec![side(&route.name, &route.owner, &route.block), side(name, &network.owner, block)],
                message: format!(
                    "{} sends {} to a site behind a VPN, but {name} uses {}",
                    route.name, route.block.net, block.net
                ),
                detail: format!("{why}\n{tie}"),
                hint: Some("move the network, or use addresses of the site that no network has".to_owned()),
            });
        }
    }
    found
}

fn side(name: &str, owner: &str, block: &Block) -> Side {
    Side { name: name.to_owned(), owner: owner.to_owned(), net: Some(block.net), site: block.site.clone() }
}
