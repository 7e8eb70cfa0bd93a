//! What a plan is computed from. Only [`read`](crate::read) makes requests, so their parts cannot contradict each other.

use crate::prices::Prices;
use crate::units::{BitRate, Bytes, LinkRate, Seconds, Share, Usd};
use serde::Serialize;
use std::collections::BTreeMap;
use std::num::NonZeroU64;

/// Everything that a plan is computed from.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Title of the plan.
    pub(crate) name: String,
    /// The cloud that stores datasets and checkpoints.
    pub(crate) store: Store,
    /// Where the GPUs are.
    pub(crate) place: Place,
    /// Whether the pods need private services, private names, or data without a copy.
    pub(crate) private: bool,
    /// Pods, if their number is known.
    pub(crate) pods: Option<NonZeroU64>,
    /// Datasets by name.
    pub(crate) datasets: BTreeMap<String, Dataset>,
    /// The checkpoints, if there are any.
    pub(crate) checkpoint: Option<Checkpoint>,
    /// The training, if its traffic is planned.
    pub(crate) training: Option<Training>,
    /// Link options by name, at least one.
    pub(crate) links: BTreeMap<String, Link>,
    /// Prices.
    pub(crate) prices: Prices,
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
pub(crate) struct Dataset {
    /// Its size, of all copies.
    pub(crate) size: Bytes,
    /// The time in which it must be transferred.
    pub(crate) within: Seconds,
    /// The rate that this takes.
    pub(crate) rate: BitRate,
    /// Transfers in a month.
    pub(crate) times_per_month: f64,
}

/// Checkpoints.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Checkpoint {
    /// Size of one.
    pub(crate) size: Bytes,
    /// Training time between two of them.
    pub(crate) interval: Seconds,
    /// The time that training waits for one. Without it, training waits for the upload.
    pub(crate) pause: Option<Seconds>,
    /// The time in which one must be uploaded.
    pub(crate) upload_within: Seconds,
    /// The rate that this takes.
    pub(crate) rate: BitRate,
    /// The average rate of uploads.
    pub(crate) average: BitRate,
    /// What an hour costs in which training waits.
    pub(crate) hour: Option<Usd>,
}

/// A training run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Training {
    /// Size of the gradients of the model, and of its weights in the same precision.
    pub(crate) model: Bytes,
    /// Pods that hold one replica of the model. 1 if a pod holds one or more.
    pub(crate) pods_per_replica: NonZeroU64,
    /// Participants of an all-reduce: groups of pods that hold a replica.
    pub(crate) groups: NonZeroU64,
    /// Sites.
    pub(crate) sites: NonZeroU64,
    /// Time that a step computes.
    pub(crate) step: Seconds,
    /// Rate between the pods of a site, per pod and direction.
    pub(crate) network: LinkRate,
    /// Rate between sites, per site and direction.
    pub(crate) between_sites: LinkRate,
    /// Rate of a parameter server or aggregator, per direction.
    pub(crate) server: LinkRate,
    /// Whether pods come and go during the run.
    pub(crate) elastic: bool,
    /// Steps of a site between two rounds of federated training.
    pub(crate) local_steps: NonZeroU64,
    /// Largest acceptable part of the time for communication.
    pub(crate) limit: Share,
}

/// A link option.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Link {
    /// Its kind.
    pub(crate) kind: LinkKind,
    /// Its rate per direction, of all gateways together.
    pub(crate) rate: LinkRate,
    /// Whether the rate is the default of the kind.
    pub(crate) assumed: bool,
    /// Gateways that share the traffic. 1 for other kinds than WireGuard.
    pub(crate) gateways: NonZeroU64,
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
    pub(crate) fn default_rate(self, gateways: NonZeroU64) -> LinkRate {
        let bits = match self {
            Self::CloudSync => 1_000_000_000,
            Self::Wireguard => gateways.get().saturating_mul(1_000_000_000),
            Self::Vpn => 1_250_000_000,
            Self::DirectConnect | Self::Interconnect => 10_000_000_000,
            Self::RunpodGlobal => 100_000_000,
        };
        LinkRate(NonZeroU64::new(bits).unwrap_or(NonZeroU64::MIN))
    }

    /// The largest rate of one option, if it is limited.
    pub(crate) fn largest_rate(self) -> Option<BitRate> {
        match self {
            Self::CloudSync | Self::Wireguard => None,
            Self::Vpn => Some(BitRate(10_000_000_000)),
            Self::DirectConnect | Self::Interconnect => Some(BitRate(100_000_000_000)),
            Self::RunpodGlobal => Some(BitRate(100_000_000)),
        }
    }
}
