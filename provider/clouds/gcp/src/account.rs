//! The configured project: its clients, its scope, and the creates that are in progress.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use tf_provider_rs::{Attr, Diagnostic, Diagnostics, Path};
use tokio::sync::OwnedMutexGuard;
use warren_managed::{Scope, sets};

use crate::begun::Begun;
use crate::client::Clients;
use crate::config::{GcpConfig, PROJECT_VARIABLES, REGION_VARIABLES};
use crate::credentials::{self, Found};
use crate::error::non_empty;
use crate::link;
use crate::live::{self, LiveRanges};

/// A project, with the credentials of the provider.
#[derive(Clone)]
pub struct Gcp {
    /// Fabric and owner of the objects.
    pub(crate) scope: Scope,
    /// ID of the project.
    pub(crate) project: String,
    /// Default region of resources.
    pub(crate) region: Option<String>,
    /// Networks, and other objects, that the check against live ranges ignores.
    pub(crate) ignore_live: BTreeSet<String>,
    /// What the check reads besides subnetworks.
    pub(crate) live_ranges: BTreeSet<LiveRanges>,
    /// Further projects that it reads.
    pub(crate) live_projects: BTreeSet<String>,
    pub(crate) clients: Arc<Clients>,
    /// The credentials; an emulator is called without any.
    pub(crate) credentials: Option<Found>,
    /// Projects that the provider may change; empty for all.
    allowed: Arc<BTreeSet<String>>,
    /// Creates in progress, by the ID of their object.
    begun: Arc<Mutex<BTreeMap<String, Begun>>>,
    /// The turns to change peerings and routes, by the ID of the network.
    turns: Arc<Mutex<BTreeMap<String, Lock>>>,
}

/// Held while a change of a network is in progress.
type Lock = Arc<tokio::sync::Mutex<()>>;

impl Gcp {
    /// The project of the provider block, or of the environment.
    ///
    /// # Errors
    /// No project is set, it is not one of the allowed ones, or there are no credentials.
    pub(crate) async fn new(config: &GcpConfig, scope: Scope) -> Result<Gcp, Diagnostics> {
        let Some(project) = setting(&config.project, &PROJECT_VARIABLES) else {
            return Err(Diagnostic::error(
                "Missing Google Cloud project",
                "Neither `gcp.project` in the provider block nor GOOGLE_CLOUD_PROJECT is set. Set `gcp = { project = \
                 \"acme-ml\" }`.",
            )
            .at(Path::of("gcp").attribute("project"))
            .into());
        };
        let allowed = sets::known(&config.allowed_projects);
        permits(&allowed, &project).map_err(|diagnostic| {
            Diagnostics::from(diagnostic.at(Path::of("gcp").attribute("allowed_projects")))
        })?;
        let endpoint = config.endpoint_url.known().map(String::as_str);
        let credentials = match endpoint {
            Some(_) => None,
            None => Some(credentials::find(config, Some(&project))?),
        };
        Ok(Gcp {
            scope,
            region: setting(&config.region, &REGION_VARIABLES),
            ignore_live: sets::known(&config.ignore_live).iter().map(|text| link::id(text)).collect(),
            live_ranges: sets::all_known(&config.live_ranges)
                .filter(|_| config.live_ranges.is_known())
                .unwrap_or_else(|| live::ALL.into()),
            live_projects: sets::known(&config.live_projects),
            clients: Arc::new(Clients::new(endpoint, credentials.as_ref()).await?),
            credentials,
            allowed: Arc::new(allowed),
            project,
            begun: Arc::default(),
            turns: Arc::default(),
        })
    }

    /// Another project, with the same credentials.
    pub(crate) fn in_project(&self, project: &str) -> Gcp {
        Gcp { project: project.to_owned(), ..self.clone() }
    }

    /// Checks that a resource may be in the project.
    ///
    /// # Errors
    /// It is not one of the allowed ones.
    pub(crate) fn admits(&self, project: &str) -> Result<(), Diagnostic> {
        permits(&self.allowed, project).map_err(|diagnostic| diagnostic.at(Path::of("project")))
    }

    /// Remembers a create that has started; [`crate::operation::landed`] waits for it.
    pub(crate) fn began(&self, id: &str, begun: Begun) {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned(), begun);
    }

    /// The create of `id` that this process has started and not yet waited for.
    pub(crate) fn take_begun(&self, id: &str) -> Option<Begun> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).remove(id)
    }
}

/// The right to change the peerings and routes of some networks, until it is dropped.
pub(crate) type Turn = Vec<OwnedMutexGuard<()>>;

impl Gcp {
    /// Waits for the turn to change the peerings or routes of these networks. Google refuses such a change while another one
    /// of the network or its peer is in progress, so hashicorp/google makes them one at a time as well
    /// (`resource_compute_network_peering.go`, and issue 6361 for routes).
    pub(crate) async fn turn(&self, networks: impl IntoIterator<Item = String>) -> Turn {
        // In the same order everywhere, so that no two wait for each other.
        let networks: BTreeSet<String> = networks.into_iter().collect();
        let mut turn = Turn::new();
        for network in networks {
            let lock = {
                let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
                Arc::clone(turns.entry(network).or_default())
            };
            turn.push(lock.lock_owned().await);
        }
        turn
    }
}

/// The configured value, or the first of these environment variables that is set. An empty one counts as not set.
fn setting(configured: &Attr<String>, variables: &[&str]) -> Option<String> {
    let from_environment = || variables.iter().find_map(|name| std::env::var(name).ok());
    configured.known().cloned().or_else(from_environment).and_then(non_empty)
}

fn permits(allowed: &BTreeSet<String>, project: &str) -> Result<(), Diagnostic> {
    if allowed.is_empty() || allowed.contains(project) {
        return Ok(());
    }
    let allowed = allowed.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    Err(Diagnostic::error(
        "Google Cloud project not allowed",
        format!(
            "The project is {project}, but `gcp.allowed_projects` permits only {allowed}. Nothing was changed. Use a \
             permitted project, or add this one to the list."
        ),
    ))
}
