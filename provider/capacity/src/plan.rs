//! The plan: what is demanded, what each option does, and what is recommended.

use crate::formula;
use crate::options::{OptionPlan, Verdict, option};
use crate::prices;
use crate::request::{LinkKind, Place, Request, Store};
use crate::training::{TrainingPlan, training};
use crate::units::{BitRate, Bytes, Seconds};
use serde::Serialize;

/// A capacity plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    /// Title.
    pub name: String,
    /// The cloud that stores datasets and checkpoints.
    pub store: Store,
    /// Where the GPUs are.
    pub place: Place,
    /// What the link must carry.
    pub demand: Demand,
    /// The checkpoints, if there are any.
    pub checkpoint: Option<CheckpointPlan>,
    /// The link options, in the order of their names.
    pub options: Vec<OptionPlan>,
    /// Name of the recommended option.
    pub recommended: Option<String>,
    /// Why.
    pub reasons: Vec<String>,
    /// The traffic of training, if it is planned.
    pub training: Option<TrainingPlan>,
    /// Day of the price table.
    pub prices_of: &'static str,
    /// Whether the user overrides prices.
    pub prices_overridden: bool,
}

/// What a link must carry.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Demand {
    /// Datasets to the GPUs, each in its time and all at once.
    #[serde(rename = "down_bits_per_second")]
    pub down: BitRate,
    /// A checkpoint to the store in its time.
    #[serde(rename = "up_bits_per_second")]
    pub up: BitRate,
    /// The larger of the two directions.
    #[serde(rename = "peak_bits_per_second")]
    pub peak: BitRate,
    /// What lasts for ten minutes or more, in the larger direction.
    #[serde(rename = "sustained_bits_per_second")]
    pub sustained: BitRate,
    /// The peak and 30 % headroom.
    #[serde(rename = "peak_with_headroom_bits_per_second")]
    pub headroom: BitRate,
    /// The rate to plan.
    #[serde(rename = "planned_bits_per_second")]
    pub planned: BitRate,
    /// Traffic out of the cloud in a month.
    #[serde(rename = "out_per_month_bytes")]
    pub out_per_month: Bytes,
}

/// The checkpoints of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CheckpointPlan {
    /// Size of one.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// Training time between two of them.
    #[serde(rename = "interval_seconds")]
    pub interval: Seconds,
    /// Whether training waits for the upload.
    pub waits_for_upload: bool,
}

impl Plan {
    /// The recommended option.
    pub fn best(&self) -> Option<&OptionPlan> {
        self.options.iter().find(|option| Some(&option.name) == self.recommended.as_ref())
    }

    /// Whether the recommended option carries the planned rate.
    pub fn fits(&self) -> bool {
        self.best().is_some_and(|option| option.verdict == Verdict::Fits)
    }

    /// The option whose gateways are planned: the recommended one, or else the first WireGuard option.
    pub fn gateways(&self) -> Option<&OptionPlan> {
        let is_wireguard = |option: &&OptionPlan| option.kind == LinkKind::Wireguard;
        self.best().filter(is_wireguard).or_else(|| self.options.iter().find(is_wireguard))
    }

    /// The planned rate of each gateway in Mbit/s.
    pub fn planned_rate_mbit(&self) -> Option<u64> {
        self.gateways().and_then(|option| option.planned_rate_mbit)
    }

    /// The planned rate of each agent in Mbit/s.
    pub fn agent_planned_rate_mbit(&self) -> Option<u64> {
        self.gateways().and_then(|option| option.agent_planned_rate_mbit)
    }
}

/// Computes a plan.
pub fn plan(request: &Request) -> Plan {
    let demand = demand(request);
    let options: Vec<OptionPlan> =
        request.links.iter().map(|(name, link)| option(name, link, request, &demand)).collect();
    let (recommended, reasons) = recommend(&options, &demand);
    Plan {
        name: request.name.clone(),
        store: request.store,
        place: request.place,
        demand,
        checkpoint: request.checkpoint.map(|it| CheckpointPlan {
            size: it.size,
            interval: it.interval,
            waits_for_upload: it.pause.is_none(),
        }),
        options,
        recommended,
        reasons,
        training: request.training.as_ref().map(training),
        prices_of: prices::DATE,
        prices_overridden: request.prices.overridden(),
    }
}

