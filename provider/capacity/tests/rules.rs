//! Published rules of thumb, from the input to the plan. The page has them in a table with the conditions under which they hold.

use serde_json::Value as Json;
use warren_capacity::{Syntax, Value, json, plan, read};

fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => Value::Number(number.to_string()),
        Json::String(text) => Value::Text(text.clone()),
        Json::Array(_) => Value::List,
        Json::Object(entries) => {
            Value::Map(entries.iter().map(|(key, inner)| (key.clone(), value(inner))).collect())
        }
    }
}

/// The plan of an input, as JSON.
fn planned(input: &str) -> Json {
    let input: Json = serde_json::from_str(input).expect("JSON");
    let request = read(&value(&input), Syntax::Json).expect("a valid input");
    serde_json::from_str(&json(&plan(&request)).expect("JSON")).expect("JSON")
}

fn near(value: &Json, published: f64, tolerance: f64) {
    let value = value.as_f64().expect("a number");
    assert!((value - published).abs() <= tolerance, "{value} is not {published}");
}

/// The ring at one site of 512 pods, each with a replica of 7B.
fn ring(gradient_bytes: u32, network: &str) -> Json {
    let plan = planned(&format!(
        r#"{{"store": "aws", "checkpoint": {{"interval": "1 h"}},
            "model": {{"parameters": "7B", "gradient_bytes": {gradient_bytes}}},
            "training": {{"gpus": 512, "pods": 512, "step": "10 s", "network": "{network}"}},
            "links": {{"a": {{"kind": "wireguard"}}}}}}"#
    ));
    plan["training"]["modes"][0].clone()
}

/// Published: 28 GB per all-reduce take about 2.2 s on 100 GbE and 1.1 s on 200 GbE.
///
/// The time holds if 28 GB is the traffic of a link. A ring sends almost twice its gradients, so it belongs to gradients of
/// 14 GB: 7 billion parameters of 2 bytes. With 28 GB of gradients (4 bytes each), the time is twice as long.
#[test]
fn an_all_reduce_of_28_gb() {
    let of = |gradient_bytes, network| ring(gradient_bytes, network)["time_per_step_seconds"].clone();
    near(&ring(2, "100 Gbit/s")["traffic_bytes"], 28e9, 0.1e9);
    near(&of(2, "100 Gbit/s"), 2.2, 0.05);
    near(&of(2, "200 Gbit/s"), 1.1, 0.05);
    near(&of(4, "100 Gbit/s"), 4.47, 0.01);
}

/// Published: a checkpoint of 5 minutes every 30 minutes costs 14 %.
///
/// This holds if 30 minutes of training pass between two checkpoints. From start to start it is 5 / 30 = 16.7 %.
#[test]
fn a_checkpoint_of_5_minutes_every_30() {
    let of = |interval: &str| {
        let plan = planned(&format!(
            r#"{{"store": "aws", "checkpoint": {{"size": "1 TB", "interval": "{interval}", "pause": "5 min"}},
                "links": {{"a": {{"kind": "wireguard"}}}}}}"#
        ));
        plan["options"][0]["lost_to_checkpoints"].clone()
    };
    near(&of("30 min"), 0.143, 0.0005);
    near(&of("25 min"), 0.167, 0.0005);
}

/// Published: a checkpoint of a 70B model is 140 to 280 GB.
///
/// These are weights of 2 and 4 bytes. With the state of Adam in mixed precision, it is 14 bytes: 980 GB.
#[test]
fn a_checkpoint_of_70b() {
    let of = |bytes: u32| {
        let plan = planned(&format!(
            r#"{{"store": "aws", "model": {{"parameters": "70B", "checkpoint_bytes": {bytes}}},
                "checkpoint": {{"interval": "1 h"}}, "links": {{"a": {{"kind": "wireguard"}}}}}}"#
        ));
        plan["checkpoint"]["size_bytes"].clone()
    };
    assert_eq!([2, 4, 14].map(of), [140_000_000_000_u64, 280_000_000_000, 980_000_000_000].map(Json::from));
}

/// Published: plan the peak and 30 % headroom, and alert above 70 %. Headroom alone is 77 % at the peak.
#[test]
fn headroom_and_the_70_percent_rule() {
    let of = |within: &str, times: f64| {
        let plan = planned(&format!(
            r#"{{"store": "aws", "datasets": {{"d": {{"size": "75 GB", "within": "{within}", "times_per_month": {times}}}}},
                "links": {{"a": {{"kind": "wireguard", "rate": "10 Gbit/s"}}}}}}"#
        ));
        let demand = &plan["demand"];
        demand["peak_bits_per_second"].as_f64().unwrap() / demand["planned_bits_per_second"].as_f64().unwrap()
    };
    // 10 minutes are sustained, 5 minutes once a day are a peak.
    assert!((of("10 min", 30.0) - 0.7).abs() < 1e-6);
    assert!((of("5 min", 30.0) - 1.0 / 1.3).abs() < 1e-6);
    // 5 minutes that repeat all the time are sustained, too.
    assert!((of("5 min", 8760.0) - 0.7).abs() < 1e-6);
}

/// In a round of federated training, the aggregator carries the models of all sites.
#[test]
fn the_aggregator_of_federated_training_carries_all_models() {
    let of = |server: &str| {
        let plan = planned(&format!(
            r#"{{"store": "aws", "checkpoint": {{"interval": "1 h"}}, "model": {{"parameters": "7B"}},
                "training": {{"gpus": 4, "pods": 4, "sites": 4, "step": "1 s", "network": "100 Gbit/s",
                              "between_sites": "1 Gbit/s", "server": "{server}", "local_steps": 1}},
                "links": {{"a": {{"kind": "wireguard"}}}}}}"#
        ));
        plan["training"]["modes"]
            .as_array()
            .unwrap()
            .iter()
            .find(|it| it["mode"] == "federated")
            .unwrap()
            .clone()
    };
    // 14 GB up and down for each of four sites: 112 GB at 2 Gbit/s take longer than 28 GB at 1 Gbit/s.
    let slow = of("2 Gbit/s");
    assert_eq!(
        (&slow["traffic_bytes"], &slow["time_per_step_seconds"]),
        (&112_000_000_000_u64.into(), &448.0.into())
    );
    let fast = of("10 Gbit/s");
    assert_eq!(
        (&fast["traffic_bytes"], &fast["time_per_step_seconds"]),
        (&28_000_000_000_u64.into(), &224.0.into())
    );
}
