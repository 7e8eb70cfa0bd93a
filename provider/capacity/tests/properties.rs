//! Any input gives a plan or faults, never a panic, and plans keep their promises.

use proptest::prelude::*;
use warren_capacity::{Syntax, Value, human, json, markdown, plan, read, svg};

const UNITS: &[&str] = &["B", "GB", "PiB", "bit/s", "Gbit/s", "TB/s", "ms", "min", "days", "Gbps", ""];
const KEYS: &[&str] = &[
    "store",
    "place",
    "private",
    "datasets",
    "model",
    "checkpoint",
    "training",
    "links",
    "prices",
    "size",
    "within",
    "per_pod",
    "times_per_month",
    "parameters",
    "interval",
    "pause",
    "gpus",
    "pods",
    "step",
    "network",
    "sites",
    "kind",
    "rate",
    "gateways",
    "aws_vpn",
    "x-mine",
    "other",
];

fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        Just(Value::List),
        any::<bool>().prop_map(Value::Bool),
        any::<f64>().prop_map(|number| Value::Number(number.to_string())),
        (any::<f64>(), prop::sample::select(UNITS))
            .prop_map(|(number, unit)| Value::Text(format!("{number} {unit}"))),
        "\\PC{0,8}".prop_map(Value::Text),
        prop::sample::select(&["aws", "gcp", "site", "wireguard", "vpn", "7B"][..])
            .prop_map(|text| Value::Text(text.to_owned())),
    ];
    leaf.prop_recursive(4, 64, 8, |inner| {
        let key = prop::sample::select(KEYS).prop_map(str::to_owned);
        prop::collection::vec((key, inner), 0..8).prop_map(Value::Map)
    })
}

