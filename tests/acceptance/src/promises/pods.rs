//! Gateways, booted from what the clouds hold of their instances, and a pod for each group that an assertion names. A group that is
//! a destination has a second pod, whose programs listen on all ports that are probed.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use ipnet::IpNet;
use serde_json::Value;
use warren_dataplane::google::Of;
use warren_dataplane::lab::{Internet, Lab, Names, Node};
use warren_dataplane::servers::SIGNED;
use warren_model::policy::{Assertion, Selector};

use super::applied::Applied;
use super::ask::{End, Port, object};
use super::ground::Ground;
use crate::overlay::{Instance, Pod};
use crate::{build_folder, journey};

/// Where the agent of a pod serves HTTP's CONNECT.
const PROXY: &str = "http://127.0.0.1:3128";

/// How long curl waits for an answer, in seconds.
const TIMEOUT: &str = "8";

/// Running gateways and pods.
#[derive(Default)]
pub(super) struct Pods {
    gateways: Vec<Instance>,
    pods: BTreeMap<String, (Node, Pod)>,
    /// The pods that others connect to, by their groups.
    listening: BTreeMap<String, Listening>,
    /// The addresses of pods and gateways on the internet.
    ends: BTreeSet<IpAddr>,
}

/// A pod whose programs listen.
struct Listening {
    node: Node,
    /// Its name inside the tunnel.
    name: String,
    _pod: Pod,
}

/// The planes that gateways run on.
pub(super) struct Hosts<'a> {
    pub(super) aws: Option<&'a warren_dataplane::aws::Network>,
    pub(super) google: Option<&'a warren_dataplane::google::Plane>,
}

