//! The answers of the model.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, anyhow};
use warren_model::reach::{Answer, Lists, Place, Way};
use warren_model::topology::{self as model, Protocol};
use warren_planfile::{Source, read_topology};

use super::Fault;
use super::packets::{INTERNET, Pair, Seen};
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

/// The answers for all pairs.
pub(super) type Answers = BTreeMap<Pair, Said>;

/// Between what the model is asked.
#[derive(Debug, Default)]
pub(super) struct Questions {
    /// Names of subnets, which open connections and are their destinations.
    pub(super) subnets: Vec<String>,
    /// Names of instances, likewise.
    pub(super) hosts: Vec<String>,
    /// Services as destinations.
    pub(super) services: Vec<String>,
    /// Names as destinations.
    pub(super) names: Vec<String>,
}

impl Questions {
    pub(super) fn of(topology: &Topology) -> Questions {
        Questions {
            subnets: topology.subnets.clone(),
            hosts: Vec::new(),
            services: SERVICES.map(|(service, _)| service.to_owned()).to_vec(),
            names: topology.names.iter().cloned().chain(topology.buckets.iter().map(Bucket::host)).collect(),
        }
    }
}

impl Document {
    pub(super) fn read(name: &str, document: &serde_json::Value) -> Result<Document> {
        let text = document.to_string();
        let plan = read_topology(&Source { name, text: &text, owner: None })
            .map_err(|error| anyhow!("{error:?}"))?;
        Ok(Document(plan.after))
    }

    /// The answers of the model.
    pub(super) fn answers(&self, questions: &Questions, fault: Option<Fault>) -> Result<Answers> {
        let mut read = self.0.clone();
        if fault == Some(Fault::Model) {
            read.subnets.values_mut().for_each(|subnet| subnet.public = true);
        }
        if fault == Some(Fault::ModelPolicies) {
            read.endpoints.values_mut().for_each(|endpoint| endpoint.access = model::Access::Open);
            read.stores.values_mut().for_each(|store| store.access = model::Access::Open);
        }
        let lists = Lists::new(&read);
        let mut places = Vec::new();
        for name in &questions.subnets {
            let found = read.subnets.values().find(|subnet| subnet.head.name == *name);
            let key = found.with_context(|| format!("the model has no subnet {name}"))?.head.key.clone();
            places.push((name.clone(), Place::Subnet(key)));
        }
        for name in &questions.hosts {
            let found = read.hosts.values().find(|host| host.head.name == *name);
            let key = found.with_context(|| format!("the model has no host {name}"))?.head.key.clone();
            places.push((name.clone(), Place::Host(key)));
        }
        let mut destinations = places.clone();
        destinations.push((INTERNET.to_owned(), Place::Internet));
        let services = questions.services.iter().map(|name| (name.clone(), Place::Service(name.clone())));
        let names = questions.names.iter().map(|name| (name.clone(), Place::Name(name.clone())));
        destinations.extend(services.chain(names));
        let mut answers = Answers::new();
        let mut ask = |(name, from): &(String, Place), (other, to): &(String, Place)| {
            let answer = lists.ask(from, to, Protocol::Tcp(443, 443));
            answers.insert((name.clone(), other.clone()), Said::of(&answer));
        };
        for from in &places {
            for to in destinations.iter().filter(|(name, _)| *name != from.0) {
                ask(from, to);
            }
            ask(&(INTERNET.to_owned(), Place::Internet), from);
        }
        Ok(answers)
    }
}
