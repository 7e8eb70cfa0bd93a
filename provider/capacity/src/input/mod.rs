//! Reads a request from a tree of values, which files and Terraform have in common.

mod reader;
mod syntax;

pub use syntax::Syntax;

use crate::formula;
use crate::prices::{HOURS, Prices, TABLE};
use crate::request::{Checkpoint, Dataset, Link, LinkKind, Place, Request, Store, Training};
use crate::units::{Bytes, LARGEST, LinkRate, Seconds, Share, Usd, parameters};
use reader::{At, Reader, datasets, join, links};
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use syntax::{map, number, text};

/// A value of the input. Numbers are as written.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// No value.
    Null,
    /// True or false.
    Bool(bool),
    /// A number.
    Number(String),
    /// A text.
    Text(String),
    /// A list, which the input has nowhere.
    List,
    /// Values by key, in the order of the input.
    Map(Vec<(String, Value)>),
}

/// What is wrong with an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Keys from the root to the value.
    pub path: Vec<String>,
    /// What is wrong.
    pub message: String,
    /// One thing to do.
    pub hint: String,
}

/// The keys of a request, in the order of the documentation.
pub const KEYS: &[&str] = &[
    "name",
    "store",
    "place",
    "private",
    "pods",
    "datasets",
    "model",
    "checkpoint",
    "training",
    "links",
    "prices",
];
const DATASET: &[&str] = &["size", "within", "times_per_month", "per_pod"];
const MODEL: &[&str] = &["parameters", "gradient_bytes", "checkpoint_bytes"];
const CHECKPOINT: &[&str] = &["size", "interval", "pause", "upload_within", "cost_per_hour"];
const TRAINING: &[&str] = &[
    "gpus",
    "pods",
    "step",
    "network",
    "tensor_parallel",
    "pipeline_parallel",
    "sites",
    "between_sites",
    "server",
    "elastic",
    "local_steps",
    "limit",
];
const LINK: &[&str] = &["kind", "rate", "gateways"];

/// Most pods of a plan.
const MOST_PODS: u32 = 1_000_000;
const UNITS: &str = "check its number and its unit";

/// Reads a request. Hints have the syntax of the input.
///
/// # Errors
/// Everything that is wrong with the input.
pub fn read(input: &Value, syntax: Syntax) -> Result<Request, Vec<Fault>> {
    let mut reader = Reader { syntax, ..Reader::default() };
    let request = reader.request(input);
    match request {
        Some(request) if reader.faults.is_empty() => Ok(request),
        _ => Err(reader.faults),
    }
}

/// The number of pods.
#[derive(Clone, Copy)]
enum Pods {
    /// It is set.
    Known(NonZeroU64),
    /// It is set to something wrong, which is reported.
    Wrong,
    /// It is not set.
    Unknown,
}

impl Reader {
    fn request(&mut self, value: &Value) -> Option<Request> {
        let at = At { value, path: &[] };
        if !self.keys(at, KEYS) {
            return None;
        }
        let name = self.text(at, "name", "write a title, or remove the key").unwrap_or("capacity").to_owned();
        if at.get("store").is_none() {
            self.missing(at, "store", &text("aws"));
        }
        let store = self.choice(at, "store", &[("aws", Store::Aws), ("gcp", Store::Gcp)]);
        let place = self.choice(at, "place", &[("rented", Place::Rented), ("site", Place::Site)]);
        let place = place.unwrap_or(Place::Rented);
        let private = self.flag(at, "private");
        let model = self.model(at);
        let pods = self.pods(at);
        let datasets = self.section(at, "datasets", &datasets(), |reader, at| reader.dataset(at, pods));
        let datasets = datasets.and_then(|datasets| self.volumes(datasets));
        let checkpoint = self.checkpoint(at, model);
        let training = self.training(at, model, pods);
        if at.get("checkpoint").is_none() && datasets.as_ref().is_some_and(BTreeMap::is_empty) {
            let hint = self.syntax.entry("datasets", &reader::datasets());
            self.fault(
                &[],
                "nothing is transferred",
                format!("add a dataset or checkpoints, for example {hint}"),
            );
        }
        let links = self.section(at, "links", &links(), |reader, at| reader.link(at, store));
        if links.as_ref().is_some_and(BTreeMap::is_empty) {
            let hint = self.syntax.entry("links", &reader::links());
            self.fault(&[], "there is no link option", format!("add one, for example {hint}"));
        }
        let prices = self.prices(at);
        let pods = match pods {
            Pods::Known(pods) => Some(pods),
            Pods::Wrong | Pods::Unknown => None,
        };
        Some(Request {
            name,
            store: store?,
            place,
            private,
            pods,
            datasets: datasets?,
            checkpoint,
            training,
            links: links?,
            prices,
        })
    }

