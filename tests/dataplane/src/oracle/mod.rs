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
mod google;
mod packets;
mod policies;
mod random;
mod topology;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use warren_harness::{Emulator, ProxyConfig, Terraform};

use crate::aws;
use crate::lab::{Internet, Lab};
use compare::{Answers, Document, Questions};
pub use google::{GoogleOracle, GoogleTopology};
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
    /// How many pairs the model leaves open because something outside the configuration decides, such as another name server.
    pub open: usize,
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
            "{} topologies, {} pairs ({} connected; the plan knew {}; {} open), {} differences",
            self.topologies,
            self.pairs,
            self.connected,
            self.known_in_plans,
            self.open,
            self.differences.len()
        )
    }
}

/// Compares batch by batch; `told` hears about each batch and each difference.
fn batches(
    topologies: usize,
    mut seed: u64,
    together: usize,
    told: &mut dyn FnMut(&str),
    mut compare: impl FnMut(u64, usize, &mut Report) -> Result<()>,
) -> Result<Report> {
    let mut report = Report::default();
    while report.topologies < topologies {
        let count = together.max(1).min(topologies - report.topologies);
        let seeds = format!("seeds {seed} to {}", seed + count as u64 - 1);
        let before = report.differences.len();
        compare(seed, count, &mut report).with_context(|| seeds.clone())?;
        for difference in &report.differences[before..] {
            told(&difference.to_string());
        }
        told(&format!("{seeds}: {} pairs and {} differences so far", report.pairs, report.differences.len()));
        seed += count as u64;
    }
    Ok(report)
}

/// Applies configurations, by the names of their files. Returns the plan and the state.
fn applied(
    build_folder: &Path,
    provider: &str,
    configurations: &BTreeMap<String, &str>,
) -> Result<[serde_json::Value; 2]> {
    let terraform = Terraform::new("warren-net/warren", build_folder)?;
    terraform.write(
        "provider.tf",
        &format!(
            "terraform {{\n  required_providers {{\n    warren = {{ source = \"warren-net/warren\" }}\n  }}\n}}\n\n\
             provider \"warren\" {{\n  fabric = \"oracle\"\n  owner  = \"tests\"\n  {provider}\n}}\n"
        ),
    )?;
    for (name, text) in configurations {
        terraform.write(&format!("{name}.tf"), text)?;
    }
    terraform.plan(&["-out=plan"])?.success()?;
    let plan = terraform.show(Some("plan"))?;
    terraform.run(&["apply", "-no-color", "-input=false", "-parallelism=20", "plan"])?.success()?;
    Ok([plan, terraform.show(None)?])
}

impl Report {
    /// Compares the answers from the state and from the plan with the packets of one topology. Those from the plan need not be
    /// known.
    fn judge(&mut self, seed: u64, [state, plan]: [&Answers; 2], packets: &Packets) -> Result<()> {
        for (pair, answer) in state {
            let seen = packets.outcome(pair).with_context(|| format!("no packets for {pair:?}"))?;
            self.pairs += 1;
            self.connected += usize::from(seen.reached);
            let early = plan.get(pair).filter(|answer| !answer.unsure);
            self.known_in_plans += usize::from(early.is_some());
            for (read, answer) in [("state", Some(answer)), ("plan", early)] {
                if let Some(answer) = answer.filter(|answer| answer.unsure || !answer.agrees(seen)) {
                    self.differences.push(Difference {
                        seed,
                        pair: pair.clone(),
                        read,
                        model: answer.text.clone(),
                        packets: seen.text.clone(),
                    });
                }
            }
        }
        self.topologies += 1;
        Ok(())
    }
}

impl Oracle {
    /// Applies and compares; `told` hears about each run and each difference.
    ///
    /// # Errors
    /// Terraform fails, the data plane cannot be built, or a document cannot be read.
    pub fn run(&self, told: &mut dyn FnMut(&str)) -> Result<Report> {
        let mut cloud = Emulator::start(ProxyConfig::default())?;
        let together = self.together.min(topology::SLOTS);
        batches(self.topologies, self.seed, together, told, |seed, count, report| {
            let topologies: Vec<Topology> =
                (seed..).take(count).enumerate().map(|(slot, seed)| Topology::random(seed, slot)).collect();
            self.compare(&cloud, &topologies, report)?;
            cloud.reset()
        })
    }

    fn compare(&self, cloud: &Emulator, topologies: &[Topology], report: &mut Report) -> Result<()> {
        let provider =
            format!("aws    = {{ region = \"us-east-1\", endpoint_url = \"{}\" }}", cloud.endpoint());
        let configurations = topologies
            .iter()
            .map(|topology| (topology.name.clone(), topology.configuration.as_str()))
            .collect();
        let [mut plan, mut state] = applied(&self.build_folder, &provider, &configurations)?;
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

        let plan = Document::read("plan.json", &plan)?;
        let state = Document::read("state.json", &state)?;
        for topology in topologies {
            let questions = Questions::of(topology);
            let (state, plan) =
                (state.answers(&questions, self.fault)?, plan.answers(&questions, self.fault)?);
            report.judge(topology.seed, [&state, &plan], &packets)?;
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
