//! The resolver of a network, which is its instances' metadata server, as "Name resolution order" describes it.
//!
//! The private zone with the longest suffix answers, and nothing after it: a name that it lacks does not exist. Without a
//! private zone the public name counts, except for the target of an alias in a private zone ("CNAME chasing"). Left out: response policies, server policies, and the names of instances.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use hickory_proto::op::ResponseCode;
use hickory_proto::rr::rdata::CNAME;
use hickory_proto::rr::{Name, RData, Record, RecordType};

use super::inventory::{Endpoint, Inventory, Path, Zone, ZoneAnswers, domain};
use crate::lab::{Answer, Names, Node, PublicNames, Question, ask_from};

/// "Peering zones": through one network to another, and no further.
const PEERINGS: usize = 2;

/// The longest chain of aliases.
const ALIASES: usize = 16;

/// What a network's private zones say to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// Data of the type that was asked for.
    Data(Vec<String>),
    /// Another name.
    Alias(String),
    /// There is such a name, without data of this type.
    Empty,
    /// There is no such name.
    Missing,
    /// Name servers know, which are asked from this network.
    Ask(Path, Vec<Ipv4Addr>),
    /// Nothing: no private zone has the name.
    Nothing,
}

/// Looks a name up in the private zones that a network sees.
pub fn look(inventory: &Inventory, network: &str, name: &str, kind: &str) -> Said {
    look_through(inventory, network, &domain(name), kind, PEERINGS)
}

fn look_through(inventory: &Inventory, network: &str, name: &str, kind: &str, peerings: usize) -> Said {
    let seen = inventory.zones.values().filter(|zone| zone.networks.contains(network));
    let zone = seen.filter(|zone| below(name, &zone.domain)).max_by_key(|zone| zone.domain.len());
    let automatic: Vec<&Endpoint> = automatic(inventory, network).collect();
    let own = zone.is_none_or(|zone| zone.domain.len() < AUTOMATIC.len());
    if own && !automatic.is_empty() && below(name, AUTOMATIC) {
        return of_endpoints(&automatic, name, kind);
    }
    match zone.map(|zone| (zone, &zone.answers)) {
        None => Said::Nothing,
        Some((zone, ZoneAnswers::Records(sets))) => of_records(zone, sets, name, kind),
        Some((_, ZoneAnswers::Forwarding(servers))) => Said::Ask(network.to_owned(), servers.clone()),
        Some((_, ZoneAnswers::Peering(_))) if peerings == 0 => Said::Missing,
        Some((_, ZoneAnswers::Peering(other))) => look_through(inventory, other, name, kind, peerings - 1),
    }
}

/// The domain of the names that come with endpoints ("Access Google APIs through endpoints").
const AUTOMATIC: &str = "p.googleapis.com";

fn automatic<'a>(inventory: &'a Inventory, network: &'a str) -> impl Iterator<Item = &'a Endpoint> {
    inventory
        .endpoints
        .values()
        .filter(move |endpoint| endpoint.network == network && endpoint.automatic_names)
}

/// `SERVICE-ENDPOINT.p.googleapis.com`.
fn of_endpoints(endpoints: &[&Endpoint], name: &str, kind: &str) -> Said {
    let label = name.strip_suffix(AUTOMATIC).unwrap_or_default().trim_end_matches('.');
    let found =
        endpoints.iter().find(|endpoint| label.rsplit_once('-').is_some_and(|(_, end)| end == endpoint.name));
    match (found, kind) {
        (None, _) => Said::Missing,
        (Some(endpoint), "A") => Said::Data(vec![endpoint.address.to_string()]),
        (Some(_), _) => Said::Empty,
    }
}