    fn dataset(&mut self, at: At<'_>, pods: Pods) -> Option<Dataset> {
        if !self.keys(at, DATASET) {
            return None;
        }
        let size: Option<Bytes> = self.required(at, "size", "2 TB");
        let within: Option<Seconds> = self.required(at, "within", "12 h");
        let times = self.number(at, "times_per_month", 0.0..=10_000.0).unwrap_or(1.0);
        let copies = match pods {
            _ if !self.flag(at, "per_pod") => 1,
            Pods::Known(pods) => pods.get(),
            Pods::Wrong => 1,
            Pods::Unknown => {
                let hint = format!(
                    "set it next to `datasets`, for example {}",
                    self.syntax.entry("pods", &number(8))
                );
                self.fault_at(at, "per_pod", "the number of pods is not known", hint);
                1
            }
        };
        let (size, within) = (size?, within?);
        if within.0 * times > HOURS * 3600.0 * (1.0 + 1e-9) {
            let most = HOURS * 3600.0 / within.0;
            let most = if most < 1.0 { (most * 1000.0).floor() / 1000.0 } else { most.floor() };
            let key = if at.get("times_per_month").is_some() { "times_per_month" } else { "within" };
            let message = format!("{times} times {within} do not fit in a month of {HOURS} h");
            let key_and_value = self.syntax.entry("times_per_month", &Value::Number(most.to_string()));
            self.fault_at(at, key, message, format!("set a shorter `within`, or at most {key_and_value}"));
            return None;
        }
        let Some(size) = size.times(copies as f64) else {
            self.fault_at(at, "size", "the copies of all pods are more than 10¹⁸ bytes", UNITS);
            return None;
        };
        let Some(rate) = size.rate_within(within) else {
            self.fault_at(at, "within", format!("{size} in {within} take more than 10¹⁸ bit/s"), UNITS);
            return None;
        };
        Some(Dataset { size, within, rate, times_per_month: times })
    }

    /// The datasets, unless their sum is too large.
    fn volumes(&mut self, datasets: BTreeMap<String, Dataset>) -> Option<BTreeMap<String, Dataset>> {
        let rate: f64 = datasets.values().map(|it| it.rate.0 as f64).sum();
        let month: f64 = datasets.values().map(|it| it.size.0 as f64 * it.times_per_month).sum();
        let what = match (rate > LARGEST, month > LARGEST) {
            (true, _) => "all datasets together take more than 10¹⁸ bit/s",
            (_, true) => "all datasets together are more than 10¹⁸ bytes a month",
            _ => return Some(datasets),
        };
        self.fault(&["datasets".to_owned()], what, "check the numbers and units of the datasets");
        None
    }

    /// Bytes of gradients and of a checkpoint.
    fn model(&mut self, root: At<'_>) -> Option<(Bytes, Bytes)> {
        let value = root.get("model")?;
        let path = join(root.path, "model");
        let at = At { value, path: &path };
        if !self.keys(at, MODEL) {
            return None;
        }
        let count = match at.get("parameters") {
            Some(Value::Text(text) | Value::Number(text)) => parameters(text)
                .map_err(|error| self.fault_at(at, "parameters", error.message, error.hint))
                .ok(),
            Some(other) => {
                self.no_number(at, "parameters", other, "70B");
                None
            }
            None => {
                self.missing(at, "parameters", &text("70B"));
                None
            }
        };
        let gradient = self.count(at, "gradient_bytes", 16, 2).get();
        let checkpoint = self.count(at, "checkpoint_bytes", 64, 4).get();
        let count = count?;
        let sizes = formula::size(count, gradient).zip(formula::size(count, checkpoint));
        if sizes.is_none() {
            self.fault_at(at, "parameters", "the model has more than 10¹⁸ bytes", UNITS);
        }
        sizes
    }

