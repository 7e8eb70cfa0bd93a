//! Compares a plan with what gateways and agents measure: the Prometheus metrics of `warren-tunnel`.

use crate::formula::ALERT;
use crate::plan::Plan;
use crate::units::{BitRate, Share};
use serde::Serialize;
use std::collections::BTreeMap;

const PLANNED: &str = "warren_tunnel_planned_rate_bits_per_second";
const USED: &str = "warren_tunnel_utilisation_ratio";
const RECEIVED: &str = "warren_tunnel_receive_bytes_total";

/// What an interface reports.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Interface {
    /// Its planned rate, if it has one.
    pub planned: Option<BitRate>,
    /// The part of it that the busier direction used since the last scrape.
    pub used: Option<Share>,
}

/// The result of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// The interface, with the labels of its metrics.
    pub interface: String,
    /// Whether something should be done.
    pub is_warning: bool,
    /// What was found.
    pub message: String,
}

/// The reason why a text is not the metrics of a tunnel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// The line, from 1. None if the whole text is meant.
    pub line: Option<usize>,
    /// What is wrong.
    pub message: String,
    /// One thing to do.
    pub hint: &'static str,
}

/// Reads the interfaces from metrics in Prometheus' text format.
///
/// # Errors
/// A line with a metric of the tunnel cannot be read, or the text has none.
pub fn interfaces(text: &str) -> Result<BTreeMap<String, Interface>, Unreadable> {
    let mut found: BTreeMap<String, Interface> = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        let name = line.split(['{', ' ', '\t']).next().unwrap_or_default();
        if ![PLANNED, USED, RECEIVED].contains(&name) {
            continue;
        }
        let wrong = |message: &str| Unreadable {
            line: Some(index + 1),
            message: message.to_owned(),
            hint: "pass the text that `/metrics` serves, without changes",
        };
        let rest = &line[name.len()..];
        let (labels, value) = match rest.strip_prefix('{') {
            Some(rest) => rest.rsplit_once('}').ok_or_else(|| wrong("the labels have no end"))?,
            None => ("", rest),
        };
        // A time can follow the value.
        let value = value.split_whitespace().next().and_then(|value| value.parse::<f64>().ok());
        let value = value.filter(|value| value.is_finite() && *value >= 0.0);
        let value = value.ok_or_else(|| wrong("the value is not a number of 0 or more"))?;
        let interface = found.entry(labels.to_owned()).or_default();
        match name {
            PLANNED => interface.planned = Some(BitRate(value as u64)),
            USED => interface.used = Some(Share(value)),
            _ => {}
        }
    }
    if found.is_empty() {
        return Err(Unreadable {
            line: None,
            message: format!("there is no metric `{RECEIVED}`"),
            hint: "read the metrics of a gateway or agent, at the address of its option `--metrics`",
        });
    }
    Ok(found)
}

/// Compares each interface with the planned rate of a gateway.
pub fn compare(plan: &Plan, interfaces: &BTreeMap<String, Interface>) -> Vec<Finding> {
    let mbit = plan.planned_rate_mbit().unwrap_or_else(|| plan.demand.planned.mbit());
    let planned = BitRate(mbit.saturating_mul(1_000_000));
    let mut found = Vec::new();
    for (labels, interface) in interfaces {
        let mut finding = |is_warning, message| {
            found.push(Finding { interface: name(labels), is_warning, message });
        };
        let Some(configured) = interface.planned else {
            finding(
                true,
                format!("it has no planned rate, so nothing alerts; set `planned_rate_mbit = {mbit}`"),
            );
            continue;
        };
        if configured != planned {
            let message = format!(
                "its planned rate is {configured}, the plan has {planned}; set `planned_rate_mbit = {mbit}`"
            );
            finding(true, message);
        }
        let Some(used) = interface.used else {
            finding(
                true,
                "no utilisation was measured yet; read the metrics twice, some seconds apart".to_owned(),
            );
            continue;
        };
        let rate = configured.times(used.0);
        let of_plan = Share(rate.0 as f64 / planned.0 as f64);
        let busy = of_plan.0 > ALERT;
        let rule =
            if busy { "above the 70 % rule; add a gateway, or plan more" } else { "within the 70 % rule" };
        finding(busy, format!("it carries {rate}, {of_plan} of the plan: {rule}"));
    }
    found
}

/// The value of the label `interface`, or all labels.
fn name(labels: &str) -> String {
    let own = labels.split_once("interface=\"").and_then(|(_, rest)| rest.split_once('"'));
    own.map_or(labels, |(name, _)| name).to_owned()
}
