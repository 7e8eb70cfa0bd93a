//! Google Cloud on loopback: a double of our own, because no emulator of Compute is usable.
//!
//! It is validated against Google's discovery documents, which come with Google's Python client: every request *and every answer
//! of its own* is checked against them. What the documents do not say, the rules of each collection do; they are
//! written from Google's documentation and from reports of what the API answers, not from trials against it.
//!
//! ```no_run
//! use warren_harness::{Google, GoogleConfig};
//!
//! let google = Google::start(GoogleConfig::default())?;
//! let endpoint = google.endpoint(); // "http://127.0.0.1:34567", for Google's clients as their endpoint
//! // ... create and destroy things in the project "acme-ml" ...
//! assert!(google.left().is_empty(), "{:?}", google.left());
//! google.front().assert_valid();
//! # drop(endpoint);
//! # anyhow::Ok(())
//! ```
//!
//! Calls, faults and kill points are those of every emulated cloud, see [`Front`]. Actions are the methods' ids, and
//! parameters of the body begin with `resource.`:
//!
//! ```
//! use warren_harness::Fault;
//!
//! let fault = Fault::fail_late("RESOURCE_NOT_READY", "The network is not ready")
//!     .on("compute.subnetworks.insert")
//!     .with_param("resource.name", "data");
//! # drop(fault);
//! ```
//!
//! A call passes these stations:
//!
//! ```text
//! [ front ] -> route -> document: parameters, body -> request id -> rules -> operation -> document: answer -> [ front ]
//! ```

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use anyhow::Result;
use serde_json::Value;

use crate::front::{Front, Hosted};

mod account;
mod artifact;
mod collections;
mod compute;
mod config;
pub mod discovery;
mod dns;
mod error;
mod exchanged;
mod filter;
mod key;
mod list;
mod metadata;
mod operation;
mod perimeter;
mod policy;
mod request;
mod secret;
mod served;
mod service;
mod world;

pub use config::{GoogleConfig, InternalRange};
pub use key::{Key, Place};
pub use served::SERVED;

use service::Service;
use world::World;

/// A running double. Everything of it ends when the value is dropped.
#[derive(Debug)]
pub struct Google {
    hosted: Hosted,
    service: Arc<Service>,
}

impl Google {
    /// Starts a double with these habits.
    ///
    /// # Errors
    /// The Python environment that brings the documents cannot be made, or there is no port.
    pub fn start(config: GoogleConfig) -> Result<Self> {
        let documents = discovery::Document::all()?;
        let front = Front::default();
        let world = Mutex::new(World::new(config));
        let service = Arc::new(Service { front: front.clone(), documents, world });
        let hosted = Hosted::start("google", &front, Arc::clone(&service))?;
        Ok(Self { hosted, service })
    }

    /// The URL to give to clients as endpoint, without a trailing slash.
    pub fn endpoint(&self) -> String {
        self.hosted.endpoint()
    }

    /// The metadata service of an instance, `projects/p/zones/z/instances/i`: to be `GCE_METADATA_HOST` of what runs
    /// there. It gives tokens of the instance's service account, with which only that may be read that its policy lets.
    pub fn metadata_host(&self, instance: &str) -> String {
        format!("{}/metadata/{instance}", self.endpoint().trim_start_matches("http://"))
    }

    /// The record and the controls: calls, violations, faults, kill points.
    pub fn front(&self) -> &Front {
        &self.service.front
    }

    /// Changes the configuration for the calls to come.
    pub fn configure(&self, change: impl FnOnce(&mut GoogleConfig)) {
        change(&mut self.service.world().config);
    }

    /// Everything that exists, as the API shows it, by its name from `projects/` on. What comes with another object,
    /// such as the default route of a network, is here too.
    pub fn objects(&self) -> BTreeMap<String, Value> {
        let world = self.service.world();
        world.objects().map(|(key, object)| (key.path(), world.present(key, &object.body))).collect()
    }

    /// The record sets of all zones of Cloud DNS, as the API shows them, by the name of their zone, their own and their type:
    /// `projects/p/managedZones/z/rrsets/NAME/TYPE`.
    pub fn record_sets(&self) -> BTreeMap<String, Value> {
        let world = self.service.world();
        let mut sets = BTreeMap::new();
        for (key, object) in world.objects() {
            for set in object.body.get("rrsets").and_then(Value::as_array).into_iter().flatten() {
                let part = |field: &str| set[field].as_str().unwrap_or_default().to_owned();
                sets.insert(format!("{}/rrsets/{}/{}", key.path(), part("name"), part("type")), set.clone());
            }
        }
        sets
    }

    /// The names of everything that exists. An empty list is what a destroy must leave.
    pub fn left(&self) -> Vec<String> {
        self.service.world().objects().map(|(key, _)| key.path()).collect()
    }

    /// Names of operations that have not ended.
    pub fn running_operations(&self) -> Vec<String> {
        let world = self.service.world();
        world
            .operations
            .values()
            .filter(|operation| !operation.done)
            .map(|operation| operation.name.clone())
            .collect()
    }

    /// Changes an object behind the API's back, as drift. Returns whether there is such an object.
    pub fn change(&self, path: &str, change: impl FnOnce(&mut serde_json::Map<String, Value>)) -> bool {
        self.service.world().tamper(path, change)
    }

    /// Makes an object behind the API's back, as another tool would, without any rule. Returns whether the path, from
    /// `projects/` on, is one of an object of Compute.
    pub fn place(&self, path: &str, kind: &str, mut body: serde_json::Map<String, Value>) -> bool {
        let Some(key) = Key::parse(path, "") else { return false };
        let mut world = self.service.world();
        body.insert("name".to_owned(), key.name.clone().into());
        world.complete(&key, kind, &mut body);
        world.put(key, body);
        true
    }

    /// Removes an object behind the API's back, and nothing else. Returns whether there was one.
    pub fn forget_object(&self, path: &str) -> bool {
        let mut world = self.service.world();
        let key = world.objects().map(|(key, _)| key).find(|key| key.path() == path).cloned();
        key.is_some_and(|key| {
            world.remove(&key);
            true
        })
    }

    /// Empties the projects and forgets calls, violations, faults and operations; the configuration stays.
    pub fn reset(&self) {
        self.service.front.forget();
        let mut world = self.service.world();
        *world = World::new(world.config.clone());
    }
}