    fn checkpoint(&mut self, root: At<'_>, model: Option<(Bytes, Bytes)>) -> Option<Checkpoint> {
        let value = root.get("checkpoint")?;
        let path = join(root.path, "checkpoint");
        let at = At { value, path: &path };
        if !self.keys(at, CHECKPOINT) {
            return None;
        }
        let own: Option<Bytes> = self.quantity(at, "size", "280 GB");
        if at.get("size").is_none() && root.get("model").is_none() {
            let hint = format!("set one of them, for example {}", self.syntax.entry("size", &text("280 GB")));
            self.fault(&path, "neither `size` nor `model` is set", hint);
        }
        let interval: Option<Seconds> = self.required(at, "interval", "30 min");
        let pause = self.quantity(at, "pause", "30 s");
        let upload: Option<Seconds> = self.quantity(at, "upload_within", "10 min");
        let hour = self.number(at, "cost_per_hour", 0.0..=1_000_000.0).map(Usd);
        if let (Some(upload), Some(interval)) = (upload, interval)
            && upload > interval
        {
            let hint = format!("use at most {interval}, so that an upload ends before the next one starts");
            self.fault_at(at, "upload_within", "the upload takes longer than `interval`", hint);
            return None;
        }
        let interval = interval?;
        let size = own.or(model.map(|(_, checkpoint)| checkpoint))?;
        let upload_within = upload.unwrap_or(interval);
        let (Some(rate), Some(average)) = (size.rate_within(upload_within), size.rate_within(interval))
        else {
            let key = if upload.is_some() { "upload_within" } else { "interval" };
            self.fault_at(at, key, format!("{size} in {upload_within} take more than 10¹⁸ bit/s"), UNITS);
            return None;
        };
        Some(Checkpoint { size, interval, pause, upload_within, rate, average, hour })
    }

    /// The number of pods: of the root, or else of the training.
    fn pods(&mut self, root: At<'_>) -> Pods {
        let path = ["training".to_owned()];
        let training = root.get("training").map(|value| At { value, path: &path });
        let before = self.faults.len();
        let mut read = |at: At<'_>| at.get("pods").map(|_| self.count(at, "pods", MOST_PODS, 1));
        let (own, training) = (read(root), training.and_then(&mut read));
        if let (Some(own), Some(training)) = (own, training)
            && own != training
        {
            let message = format!("`pods` is {own}, and `training.pods` is {training}");
            self.fault_at(root, "pods", message, "remove one of the two");
        }
        match own.or(training) {
            _ if self.faults.len() > before => Pods::Wrong,
            Some(pods) => Pods::Known(pods),
            None => Pods::Unknown,
        }
    }

    fn training(&mut self, root: At<'_>, model: Option<(Bytes, Bytes)>, pods: Pods) -> Option<Training> {
        let value = root.get("training")?;
        let path = join(root.path, "training");
        let at = At { value, path: &path };
        let before = self.faults.len();
        if !self.keys(at, TRAINING) {
            return None;
        }
        if root.get("model").is_none() {
            let hint = self.syntax.entry("model", &map([("parameters", text("7B"))]));
            self.fault(&path, "`model` is missing", format!("set it next to `training`, for example {hint}"));
        }
        if at.get("gpus").is_none() {
            self.missing(at, "gpus", &number(8));
        }
        let pods = match pods {
            Pods::Known(pods) => Some(pods.get()),
            Pods::Wrong => None,
            Pods::Unknown => {
                self.missing(at, "pods", &number(8));
                None
            }
        };
        let gpus = self.count(at, "gpus", 1_000_000, 1).get();
        let sites = self.count(at, "sites", 1_000, 1);
        let replica = self.count(at, "tensor_parallel", 4096, 1).get()
            * self.count(at, "pipeline_parallel", 4096, 1).get();
        let step = self.required(at, "step", "2 s");
        let network: Option<LinkRate> = self.required(at, "network", "100 Mbit/s");
        let between: Option<LinkRate> = self.quantity(at, "between_sites", "1 Gbit/s");
        let server = self.quantity(at, "server", "10 Gbit/s");
        let elastic = self.flag(at, "elastic");
        let local_steps = self.count(at, "local_steps", 1_000_000, 100);
        let limit = Share(self.number(at, "limit", 0.01..=0.9).unwrap_or(0.2));
        if sites.get() > 1 && at.get("between_sites").is_none() {
            self.missing(at, "between_sites", &text("1 Gbit/s"));
        }
        if self.faults.len() > before {
            return None;
        }
        let pods = pods?;
        let per_pod = (gpus / pods).max(1);
        if let Some((key, message, hint)) = contradiction(gpus, pods, sites.get(), replica) {
            self.fault_at(at, key, message, hint);
            return None;
        }
        let pods_per_replica = NonZeroU64::new(replica / per_pod).unwrap_or(NonZeroU64::MIN);
        let groups = NonZeroU64::new(pods / pods_per_replica)?;
        let (model, network) = (model?.0, network?);
        if model.times(2.0 * groups.get() as f64).is_none() {
            self.fault(
                &path,
                "a step exchanges more than 10¹⁸ bytes",
                "check `gpus` and the size of the model",
            );
            return None;
        }
        let between_sites = between.unwrap_or(network);
        Some(Training {
            model,
            pods_per_replica,
            groups,
            sites,
            step: step?,
            network,
            between_sites,
            server: server.unwrap_or(between_sites),
            elastic,
            local_steps,
            limit,
        })
    }

