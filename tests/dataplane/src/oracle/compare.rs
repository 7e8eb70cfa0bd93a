//! The answers of the model.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, anyhow};
use warren_model::reach::{Answer, Lists, Place, Way};
use warren_model::topology::{self as model, Protocol};
use warren_planfile::{Source, read_topology};

use super::Fault;
use super::packets::{INTERNET, Seen};
use super::policies::Bucket;
use super::topology::{SERVICES, Topology};

/// A plan or a state, as the model sees it.
pub(super) struct Document(model::Topology);

/// What the model says about a pair.
#[derive(Clone, Debug)]
pub(super) struct Said {
    reached: bool,
    way: Way,
    pub(super) unsure: bool,
    pub(super) text: String,
}

impl Document {
    pub(super) fn read(name: &str, text: &str) -> Result<Document> {
        let plan =
            read_topology(&Source { name, text, owner: None }).map_err(|error| anyhow!("{error:?}"))?;
        Ok(Document(plan.after))
    }
}

impl Said {
    fn of(answer: &Answer) -> Said {
        let hops: Vec<String> = answer.hops.iter().map(|hop| format!("{}: {}", hop.key, hop.text)).collect();
        let verdict = match &answer.why {
            _ if answer.reached => format!("reached by way of {:?}", answer.way),
            Some(why) => format!("not reached: {why:?}"),
            None => "not reached".to_owned(),
        };
        Said {
            reached: answer.reached,
            way: answer.way,
            unsure: answer.unsure(),
            text: format!("{verdict} [{}]", hops.join("; ")),
        }
    }

    /// Whether packets did what the answer says.
    pub(super) fn agrees(&self, seen: &Seen) -> bool {
        self.reached == seen.reached && (!self.reached || seen.way.is_none_or(|way| way == self.way))
    }
}

/// The answers for all pairs of a topology, by the names of source and destination.
pub(super) fn answers(
    document: &Document,
    topology: &Topology,
    fault: Option<Fault>,
) -> Result<BTreeMap<(String, String), Said>> {
    let mut read = document.0.clone();
    if fault == Some(Fault::Model) {
        read.subnets.values_mut().for_each(|subnet| subnet.public = true);
    }
    if fault == Some(Fault::ModelPolicies) {
        read.endpoints.values_mut().for_each(|endpoint| endpoint.access = model::Access::Open);
        read.stores.values_mut().for_each(|store| store.access = model::Access::Open);
    }
    let lists = Lists::new(&read);
    let mut subnets = Vec::new();
    for name in &topology.subnets {
        let found = read.subnets.values().find(|subnet| subnet.head.name == *name);
        let key = found.with_context(|| format!("the model has no subnet {name}"))?.head.key.clone();
        subnets.push((name.clone(), Place::Subnet(key)));
    }
    let mut destinations = subnets.clone();
    destinations.push((INTERNET.to_owned(), Place::Internet));
    destinations
        .extend(SERVICES.map(|(service, _)| (service.to_owned(), Place::Service(service.to_owned()))));
    let buckets = topology.buckets.iter().map(Bucket::host);
    destinations.extend(buckets.map(|host| (host.clone(), Place::Name(host))));
    destinations.extend(topology.names.iter().map(|name| (name.clone(), Place::Name(name.clone()))));
    let mut answers = BTreeMap::new();
    let mut ask = |(name, from): &(String, Place), (other, to): &(String, Place)| {
        let answer = lists.ask(from, to, Protocol::Tcp(443, 443));
        answers.insert((name.clone(), other.clone()), Said::of(&answer));
    };
    for from in &subnets {
        for to in destinations.iter().filter(|(name, _)| *name != from.0) {
            ask(from, to);
        }
        ask(&(INTERNET.to_owned(), Place::Internet), from);
    }
    Ok(answers)
}
