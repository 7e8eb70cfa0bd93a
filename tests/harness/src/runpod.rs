//! RunPod on loopback: a double of our own, because there is no emulator.
//!
//! It is held to the schema that RunPod publishes for its REST API v2: every request *and every answer of its own* is
//! checked against it. What the schema does not say, the rules do; they are written from RunPod's documentation, not
//! from trials against it.
//!
//! ```no_run
//! use warren_harness::{RunPod, RunPodConfig};
//!
//! let runpod = RunPod::start(RunPodConfig::default())?;
//! let endpoint = runpod.endpoint(); // REST is at "{endpoint}/v2"
//! // ... create and destroy pods with the key "rpa_DOUBLE" ...
//! assert!(runpod.left().is_empty(), "{:?}", runpod.left());
//! runpod.front().assert_valid();
//! # drop(endpoint);
//! # anyhow::Ok(())
//! ```
//!
//! Calls, faults and kill points are those of every emulated cloud, see [`Front`]. Actions are the operations' ids, such
//! as `createPod`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use anyhow::Result;
use serde_json::Value;

use crate::front::{Front, Hosted};

mod catalog;
mod clusters;
mod config;
mod error;
mod pods;
mod registries;
pub mod schema;
mod secrets;
mod service;
mod world;

pub use config::{GpuType, RunPodConfig};

use service::Service;
use world::World;

/// A running double. Everything of it ends when the value is dropped.
#[derive(Debug)]
pub struct RunPod {
    hosted: Hosted,
    service: Arc<Service>,
}

impl RunPod {
    /// Starts a double with these habits.
    ///
    /// # Errors
    /// The schema cannot be read, or there is no port.
    pub fn start(config: RunPodConfig) -> Result<Self> {
        let document = schema::Document::read()?;
        let front = Front::default();
        let world = Mutex::new(World::new(config));
        let service = Arc::new(Service { front: front.clone(), document, world });
        let hosted = Hosted::start("runpod", &front, Arc::clone(&service))?;
        Ok(Self { hosted, service })
    }

    /// The URL to give to clients, without a trailing slash.
    pub fn endpoint(&self) -> String {
        self.hosted.endpoint()
    }

    /// The record and the controls: calls, violations, faults, kill points.
    pub fn front(&self) -> &Front {
        &self.service.front
    }

    /// Changes the configuration for the calls to come.
    pub fn configure(&self, change: impl FnOnce(&mut RunPodConfig)) {
        change(&mut self.service.world().config);
    }

    /// The names of everything that exists. An empty list is what a destroy must leave.
    pub fn left(&self) -> Vec<String> {
        self.service.world().names()
    }

    /// All pods as the API shows them, by id.
    pub fn pods(&self) -> BTreeMap<String, Value> {
        let world = self.service.world();
        world.pods.iter().map(|(id, pod)| (id.clone(), Value::Object(pod.body.clone()))).collect()
    }

    /// All network volumes as the API shows them, by id.
    pub fn volumes(&self) -> BTreeMap<String, Value> {
        let world = self.service.world();
        world.volumes.iter().map(|(id, volume)| (id.clone(), Value::Object(volume.clone()))).collect()
    }

    /// User and password of all registry credentials, by name.
    pub fn registries(&self) -> BTreeMap<String, (String, String)> {
        let world = self.service.world();
        let all = world.registries.values();
        all.map(|found| (found.name.clone(), (found.username.clone(), found.password.clone()))).collect()
    }

    /// The values of all secrets, by name.
    pub fn secrets(&self) -> BTreeMap<String, String> {
        let world = self.service.world();
        world.secrets.values().map(|secret| (secret.name.clone(), secret.value.clone())).collect()
    }

    /// All ECR delegations as the API shows them, by id.
    pub fn delegations(&self) -> BTreeMap<String, Value> {
        self.service.world().delegations.clone()
    }

    /// All clusters as the API shows them, by id.
    pub fn clusters(&self) -> BTreeMap<String, Value> {
        let mut world = self.service.world();
        let ids: Vec<String> = world.clusters.keys().cloned().collect();
        ids.into_iter().filter_map(|id| Some((id.clone(), world.get_cluster(&id).ok()?))).collect()
    }

    /// Gives a secret another id, as an API that counts them differently. Returns whether there is such a secret.
    pub fn renumber(&self, secret: &str) -> bool {
        let mut world = self.service.world();
        let Some(old) =
            world.secrets.iter().find(|(_, found)| found.name == secret).map(|(id, _)| id.clone())
        else {
            return false;
        };
        let new = world.id("renumbered");
        world.secrets.remove(&old).map(|found| world.secrets.insert(new, found)).is_some()
    }

    /// What the program of a pod finds in its environment: references to secrets are filled in.
    pub fn environment(&self, pod: &str) -> Option<BTreeMap<String, String>> {
        self.service.world().environment(pod)
    }

    /// RunPod takes a pod away. Returns whether there was one.
    pub fn reclaim(&self, pod: &str) -> bool {
        self.service.world().pods.remove(pod).is_some()
    }

    /// Brings a pod into another state behind the API's back: `EXITED`, `ERROR`. Returns whether there is one.
    pub fn bring(&self, pod: &str, status: &str) -> bool {
        self.service.world().pods.get_mut(pod).map(|pod| pod.enter(status)).is_some()
    }

    /// Changes a pod behind the API's back, as drift. Returns whether there is such a pod.
    pub fn change(&self, pod: &str, change: impl FnOnce(&mut serde_json::Map<String, Value>)) -> bool {
        self.service.world().pods.get_mut(pod).map(|pod| change(&mut pod.body)).is_some()
    }

    /// The registries take no credential any more that exists now, as ECR after 12 hours.
    pub fn expire_registries(&self) {
        self.service.world().registries.values_mut().for_each(|found| found.expired = true);
    }

    /// Empties the account and forgets calls, violations and faults; the configuration stays.
    pub fn reset(&self) {
        self.service.front.forget();
        let mut world = self.service.world();
        *world = World::new(world.config.clone());
    }
}