    fn link(&mut self, at: At<'_>, store: Option<Store>) -> Option<Link> {
        if !self.keys(at, LINK) {
            return None;
        }
        if at.get("kind").is_none() {
            self.missing(at, "kind", &text("wireguard"));
        }
        let kind = self.choice(at, "kind", LinkKind::ALL);
        let given: Option<LinkRate> = self.quantity(at, "rate", "2 Gbit/s");
        let gateways = self.count(at, "gateways", 1_000, 1);
        let kind = kind?;
        let rate = given.unwrap_or(kind.default_rate(gateways));
        if let Some(largest) = kind.largest_rate()
            && rate.rate() > largest
        {
            let message = format!("{rate} is more than such a link carries");
            self.fault_at(at, "rate", message, format!("use at most {largest}"));
        }
        let other = match (kind, store) {
            (LinkKind::DirectConnect, Some(Store::Gcp)) => Some("`interconnect` for Google Cloud"),
            (LinkKind::Interconnect, Some(Store::Aws)) => Some("`direct-connect` for AWS"),
            _ => None,
        };
        if let Some(other) = other {
            self.fault_at(
                at,
                "kind",
                format!("{} is a link of the other cloud", kind.title()),
                format!("use {other}"),
            );
        }
        if kind != LinkKind::Wireguard && at.get("gateways").is_some() {
            self.fault_at(at, "gateways", "only WireGuard has gateways", "remove the key");
        }
        Some(Link { kind, rate, assumed: given.is_none(), gateways })
    }

    fn prices(&mut self, root: At<'_>) -> Prices {
        let mut prices = Prices::default();
        let Some(value) = root.get("prices") else { return prices };
        let path = join(root.path, "prices");
        let at = At { value, path: &path };
        let known: Vec<&str> = TABLE.iter().map(|row| row.key).collect();
        if self.keys(at, &known) {
            for row in TABLE {
                if let Some(usd) = self.number(at, row.key, 0.0..=10_000.0) {
                    prices.set(row.item, usd);
                }
            }
        }
        prices
    }
}

/// The key of a training that contradicts the others, with the reason and a hint.
fn contradiction(
    gpus: u64,
    pods: u64,
    sites: u64,
    replica: u64,
) -> Option<(&'static str, String, &'static str)> {
    if !gpus.is_multiple_of(pods) {
        return Some((
            "gpus",
            format!("{gpus} GPUs cannot be divided by {pods} pods"),
            "give each pod as many GPUs",
        ));
    }
    let per_pod = gpus / pods;
    let pods_per_replica = (replica / per_pod).max(1);
    if !per_pod.is_multiple_of(replica) && !replica.is_multiple_of(per_pod) {
        let message = format!("a replica has {replica} GPUs, and a pod has {per_pod}");
        Some(("tensor_parallel", message, "let one of the two be a multiple of the other"))
    } else if !pods.is_multiple_of(sites) {
        let message = format!("{pods} pods cannot be divided by {sites} sites");
        Some(("sites", message, "give each site as many pods"))
    } else if !(pods / sites).is_multiple_of(pods_per_replica) {
        let message = format!("a replica needs {pods_per_replica} pods, and a site has {}", pods / sites);
        Some(("pipeline_parallel", message, "let each site hold whole replicas"))
    } else {
        None
    }
}
