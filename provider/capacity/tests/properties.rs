//! Any input gives a plan or faults, never a panic, and plans keep their promises.

use proptest::prelude::*;
use warren_capacity::{Value, human, json, markdown, plan, read, svg};

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
    (magnitude(), magnitude(), magnitude(), 1_u32..64, 1_u32..9, any::<bool>()).prop_map(
        |(size, within, rate, pods, sites, elastic)| {
            let bytes = text(format!("{} {}", size.0, ["B", "GiB", "TB"][size.1]));
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

proptest! {
    #[test]
    fn any_input_is_read_or_refused(input in anything()) {
        if let Err(faults) = read(&input) {
            prop_assert!(!faults.is_empty());
        }
    }

    #[test]
    fn a_plan_keeps_its_promises(input in valid()) {
        let request = read(&input);
        prop_assert!(request.is_ok(), "{request:?}");
        let plan = plan(&request.unwrap());
        let demand = &plan.demand;
        prop_assert!(demand.planned >= demand.headroom && demand.headroom >= demand.peak);
        prop_assert!(demand.peak >= demand.sustained);
        // Rates near 10¹⁸ bit/s are rounded.
        prop_assert!(demand.sustained.0 as f64 <= demand.planned.0 as f64 * 0.7 * (1.0 + 1e-9) + 1.0);
        let cheapest = plan.options.iter().filter(|it| it.rate >= demand.planned).map(|it| it.cost.total.0);
        if let Some(best) = plan.best().filter(|_| plan.fits()) {
            prop_assert_eq!(best.cost.total.0, cheapest.fold(f64::INFINITY, f64::min));
        } else {
            prop_assert_eq!(cheapest.count(), 0);
        }
        let training = plan.training.as_ref().unwrap();
        prop_assert!(training.modes.iter().any(|mode| mode.mode == training.recommended));
        prop_assert!(training.modes.iter().all(|mode| (0.0..=1.0).contains(&mode.share.0)));
        prop_assert!(json(&plan).is_ok() && human(&plan).ends_with('\n'));
        let drawn = svg(&plan);
        prop_assert!(!drawn.contains("NaN") && !drawn.contains("inf") && !drawn.contains("<d>"));
        prop_assert!(!markdown(&plan).contains("<d>|"));
    }
}
