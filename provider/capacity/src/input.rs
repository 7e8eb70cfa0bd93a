//! Reads a request from a tree of values, which files and Terraform have in common.

use crate::formula;
use crate::prices::{Prices, TABLE};
use crate::request::{Checkpoint, Dataset, Link, LinkKind, Place, Request, Store, Training};
use crate::units::{BitRate, Bytes, Seconds, Share, UnitError, parameters};
use std::collections::BTreeMap;

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
    pub hint: Option<String>,
}

const ROOT: &[&str] =
    &["name", "store", "place", "private", "datasets", "model", "checkpoint", "training", "links", "prices"];
const DATASET: &[&str] = &["size", "within", "times_per_month", "per_pod"];
const MODEL: &[&str] = &["parameters", "gradient_bytes", "checkpoint_bytes"];
const CHECKPOINT: &[&str] = &["size", "interval", "pause", "upload_within"];
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

/// Reads a request.
///
/// # Errors
/// Everything that is wrong with the input.
pub fn read(input: &Value) -> Result<Request, Vec<Fault>> {
    let mut reader = Reader::default();
    let request = reader.request(input);
    match request {
        Some(request) if reader.faults.is_empty() => Ok(request),
        _ => Err(reader.faults),
    }
}

/// A map of the input and the path to it.
#[derive(Clone, Copy)]
struct At<'a> {
    value: &'a Value,
    path: &'a [String],
}

impl<'a> At<'a> {
    fn get(self, key: &str) -> Option<&'a Value> {
        let Value::Map(entries) = self.value else { return None };
        entries.iter().find(|(name, value)| name == key && *value != Value::Null).map(|(_, value)| value)
    }
}

#[derive(Default)]
struct Reader {
    faults: Vec<Fault>,
}

impl Value {
    fn what(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::Text(_) => "a string",
            Self::List => "a list",
            Self::Map(_) => "a map",
        }
    }
}

impl Reader {
    fn fault(&mut self, path: Vec<String>, message: impl Into<String>, hint: impl Into<String>) {
        let hint = hint.into();
        let hint = (!hint.is_empty()).then_some(hint);
        self.faults.push(Fault { path, message: message.into(), hint });
    }

    fn fault_at(&mut self, at: At<'_>, key: &str, message: impl Into<String>, hint: impl Into<String>) {
        self.fault(join(at.path, key), message, hint);
    }

    /// Reports a value that is not a map, keys that occur twice, and keys that are not known.
    fn keys(&mut self, at: At<'_>, known: Option<&[&str]>) -> bool {
        if at.path.is_empty() && *at.value == Value::Null {
            self.fault(
                Vec::new(),
                "the input is empty",
                "start with the cloud that has the data: `store: aws`",
            );
            return false;
        }
        let Value::Map(entries) = at.value else {
            self.fault(at.path.to_vec(), format!("expected a map, found {}", at.value.what()), "");
            return false;
        };
        for (index, (key, _)) in entries.iter().enumerate() {
            if entries[..index].iter().any(|(other, _)| other == key) {
                self.fault_at(at, key, "the key occurs twice", "remove one of the two");
            } else if let Some(known) = known
                && !known.contains(&key.as_str())
                && !key.starts_with("x-")
            {
                let near = known
                    .iter()
                    .map(|word| (strsim::damerau_levenshtein(word, &short(key)), *word))
                    .min()
                    .filter(|(distance, word)| *distance <= 1 + word.len() / 4);
                let hint = match near {
                    Some((_, near)) => format!("did you mean `{near}`?"),
                    None => format!("the keys are {}", known.join(", ")),
                };
                self.fault_at(at, key, "unknown key", hint);
            }
        }
        true
    }

    fn missing(&mut self, at: At<'_>, key: &str, example: &str) {
        self.fault(
            at.path.to_vec(),
            format!("`{key}` is missing"),
            format!("set it, for example `{key}: {example}`"),
        );
    }

