//! The network and the tunnel at work: what the example promises, done.

use std::net::IpAddr;
use std::time::Instant;

use anyhow::{Context as _, Result, anyhow, ensure};
use ipnet::IpNet;
use serde_json::Value;
use warren_dataplane::lab::{Node, Probe};
use warren_dataplane::servers::{Image, LAYERS, SIGNED, pull, put_object};
use warren_harness::Emulator;

use super::{Seen, TAGS, summary};
use crate::AllStage;
use crate::overlay::{Instance, POD, Pod, World};

/// A bucket that the example's endpoint allows, and an object in it.
const BUCKET: &str = "acme-datasets";
const OBJECT: &str = "train/part-0.parquet";

/// Bytes of the object.
const SIZE: usize = 3_000_000;

/// The registry of the emulated AWS account.
const REGISTRY: &str = "123456789012.dkr.ecr.us-east-1.amazonaws.com";

/// The range of the AWS hub in the plan of the example, which has the endpoints.
const HUB: &str = "172.16.0.0/16";

/// The addresses of private.googleapis.com (Google Cloud's "Configure Private Google Access"), which the internet does not
/// route.
const PRIVATE_GOOGLE_ACCESS: &str = "199.36.153.8/30";

/// The instance of the gateway in Google Cloud.
const GOOGLES: &str = "projects/acme-ml/zones/us-central1-a/instances/gw-gcp";

/// Boots the gateways and the pod in the network that was created, uses what the example promises, and removes the pod.
pub(super) fn run(stage: &AllStage, report: &mut dyn FnMut(&str)) -> Result<Seen> {
    let outputs = stage.terraform.outputs()?;
    let (aws, google) = (&stage.cloud.aws, &stage.cloud.google);
    report("building the network on this machine from what the emulated clouds contain");
    let world = World::build(aws, google)?;
    report(&format!(
        "  {} hosts in AWS and {} in Google Cloud; TLS servers behind the endpoints: S3, ECR, Google Storage",
        world.aws.places().len(),
        world.google.places().len()
    ));

    report(
        "booting both gateways from their instances' user data: boot script, secrets from the secret stores, warren-tunnel; without privileges",
    );
    let listed = outputs["gateways"]["value"].as_array().context("no gateways")?;
    let run = aws.proxy().calls_of("RunInstances").into_iter().next().context("no instance")?;
    let mut gateways = Gateways {
        instances: [Instance::boot(&run)?, Instance::boot_in_google(google, GOOGLES)?],
        hosts: [
            world.aws.place("gw-aws")?.node.clone(),
            world.google.host(GOOGLES).context("no host")?.1.clone(),
        ],
        public: listed.iter().map(public).collect::<Result<_>>()?,
    };
    let fetched =
        [gateways.instances[0].fetch(&aws.endpoint())?, gateways.instances[1].fetch(&google.endpoint())?];
    for (place, gateway) in listed.iter().enumerate() {
        gateways.start(place)?;
        report(&format!("  {} listens at {}: UDP 51820, TCP 443", gateway["name"], gateways.public[place]));
    }

    report("starting the pod's agent with the environment that RunPod set; without privileges");
    let id =
        outputs["pods"]["value"].as_object().and_then(|pods| pods.values().next()).and_then(Value::as_str);
    let environment = stage.cloud.runpod.environment(id.context("no pod")?).context("no environment")?;
    let mut pod = Pod::start(&world.pods, &environment)?;
    let (place, lease) = gateways.lease()?;
    let ranges = ["10.100.0.", "10.100.1."];
    let within = lease["addresses"][0].as_str().is_some_and(|address| address.starts_with(ranges[place]));
    ensure!(lease["state"] == "live" && within, "{lease}");
    report(&format!(
        "  {} enrolled in group {} with address {}",
        lease["public_key"], lease["group"], lease["addresses"][0]
    ));

    world.internet.watch().clear();
    let object = used(&world, &gateways, aws, report)?;
    closed(&world, &gateways, report)?;
    let killed = gateways.instances[place].log();
    restarted(&world, &mut gateways, (place, &lease), &object, report)?;
    let processes = processes()?;
    ensure!(processes.contains("gateway --config"), "the gateway is not in the list of processes");
    report("terraform apply with no pods: RunPod stops the container, and the agent releases its lease");
    let run = stage.terraform.apply(&["-var", TAGS, "-var", "pods=0"])?.success()?;
    report(&format!("  {}", summary(&run.stdout)));
    pod.process().terminate()?;
    let (_, lease) = gateways.lease()?;
    ensure!(lease["state"] == "released", "{lease}\n{}", pod.process().log());
    report(&format!(
        "  {} is {}; available to other pods from {}",
        lease["addresses"][0], lease["state"], lease["until"]
    ));
    let [aws, google] = &gateways.instances;
    Ok(vec![
        ("the user data in AWS", aws.script().to_owned()),
        ("the startup script in Google Cloud", google.script().to_owned()),
        ("the logs of fetch", fetched.concat()),
        ("the log of the gateway that was killed", killed),
        ("the gateways' logs", aws.log() + &google.log()),
        ("the agent's log", pod.process().log()),
        ("the list of processes", processes),
        ("Terraform's output", run.output()),
    ])
}

