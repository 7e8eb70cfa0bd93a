//! Finds what runs left behind in an account, and deletes it.
//!
//! The sweeper is written on the clouds' own APIs and not on the provider's resources. It is needed where the provider
//! failed to destroy, so it must not share the provider's mistakes; and most objects cannot be deleted through the provider
//! without the configuration that created them. It knows nothing about dependencies except an order of kinds: a
//! round deletes what it can, and what is still in use is tried again in the next one, until nothing is left.
//!
//! An object is only ever deleted if it carries the mark of a run's [`Fabric`], read in the same round.

mod aws;
mod google;
mod kinds;
mod rest;
mod runpod;

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Result, ensure};

pub use kinds::{Swept, swept};

use crate::fabric::Fabric;

/// A cloud with accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Cloud {
    /// Amazon Web Services
    Aws,
    /// Google Cloud
    Google,
    /// RunPod
    Runpod,
}

impl fmt::Display for Cloud {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cloud::Aws => "aws",
            Cloud::Google => "google",
            Cloud::Runpod => "runpod",
        })
    }
}

/// Where an account is. Credentials come from the environment, as for the provider.
#[derive(Clone, Debug)]
pub struct Place {
    /// The cloud.
    pub cloud: Cloud,
    /// Region; RunPod has none.
    pub region: String,
    /// Project of Google Cloud.
    pub project: Option<String>,
    /// URL of an emulator.
    pub endpoint: Option<String>,
}

/// An object that carries the mark of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Such as `subnet`.
    pub kind: &'static str,
    /// ID, name, or path.
    pub id: String,
    /// The run.
    pub fabric: Fabric,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} of {}", self.kind, self.id, self.fabric)
    }
}

/// An account.
#[derive(Debug)]
pub struct Account(Client);

#[derive(Debug)]
enum Client {
    Aws(Box<aws::Account>),
    Google(google::Project),
    RunPod(runpod::Account),
}

/// Which runs are meant.
#[derive(Clone, Debug)]
pub enum Wanted {
    /// This one.
    Run(Fabric),
    /// All that began at least this long ago.
    OlderThan(Duration),
}

impl Wanted {
    fn includes(&self, fabric: &Fabric) -> bool {
        match self {
            Wanted::Run(run) => run == fabric,
            Wanted::OlderThan(age) => fabric.age(SystemTime::now()) >= *age,
        }
    }
}

/// How long to go on.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// The time after which what is left is an error.
    pub deadline: Duration,
    /// The time between two rounds.
    pub pause: Duration,
}

impl Default for Patience {
    /// A NAT gateway or a transit gateway takes several minutes to go.
    fn default() -> Patience {
        Patience { deadline: Duration::from_secs(30 * 60), pause: Duration::from_secs(10) }
    }
}

impl Account {
    /// The account that the environment has credentials for.
    ///
    /// # Errors
    /// There are none, or a setting is missing.
    pub async fn open(place: &Place) -> Result<Account> {
        Ok(Account(match place.cloud {
            Cloud::Aws => Client::Aws(Box::new(aws::Account::open(place).await)),
            Cloud::Google => Client::Google(google::Project::open(place)?),
            Cloud::Runpod => Client::RunPod(runpod::Account::open(place)?),
        }))
    }

    /// The objects of these runs, in the order in which they can be deleted.
    ///
    /// # Errors
    /// The account cannot be read.
    pub async fn find(&self, wanted: &Wanted) -> Result<Vec<Found>> {
        let mut found = match &self.0 {
            Client::Aws(account) => account.find().await?,
            Client::Google(project) => project.find().await?,
            Client::RunPod(account) => account.find().await?,
        };
        found.retain(|object| wanted.includes(&object.fabric));
        Ok(found)
    }

    async fn delete(&self, object: &Found) -> Result<()> {
        match &self.0 {
            Client::Aws(account) => account.delete(object).await,
            Client::Google(project) => project.delete(object).await,
            Client::RunPod(account) => account.delete(object).await,
        }
    }

    /// Deletes the objects of these runs until none is left.
    ///
    /// # Errors
    /// Something is left at the deadline, or the account cannot be read.
    pub async fn sweep(
        &self,
        wanted: &Wanted,
        patience: Patience,
        report: &mut (dyn FnMut(&str) + Send),
    ) -> Result<()> {
        let begun = Instant::now();
        let mut refused: BTreeMap<String, String> = BTreeMap::new();
        for round in 1.. {
            let left = self.find(wanted).await?;
            if left.is_empty() {
                break;
            }
            report(&format!("round {round}: {} left", left.len()));
            refused.clear();
            for object in &left {
                match self.delete(object).await {
                    Ok(()) => report(&format!("  deleting {object}")),
                    Err(error) => drop(refused.insert(object.to_string(), format!("{error:#}"))),
                }
            }
            let lines = |left: &[Found]| {
                let line = |object: &Found| {
                    let why = refused.get(&object.to_string()).map(|why| format!(": {why}"));
                    format!("  {object}{}", why.unwrap_or_default())
                };
                left.iter().map(line).collect::<Vec<_>>().join("\n")
            };
            ensure!(begun.elapsed() < patience.deadline, "still there at the deadline:\n{}", lines(&left));
            tokio::time::sleep(patience.pause).await;
        }
        Ok(())
    }

    /// Waits until the account shows nothing of these runs: lists can lag behind deletes.
    ///
    /// # Errors
    /// Something is left at the deadline, or the account cannot be read.
    pub async fn none_left(&self, wanted: &Wanted, patience: Patience) -> Result<()> {
        let begun = Instant::now();
        loop {
            let left = self.find(wanted).await?;
            if left.is_empty() {
                return Ok(());
            }
            let lines: Vec<String> = left.iter().map(|object| format!("  {object}")).collect();
            ensure!(begun.elapsed() < patience.deadline, "left in the account:\n{}", lines.join("\n"));
            tokio::time::sleep(patience.pause).await;
        }
    }
}