fn map(entries: Vec<(&str, Value)>) -> Value {
    Value::Map(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn text(text: String) -> Value {
    Value::Text(text)
}

/// Inputs that are valid, with extreme quantities.
fn valid() -> impl Strategy<Value = Value> {
    let magnitude = || (1_u32..1000, 0_usize..3);
    // At most a month.
    let within = prop_oneof![(1_u32..1000, 0_usize..2), (1_u32..31, Just(2_usize))];
    (magnitude(), within, magnitude(), 1_u32..64, 1_u32..9, any::<bool>()).prop_map(
        |(size, within, rate, pods, sites, elastic)| {
            let bytes = text(format!("{} {}", size.0, ["B", "MiB", "GB"][size.1]));
            let time = text(format!("{} {}", within.0, ["ms", "min", "days"][within.1]));
            let rate = text(format!("{} {}", rate.0, ["bit/s", "Mbit/s", "Tbit/s"][rate.1]));
            let number = |value: u32| Value::Number(value.to_string());
            map(vec![
                ("store", text("aws".to_owned())),
                ("place", text("site".to_owned())),
                (
                    "datasets",
                    map(vec![("<d>|", map(vec![("size", bytes.clone()), ("within", time.clone())]))]),
                ),
                ("model", map(vec![("parameters", text("7B".to_owned()))])),
                ("checkpoint", map(vec![("interval", time.clone()), ("size", bytes)])),
                (
                    "training",
                    map(vec![
                        ("gpus", number(pods * sites)),
                        ("pods", number(pods * sites)),
                        ("sites", number(sites)),
                        ("step", time),
                        ("network", rate.clone()),
                        ("between_sites", rate.clone()),
                        ("elastic", Value::Bool(elastic)),
                    ]),
                ),
                (
                    "links",
                    map(vec![
                        (
                            "a",
                            map(vec![
                                ("kind", text("wireguard".to_owned())),
                                ("rate", rate),
                                ("gateways", number(3)),
                            ]),
                        ),
                        ("b", map(vec![("kind", text("direct-connect".to_owned()))])),
                        ("c", map(vec![("kind", text("vpn".to_owned()))])),
                    ]),
                ),
            ])
        },
    )
}

/// A valid input with other values at some places: most are refused, and what is accepted must be planned.
fn nearly_valid() -> impl Strategy<Value = Value> {
    let other = prop_oneof![
        Just(Value::Null),
        Just(Value::List),
        Just(Value::Map(Vec::new())),
        any::<bool>().prop_map(Value::Bool),
        (0_u64..2_000_000).prop_map(|number| Value::Number(number.to_string())),
        (0_u32..1000, prop::sample::select(UNITS))
            .prop_map(|(number, unit)| text(format!("{number} {unit}"))),
        (1_u32..1000, prop::sample::select(&["PB", "PB/s", "Tbit/s", "bit/s", "ms", "T"][..]))
            .prop_map(|(number, unit)| text(format!("{number} {unit}"))),
        prop::sample::select(&["aws", "gcp", "rented", "interconnect", "runpod-global", "cloud-sync"][..])
            .prop_map(|value| text(value.to_owned())),
    ];
    (valid(), prop::collection::vec((any::<prop::sample::Index>(), other), 0..4)).prop_map(
        |(mut input, changes)| {
            for (index, value) in changes {
                let mut leaves = Vec::new();
                collect(&mut input, &mut leaves);
                if !leaves.is_empty() {
                    *leaves.swap_remove(index.index(leaves.len())) = value;
                }
            }
            input
        },
    )
}

fn collect<'a>(value: &'a mut Value, leaves: &mut Vec<&'a mut Value>) {
    match value {
        Value::Map(entries) => entries.iter_mut().for_each(|(_, inner)| collect(inner, leaves)),
        leaf => leaves.push(leaf),
    }
}

/// Every format of the plan of an accepted input; what is refused has a reason and a hint.
fn outputs(input: &Value) -> Result<(), TestCaseError> {
    match read(input, Syntax::Terraform) {
        Ok(request) => {
            let plan = plan(&request);
            prop_assert!(human(&plan, str::to_owned).ends_with('\n'));
            prop_assert!(markdown(&plan).ends_with('\n'));
            let drawn = svg(&plan);
            prop_assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{}", drawn);
            let text = json(&plan).expect("JSON");
            // A number that is not finite is null in JSON.
            for name in ["_seconds", "_usd", "share", "utilisation"] {
                prop_assert!(!text.contains(&format!("{name}\": null")), "{}", text);
            }
            for option in &plan.options {
                let within = |mbit: Option<u64>| {
                    let most =
                        option.rate.rate().bits_per_second() as f64 * warren_capacity::formula::OVERHEAD;
                    mbit.is_none_or(|mbit| mbit > 0 && mbit as f64 * 1e6 <= most)
                };
                prop_assert!(within(option.planned_rate_mbit) && within(option.agent_planned_rate_mbit));
            }
        }
        Err(faults) => {
            prop_assert!(!faults.is_empty());
            prop_assert!(
                faults.iter().all(|fault| !fault.message.is_empty() && !fault.hint.is_empty()),
                "{faults:?}"
            );
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_input_is_planned_or_refused(input in anything()) {
        outputs(&input)?;
    }

    #[test]
    fn a_nearly_valid_input_is_planned_or_refused(input in nearly_valid()) {
        outputs(&input)?;
    }

    #[test]
    fn a_plan_keeps_its_promises(input in valid()) {
        let request = read(&input, Syntax::Yaml);
        prop_assert!(request.is_ok(), "{request:?}");
        let plan = plan(&request.unwrap());
        let demand = &plan.demand;
        prop_assert!(demand.planned >= demand.headroom && demand.headroom >= demand.peak);
        prop_assert!(demand.peak >= demand.sustained);
        let (sustained, planned) = (demand.sustained.bits_per_second() as f64, demand.planned.bits_per_second() as f64);
        // Rates near 10¹⁸ bit/s are rounded.
        prop_assert!(sustained <= planned * 0.7 * (1.0 + 1e-9) + 1.0);
        let fitting = plan.options.iter().filter(|it| it.rate.rate() >= demand.planned);
        let cheapest = fitting.map(|it| it.cost.total.value());
        if let Some(best) = plan.best().filter(|_| plan.fits()) {
            prop_assert_eq!(best.cost.total.value(), cheapest.fold(f64::INFINITY, f64::min));
        } else {
            prop_assert_eq!(cheapest.count(), 0);
        }
        let training = plan.training.as_ref().unwrap();
        prop_assert!(training.modes.iter().any(|mode| mode.mode == training.recommended));
        prop_assert!(training.modes.iter().all(|mode| (0.0..=1.0).contains(&mode.share.value())));
        prop_assert!(!svg(&plan).contains("<d>"));
        prop_assert!(!markdown(&plan).contains("<d>|"));
    }
}