/// The gateways' instances and the hosts that they run on: AWS, Google Cloud.
struct Gateways {
    instances: [Instance; 2],
    hosts: [Node; 2],
    public: Vec<IpAddr>,
}

impl Gateways {
    /// Starts one, again if it runs.
    fn start(&mut self, place: usize) -> Result<()> {
        self.instances[place].start(&self.hosts[place])
    }

    /// The pod's lease, and which gateway it is of.
    fn lease(&self) -> Result<(usize, Value)> {
        for (place, instance) in self.instances.iter().enumerate() {
            if let Some(lease) = instance.peers()?.into_iter().find(|peer| peer["group"] == "gpu") {
                return Ok((place, lease));
            }
        }
        anyhow::bail!("no gateway has a lease: {}", self.logs())
    }

    fn logs(&self) -> String {
        self.instances.iter().map(Instance::log).collect::<Vec<_>>().join("\n")
    }
}

/// Reads S3, pulls an image and reads Google Storage in the pod, by their names. Returns the object.
fn used(world: &World, gateways: &Gateways, aws: &Emulator, report: &mut dyn FnMut(&str)) -> Result<String> {
    let object: String =
        (0..SIZE).map(|n| char::from(b'a' + u8::try_from(n * 7 / 3 % 26).unwrap_or_default())).collect();
    put_object(&aws.endpoint(), BUCKET, OBJECT, object.as_bytes())?;
    let s3 = format!("{BUCKET}.s3.us-east-1.amazonaws.com");
    let read = |name: &str,
                (host, range): (&Node, &str),
                url: &str,
                more: &[&str],
                report: &mut dyn FnMut(&str)|
     -> Result<()> {
        report(&format!("in the pod: GET {url}"));
        let begun = Instant::now();
        let got = Pod::get(&world.pods, url, &world.authority.file(), more);
        let got = got.with_context(|| gateways.logs())?;
        let seconds = begun.elapsed().as_secs_f64();
        ensure!(got == object, "received {} bytes that differ from the object", got.len());
        let address = private(world, host, name, range)?;
        report(&format!(
            "  {SIZE} bytes in {seconds:.2} s, identical to the object; the name resolves to {address} in the hub"
        ));
        Ok(())
    };
    let [hub, googles] = &gateways.hosts;
    read(&s3, (hub, HUB), &format!("https://{s3}/{OBJECT}"), &["--header", SIGNED], report)?;

    let image = Image::with_file("train.py", b"print('training')\n");
    world.registry.push("trainer", "1", &image, &aws.endpoint())?;
    let reference = format!("{REGISTRY}/trainer:1");
    report(&format!("in the pod: skopeo copy docker://{reference}"));
    let pulled = pull(|words| Pod::command(&world.pods, words), &reference, &world.authority.file());
    ensure!(pulled.with_context(|| gateways.logs())? == image.manifest(), "another image was pulled");
    report(&format!(
        "  manifest from {}, layers from {} by the name of ECR's bucket",
        private(world, hub, REGISTRY, HUB)?,
        private(world, hub, &format!("{LAYERS}.s3.us-east-1.amazonaws.com"), HUB)?
    ));

    world.storage.put("acme-corpus", "part-0", object.as_bytes())?;
    let url = "https://storage.googleapis.com/storage/v1/b/acme-corpus/o/part-0?alt=media";
    read("storage.googleapis.com", (googles, PRIVATE_GOOGLE_ACCESS), url, &[], report)?;

    let known: Vec<IpAddr> = gateways.public.iter().copied().chain([POD.into()]).collect();
    let strangers: Vec<_> = world
        .internet
        .watch()
        .packets()
        .into_iter()
        .filter(|packet| [packet.source, packet.destination].iter().any(|end| !known.contains(end)))
        .collect();
    ensure!(strangers.is_empty(), "the internet saw more than the tunnel:\n{}", world.internet.seen());
    report("  on the internet, there were only packets of the tunnel: pod and gateways, gateway and gateway");
    Ok(object)
}