fn demand(request: &Request) -> Demand {
    // `read` refuses requests whose sums are above 10¹⁸.
    let (mut down, mut sustained_down, mut out) = (0.0, 0.0, 0.0);
    for dataset in request.datasets.values() {
        let per_month = dataset.size.0 as f64 * dataset.times_per_month;
        down += dataset.rate.0 as f64;
        sustained_down += if dataset.within >= formula::SUSTAINED {
            dataset.rate.0 as f64
        } else {
            per_month * 8.0 / (prices::HOURS * 3600.0)
        };
        out += per_month;
    }
    let (up, sustained_up) = match &request.checkpoint {
        Some(it) if it.upload_within >= formula::SUSTAINED => (it.rate, it.rate),
        Some(it) => (it.rate, it.average),
        None => Default::default(),
    };
    let down = BitRate(down as u64);
    let peak = down.max(up);
    let sustained = BitRate((sustained_down.ceil() as u64).min(down.0)).max(sustained_up);
    Demand {
        down,
        up,
        peak,
        sustained,
        headroom: peak.times(formula::HEADROOM),
        planned: formula::planned(peak, sustained),
        out_per_month: Bytes(out.round() as u64),
    }
}

/// The cheapest option that fits. If none fits, the fastest one that can be used.
fn recommend(options: &[OptionPlan], demand: &Demand) -> (Option<String>, Vec<String>) {
    let mut fits: Vec<&OptionPlan> = options.iter().filter(|it| it.verdict == Verdict::Fits).collect();
    fits.sort_by(|a, b| a.cost.total.0.total_cmp(&b.cost.total.0));
    if let Some(best) = fits.first() {
        let mut reasons = best.reasons.clone();
        let others: Vec<String> =
            fits[1..].iter().map(|it| format!("{} costs {}", it.name, it.cost.total)).collect();
        reasons.push(if others.is_empty() {
            format!("it is the only option that fits, for {} a month", best.cost.total)
        } else {
            format!(
                "of {} options that fit, it is the cheapest: {} a month; {}",
                fits.len(),
                best.cost.total,
                others.join(", ")
            )
        });
        reasons.extend(less_waiting(best, &fits));
        return (Some(best.name.clone()), reasons);
    }
    let usable = options.iter().filter(|it| it.verdict != Verdict::Unusable);
    let Some(best) =
        usable.max_by(|a, b| a.rate.cmp(&b.rate).then(b.cost.total.0.total_cmp(&a.cost.total.0)))
    else {
        let why = "no option can be used here; add a `wireguard` link, which works for rented pods and sites";
        return (None, vec![why.to_owned()]);
    };
    let mut reasons = vec![format!(
        "no option carries the planned rate of {}; this is the fastest that can be used",
        demand.planned
    )];
    reasons.extend(best.reasons.clone());
    (Some(best.name.clone()), reasons)
}

/// The option that fits and loses least time to checkpoints, if that is not the cheapest one and time has no price.
fn less_waiting(best: &OptionPlan, fits: &[&OptionPlan]) -> Option<String> {
    let lost = best.lost_to_checkpoints.filter(|_| best.cost.waiting.0 == 0.0)?;
    let (other, least) = fits
        .iter()
        .filter_map(|it| Some((it, it.lost_to_checkpoints?)))
        .min_by(|(_, a), (_, b)| a.0.total_cmp(&b.0))
        .filter(|(_, least)| least.0 < lost.0)?;
    Some(format!(
        "training waits {lost} of the time for checkpoints, and {least} with {}; set `checkpoint.cost_per_hour` to count this \
         time as cost",
        other.name
    ))
}
