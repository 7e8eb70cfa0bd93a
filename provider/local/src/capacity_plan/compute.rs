//! Attributes to the request of the crate `warren-capacity`, and its plan to attributes.

use tf_provider_rs::model::ToValue as _;
use tf_provider_rs::{Attr, Diagnostics, Path, Value};
use warren_capacity::{Fault, Plan, Value as Input};

use super::model::{CapacityPlan, Link};

/// The attributes that a plan is computed from, in the order of the documentation.
const INPUTS: [&str; 10] =
    ["name", "store", "place", "private", "datasets", "model", "checkpoint", "training", "links", "prices"];
/// Those whose elements have names that the user chooses.
const MAPS: [&str; 3] = ["datasets", "links", "prices"];

/// Fills in the computed attributes.
///
/// # Errors
/// Every wrong value, with its path.
pub(super) fn compute(mut config: CapacityPlan) -> Result<CapacityPlan, Diagnostics> {
    let value = config.to_value();
    let entry = |name: &str| (name.to_owned(), value.get(name).map_or(Input::Null, input));
    let request = warren_capacity::read(&Input::Map(INPUTS.into_iter().map(entry).collect()));
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
        let mut detail = sentence(&fault.message);
        if let Some(hint) = &fault.hint {
            detail.push(' ');
            detail.push_str(&sentence(hint));
        }
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
    let mbit = |rate: u64| i64::try_from(rate).unwrap_or(i64::MAX);
    let texts = |items: &[String]| Attr::Known(items.to_vec());
    config.fits = plan.fits().into();
    config.recommended_link = plan.recommended.clone().into();
    config.reasons = texts(&plan.reasons);
    config.planned_rate_mbit = plan.planned_rate_mbit().map(mbit).into();
    config.agent_planned_rate_mbit = mbit(plan.demand.agent_planned_rate_mbit).into();
    config.recommended_training = match &plan.training {
        Some(training) => training.recommended.title().to_owned().into(),
        None => Attr::Null,
    };
    let links = plan.options.iter().map(|option| {
        let link = Link {
            verdict: option.verdict.word().to_owned().into(),
            reasons: texts(&option.reasons),
            monthly_cost: cents(option.cost.total.0).into(),
            monthly_egress: cents(option.cost.egress.0).into(),
            planned_rate_mbit: option.planned_rate_mbit.map(mbit).into(),
        };
        (option.name.clone(), Attr::Known(link))
    });
    config.link = Attr::Known(links.collect());
    config.markdown = warren_capacity::markdown(plan).into();
}

fn cents(usd: f64) -> f64 {
    (usd * 100.0).round() / 100.0
}