/// The addresses of a name for a host, all of which are in the range.
fn private(world: &World, host: &Node, name: &str, range: &str) -> Result<String> {
    let range: IpNet = range.parse()?;
    let addresses = world.resolved(host, name)?;
    ensure!(
        addresses.iter().all(|address| range.contains(address)),
        "{name} resolves to {addresses:?}, which is not within {range}"
    );
    Ok(addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
}

/// The address at which peers find a gateway.
fn public(gateway: &Value) -> Result<IpAddr> {
    let udp = gateway["udp"].as_str().context("a gateway without an address")?;
    Ok(udp.trim_end_matches(":51820").parse()?)
}

/// What is closed for the pod, although its gateway could reach it.
fn closed(world: &World, gateways: &Gateways, report: &mut dyn FnMut(&str)) -> Result<()> {
    let not_reached = |name: &str| -> Result<()> {
        let machine = world.aws.place(name)?;
        let outcomes = world.lab.probe(&[Probe::tcp(&gateways.hosts[0], (machine.address, 443).into())]);
        let server = outcomes.first().and_then(|outcome| outcome.server());
        let server = server.with_context(|| format!("the gateway does not reach {name}"))?;
        // The agent connects directly to what the tunnel does not lead to, and the internet drops it.
        let url = format!("http://{}:443/", machine.address);
        let got = Pod::get(&world.pods, &url, &world.authority.file(), &["--max-time", "8"]);
        let got = got.unwrap_or_default();
        ensure!(!got.contains(server), "the pod reaches {name} at {url}: {got}");
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads = ["aws-ml", "aws-public"].map(|name| scope.spawn(move || not_reached(name)));
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| anyhow!("a thread panicked"))?)
    })?;
    report(
        "  the pod does not reach hosts in the VPC, which its gateway does: the group allows services only",
    );
    Ok(())
}

/// Kills the pod's gateway and restarts it. The pod renews its lease with a handshake and keeps its address.
fn restarted(
    world: &World,
    gateways: &mut Gateways,
    (place, lease): (usize, &Value),
    object: &str,
    report: &mut dyn FnMut(&str),
) -> Result<()> {
    report("killing the gateway (SIGKILL) and restarting it with its stored leases");
    gateways.start(place)?;
    let begun = Instant::now();
    let url = format!("https://{BUCKET}.s3.us-east-1.amazonaws.com/{OBJECT}");
    let got = Pod::get(&world.pods, &url, &world.authority.file(), &["--header", SIGNED]);
    let got = got.with_context(|| gateways.logs())?;
    ensure!(got == object, "received {} bytes that differ from the object", got.len());
    let back = begun.elapsed();
    let (_, renewed) = gateways.lease()?;
    ensure!(renewed["last_handshake_age"].is_number(), "no handshake: {renewed}");
    for part in ["public_key", "addresses", "state", "since"] {
        ensure!(renewed[part] == lease[part], "{part} of the lease was {} before: {renewed}", lease[part]);
    }
    report(&format!(
        "  the pod reads the object again after {:.1} s: it renewed its lease with a handshake, {} until {}",
        back.as_secs_f64(),
        renewed["addresses"][0],
        renewed["until"]
    ));
    Ok(())
}

/// The arguments of all processes on this machine.
fn processes() -> Result<String> {
    let mut all = String::new();
    for entry in std::fs::read_dir("/proc")? {
        // A process may end while it is read.
        let Ok(line) = std::fs::read(entry?.path().join("cmdline")) else { continue };
        all += &String::from_utf8_lossy(&line).replace('\0', " ");
        all.push('\n');
    }
    Ok(all)
}
