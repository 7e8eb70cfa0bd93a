//! The traffic of training between pods: at one site, as a ring over sites, with a parameter server, or federated.

use crate::formula;
use crate::request::Training;
use crate::units::{Bytes, LinkRate, Seconds, Share};
use serde::Serialize;

/// How pods exchange what they have learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// A ring all-reduce between pods of one site.
    OneSite,
    /// A ring inside each site, and one over the sites.
    Ring,
    /// Pods send gradients to a server, and read the model from it.
    ParameterServer,
    /// Each site trains alone, and exchanges the model after some steps.
    Federated,
}

impl Mode {
    /// The term in JSON and Terraform.
    pub fn key(self) -> &'static str {
        match self {
            Self::OneSite => "one-site",
            Self::Ring => "ring",
            Self::ParameterServer => "parameter-server",
            Self::Federated => "federated",
        }
    }

    /// The name for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::OneSite => "train at one site",
            Self::Ring => "ring over the sites",
            Self::ParameterServer => "parameter server",
            Self::Federated => "federated",
        }
    }
}

/// The modes of a training run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrainingPlan {
    /// Size of the gradients of the model.
    #[serde(rename = "gradients_bytes")]
    pub gradients: Bytes,
    /// Participants of an all-reduce.
    pub groups: u64,
    /// The modes that are possible.
    pub modes: Vec<ModePlan>,
    /// The recommended one.
    pub recommended: Mode,
    /// Why.
    pub reasons: Vec<String>,
}

/// What a mode costs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ModePlan {
    /// The mode.
    pub mode: Mode,
    /// Bytes over the slowest link, per step or per round of federated training.
    #[serde(rename = "traffic_bytes")]
    pub traffic: Bytes,
    /// Rate of this link.
    #[serde(rename = "rate_bits_per_second")]
    pub rate: LinkRate,
    /// Time for communication per step.
    #[serde(rename = "time_per_step_seconds")]
    pub time: Seconds,
    /// The part of the time that is communication.
    pub share: Share,
    /// Whether this is acceptable.
    pub acceptable: bool,
}

pub(crate) fn training(run: &Training) -> TrainingPlan {
    let modes = modes(run);
    let (recommended, reasons) = recommend(run, &modes);
    TrainingPlan { gradients: run.model, groups: run.groups.get(), modes, recommended, reasons }
}

/// Traffic over a link.
type Load = (Bytes, LinkRate);

/// The load that takes longer.
fn slower(a: Load, b: Load) -> Load {
    if b.0.time_at(b.1) > a.0.time_at(a.1) { b } else { a }
}

fn modes(run: &Training) -> Vec<ModePlan> {
    let (groups, sites) = (run.groups.get(), run.sites.get());
    let per_pod = Bytes(run.model.0.div_ceil(run.pods_per_replica.get()));
    let mode = |mode, (traffic, rate): Load, more: Seconds, steps: u64| {
        let time = Seconds(more.0 + traffic.time_at(rate).0 / steps as f64);
        let share = formula::lost(time, run.step);
        ModePlan { mode, traffic, rate, time, share, acceptable: share <= run.limit }
    };
    let none = Seconds(0.0);
    let mut found = vec![mode(Mode::OneSite, (formula::ring(per_pod, groups), run.network), none, 1)];
    if groups < 2 {
        return found;
    }
    let of_site = groups / sites;
    let inside = formula::ring(per_pod, of_site).time_at(run.network);
    let several = sites > 1;
    if several {
        found.push(mode(Mode::Ring, (formula::ring(run.model, sites), run.between_sites), inside, 1));
    }
    let at_server = (formula::parameter_server(run.model, groups), run.server);
    let at_worker = if several {
        (formula::parameter_server(run.model, of_site), run.between_sites)
    } else {
        (formula::parameter_server(per_pod, 1), run.network)
    };
    found.push(mode(Mode::ParameterServer, slower(at_server, at_worker), none, 1));
    // The participants are sites, or else the replicas of one site.
    let (participants, at_participant, inside) = if several {
        (sites, (formula::federated(run.model), run.between_sites), inside)
    } else {
        (groups, (formula::federated(per_pod), run.network), none)
    };
    let at_server = (formula::aggregator(run.model, participants), run.server);
    found.push(mode(Mode::Federated, slower(at_participant, at_server), inside, run.local_steps.get()));
    found
}

/// The first acceptable mode, from the one that changes training least.
fn recommend(run: &Training, modes: &[ModePlan]) -> (Mode, Vec<String>) {
    if run.groups.get() < 2 {
        let why = "there is one replica of the model, so no gradients are exchanged";
        return (Mode::OneSite, vec![why.to_owned()]);
    }
    let order: &[Mode] = match (run.elastic, run.sites.get() > 1) {
        (true, _) => &[Mode::ParameterServer, Mode::Federated, Mode::Ring, Mode::OneSite],
        (false, true) => &[Mode::Ring, Mode::Federated, Mode::ParameterServer, Mode::OneSite],
        (false, false) => &[Mode::OneSite, Mode::ParameterServer, Mode::Federated],
    };
    let find = |mode: &Mode| modes.iter().find(|it| it.mode == *mode);
    let mut reasons = Vec::new();
    for found in order.iter().filter_map(find) {
        let communication = format!("communication takes {} of the time", found.share);
        if found.acceptable {
            reasons.push(format!(
                "{}: {communication}, at most {} is accepted",
                found.mode.title(),
                run.limit
            ));
            if run.elastic && found.mode == Mode::ParameterServer {
                reasons.push("pods may come and go, which a ring does not survive".to_owned());
            }
            return (found.mode, reasons);
        }
        reasons.push(format!("{}: {communication}, more than {}", found.mode.title(), run.limit));
    }
    if let Some(ring) = modes.first() {
        let time = Seconds(run.step.0 * run.limit.0 / (1.0 - run.limit.0));
        reasons.push(match ring.traffic.rate_within(time) {
            Some(rate) => {
                format!("no mode is acceptable; train at one site with at least {rate} between pods")
            }
            None => "no mode is acceptable, and no network is fast enough; use longer steps".to_owned(),
        });
    }
    (Mode::OneSite, reasons)
}
