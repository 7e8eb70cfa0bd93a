//! Attributes of `warren_capacity_plan`.

use std::collections::BTreeMap;

use tf_provider_rs::{Attr, DataSource, Object};

/// Attributes by key.
type Map<T> = Attr<BTreeMap<String, Attr<T>>>;

/// Compares links between the data and the GPUs: transfer times, time lost to checkpoints, traffic of training, planned
/// rates and costs, with a recommendation and its reasons. The arguments are those of a file for `warren capacity`. The data
/// source calls no API.
#[derive(Clone, Debug, Default, PartialEq, DataSource)]
#[data_source(name = "warren_capacity_plan")]
pub(crate) struct CapacityPlan {
    /// Title of the plan. Defaults to `capacity`.
    #[attr(optional)]
    pub(crate) name: Attr<String>,
    /// Cloud that stores datasets and checkpoints: `aws` or `gcp`.
    #[attr(required)]
    pub(crate) store: Attr<String>,
    /// Where the GPUs are: `rented` for containers that are rented by the hour, or `site` for a network with a router of your
    /// own. Defaults to `rented`.
    #[attr(optional)]
    pub(crate) place: Attr<String>,
    /// Whether the pods need private services, private names, or data without a copy. Defaults to `false`.
    #[attr(optional)]
    pub(crate) private: Attr<bool>,
    /// Number of pods, 1 to 1000000, for datasets with `per_pod` and for the planned rate of agents. Defaults to `training.pods`.
    #[attr(optional)]
    pub(crate) pods: Attr<i64>,
    /// Datasets by name.
    #[attr(optional)]
    pub(crate) datasets: Map<Dataset>,
    /// Size of the model. Required by `training`, and by `checkpoint` without a `size`.
    #[attr(optional)]
    pub(crate) model: Attr<ModelSize>,
    /// Checkpoints.
    #[attr(optional)]
    pub(crate) checkpoint: Attr<Checkpoint>,
    /// Training run whose traffic is planned.
    #[attr(optional)]
    pub(crate) training: Attr<Training>,
    /// Link options by name, at least one.
    #[attr(required)]
    pub(crate) links: Map<LinkOption>,
    /// Prices in USD that replace those of the price table, by key, such as `aws_internet` for each GiB.
    #[attr(optional)]
    pub(crate) prices: Map<f64>,
    /// Whether the recommended link carries the planned rate.
    #[attr(computed)]
    pub(crate) fits: Attr<bool>,
    /// Name of the recommended link. Null if none can be used.
    #[attr(computed)]
    pub(crate) recommended_link: Attr<String>,
    /// Reasons for the recommended link.
    #[attr(computed)]
    pub(crate) reasons: Attr<Vec<String>>,
    /// Planned rate of each gateway in Mbit/s with the overhead of the tunnel, for `planned_rate_mbit` of gateways. At most the
    /// rate of the link. It belongs to the recommended link, or else to the first WireGuard option. Null without one.
    #[attr(computed)]
    pub(crate) planned_rate_mbit: Attr<i64>,
    /// Planned rate of each agent in Mbit/s with the overhead of the tunnel, for its option `--planned-rate`. Null without a
    /// WireGuard option or a number of pods.
    #[attr(computed)]
    pub(crate) agent_planned_rate_mbit: Attr<i64>,
    /// Recommended way to exchange gradients: `one-site`, `ring`, `parameter-server` or `federated`. Null without `training`.
    #[attr(computed)]
    pub(crate) recommended_training: Attr<String>,
    /// Rates that the link must carry.
    #[attr(computed)]
    pub(crate) demand: Attr<DemandResult>,
    /// Result of each link option, by name.
    #[attr(computed)]
    pub(crate) link: Map<Link>,
    /// Traffic of the training. Null without `training`.
    #[attr(computed)]
    pub(crate) training_plan: Attr<TrainingResult>,
    /// The plan in Markdown, for a pull request.
    #[attr(computed)]
    pub(crate) markdown: Attr<String>,
}

/// A dataset.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct Dataset {
    /// Size with its unit, such as `2 TB` or `500 GiB`.
    #[attr(required)]
    pub(crate) size: Attr<String>,
    /// Time in which it must be transferred, such as `12 h`.
    #[attr(required)]
    pub(crate) within: Attr<String>,
    /// Transfers in a month, 0 to 10000, one after the other. Defaults to `1`.
    #[attr(optional)]
    pub(crate) times_per_month: Attr<f64>,
    /// Whether each pod reads the whole dataset. Requires a number of pods. Defaults to `false`: the pods share one copy.
    #[attr(optional)]
    pub(crate) per_pod: Attr<bool>,
}

