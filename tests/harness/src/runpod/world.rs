//! What exists, and the rules that the schema does not say.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::config::RunPodConfig;
use super::error::Refusal;

/// Nothing depends on a clock.
pub(crate) const MADE: &str = "2026-11-01T12:00:00Z";

/// Members of a JSON object.
pub(crate) type Body = Map<String, Value>;

/// Everything that exists in the account.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) config: RunPodConfig,
    pub(crate) pods: BTreeMap<String, Pod>,
    pub(crate) volumes: BTreeMap<String, Body>,
    pub(crate) registries: BTreeMap<String, Registry>,
    /// ECR delegations as the API shows them.
    pub(crate) delegations: BTreeMap<String, Value>,
    pub(crate) secrets: BTreeMap<String, Secret>,
    /// Clusters, without what follows from their pods.
    pub(crate) clusters: BTreeMap<String, Body>,
    made: u32,
}

/// A pod.
#[derive(Debug)]
pub(crate) struct Pod {
    /// As the API shows it.
    pub(crate) body: Body,
    /// Looks at it since it was started.
    pub(crate) looks: u32,
    /// USD per hour while it runs.
    pub(crate) cost: f64,
}

/// A registry credential.
#[derive(Debug)]
pub(crate) struct Registry {
    pub(crate) name: String,
    pub(crate) username: String,
    pub(crate) password: String,
    /// Whether the registry takes it no more, as ECR after 12 hours.
    pub(crate) expired: bool,
}

/// A secret.
#[derive(Debug)]
pub(crate) struct Secret {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) value: String,
}

impl World {
    pub(crate) fn new(config: RunPodConfig) -> Self {
        Self {
            config,
            pods: BTreeMap::new(),
            volumes: BTreeMap::new(),
            registries: BTreeMap::new(),
            delegations: BTreeMap::new(),
            secrets: BTreeMap::new(),
            clusters: BTreeMap::new(),
            made: 0,
        }
    }

    /// A new id; the same calls give the same ids.
    pub(crate) fn id(&mut self, prefix: &str) -> String {
        self.made += 1;
        format!("{prefix}{:09}", self.made)
    }

    /// Names of everything that exists, such as `pods/pod000000001 (worker)`.
    pub(crate) fn names(&self) -> Vec<String> {
        let named = |kind: &str, id: &String, name: &Value| {
            format!("{kind}/{id} ({})", name.as_str().unwrap_or_default())
        };
        let pods = self.pods.iter().map(|(id, pod)| named("pods", id, &pod.body["name"]));
        let volumes = self.volumes.iter().map(|(id, volume)| named("network-volumes", id, &volume["name"]));
        let registries =
            self.registries.iter().map(|(id, found)| format!("registries/{id} ({})", found.name));
        let secrets = self.secrets.iter().map(|(id, secret)| format!("secrets/{id} ({})", secret.name));
        let delegations = self.delegations.iter().map(|(id, found)| named("delegations", id, &found["name"]));
        let clusters = self.clusters.iter().map(|(id, found)| named("clusters", id, &found["name"]));
        pods.chain(volumes).chain(registries).chain(delegations).chain(secrets).chain(clusters).collect()
    }

    pub(crate) fn list_volumes(&self) -> Value {
        json!({"networkVolumes": self.volumes.values().collect::<Vec<_>>()})
    }

    pub(crate) fn create_volume(&mut self, mut body: Body) -> Result<Value, Refusal> {
        let center = text(&body, "dataCenter");
        if !self.config.data_centers.contains_key(&center) {
            return Err(Refusal::bad(format!("data center {center} does not exist")));
        }
        let id = self.id("vol");
        body.insert("id".to_owned(), json!(id));
        body.entry("type").or_insert_with(|| json!("STANDARD"));
        self.volumes.insert(id, body.clone());
        Ok(Value::Object(body))
    }

    pub(crate) fn volume(&self, id: &str) -> Result<&Body, Refusal> {
        self.volumes.get(id).ok_or_else(|| Refusal::not_found("network volume"))
    }

    pub(crate) fn update_volume(&mut self, id: &str, change: Body) -> Result<Value, Refusal> {
        let volume = self.volumes.get_mut(id).ok_or_else(|| Refusal::not_found("network volume"))?;
        if change.get("size").and_then(Value::as_u64) < volume["size"].as_u64() && change.contains_key("size")
        {
            return Err(Refusal::bad("network volume size cannot be reduced"));
        }
        volume.extend(change);
        Ok(Value::Object(volume.clone()))
    }

    pub(crate) fn delete_volume(&mut self, id: &str) -> Result<Value, Refusal> {
        self.volume(id)?;
        let user = self.pods.iter().find(|(_, pod)| pod.volume() == Some(id));
        if let Some((pod, _)) = user {
            return Err(Refusal::bad(format!("network volume is attached to pod {pod}")));
        }
        self.volumes.remove(id);
        Ok(Value::Null)
    }

    /// What a pod's program finds in its environment: references to secrets are filled in.
    pub(crate) fn environment(&self, pod: &str) -> Option<BTreeMap<String, String>> {
        let env = self.pods.get(pod)?.body["env"].as_object()?;
        let fill = |text: &str| {
            let mut text = text.to_owned();
            for secret in self.secrets.values() {
                text = text.replace(&format!("{{{{ RUNPOD_SECRET_{} }}}}", secret.name), &secret.value);
            }
            text
        };
        Some(
            env.iter()
                .map(|(name, value)| (name.clone(), fill(value.as_str().unwrap_or_default())))
                .collect(),
        )
    }

    /// The GPU types of a data center that can be rented now.
    pub(crate) fn offered(&self, center: &str) -> BTreeSet<&str> {
        let gpus = self.config.data_centers.get(center).into_iter().flatten();
        gpus.filter(|gpu| !self.config.sold_out.contains(*gpu)).map(String::as_str).collect()
    }
}

/// A text of a body; empty where there is none.
pub(crate) fn text(body: &Body, name: &str) -> String {
    body.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}
