//! Attributes to the request of the crate `warren-capacity`, and its plan to attributes.

use tf_provider_rs::model::ToValue as _;
use tf_provider_rs::{Attr, Diagnostics, Path, Value};
use warren_capacity::{Demand, Fault, KEYS, OptionPlan, Plan, Syntax, TrainingPlan, Value as Input};

use super::model::{CapacityPlan, DemandResult, Link, ModeResult, TrainingResult, TransferResult};

/// The attributes whose elements have names that the user chooses.
const MAPS: [&str; 3] = ["datasets", "links", "prices"];

/// Fills in the computed attributes.
///
/// # Errors
/// Every wrong value, with its path.
pub(super) fn compute(mut config: CapacityPlan) -> Result<CapacityPlan, Diagnostics> {
    let value = config.to_value();
    let entry = |name: &str| (name.to_owned(), value.get(name).map_or(Input::Null, input));
    let inputs = Input::Map(KEYS.iter().map(|name| entry(name)).collect());
    let request = warren_capacity::read(&inputs, Syntax::Terraform);
    let plan = warren_capacity::plan(&request.map_err(diagnostics)?);
    results(&mut config, &plan);
    Ok(config)
}

fn input(value: &Value) -> Input {
    match value {
        Value::Null | Value::Unknown(_) => Input::Null,
        Value::Bool(value) => Input::Bool(*value),
        Value::Number(number) => Input::Number(number.to_string()),
        Value::String(text) => Input::Text(text.clone()),
        Value::List(_) | Value::Set(_) | Value::Tuple(_) => Input::List,
        Value::Map(entries) | Value::Object(entries) => {
            Input::Map(entries.iter().map(|(key, value)| (key.clone(), input(value))).collect())
        }
        Value::Dynamic(_, value) => input(value),
    }
}

fn diagnostics(faults: Vec<Fault>) -> Diagnostics {
    let mut found = Diagnostics::default();
    for fault in faults {
        let mut path = Path::root();
        for (depth, name) in fault.path.iter().enumerate() {
            let is_key = depth == 1 && MAPS.contains(&fault.path[0].as_str());
            path = if is_key { path.key(name) } else { path.attribute(name) };
        }
        let detail = format!("{} {}", sentence(&fault.message), sentence(&fault.hint));
        found.error_at(path, "Invalid capacity plan", detail);
    }
    found
}

/// A text that starts with a capital letter and ends with a mark.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    let end = if text.ends_with('?') { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}

fn results(config: &mut CapacityPlan, plan: &Plan) {
    config.fits = plan.fits().into();
    config.recommended_link = plan.recommended.clone().into();
    config.reasons = texts(&plan.reasons);
    config.planned_rate_mbit = plan.planned_rate_mbit().map(whole).into();
    config.agent_planned_rate_mbit = plan.agent_planned_rate_mbit().map(whole).into();
    config.recommended_training =
        plan.training.as_ref().map(|training| training.recommended.key().to_owned()).into();
    config.demand = Attr::Known(demand(&plan.demand));
    config.link = Attr::Known(
        plan.options.iter().map(|option| (option.name.clone(), Attr::Known(link(option)))).collect(),
    );
    config.training_plan = plan.training.as_ref().map_or(Attr::Null, |it| Attr::Known(training(it)));
    config.markdown = warren_capacity::markdown(plan).into();
}

fn demand(demand: &Demand) -> DemandResult {
    let rate = |rate: warren_capacity::units::BitRate| whole(rate.bits_per_second()).into();
    DemandResult {
        down_bits_per_second: rate(demand.down),
        up_bits_per_second: rate(demand.up),
        peak_bits_per_second: rate(demand.peak),
        sustained_bits_per_second: rate(demand.sustained),
        planned_bits_per_second: rate(demand.planned),
        out_per_month_bytes: whole(demand.out_per_month.count()).into(),
    }
}

fn link(option: &OptionPlan) -> Link {
    let transfers = option.transfers.iter().map(|transfer| {
        let result = TransferResult {
            time_seconds: rounded(transfer.time.value(), 3).into(),
            within_seconds: rounded(transfer.within.value(), 3).into(),
            in_time: transfer.on_time().into(),
        };
        (transfer.name.clone(), Attr::Known(result))
    });
    Link {
        verdict: option.verdict.word().to_owned().into(),
        reasons: texts(&option.reasons),
        rate_bits_per_second: whole(option.rate.rate().bits_per_second()).into(),
        peak_utilisation: rounded(option.peak_utilisation.value(), 4).into(),
        lost_to_checkpoints: option.lost_to_checkpoints.map(|share| rounded(share.value(), 4)).into(),
        transfers: Attr::Known(transfers.collect()),
        monthly_cost: rounded(option.cost.total.value(), 2).into(),
        monthly_egress: rounded(option.cost.egress.value(), 2).into(),
        monthly_waiting: rounded(option.cost.waiting.value(), 2).into(),
        planned_rate_mbit: option.planned_rate_mbit.map(whole).into(),
        agent_planned_rate_mbit: option.agent_planned_rate_mbit.map(whole).into(),
    }
}

fn training(plan: &TrainingPlan) -> TrainingResult {
    let modes = plan.modes.iter().map(|mode| {
        let result = ModeResult {
            traffic_bytes: whole(mode.traffic.count()).into(),
            rate_bits_per_second: whole(mode.rate.rate().bits_per_second()).into(),
            time_per_step_seconds: rounded(mode.time.value(), 3).into(),
            share: rounded(mode.share.value(), 4).into(),
            acceptable: mode.acceptable.into(),
        };
        (mode.mode.key().to_owned(), Attr::Known(result))
    });
    TrainingResult {
        gradients_bytes: whole(plan.gradients.count()).into(),
        groups: whole(plan.groups).into(),
        modes: Attr::Known(modes.collect()),
        reasons: texts(&plan.reasons),
    }
}

fn texts(items: &[String]) -> Attr<Vec<String>> {
    Attr::Known(items.to_vec())
}

fn whole(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn rounded(value: f64, places: i32) -> f64 {
    let scale = 10_f64.powi(places);
    (value * scale).round() / scale
}
