//! Packets as the judge of `warren check --policy`: random topologies are applied to the emulated cloud, and for every pair of
//! places the model's answer is compared with what packets did.
//!
//! ```text
//! seed -> configuration -> Terraform -> plan and state -> model   -> answers
//!                               |                                        | compared
//!                               +-> emulated cloud -> data plane -> packets
//! ```
//!
//! The state after the apply knows everything, so the model must know every answer. The plan does not: there, the model may say
//! that an answer is known only after the apply, but no answer may be wrong.

mod compare;
mod packets;
mod policies;
mod random;
mod topology;

use std::fmt;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use warren_harness::{Emulator, ProxyConfig, Terraform};

use crate::aws;
use crate::lab::{Internet, Lab};
use compare::{Document, answers};
use packets::Packets;
use policies::Ids;
pub use topology::Topology;

/// What is compared.
#[derive(Clone, Debug)]
pub struct Oracle {
    /// How many topologies.
    pub topologies: usize,
    /// The seed of the first; the others follow.
    pub seed: u64,
    /// How many topologies one run of Terraform holds.
    pub together: usize,
    /// A fault that is planted, to see that it is found.
    pub fault: Option<Fault>,
    /// The folder of the provider.
    pub build_folder: PathBuf,
}

/// A planted fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The model believes that every machine has a public address.
    Model,
    /// The data plane forgets default routes.
    DataPlane,
    /// The model believes that policies allow everything.
    ModelPolicies,
    /// The data plane forgets the policies of buckets.
    DataPlanePolicies,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// How many topologies were compared.
    pub topologies: usize,
    /// How many pairs of places.
    pub pairs: usize,
    /// How many of them packets connected.
    pub connected: usize,
    /// How many answers of plans were known.
    pub known_in_plans: usize,
    /// The pairs on which model and packets differ.
    pub differences: Vec<Difference>,
}

/// A pair on which model and packets differ.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The seed of the topology.
    pub seed: u64,
    /// The names of source and destination.
    pub pair: (String, String),
    /// What the model read: the plan, or the state.
    pub read: &'static str,
    /// The model's answer, and why.
    pub model: String,
    /// What packets did.
    pub packets: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to) = &self.pair;
        writeln!(f, "seed {}: {from} -> {to}, by the {}", self.seed, self.read)?;
        writeln!(f, "  model:   {}", self.model)?;
        write!(f, "  packets: {}", self.packets)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} topologies, {} pairs ({} connected; the plan knew {}), {} differences",
            self.topologies,
            self.pairs,
            self.connected,
            self.known_in_plans,
            self.differences.len()
        )
    }
}

impl Oracle {
    /// Applies and compares; `told` hears about each run and each difference.
    ///
    /// # Errors
    /// Terraform fails, the data plane cannot be built, or a document cannot be read.
    pub fn run(&self, told: &mut dyn FnMut(&str)) -> Result<Report> {
        let mut report = Report::default();
        let mut cloud = Emulator::start(ProxyConfig::default())?;
        let mut seed = self.seed;
        while report.topologies < self.topologies {
            let count = self.together.clamp(1, topology::SLOTS).min(self.topologies - report.topologies);
            let topologies: Vec<Topology> =
                (seed..).take(count).enumerate().map(|(slot, seed)| Topology::random(seed, slot)).collect();
            let seeds = format!("seeds {seed} to {}", seed + count as u64 - 1);
            let before = report.differences.len();
            self.compare(&cloud, &topologies, &mut report).with_context(|| seeds.clone())?;
            for difference in &report.differences[before..] {
                told(&difference.to_string());
            }
            told(&format!(
                "{seeds}: {} pairs and {} differences so far",
                report.pairs,
                report.differences.len()
            ));
            cloud.reset()?;
            seed += count as u64;
        }
        Ok(report)
    }

    fn compare(&self, cloud: &Emulator, topologies: &[Topology], report: &mut Report) -> Result<()> {
        let terraform = Terraform::new("warren-net/warren", &self.build_folder)?;
        terraform.write("provider.tf", &provider(&cloud.endpoint()))?;
        for topology in topologies {
            terraform.write(&format!("{}.tf", topology.name), &topology.configuration)?;
        }
        terraform.plan(&["-out=plan"])?.success()?;
        let mut plan = terraform.show(Some("plan"))?;
        terraform.run(&["apply", "-no-color", "-input=false", "-parallelism=20", "plan"])?.success()?;
        let mut state = terraform.show(None)?;
        let ids = Ids::of(&state);
        for bucket in topologies.iter().flat_map(|topology| &topology.buckets) {
            bucket.make(&cloud.endpoint(), &ids)?;
            bucket.show(&mut plan, &ids)?;
            bucket.show(&mut state, &ids)?;
        }

        let mut account = aws::Account::read(&cloud.endpoint(), "us-east-1")?;
        if self.fault == Some(Fault::DataPlane) {
            for table in &mut account.route_tables {
                table.routes.retain(|route| range_of(route).is_none_or(|range| range.prefix_len() > 0));
            }
        }
        if self.fault == Some(Fault::DataPlanePolicies) {
            account.buckets.iter_mut().for_each(|bucket| bucket.policy = None);
        }
        let lab = Lab::new()?;
        let mut internet = Internet::new(&lab, &[443])?;
        let options = aws::Options::default();
        let network = aws::Network::build(&lab, &mut internet, &account, &options)?;
        let packets = Packets::send(&lab, &internet, &network, topologies)?;

        let plan = Document::read("plan.json", &plan.to_string())?;
        let state = Document::read("state.json", &state.to_string())?;
        for topology in topologies {
            let state = answers(&state, topology, self.fault)?;
            let plan = answers(&plan, topology, self.fault)?;
            for (pair, answer) in &state {
                let seen = packets.outcome(pair).with_context(|| format!("no packets for {pair:?}"))?;
                report.pairs += 1;
                report.connected += usize::from(seen.reached);
                let early = plan.get(pair).filter(|answer| !answer.unsure);
                report.known_in_plans += usize::from(early.is_some());
                for (read, answer) in [("state", Some(answer)), ("plan", early)] {
                    if let Some(answer) = answer.filter(|answer| answer.unsure || !answer.agrees(seen)) {
                        report.differences.push(Difference {
                            seed: topology.seed,
                            pair: pair.clone(),
                            read,
                            model: answer.text.clone(),
                            packets: seen.text.clone(),
                        });
                    }
                }
            }
            report.topologies += 1;
        }
        Ok(())
    }
}

fn range_of(route: &aws::Route) -> Option<ipnet::Ipv4Net> {
    match route.destination {
        aws::Destination::Range(range) => Some(range),
        aws::Destination::PrefixList(_) => None,
    }
}

fn provider(endpoint: &str) -> String {
    format!(
        "terraform {{\n  required_providers {{\n    warren = {{ source = \"warren-net/warren\" }}\n  }}\n}}\n\n\
         provider \"warren\" {{\n  fabric = \"oracle\"\n  owner  = \"tests\"\n  \
         aws    = {{ region = \"us-east-1\", endpoint_url = \"{endpoint}\" }}\n}}\n"
    )
}
