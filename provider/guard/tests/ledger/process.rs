//! A provider process: one line of JSON for each request and each answer.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};

use serde::{Deserialize, Serialize};
use tf_provider_rs::Path as AttributePath;
use tf_provider_rs::async_trait;
use warren_guard::{
    Guard, GuardConfig, Key, Listing, LiveRange, LiveSource, Location, Parent, PlannedResource, Role,
};

/// A provider configuration.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Alias {
    pub(super) fabric: String,
    pub(super) owner: String,
    pub(super) location: Location,
}

/// How a resource uses its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Use {
    Reserve,
    Occupy,
    Excluded,
    /// A subnet of a network that does not exist yet.
    Part,
}

/// A resource with one range.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Planned {
    /// The position of its provider configuration.
    pub(super) alias: usize,
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) net: ipnet::IpNet,
    pub(super) role: Use,
}

#[derive(Debug, Serialize, Deserialize)]
enum Request {
    Validate,
    Configure(Alias),
    Live(Vec<LiveRange>),
    Plan(Planned),
    PlanWithoutEnd(Planned),
    Forget(Planned),
}

/// A process, killed on drop.
pub(super) struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Process {
    /// Starts a process whose private directory is in `folder`.
    pub(super) fn start(folder: &Path) -> Process {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg("provider").env("XDG_RUNTIME_DIR", folder).env("TMPDIR", folder);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Process { child, input, output: BufReader::new(output) }
    }

    pub(super) fn validate(&mut self) {
        self.ask(&Request::Validate);
    }

    pub(super) fn configure(&mut self, alias: &Alias) {
        self.ask(&Request::Configure(alias.clone()));
    }

    /// Adds live ranges that the process can read.
    pub(super) fn live(&mut self, ranges: &[LiveRange]) {
        self.ask(&Request::Live(ranges.to_vec()));
    }

    /// Plans a resource; the details of the diagnostics.
    pub(super) fn plan(&mut self, resource: &Planned) -> Vec<String> {
        self.ask(&Request::Plan(resource.clone()))
    }

    pub(super) fn forget(&mut self, resource: &Planned) {
        self.ask(&Request::Forget(resource.clone()));
    }

    /// Plans a resource over and over.
    pub(super) fn plan_without_end(&mut self, resource: &Planned) {
        self.send(&Request::PlanWithoutEnd(resource.clone()));
    }

    pub(super) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn ask(&mut self, request: &Request) -> Vec<String> {
        self.send(request);
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn send(&mut self, request: &Request) {
        writeln!(self.input, "{}", serde_json::to_string(request).unwrap()).unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}

/// The live ranges that a process can read.
struct Cloud(Vec<LiveRange>);

#[async_trait]
impl LiveSource for Cloud {
    fn name(&self) -> String {
        "AWS".to_owned()
    }

    async fn list(&self) -> Listing {
        let networks = self.0.iter().map(|range| range.id.clone()).collect();
        Listing { ranges: self.0.clone(), networks, ..Listing::default() }
    }
}

/// The process: answers until the end of its input.
pub(super) fn serve() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let guard = Guard::of_this_run();
    let mut here = Location::default();
    let mut answers = std::io::stdout();
    for line in std::io::stdin().lines() {
        let told = match serde_json::from_str(&line.unwrap()).unwrap() {
            Request::Validate => {
                Guard::of_this_run().validating();
                Vec::new()
            }
            Request::Configure(Alias { fabric, owner, location }) => {
                guard.configure(GuardConfig { fabric, owner, ..GuardConfig::default() });
                here = location;
                Vec::new()
            }
            Request::Live(ranges) => {
                guard.add_live(std::sync::Arc::new(Cloud(ranges)));
                Vec::new()
            }
            Request::Plan(resource) => plan(&runtime, &guard, &here, &resource),
            Request::PlanWithoutEnd(resource) => loop {
                plan(&runtime, &guard, &here, &resource);
            },
            Request::Forget(resource) => {
                guard.forget(&key(&resource, &here), None);
                Vec::new()
            }
        };
        answers.write_all(format!("{}\n", serde_json::to_string(&told).unwrap()).as_bytes()).unwrap();
    }
    ExitCode::SUCCESS
}

fn plan(runtime: &tokio::runtime::Runtime, guard: &Guard, here: &Location, planned: &Planned) -> Vec<String> {
    let role = match planned.role {
        Use::Reserve => Role::Reserve,
        Use::Occupy => Role::Occupy,
        Use::Excluded => Role::Excluded,
        Use::Part => Role::Part(Parent::of("warren_aws_vpc", None)),
    };
    let resource = PlannedResource::new(key(planned, here));
    let resource = resource.range(planned.net, AttributePath::of("cidr_block"), role);
    runtime.block_on(guard.plan(resource)).0.into_iter().map(|told| told.detail).collect()
}

fn key(planned: &Planned, here: &Location) -> Key {
    let kind = match planned.role {
        Use::Reserve | Use::Excluded => "warren_address_plan",
        Use::Part => "warren_aws_subnet",
        Use::Occupy if planned.kind == "warren_gcp_subnetwork" => "warren_gcp_subnetwork",
        Use::Occupy => "warren_aws_vpc",
    };
    let key = Key::new(kind, &planned.name);
    if kind == "warren_address_plan" { key } else { key.at(here.clone()) }
}
