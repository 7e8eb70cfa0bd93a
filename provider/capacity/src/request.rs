//! What a plan is computed from. [`read`](crate::read) makes requests; their parts cannot contradict each other.

use crate::prices::Prices;
use crate::units::{BitRate, Bytes, Seconds, Share};
use serde::Serialize;
use std::collections::BTreeMap;

/// Everything that a plan is computed from.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Title of the plan.
    pub name: String,
    /// The cloud that stores datasets and checkpoints.
    pub store: Store,
    /// Where the GPUs are.
    pub place: Place,
    /// Whether the pods need private services, private names, or data without a copy.
    pub private: bool,
    /// Datasets by name.
    pub datasets: BTreeMap<String, Dataset>,
    /// The checkpoints, if there are any.
    pub checkpoint: Option<Checkpoint>,
    /// The training, if its traffic is planned.
    pub training: Option<Training>,
    /// Link options by name, at least one.
    pub links: BTreeMap<String, Link>,
    /// Prices.
    pub prices: Prices,
}

/// A cloud.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Store {
    /// Amazon Web Services.
    Aws,
    /// Google Cloud.
    Gcp,
}

/// Where GPUs are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// Rented by the hour as containers: no router, no VPN device, no cross connect.
    Rented,
    /// A site with a router of your own: a data centre, a colocation, or another cloud.
    Site,
}

/// A dataset that the GPUs read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dataset {
    /// Its size, of all copies.
    pub size: Bytes,
    /// The time in which it must be transferred.
    pub within: Seconds,
    /// Transfers in a month.
    pub times_per_month: f64,
}

/// Checkpoints.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Checkpoint {
    /// Size of one.
    pub size: Bytes,
    /// Training time between two of them.
    pub interval: Seconds,
    /// The time that training waits for one. Without it, training waits for the upload.
    pub pause: Option<Seconds>,
    /// The time in which one must be uploaded.
    pub upload_within: Seconds,
}

/// A training run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Training {
    /// Size of the gradients of the model, and of its weights in the same precision.
    pub model: Bytes,
    /// Pods of all sites.
    pub pods: u64,
    /// Pods that hold one replica of the model. 1 if a pod holds one or more.
    pub pods_per_replica: u64,
    /// Participants of an all-reduce: groups of pods that hold a replica.
    pub groups: u64,
    /// Sites.
    pub sites: u64,
    /// Time that a step computes.
    pub step: Seconds,
    /// Rate between the pods of a site, per pod and direction.
    pub network: BitRate,
    /// Rate between sites, per site and direction.
    pub between_sites: BitRate,
    /// Rate of a parameter server, per direction.
    pub server: BitRate,
    /// Whether pods come and go during the run.
    pub elastic: bool,
    /// Steps of a site between two rounds of federated training.
    pub local_steps: u64,
    /// Largest acceptable part of the time for communication.
    pub limit: Share,
}

/// A link option.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    /// Its kind.
    pub kind: LinkKind,
    /// Its rate per direction.
    pub rate: BitRate,
    /// Whether the rate is the default of the kind.
    pub assumed: bool,
    /// Gateways that share the traffic. 1 for other kinds than WireGuard.
    pub gateways: u64,
}

/// A kind of link between the store and the GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkKind {
    /// RunPod copies between a bucket and a volume.
    CloudSync,
    /// Gateways of Warren.
    Wireguard,
    /// The site-to-site VPN of the cloud.
    Vpn,
    /// A dedicated port of AWS.
    DirectConnect,
    /// A dedicated circuit of Google Cloud.
    Interconnect,
    /// RunPod's network between pods.
    RunpodGlobal,
}

impl LinkKind {
    /// All kinds with their keys.
    pub const ALL: &[(&'static str, LinkKind)] = &[
        ("cloud-sync", LinkKind::CloudSync),
        ("wireguard", LinkKind::Wireguard),
        ("vpn", LinkKind::Vpn),
        ("direct-connect", LinkKind::DirectConnect),
        ("interconnect", LinkKind::Interconnect),
        ("runpod-global", LinkKind::RunpodGlobal),
    ];

    /// The key in a file.
    pub fn key(self) -> &'static str {
        Self::ALL.iter().find(|(_, kind)| *kind == self).map_or("", |(key, _)| key)
    }

    /// The name for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::CloudSync => "Cloud Sync",
            Self::Wireguard => "WireGuard",
            Self::Vpn => "site-to-site VPN",
            Self::DirectConnect => "Direct Connect",
            Self::Interconnect => "Interconnect",
            Self::RunpodGlobal => "RunPod global networking",
        }
    }

    /// The rate if none is given. Those of Cloud Sync and WireGuard are assumptions; the others are documented.
    pub fn default_rate(self) -> BitRate {
        BitRate(match self {
            Self::CloudSync | Self::Wireguard => 1_000_000_000,
            Self::Vpn => 1_250_000_000,
            Self::DirectConnect | Self::Interconnect => 10_000_000_000,
            Self::RunpodGlobal => 100_000_000,
        })
    }

    /// The largest rate of one option, if it is limited.
    pub fn largest_rate(self) -> Option<BitRate> {
        match self {
            Self::CloudSync | Self::Wireguard => None,
            Self::Vpn => Some(BitRate(10_000_000_000)),
            Self::DirectConnect | Self::Interconnect => Some(BitRate(100_000_000_000)),
            Self::RunpodGlobal => Some(BitRate(100_000_000)),
        }
    }
}