impl Pods {
    /// Boots all gateways, and lets a pod of each group that the assertions name join.
    pub(super) fn start(
        lab: &Lab,
        internet: &mut Internet,
        applied: &Applied,
        hosts: &Hosts<'_>,
        assertions: &[Assertion],
        ports: &[u16],
    ) -> Result<Pods> {
        let of = |selectors: &mut dyn Iterator<Item = &'_ Selector>| -> BTreeSet<String> {
            let groups = selectors.filter_map(|selector| match selector {
                Selector::Group(group) => Some(group.rsplit('/').next().unwrap_or(group).to_owned()),
                _ => None,
            });
            groups.collect()
        };
        let groups = of(&mut assertions.iter().flat_map(|it| it.from.iter().chain(&it.to)));
        let destinations = of(&mut assertions.iter().flat_map(|it| &it.to));
        let mut pods = Pods::default();
        if groups.is_empty() {
            return Ok(pods);
        }
        pods.boot(applied, hosts)?;
        let outputs = applied.terraform().outputs()?;
        for gateway in outputs["gateways"]["value"].as_array().into_iter().flatten() {
            let address =
                gateway["udp"].as_str().and_then(|udp| udp.rsplit_once(':')).context("no address")?.0;
            pods.ends.insert(address.parse()?);
        }
        pods.linked()?;
        let public: Arc<dyn Names> = Arc::new(internet.names().clone());
        lab.serve_names(internet.node(), &[internet.address()], &public)?;
        let mut addresses = (7_u8..).map(|number| Ipv4Addr::new(198, 51, 100, number));
        let mut host = |name: &str, ends: &mut BTreeSet<IpAddr>| {
            let address = addresses.next().context("no address")?;
            ends.insert(address.into());
            somewhere(lab, internet, name, address)
        };
        let mut rented = of_runpod(applied, &outputs)?;
        for group in &groups {
            let mut environments = rented.remove(group).unwrap_or_default().into_iter();
            let mut environment = |pods: &Pods| match environments.next() {
                Some(environment) => Ok(environment),
                None => pods.environment(applied, &outputs, group),
            };
            let node = host(&format!("pod of {group}"), &mut pods.ends)?;
            let pod = Pod::start(&node, &environment(&pods)?).with_context(|| pods.logs())?;
            pods.pods.insert(group.clone(), (node, pod));
            if destinations.contains(group) {
                let node = host(&format!("another pod of {group}"), &mut pods.ends)?;
                lab.respond(&node, &[Ipv4Addr::LOCALHOST.into()], ports)?;
                let mut environment = environment(&pods)?;
                let reverse: Vec<String> =
                    ports.iter().map(|port| format!("{port}=127.0.0.1:{port}")).collect();
                environment.insert("WARREN_REVERSE".to_owned(), reverse.join(","));
                let host =
                    environment.entry("WARREN_HOST_NAME".to_owned()).or_insert_with(|| "another".into());
                let name = format!("{host}.{group}.warren.internal");
                let pod = Pod::start(&node, &environment).with_context(|| pods.logs())?;
                pods.listening.insert(group.clone(), Listening { node, name, _pod: pod });
            }
        }
        Ok(pods)
    }

    /// The groups with a pod.
    pub(super) fn groups(&self) -> impl Iterator<Item = String> + '_ {
        self.pods.keys().cloned()
    }

    fn boot(&mut self, applied: &Applied, hosts: &Hosts<'_>) -> Result<()> {
        if let (Some(cloud), Some(network)) = (applied.aws(), hosts.aws) {
            for run in cloud.proxy().calls_of("RunInstances") {
                let here = network.places().iter().find(|place| {
                    place.instance.is_some() && run.params.iter().any(|(_, value)| value == place.name)
                });
                let host = here.with_context(|| format!("no host for {:?}", run.params))?;
                let mut instance = Instance::boot(&run)?;
                instance.fetch(&cloud.endpoint())?;
                instance.start(&host.node)?;
                self.gateways.push(instance);
            }
        }
        if let (Some(cloud), Some(plane)) = (applied.google(), hosts.google) {
            for (place, node) in plane.places() {
                if let Of::Instance(path) = &place.of {
                    let mut instance = Instance::boot_in_google(cloud, path)?;
                    instance.fetch(&cloud.endpoint())?;
                    instance.start(node)?;
                    self.gateways.push(instance);
                }
            }
        }
        ensure!(!self.gateways.is_empty(), "the policy names a group, and there is no gateway");
        Ok(())
    }

    /// Waits until gateways of different sites have found each other.
    fn linked(&self) -> Result<()> {
        let end = Instant::now() + Duration::from_secs(30);
        for gateway in &self.gateways {
            loop {
                let status: Value = serde_json::from_str(&gateway.ask(&["status", "--json"])?)?;
                let sites = status["sites"].as_array().context("a status without sites")?;
                if sites.iter().all(|site| site["up"] == true) {
                    break;
                }
                ensure!(Instant::now() < end, "no link between sites: {status}\n{}", self.logs());
                std::thread::sleep(Duration::from_millis(200));
            }
        }
        Ok(())
    }

    /// The environment of a pod with a token that is signed as an operator does, with the key from the secret store.
    fn environment(
        &self,
        applied: &Applied,
        outputs: &Value,
        group: &str,
    ) -> Result<BTreeMap<String, String>> {
        let mut secrets = Vec::new();
        if let Some(cloud) = applied.aws() {
            secrets.extend(journey::secrets(&cloud.proxy().calls_of("PutParameter")));
        }
        if let Some(cloud) = applied.google() {
            let added = cloud.front().calls_of("secretmanager.projects.secrets.addVersion");
            secrets.extend(journey::google_secrets(&added)?);
        }
        let key = secrets.into_iter().find(|secret| secret.starts_with("k4.secret."));
        let gateway = self.gateways.first().context("no gateway")?;
        let mut config = gateway.fetched("gateway.toml")?;
        if !config.contains("[[gateways]]") {
            for gateway in outputs["gateways"]["value"].as_array().into_iter().flatten() {
                config += "\n[[gateways]]\n";
                for (name, value) in gateway.as_object().context("a gateway")? {
                    config += &format!("{name} = {value}\n");
                }
            }
        }
        let file = applied.terraform().folder().join("gateway.toml");
        std::fs::write(&file, config)?;
        let mut command = Command::new(build_folder()?.join("warren-tunnel"));
        command.args(["token", "create", "--group", group, "--uses", "1000", "--config"]).arg(file);
        command.env("WARREN_SIGNING_KEY", key.context("no signing key in a secret store")?.trim());
        let output = command.output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let token = String::from_utf8(output.stdout)?.trim().to_owned();
        let environment = [("WARREN_TOKEN", token), ("WARREN_LOG_FORMAT", "json".to_owned())];
        Ok(environment.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    fn logs(&self) -> String {
        self.gateways.iter().map(Instance::log).collect::<Vec<_>>().join("\n")
    }
}

/// The environments that RunPod sets, where the example rents pods, by the groups of their tokens.
fn of_runpod(applied: &Applied, outputs: &Value) -> Result<BTreeMap<String, Vec<BTreeMap<String, String>>>> {
    let mut groups: BTreeMap<String, Vec<_>> = BTreeMap::new();
    let Some((cloud, pods)) = applied.runpod().zip(outputs["pods"]["value"].as_object()) else {
        return Ok(groups);
    };
    for id in pods.values().filter_map(Value::as_str) {
        let environment = cloud.environment(id).with_context(|| format!("pod {id} has no environment"))?;
        let token = environment.get("WARREN_TOKEN").with_context(|| format!("pod {id} has no token"))?;
        let mut command = Command::new(build_folder()?.join("warren-tunnel"));
        let output = command.args(["token", "inspect", "--json"]).env("WARREN_TOKEN", token).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let token: Value = serde_json::from_slice(&output.stdout)?;
        let group = token["group"].as_str().context("a token without a group")?;
        groups.entry(group.to_owned()).or_default().push(environment);
    }
    Ok(groups)
}

/// A host with a public address, in no cloud of ours.
fn somewhere(lab: &Lab, internet: &mut Internet, name: &str, address: Ipv4Addr) -> Result<Node> {
    let node = lab.node(name)?;
    internet.attach(lab, &node, "eth0", &[IpNet::from(IpAddr::V4(address))])?;
    node.ip(&format!("address add {address}/32 dev eth0"))?;
    node.set_resolvers(&[internet.address()])?;
    Ok(node)
}

/// A connection that a pod opens through its agent.
pub(super) struct Opened {
    child: Child,
    own: BTreeSet<IpAddr>,
}

impl Ground {
    /// Begins a connection of a group's pod, as a program in the pod does: through the agent's proxy.
    pub(super) fn open(&self, group: &str, to: &End, port: Port) -> Result<Opened> {
        let (node, _) = self.pods.pods.get(group).with_context(|| format!("no pod of {group}"))?;
        let target = match to {
            End::Host(index) => self.hosts.get(*index).context("no such host")?.address.to_string(),
            End::Internet => self.internet.address().to_string(),
            End::Name(name, _) => name.clone(),
            End::Pod(group) => self.listening(group).context("no pod listens")?.name.clone(),
        };
        let mut command = node.command(warren_programs::program("curl")?);
        command.args(["--silent", "--fail", "--max-time", TIMEOUT, "--proxytunnel", "--proxy", PROXY]);
        // A preflight is no access: no policy is about it ("OPTIONS object" in the API reference of S3).
        let (path, request): (_, &[&str]) = match object(to) {
            Some((_, path)) => (path, &["--header", SIGNED]),
            None => ("/", &["--request", "OPTIONS"]),
        };
        command.args(request).arg(format!("http://{target}:{}{path}", port.number));
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        Ok(Opened { child, own: self.pods.ends.clone() })
    }

    fn listening(&self, group: &str) -> Option<&Listening> {
        self.pods.listening.get(group)
    }

    /// Whether this is the node of the pod of a group that others connect to.
    pub(super) fn is_pod(&self, group: &str, node: &str) -> bool {
        self.listening(group).is_some_and(|it| it.node.name() == node)
    }

    /// Whether a line of what the internet saw is the tunnel between pods and gateways.
    pub(super) fn is_tunnel(&self, line: &str) -> bool {
        let end = |text: &str| text.parse::<IpAddr>().is_ok_and(|address| self.pods.ends.contains(&address));
        let Some((from, rest)) = line.split_once(" -> ") else { return false };
        end(from) && rest.split(':').next().is_some_and(end)
    }
}

impl Opened {
    /// Who answered; a connection that did not go through the tunnel counts as none.
    pub(super) fn answered(self) -> Result<Result<String, String>> {
        let output = self.child.wait_with_output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let Some((server, seen)) = text.trim().rsplit_once(' ') else {
            return Ok(Err(format!("no answer ({})", output.status)));
        };
        let peer = seen.rsplit_once(':').and_then(|(address, _)| address.parse::<IpAddr>().ok());
        // The agent lets what is not for the tunnel out where the pod is.
        let outside =
            |address: &IpAddr| self.own.contains(address) && address.to_string().starts_with("198.51.100.");
        if peer.as_ref().is_some_and(outside) {
            return Ok(Err("it did not go through the tunnel".to_owned()));
        }
        Ok(Ok(server.to_owned()))
    }
}
