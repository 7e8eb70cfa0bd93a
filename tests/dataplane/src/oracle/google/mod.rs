//! The same for Google Cloud.
//!
//! Instances are added to what the API shows, and to the state as hashicorp/google would write them: Warren's only instances are
//! gateways. Hence the plan knows nothing about them.

mod packets;
mod topology;

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use warren_harness::{Google, GoogleConfig};

use super::compare::{Answers, Document, Questions};
use super::packets::Pair;
use super::{Fault, Report, applied, batches};
use crate::google::{Plane, Ports};
use crate::lab::{Internet, Lab};
pub use topology::GoogleTopology;
use topology::Instance;

/// What is compared in Google Cloud.
#[derive(Clone, Debug)]
pub struct GoogleOracle {
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

impl GoogleOracle {
    /// Applies and compares; `told` hears about each run and each difference.
    ///
    /// # Errors
    /// Terraform fails, the data plane cannot be built, or a document cannot be read.
    pub fn run(&self, told: &mut dyn FnMut(&str)) -> Result<Report> {
        let together = self.together.min(topology::SLOTS);
        batches(self.topologies, self.seed, together, told, |seed, count, report| {
            let seeds = (seed..).take(count).enumerate();
            let topologies: Vec<GoogleTopology> =
                seeds.map(|(slot, seed)| GoogleTopology::random(seed, slot)).collect();
            self.compare(&topologies, report)
        })
    }

    fn compare(&self, topologies: &[GoogleTopology], report: &mut Report) -> Result<()> {
        let cloud = Google::start(GoogleConfig::default())?;
        let project = topology::PROJECT;
        let provider = format!(
            "gcp    = {{ project = \"{project}\", region = \"us-central1\", endpoint_url = \"{}\" }}",
            cloud.endpoint()
        );
        let configurations = topologies
            .iter()
            .map(|topology| (topology.name.clone(), topology.configuration.as_str()))
            .collect();
        let [plan, mut state] = applied(&self.build_folder, &provider, &configurations)?;

        let mut objects = cloud.objects();
        objects.extend(cloud.record_sets());
        let resources = state["values"]["root_module"]["resources"]
            .as_array_mut()
            .context("the state has no resources")?;
        for instance in topologies.iter().flat_map(|topology| &topology.instances) {
            objects.insert(instance.path(), instance.object());
            resources.push(instance.resource());
        }
        if self.fault == Some(Fault::DataPlane) {
            objects.retain(|_, object| object["destRange"] != "0.0.0.0/0");
        }
        let lab = Lab::new()?;
        let mut internet = Internet::new(&lab, &[443])?;
        let ports = Ports { hosts: &[443], instances: &[443], apis: &[443] };
        let plane = Plane::build(&lab, &mut internet, &objects, ports)?;
        let (packets, own) = packets::send(&lab, &internet, &plane, topologies)?;

        let (plan, state) = (Document::read("plan.json", &plan)?, Document::read("state.json", &state)?);
        for topology in topologies {
            let mut questions = Questions::of_google(topology);
            let mut late = state.answers(&questions, self.fault)?;
            questions.hosts.clear();
            let early = plan.answers(&questions, self.fault)?;
            late.retain(|pair, _| topology.compares(pair) && !own.contains(pair));
            report.open += forget_open(&mut late, topology);
            report.judge(topology.seed, [&late, &early], &packets)?;
        }
        Ok(())
    }
}

/// Forgets the pairs that other name servers decide, and returns how many.
fn forget_open(answers: &mut Answers, topology: &GoogleTopology) -> usize {
    let before = answers.len();
    answers.retain(|(_, to), answer| !(answer.unsure && topology.forwarded.contains(to)));
    before - answers.len()
}

impl Questions {
    fn of_google(topology: &GoogleTopology) -> Questions {
        Questions {
            subnets: topology.subnets.iter().map(|(name, _)| name.clone()).collect(),
            hosts: topology.instances.iter().map(|instance| instance.name.clone()).collect(),
            services: Vec::new(),
            names: topology.names.iter().chain(topology.own_names.values().flatten()).cloned().collect(),
        }
    }
}

impl GoogleTopology {
    /// Whether a pair has one answer: names of endpoints are compared where some network has such names.
    fn compares(&self, (from, to): &Pair) -> bool {
        let endpoint = self.own_names.values().flatten().any(|name| name == to);
        !endpoint || self.own_names.keys().any(|network| from.starts_with(network.as_str()))
    }
}

impl Instance {
    /// Its name from `projects/` on.
    fn path(&self) -> String {
        format!("projects/{}/zones/{}-a/instances/{}", topology::PROJECT, self.region, self.name)
    }

    fn subnet_path(&self) -> String {
        format!("projects/{}/regions/{}/subnetworks/{}", topology::PROJECT, self.region, self.subnet)
    }

    /// As the API shows it.
    fn object(&self) -> Value {
        let external: Vec<Value> = self.external.iter().map(|address| json!({"natIP": address})).collect();
        json!({
            "name": self.name,
            "networkInterfaces": [{
                "subnetwork": format!("https://www.googleapis.com/compute/v1/{}", self.subnet_path()),
                "networkIP": self.address,
                "accessConfigs": external,
            }],
            "tags": {"items": self.tags},
            "serviceAccounts": [{"email": self.account}],
            "canIpForward": false,
            "status": "RUNNING",
        })
    }

    /// As a resource of hashicorp/google in a state.
    fn resource(&self) -> Value {
        let external: Vec<Value> = self.external.iter().map(|address| json!({"nat_ip": address})).collect();
        json!({
            "address": format!("google_compute_instance.{}", self.name),
            "mode": "managed",
            "type": "google_compute_instance",
            "name": self.name,
            "provider_name": "registry.terraform.io/hashicorp/google",
            "schema_version": 6,
            "values": {
                "id": self.path(),
                "name": self.name,
                "network_interface": [{
                    "subnetwork": self.subnet_path(),
                    "network_ip": self.address,
                    "access_config": external,
                }],
                "tags": self.tags,
                "service_account": [{"email": self.account, "scopes": ["cloud-platform"]}],
                "can_ip_forward": false,
            },
            "sensitive_values": {},
        })
    }
}