/// A model.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct ModelSize {
    /// Number of parameters, such as `70B`.
    #[attr(required)]
    pub(crate) parameters: Attr<String>,
    /// Bytes of a gradient, 1 to 16. Defaults to `2`.
    #[attr(optional)]
    pub(crate) gradient_bytes: Attr<i64>,
    /// Bytes of a parameter in a checkpoint, 1 to 64: `14` with the state of Adam in mixed precision. Defaults to `4`.
    #[attr(optional)]
    pub(crate) checkpoint_bytes: Attr<i64>,
}

/// Checkpoints.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct Checkpoint {
    /// Training time between two checkpoints, such as `30 min`.
    #[attr(required)]
    pub(crate) interval: Attr<String>,
    /// Size of a checkpoint, such as `280 GB`. Defaults to the parameters of `model` times `checkpoint_bytes`.
    #[attr(optional)]
    pub(crate) size: Attr<String>,
    /// Time that training waits for a checkpoint, such as `40 s`. By default, it waits for the upload.
    #[attr(optional)]
    pub(crate) pause: Attr<String>,
    /// Time in which a checkpoint must be uploaded, at most `interval`. Defaults to `interval`.
    #[attr(optional)]
    pub(crate) upload_within: Attr<String>,
    /// Price in USD of an hour in which training waits, such as that of all GPUs. With it, the time lost to checkpoints is part of
    /// the cost.
    #[attr(optional)]
    pub(crate) cost_per_hour: Attr<f64>,
}

/// A training run.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct Training {
    /// Number of GPUs, a multiple of `pods`.
    #[attr(required)]
    pub(crate) gpus: Attr<i64>,
    /// Number of pods. Defaults to `pods` of the plan; one of them is required.
    #[attr(optional)]
    pub(crate) pods: Attr<i64>,
    /// Time that a step computes, such as `2 s`.
    #[attr(required)]
    pub(crate) step: Attr<String>,
    /// Rate between the pods of a site, per pod and direction: `100 Mbit/s` for RunPod's global networking.
    #[attr(required)]
    pub(crate) network: Attr<String>,
    /// GPUs that divide each layer. Defaults to `1`.
    #[attr(optional)]
    pub(crate) tensor_parallel: Attr<i64>,
    /// Stages that divide the layers. Defaults to `1`.
    #[attr(optional)]
    pub(crate) pipeline_parallel: Attr<i64>,
    /// Number of sites with pods. Defaults to `1`.
    #[attr(optional)]
    pub(crate) sites: Attr<i64>,
    /// Rate between sites, per site and direction. Required with several `sites`.
    #[attr(optional)]
    pub(crate) between_sites: Attr<String>,
    /// Rate of a parameter server or aggregator. Defaults to `between_sites`, or else `network`.
    #[attr(optional)]
    pub(crate) server: Attr<String>,
    /// Whether pods come and go during the run. Defaults to `false`.
    #[attr(optional)]
    pub(crate) elastic: Attr<bool>,
    /// Steps between two rounds of federated training. Defaults to `100`.
    #[attr(optional)]
    pub(crate) local_steps: Attr<i64>,
    /// Largest acceptable part of the time for communication, 0.01 to 0.9. Defaults to `0.2`.
    #[attr(optional)]
    pub(crate) limit: Attr<f64>,
}

/// A link option.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct LinkOption {
    /// Type of the link: `cloud-sync`, `wireguard`, `vpn`, `direct-connect`, `interconnect` or `runpod-global`.
    #[attr(required)]
    pub(crate) kind: Attr<String>,
    /// Rate per direction of all gateways together, such as `3 Gbit/s`. The default depends on the type; for `wireguard`, it is
    /// 1 Gbit/s for each gateway.
    #[attr(optional)]
    pub(crate) rate: Attr<String>,
    /// Number of gateways that share the traffic, for `wireguard`. Defaults to `1`.
    #[attr(optional)]
    pub(crate) gateways: Attr<i64>,
}

