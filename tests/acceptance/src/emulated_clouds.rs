//! The emulated clouds that examples need, and Terraform workspaces that lead to them.

use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result};
use warren_harness::{Emulator, Google, GoogleConfig, ProxyConfig, RunPod, RunPodConfig, Terraform};

use crate::registry::{Clouds, Example, provider_blocks};
use crate::stage::{IMAGE, SOURCE};
use crate::{Emulated, REGISTRY_PASSWORD, SIGNING_KEY, build_folder};

/// Runs `work` for each example, on at most `spread` threads that each have emulated clouds of their own.
///
/// # Errors
/// A cloud does not start. What `work` returns is in the list.
pub fn spread<T: Send>(
    mut waiting: Vec<Example>,
    spread: usize,
    work: impl Fn(&Example, &mut EmulatedClouds) -> Result<T> + Sync,
) -> Result<Vec<(Example, Result<T>)>> {
    let spread = spread.min(waiting.len());
    waiting.reverse();
    let waiting = Mutex::new(waiting);
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let worker = || -> Result<Vec<(Example, Result<T>)>> {
        let mut done = Vec::new();
        let mut clouds = EmulatedClouds::default();
        while let Some(example) = next() {
            clouds.add(example.clouds())?;
            let outcome = work(&example, &mut clouds);
            done.push((example, outcome));
        }
        Ok(done)
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..spread).map(|_| scope.spawn(worker)).collect();
        let mut done = Vec::new();
        for worker in workers {
            done.extend(worker.join().ok().context("a worker panicked")??);
        }
        Ok(done)
    })
}

/// Emulated clouds, each started when an example first needs it.
#[derive(Debug, Default)]
pub struct EmulatedClouds {
    aws: Option<Emulator>,
    google: Option<Google>,
    runpod: Option<RunPod>,
}

impl EmulatedClouds {
    /// Starts those of `clouds` that are not running.
    ///
    /// # Errors
    /// One does not start.
    pub fn add(&mut self, clouds: Clouds) -> Result<()> {
        if clouds.aws && self.aws.is_none() {
            self.aws = Some(Emulator::start(ProxyConfig::default())?);
        }
        if clouds.gcp && self.google.is_none() {
            self.google = Some(Google::start(GoogleConfig::default())?);
        }
        if clouds.runpod && self.runpod.is_none() {
            self.runpod = Some(RunPod::start(RunPodConfig::default())?);
        }
        Ok(())
    }

    /// The emulated AWS, if it was started.
    pub fn aws(&self) -> Option<&Emulator> {
        self.aws.as_ref()
    }

    /// The double of Google Cloud, if it was started.
    pub fn google(&self) -> Option<&Google> {
        self.google.as_ref()
    }

    /// A workspace with an example, the blocks before it, and values for the variables that it requires.
    ///
    /// # Errors
    /// The workspace cannot be written, or a required variable is unknown here.
    pub fn workspace(&self, example: &Example) -> Result<Terraform> {
        let mut terraform = Terraform::new(SOURCE, &build_folder()?)?;
        terraform.env("WARREN_SIGNING_KEY", SIGNING_KEY);
        for (name, value) in self.runpod.as_ref().map(Emulated::environment).unwrap_or_default() {
            terraform.env(name, value);
        }
        for name in example.required_variables() {
            let value = VARIABLES.iter().find(|(known, _)| *known == name);
            let (_, value) = value.with_context(|| {
                format!("variable `{name}` has no default, and no value in VARIABLES of {}", file!())
            })?;
            terraform.env(&format!("TF_VAR_{name}"), value);
        }
        terraform.write("provider.tf", &self.provider_blocks(example.clouds()))?;
        terraform.write("main.tf", &example.text)?;
        Ok(terraform)
    }

    /// Empties them, and forgets the calls.
    ///
    /// # Errors
    /// One does not answer.
    pub fn reset(&mut self) -> Result<()> {
        if let Some(aws) = &mut self.aws {
            Emulated::reset(aws)?;
        }
        if let Some(google) = &mut self.google {
            Emulated::reset(google)?;
        }
        if let Some(runpod) = &mut self.runpod {
            Emulated::reset(runpod)?;
        }
        Ok(())
    }

    /// Proves that nothing is left, and that every request was one that the cloud understands.
    ///
    /// # Errors
    /// Something is left, or a request was wrong.
    pub fn nothing_left(&self, clouds: Clouds) -> Result<()> {
        if let Some(aws) = self.aws.as_ref().filter(|_| clouds.aws) {
            aws.nothing_left()?;
        }
        if let Some(google) = self.google.as_ref().filter(|_| clouds.gcp) {
            google.nothing_left()?;
        }
        if let Some(runpod) = self.runpod.as_ref().filter(|_| clouds.runpod) {
            runpod.nothing_left()?;
        }
        Ok(())
    }

    /// The blocks before an example, with the endpoints of these clouds.
    fn provider_blocks(&self, clouds: Clouds) -> String {
        let aws = self.aws.as_ref().map(Emulator::endpoint);
        let google = self.google.as_ref().map(Google::endpoint);
        let runpod = self.runpod.as_ref().map(RunPod::endpoint);
        provider_blocks(clouds, [aws.as_deref(), google.as_deref(), runpod.as_deref()])
    }
}

/// What the reader of an example has to give.
const VARIABLES: [(&str, &str); 4] = [
    ("image_id", IMAGE),
    ("registry_password", REGISTRY_PASSWORD),
    ("signing_key", SIGNING_KEY),
    ("secret_value", SECRET_VALUE),
];

/// The value of the examples' secret.
const SECRET_VALUE: &str = "secret-value-5c1d";

/// What no state may contain.
pub(crate) const SECRETS: [&str; 3] = [REGISTRY_PASSWORD, SIGNING_KEY, SECRET_VALUE];
