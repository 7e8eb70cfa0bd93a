//! The emulated clouds that an example needs, started when the first one does.

use anyhow::Result;
use warren_acceptance::Emulated;
use warren_acceptance::registry::{Clouds, provider_blocks};
use warren_harness::{Emulator, Google, GoogleConfig, ProxyConfig, RunPod, RunPodConfig};

use crate::permissions::Recorded;

/// Emulated clouds.
#[derive(Default)]
pub(crate) struct Sky {
    aws: Option<Emulator>,
    google: Option<Google>,
    runpod: Option<RunPod>,
}

impl Sky {
    pub(crate) fn start(clouds: Clouds) -> Result<Sky> {
        let mut sky = Sky::default();
        sky.add(clouds)?;
        Ok(sky)
    }

    /// Starts those of `clouds` that are not running.
    pub(crate) fn add(&mut self, clouds: Clouds) -> Result<()> {
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

    /// Empties them, and forgets the calls.
    pub(crate) fn reset(&mut self) -> Result<()> {
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

    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        self.runpod.as_ref().map(Emulated::environment).unwrap_or_default()
    }

    /// The blocks before an example, with the endpoints of these clouds.
    pub(crate) fn provider_blocks(&self, clouds: Clouds) -> String {
        let aws = self.aws.as_ref().map(Emulator::endpoint);
        let google = self.google.as_ref().map(Google::endpoint);
        let runpod = self.runpod.as_ref().map(RunPod::endpoint);
        provider_blocks(clouds, [aws.as_deref(), google.as_deref(), runpod.as_deref()])
    }

    /// Proves that nothing is left, and that every request was one that the cloud understands.
    pub(crate) fn nothing_left(&self, clouds: Clouds) -> Result<()> {
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

    /// The calls since the last reset.
    pub(crate) fn recorded(&self) -> Recorded {
        let aws = self.aws.iter().flat_map(|aws| aws.proxy().calls());
        let google = self.google.iter().flat_map(|google| google.front().calls());
        Recorded {
            aws: aws.map(|call| (call.service, call.action)).collect(),
            google: google.map(|call| call.action).collect(),
        }
    }
}