    fn text<'a>(&mut self, at: At<'a>, key: &str) -> Option<&'a str> {
        match at.get(key)? {
            Value::Text(text) if !text.trim().is_empty() => Some(text),
            Value::Text(_) => {
                self.fault_at(at, key, "the string is empty", "set a value, or remove the key");
                None
            }
            other => {
                self.fault_at(at, key, format!("expected a string, found {}", other.what()), "");
                None
            }
        }
    }

    /// A quantity with a unit.
    fn quantity<T: std::str::FromStr<Err = UnitError>>(
        &mut self,
        at: At<'_>,
        key: &str,
        example: &str,
    ) -> Option<T> {
        match at.get(key)? {
            Value::Text(text) => text
                .parse()
                .map_err(|error: UnitError| self.fault_at(at, key, error.message, error.hint))
                .ok(),
            other => {
                let message = format!("expected a quantity, found {}", other.what());
                self.fault_at(at, key, message, format!("write a string with a unit, such as `{example}`"));
                None
            }
        }
    }

    fn required<T: std::str::FromStr<Err = UnitError>>(
        &mut self,
        at: At<'_>,
        key: &str,
        example: &str,
    ) -> Option<T> {
        if at.get(key).is_none() {
            self.missing(at, key, example);
        }
        self.quantity(at, key, example)
    }

    fn flag(&mut self, at: At<'_>, key: &str) -> bool {
        match at.get(key) {
            Some(Value::Bool(value)) => *value,
            None => false,
            Some(other) => {
                self.fault_at(at, key, format!("expected true or false, found {}", other.what()), "");
                false
            }
        }
    }

    /// A number in a range, or the default.
    fn number(&mut self, at: At<'_>, key: &str, range: std::ops::RangeInclusive<f64>, default: f64) -> f64 {
        let bounds = || format!("write a number from {} to {}", range.start(), range.end());
        match at.get(key) {
            None => default,
            Some(Value::Number(text)) => match text.parse::<f64>().ok().filter(|value| range.contains(value))
            {
                Some(value) => value,
                None => {
                    self.fault_at(at, key, format!("{} is out of range", short(text)), bounds());
                    default
                }
            },
            Some(other) => {
                self.fault_at(at, key, format!("expected a number, found {}", other.what()), bounds());
                default
            }
        }
    }

    /// A whole number from 1 on, or the default.
    fn count(&mut self, at: At<'_>, key: &str, largest: u32, default: u64) -> u64 {
        let value = self.number(at, key, 1.0..=f64::from(largest), default as f64);
        if value.fract() != 0.0 {
            self.fault_at(at, key, format!("{value} is not a whole number"), "remove its fraction");
        }
        value as u64
    }

    fn choice<T: Copy>(&mut self, at: At<'_>, key: &str, known: &[(&str, T)]) -> Option<T> {
        let text = self.text(at, key)?;
        let found = known.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
        if found.is_none() {
            let names: Vec<String> = known.iter().map(|(name, _)| format!("`{name}`")).collect();
            let hint = format!("use one of {}", names.join(", "));
            self.fault_at(at, key, format!("unknown value {:?}", short(text)), hint);
        }
        found
    }

    /// The maps of a section by name.
    fn section<T>(
        &mut self,
        at: At<'_>,
        key: &str,
        mut item: impl FnMut(&mut Self, At<'_>) -> Option<T>,
    ) -> BTreeMap<String, T> {
        let Some(value) = at.get(key) else { return BTreeMap::new() };
        let path = join(at.path, key);
        let section = At { value, path: &path };
        let mut found = BTreeMap::new();
        self.keys(section, None);
        let Value::Map(entries) = value else { return found };
        for (name, value) in entries {
            let path = join(&path, name);
            if let Some(item) = item(self, At { value, path: &path }) {
                found.insert(name.clone(), item);
            }
        }
        found
    }

    fn request(&mut self, value: &Value) -> Option<Request> {
        let at = At { value, path: &[] };
        if !self.keys(at, Some(ROOT)) {
            return None;
        }
        let name = self.text(at, "name").unwrap_or("capacity").to_owned();
        if at.get("store").is_none() {
            self.missing(at, "store", "aws");
        }
        let store = self.choice(at, "store", &[("aws", Store::Aws), ("gcp", Store::Gcp)]);
        let place = self.choice(at, "place", &[("rented", Place::Rented), ("site", Place::Site)]);
        let place = place.unwrap_or(Place::Rented);
        let private = self.flag(at, "private");
        let model = self.model(at);
        let pods = self.pods(at);
        let datasets = self.section(at, "datasets", |reader, at| reader.dataset(at, pods));
        let checkpoint = self.checkpoint(at, model);
        let training = self.training(at, model);
        if datasets.is_empty() && checkpoint.is_none() && self.faults.is_empty() {
            let hint =
                "add a dataset or checkpoints, for example `datasets: {tokens: {size: 2 TB, within: 12 h}}`";
            self.fault(Vec::new(), "nothing is transferred", hint);
        }
        let links = self.section(at, "links", |reader, at| reader.link(at, store));
        if links.is_empty() && self.faults.is_empty() {
            let hint = "add one, for example `links: {wireguard: {kind: wireguard, rate: 2 Gbit/s}}`";
            self.fault(Vec::new(), "there is no link option", hint);
        }
        let prices = self.prices(at);
        Some(Request { name, store: store?, place, private, datasets, checkpoint, training, links, prices })
    }

    fn dataset(&mut self, at: At<'_>, pods: u64) -> Option<Dataset> {
        self.keys(at, Some(DATASET));
        let size: Option<Bytes> = self.required(at, "size", "2 TB");
        let within = self.required(at, "within", "12 h");
        let times_per_month = self.number(at, "times_per_month", 0.0..=10_000.0, 1.0);
        let copies = if self.flag(at, "per_pod") { pods } else { 1 };
        Some(Dataset { size: size?.times(copies as f64), within: within?, times_per_month })
    }

    /// Bytes of gradients and of a checkpoint.
    fn model(&mut self, root: At<'_>) -> Option<(Bytes, Bytes)> {
        let value = root.get("model")?;
        let path = join(root.path, "model");
        let at = At { value, path: &path };
        if !self.keys(at, Some(MODEL)) {
            return None;
        }
        let count = match at.get("parameters") {
            Some(Value::Text(text) | Value::Number(text)) => parameters(text)
                .map_err(|error| self.fault_at(at, "parameters", error.message, error.hint))
                .ok(),
            Some(other) => {
                self.fault_at(at, "parameters", format!("expected a number, found {}", other.what()), "");
                None
            }
            None => {
                self.missing(at, "parameters", "70B");
                None
            }
        };
        let gradient = self.count(at, "gradient_bytes", 16, 2);
        let checkpoint = self.count(at, "checkpoint_bytes", 64, 4);
        let count = count?;
        Some((formula::size(count, gradient), formula::size(count, checkpoint)))
    }

    fn checkpoint(&mut self, root: At<'_>, model: Option<(Bytes, Bytes)>) -> Option<Checkpoint> {
        let value = root.get("checkpoint")?;
        let path = join(root.path, "checkpoint");
        let at = At { value, path: &path };
        if !self.keys(at, Some(CHECKPOINT)) {
            return None;
        }
        let own: Option<Bytes> = self.quantity(at, "size", "280 GB");
        if at.get("size").is_none() && root.get("model").is_none() {
            let hint = "set one of them, for example `size: 280 GB`";
            self.fault(path.clone(), "neither `size` nor `model` is set", hint);
        }
        let interval: Option<Seconds> = self.required(at, "interval", "30 min");
        let pause = self.quantity(at, "pause", "30 s");
        let upload: Option<Seconds> = self.quantity(at, "upload_within", "10 min");
        if let (Some(upload), Some(interval)) = (upload, interval)
            && upload > interval
        {
            let hint = format!("use at most {interval}, so that an upload ends before the next one starts");
            self.fault_at(at, "upload_within", "the upload takes longer than `interval`", hint);
        }
        let interval = interval?;
        let size = own.or(model.map(|(_, checkpoint)| checkpoint))?;
        Some(Checkpoint { size, interval, pause, upload_within: upload.unwrap_or(interval) })
    }

    /// The number of pods, for datasets that each of them reads. `training` reports what is wrong with it.
    fn pods(&mut self, root: At<'_>) -> u64 {
        let training = root.get("training").map(|value| At { value, path: &[] });
        match training.and_then(|at| at.get("pods")) {
            Some(Value::Number(text)) => text.parse::<f64>().map_or(1, |pods| pods as u64),
            _ => 1,
        }
    }

    fn training(&mut self, root: At<'_>, model: Option<(Bytes, Bytes)>) -> Option<Training> {
        let value = root.get("training")?;
        let path = join(root.path, "training");
        let at = At { value, path: &path };
        if !self.keys(at, Some(TRAINING)) {
            return None;
        }
        if root.get("model").is_none() {
            self.fault(path.clone(), "`model` is missing", "set it, for example `model: {parameters: 7B}`");
        }
        for key in ["gpus", "pods"] {
            if at.get(key).is_none() {
                self.missing(at, key, "8");
            }
        }
        let before = self.faults.len();
        let gpus = self.count(at, "gpus", 1_000_000, 1);
        let pods = self.count(at, "pods", 1_000_000, 1);
        let sites = self.count(at, "sites", 1_000, 1);
        let replica =
            self.count(at, "tensor_parallel", 4096, 1) * self.count(at, "pipeline_parallel", 4096, 1);
        let step = self.required(at, "step", "2 s");
        let network: Option<BitRate> = self.required(at, "network", "100 Mbit/s");
        let between: Option<BitRate> = self.quantity(at, "between_sites", "1 Gbit/s");
        let server = self.quantity(at, "server", "10 Gbit/s");
        let elastic = self.flag(at, "elastic");
        let local_steps = self.count(at, "local_steps", 1_000_000, 100);
        let limit = Share(self.number(at, "limit", 0.01..=0.9, 0.2));
        if sites > 1 && at.get("between_sites").is_none() {
            self.missing(at, "between_sites", "1 Gbit/s");
        }
        if self.faults.len() > before {
            return None;
        }
        let whole = |a: u64, b: u64| b > 0 && a.is_multiple_of(b);
        let per_pod = gpus / pods.max(1);
        let wrong = if !whole(gpus, pods) {
            Some((
                "gpus",
                format!("{gpus} GPUs cannot be divided by {pods} pods"),
                "give each pod as many GPUs",
            ))
        } else if !whole(per_pod, replica) && !whole(replica, per_pod) {
            let message = format!("a replica has {replica} GPUs, and a pod has {per_pod}");
            Some(("tensor_parallel", message, "let one of the two be a multiple of the other"))
        } else if !whole(pods, sites) {
            Some((
                "sites",
                format!("{pods} pods cannot be divided by {sites} sites"),
                "give each site as many pods",
            ))
        } else if !whole(pods / sites, (replica / per_pod).max(1)) {
            let message =
                format!("a replica needs {} pods, and a site has {}", replica / per_pod, pods / sites);
            Some(("pipeline_parallel", message, "let each site hold whole replicas"))
        } else {
            None
        };
        if let Some((key, message, hint)) = wrong {
            self.fault_at(at, key, message, hint);
            return None;
        }
        let pods_per_replica = (replica / per_pod).max(1);
        let network = network?;
        let between_sites = between.unwrap_or(network);
        Some(Training {
            model: model?.0,
            pods,
            pods_per_replica,
            groups: pods / pods_per_replica,
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
        self.keys(at, Some(LINK));
        if matches!(at.value, Value::Map(_)) && at.get("kind").is_none() {
            self.missing(at, "kind", "wireguard");
        }
        let kind = self.choice(at, "kind", LinkKind::ALL);
        let given: Option<BitRate> = self.quantity(at, "rate", "2 Gbit/s");
        let gateways = self.count(at, "gateways", 1_000, 1);
        let kind = kind?;
        let rate = given.unwrap_or(kind.default_rate());
        if let Some(largest) = kind.largest_rate()
            && rate > largest
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
        if self.keys(at, Some(&known)) {
            for row in TABLE.iter().filter(|row| at.get(row.key).is_some()) {
                prices.set(row.item, self.number(at, row.key, 0.0..=10_000.0, 0.0));
            }
        }
        prices
    }
}

fn join(path: &[String], key: &str) -> Vec<String> {
    path.iter().cloned().chain([key.to_owned()]).collect()
}

/// A value, truncated for messages.
fn short(text: &str) -> String {
    text.chars().take(60).collect()
}