fn of_records(zone: &Zone, sets: &BTreeMap<(String, String), Vec<String>>, name: &str, kind: &str) -> Said {
    let at = |name: &str| -> Option<Said> {
        let data = |kind: &str| sets.get(&(name.to_owned(), kind.to_owned()));
        if let Some(data) = data(kind) {
            return Some(Said::Data(data.clone()));
        }
        if let Some(target) = data("CNAME").and_then(|targets| targets.first()) {
            return Some(Said::Alias(domain(target)));
        }
        sets.keys().any(|(other, _)| other == name).then_some(Said::Empty)
    };
    if let Some(said) = at(name) {
        return said;
    }
    // A name with others below it exists, and a wildcard does not reach past an existing name (RFC 4592).
    let exists = |name: &str| name == zone.domain || sets.keys().any(|(other, _)| below(other, name));
    if exists(name) {
        return Said::Empty;
    }
    let mut rest = name;
    while let Some((_, above)) = rest.split_once('.') {
        if let Some(said) = at(&format!("*.{above}")) {
            return said;
        }
        if exists(above) {
            break;
        }
        rest = above;
    }
    Said::Missing
}

fn below(name: &str, domain: &str) -> bool {
    name == domain || name.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'))
}

/// The resolver of one network.
#[derive(Debug)]
pub(crate) struct Resolver {
    pub(crate) inventory: Arc<Inventory>,
    pub(crate) network: Path,
    /// The routers of all networks, from which forwarding zones ask.
    pub(crate) routers: Arc<BTreeMap<Path, Node>>,
    pub(crate) public: PublicNames,
}

#[async_trait::async_trait]
impl Names for Resolver {
    async fn answer(&self, question: Question) -> Option<Answer> {
        let kind = question.record.to_string();
        let mut name = question.name.clone();
        let mut records = Vec::new();
        let mut aliased = false;
        for _ in 0..ALIASES {
            let owner = Name::from_ascii(format!("{name}.")).ok()?;
            match look(&self.inventory, &self.network, &name, &kind) {
                Said::Data(data) => {
                    let data = data.iter().filter_map(|text| data_of(question.record, text));
                    records.extend(data.map(|data| Record::from_rdata(owner.clone(), 60, data)));
                    return Some(Answer { code: ResponseCode::NoError, records });
                }
                Said::Alias(target) => {
                    let data = RData::CNAME(CNAME(Name::from_ascii(format!("{target}.")).ok()?));
                    records.push(Record::from_rdata(owner, 60, data));
                    name = target;
                    aliased = true;
                }
                Said::Empty => return Some(Answer { code: ResponseCode::NoError, records }),
                Said::Missing => return Some(Answer { code: ResponseCode::NXDomain, records }),
                Said::Ask(network, servers) => {
                    return Some(self.ask(&network, &servers, &name, question.record, records).await);
                }
                Said::Nothing if aliased => return Some(Answer { code: ResponseCode::NoError, records }),
                Said::Nothing => {
                    let public = Question { name: name.clone(), ..question.clone() };
                    let Some(addresses) = self.public.find(&name) else {
                        return Some(Answer { code: ResponseCode::NXDomain, records });
                    };
                    records.extend(Answer::addresses(&public, addresses).records);
                    return Some(Answer { code: ResponseCode::NoError, records });
                }
            }
        }
        Some(Answer::code(ResponseCode::ServFail))
    }
}

impl Resolver {
    async fn ask(
        &self,
        network: &str,
        servers: &[Ipv4Addr],
        name: &str,
        kind: RecordType,
        mut records: Vec<Record>,
    ) -> Answer {
        let Some(router) = self.routers.get(network) else { return Answer::code(ResponseCode::ServFail) };
        for server in servers {
            if let Ok(answer) = ask_from(router, IpAddr::V4(*server), name, kind).await {
                records.extend(answer.records);
                return Answer { code: answer.code, records };
            }
        }
        Answer::code(ResponseCode::ServFail)
    }
}

fn data_of(kind: RecordType, text: &str) -> Option<RData> {
    match kind {
        RecordType::A => Some(RData::A(text.parse::<Ipv4Addr>().ok()?.into())),
        RecordType::AAAA => Some(RData::AAAA(text.parse::<std::net::Ipv6Addr>().ok()?.into())),
        RecordType::CNAME => Some(RData::CNAME(CNAME(Name::from_ascii(text).ok()?))),
        _ => None,
    }
}
