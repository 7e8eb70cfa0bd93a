//! What the reachability model says about small states and plans, as a reviewer reads it.

mod aws;
mod google;
mod peers;
mod plan;

use serde_json::{Map, Value, json};
use warren_model::reach::{Lists, Place, Way};
use warren_model::topology::{Protocol, Topology};
use warren_planfile::{Source, read_topology};

pub(crate) const HTTPS: Protocol = Protocol::Tcp(443, 443);

/// A state with resources by address. The ID of a resource is its address, unless it sets one.
pub(crate) fn state(resources: &Value) -> Topology {
    let resources: Vec<Value> = resources
        .as_object()
        .expect("resources by address")
        .iter()
        .map(|(address, values)| {
            let (kind, name) = address.split_once('.').expect("TYPE.NAME");
            let mut values = values.clone();
            let known = values.as_object_mut().expect("attributes");
            known.entry("id").or_insert_with(|| json!(address));
            known.entry("name").or_insert_with(|| json!(name));
            json!({ "address": address, "mode": "managed", "type": kind, "name": name, "values": values })
        })
        .collect();
    let text = json!({ "format_version": "1.0", "values": { "root_module": { "resources": resources } } });
    read_topology(&Source { name: "state.json", text: &text.to_string(), owner: None })
        .expect("a state")
        .after
}

/// The resources of `base` with those of `more`, which replace attributes.
pub(crate) fn with(base: &Value, more: &Value) -> Value {
    let mut all: Map<String, Value> = base.as_object().expect("resources").clone();
    for (address, values) in more.as_object().expect("resources") {
        let own = all.entry(address.clone()).or_insert_with(|| json!({}));
        own.as_object_mut().expect("attributes").extend(values.as_object().expect("attributes").clone());
    }
    Value::Object(all)
}

pub(crate) fn subnet(key: &str) -> Place {
    Place::Subnet(key.to_owned())
}

pub(crate) fn service(name: &str) -> Place {
    Place::Service(name.to_owned())
}

pub(crate) fn name(name: &str) -> Place {
    Place::Name(name.to_owned())
}

/// The answer with every hop, the reason and the hint.
pub(crate) fn explain(all: &Topology, from: &Place, to: &Place, protocol: Protocol) -> String {
    let answer = Lists::new(all).ask(from, to, protocol);
    let mut lines = vec![match (answer.reached, answer.way) {
        (true, Way::Endpoint) => "reached through an endpoint".to_owned(),
        (true, Way::Internet) => "reached over the internet".to_owned(),
        (true, Way::Network) => "reached".to_owned(),
        (false, _) if answer.unsure() => "unknown".to_owned(),
        (false, _) => "not reached".to_owned(),
    }];
    lines.extend(answer.hops.iter().map(|hop| format!("- {}", hop.text)));
    lines.extend(answer.why.iter().map(|why| format!("stops: {why}")));
    lines.extend(answer.hint.iter().map(|hint| format!("hint: {hint}")));
    lines.join("\n")
}