/// Rates that a link must carry.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct DemandResult {
    /// All datasets at once, each in its time.
    #[attr(computed)]
    pub(crate) down_bits_per_second: Attr<i64>,
    /// A checkpoint in its time.
    #[attr(computed)]
    pub(crate) up_bits_per_second: Attr<i64>,
    /// The larger direction.
    #[attr(computed)]
    pub(crate) peak_bits_per_second: Attr<i64>,
    /// The part of it that lasts ten minutes or more.
    #[attr(computed)]
    pub(crate) sustained_bits_per_second: Attr<i64>,
    /// The rate to plan, without the overhead of a tunnel.
    #[attr(computed)]
    pub(crate) planned_bits_per_second: Attr<i64>,
    /// Traffic out of the cloud in a month.
    #[attr(computed)]
    pub(crate) out_per_month_bytes: Attr<i64>,
}

/// The result of a link option.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct Link {
    /// Whether it fits: `fits`, `tight`, `slow` or `unusable`.
    #[attr(computed)]
    pub(crate) verdict: Attr<String>,
    /// Reasons for the verdict.
    #[attr(computed)]
    pub(crate) reasons: Attr<Vec<String>>,
    /// Rate per direction, of all gateways together.
    #[attr(computed)]
    pub(crate) rate_bits_per_second: Attr<i64>,
    /// Part of the rate that the peak uses. Above 1, transfers are late.
    #[attr(computed)]
    pub(crate) peak_utilisation: Attr<f64>,
    /// Part of the time that training waits for checkpoints. Null without `checkpoint`.
    #[attr(computed)]
    pub(crate) lost_to_checkpoints: Attr<f64>,
    /// Each transfer alone on the link, by dataset; that of a checkpoint has the name `checkpoint`.
    #[attr(computed)]
    pub(crate) transfers: Map<TransferResult>,
    /// Cost of a month in USD.
    #[attr(computed)]
    pub(crate) monthly_cost: Attr<f64>,
    /// Part of the cost that is traffic out of the cloud, in USD.
    #[attr(computed)]
    pub(crate) monthly_egress: Attr<f64>,
    /// Part of the cost that is time in which training waits for checkpoints, in USD.
    #[attr(computed)]
    pub(crate) monthly_waiting: Attr<f64>,
    /// Planned rate of each gateway in Mbit/s. Null for links other than `wireguard`.
    #[attr(computed)]
    pub(crate) planned_rate_mbit: Attr<i64>,
    /// Planned rate of each agent in Mbit/s. Null for links other than `wireguard`, or without a number of pods.
    #[attr(computed)]
    pub(crate) agent_planned_rate_mbit: Attr<i64>,
}

/// A transfer over a link.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct TransferResult {
    /// Time that it needs, in seconds.
    #[attr(computed)]
    pub(crate) time_seconds: Attr<f64>,
    /// Time that it may take, in seconds.
    #[attr(computed)]
    pub(crate) within_seconds: Attr<f64>,
    /// Whether it ends in time.
    #[attr(computed)]
    pub(crate) in_time: Attr<bool>,
}

/// The traffic of a training.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct TrainingResult {
    /// Size of the gradients.
    #[attr(computed)]
    pub(crate) gradients_bytes: Attr<i64>,
    /// Participants of an all-reduce.
    #[attr(computed)]
    pub(crate) groups: Attr<i64>,
    /// Possible methods to exchange gradients: `one-site`, `ring`, `parameter-server`, `federated`.
    #[attr(computed)]
    pub(crate) modes: Map<ModeResult>,
    /// Reasons for the recommended one.
    #[attr(computed)]
    pub(crate) reasons: Attr<Vec<String>>,
}

/// What a way to exchange gradients costs.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct ModeResult {
    /// Bytes over the slowest link, per step or per round of federated training.
    #[attr(computed)]
    pub(crate) traffic_bytes: Attr<i64>,
    /// Rate of this link.
    #[attr(computed)]
    pub(crate) rate_bits_per_second: Attr<i64>,
    /// Time for communication per step, in seconds.
    #[attr(computed)]
    pub(crate) time_per_step_seconds: Attr<f64>,
    /// Part of the time that is communication.
    #[attr(computed)]
    pub(crate) share: Attr<f64>,
    /// Whether this is at most `training.limit`.
    #[attr(computed)]
    pub(crate) acceptable: Attr<bool>,
}
