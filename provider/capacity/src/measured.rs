//! Compares a plan with what gateways and agents measure: the Prometheus metrics of `warren-tunnel`.

use crate::formula::{ALERT, HEADROOM};
use crate::plan::Plan;
use crate::units::{BitRate, Share};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Names of metrics. A test compares them with the scrapes that the tunnel's tests store.
const PLANNED: &str = "warren_tunnel_planned_rate_bits_per_second";
const USED: &str = "warren_tunnel_utilisation_ratio";
const RECEIVED: &str = "warren_tunnel_receive_bytes_total";
/// Only gateways have these metrics, which name the gateway in a label.
const GATEWAY: &str = "warren_gateway_";

/// What an interface reports.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Interface {
    /// Whether it belongs to a gateway, and not to an agent.
    pub is_gateway: bool,
    /// Its planned rate, if it has one.
    pub planned: Option<BitRate>,
    /// The part of it that the busier direction used since the last scrape.
    pub used: Option<Share>,
}

/// The result of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// The interface, or the labels of its metrics.
    pub interface: String,
    /// Who reports it.
    pub role: Role,
    /// Whether something should be done.
    pub is_warning: bool,
    /// What was found.
    pub message: String,
}

/// Who reports metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// A gateway, which carries the traffic of many pods.
    Gateway,
    /// The agent of a pod.
    Agent,
}

impl Role {
    /// The term in every output.
    pub fn word(self) -> &'static str {
        match self {
            Self::Gateway => "gateway",
            Self::Agent => "agent",
        }
    }
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
    let mut gateways = BTreeSet::new();
    for (index, line) in text.lines().enumerate() {
        let name = line.split(['{', ' ', '\t']).next().unwrap_or_default();
        if name.starts_with(GATEWAY) {
            gateways.extend(label(line, "gateway"));
        }
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
    // The interface of a gateway has its name. In the scrapes of several machines, the others are agents.
    let named = |labels: &str| label(labels, "interface").is_some_and(|name| gateways.contains(name));
    let are_named = found.keys().any(|labels| named(labels));
    for (labels, interface) in &mut found {
        interface.is_gateway = if are_named { named(labels) } else { !gateways.is_empty() };
    }
    Ok(found)
}

/// Compares each interface with the planned rate of a gateway or agent.
pub fn compare(plan: &Plan, interfaces: &BTreeMap<String, Interface>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (labels, interface) in interfaces {
        let role = if interface.is_gateway { Role::Gateway } else { Role::Agent };
        let name = label(labels, "interface").unwrap_or(labels);
        let finding =
            |(is_warning, message)| Finding { interface: name.to_owned(), role, is_warning, message };
        let planned = match role {
            Role::Gateway => plan.planned_rate_mbit(),
            Role::Agent => plan.agent_planned_rate_mbit(),
        };
        let findings = match planned {
            Some(mbit) => one(role, mbit, interface),
            None => vec![(true, unplanned(plan, role).to_owned())],
        };
        found.extend(findings.into_iter().map(finding));
    }
    found
}

/// Why the plan has no rate to compare with.
fn unplanned(plan: &Plan, role: Role) -> &'static str {
    match (role, plan.gateways()) {
        (_, None) => "the plan has no WireGuard link; add one with `kind` `wireguard`",
        (Role::Agent, Some(option)) if option.planned_rate_mbit.is_some() => {
            "the plan has no rate for an agent; set the number of pods with `pods`"
        }
        (_, Some(_)) => "the plan has no rate of 1 Mbit/s or more; check the rate of the link",
    }
}

/// What is found at one interface: whether something should be done, and what.
fn one(role: Role, mbit: u64, interface: &Interface) -> Vec<(bool, String)> {
    let planned = BitRate(mbit.saturating_mul(1_000_000));
    let set = match role {
        Role::Gateway => format!("set `planned_rate_mbit = {mbit}` in its file"),
        Role::Agent => format!("set its option `--planned-rate {mbit}` or `WARREN_PLANNED_RATE={mbit}`"),
    };
    let Some(configured) = interface.planned else {
        return vec![(true, format!("it has no planned rate, so nothing alerts; {set}"))];
    };
    let mut found = Vec::new();
    if configured != planned {
        found.push((true, format!("its planned rate is {configured}, the plan has {planned}; {set}")));
    }
    let Some(used) = interface.used else {
        let message = "no utilisation was measured yet; read the metrics twice, some seconds apart";
        found.push((true, message.to_owned()));
        return found;
    };
    let rate = configured.times(used.0);
    let of_plan = Share(rate.0 as f64 / planned.0 as f64);
    // Peaks are planned with headroom, so they use up to 77 % for less than ten minutes.
    let (is_warning, rule) = if of_plan.0 > 1.0 / HEADROOM {
        let limit = match role {
            Role::Gateway => {
                "limit transfers, such as with `rate_mbit` of the group, or add a gateway and plan more"
            }
            Role::Agent => {
                "limit the rate of its transfers, such as with `peer_rate_mbit` of its group, or plan more"
            }
        };
        (
            true,
            format!(
                "above the 77 % of a planned peak; transfers without a limit use the whole link: {limit}"
            ),
        )
    } else if of_plan.0 > ALERT {
        (false, "a planned peak; above 70 % for ten minutes, the alert fires".to_owned())
    } else {
        (false, "within the 70 % rule".to_owned())
    };
    found.push((is_warning, format!("it carries {rate}, {of_plan} of the plan: {rule}")));
    found
}

/// The value of a label.
fn label<'a>(labels: &'a str, name: &str) -> Option<&'a str> {
    labels.match_indices(name).find_map(|(at, _)| {
        // `gateway` is not the end of `via_gateway`.
        let starts = labels[..at].chars().next_back().is_none_or(|c| matches!(c, '{' | ',' | ' '));
        let value = labels[at + name.len()..].strip_prefix("=\"").filter(|_| starts)?;
        value.split_once('"').map(|(value, _)| value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scrapes that the tests of the tunnel store.
    const AGENT: &str = include_str!(
        "../../../tunnel/src/runtime/metrics/snapshots/warren_tunnel__runtime__metrics__tests__the_scrape_has_names_units_and_help.snap"
    );
    const BOTH: &str = include_str!(
        "../../../tunnel/src/runtime/metrics/snapshots/warren_tunnel__runtime__metrics__tests__the_scrape_of_a_gateway.snap"
    );

    #[test]
    fn real_scrapes_are_read() {
        let expected = |is_gateway| Interface {
            is_gateway,
            planned: Some(BitRate(1_000_000_000)),
            used: Some(Share(0.25)),
        };
        let agent = interfaces(AGENT).unwrap();
        assert_eq!(
            agent.into_iter().collect::<Vec<_>>(),
            [("interface=\"wg0\"".to_owned(), expected(false))]
        );
        let gateway = interfaces(BOTH).unwrap();
        assert_eq!(gateway.into_values().collect::<Vec<_>>(), [expected(true)]);
    }

    #[test]
    fn scrapes_of_several_machines_have_gateways_and_agents() {
        let text = "warren_tunnel_receive_bytes_total{interface=\"gw-a\",instance=\"a\"} 1\n\
                    warren_tunnel_receive_bytes_total{interface=\"wg0\",instance=\"b\"} 1\n\
                    warren_gateway_leases{fabric=\"llm\",gateway=\"gw-a\",state=\"live\"} 1\n";
        let found = interfaces(text).unwrap();
        let gateways: Vec<bool> = found.values().map(|it| it.is_gateway).collect();
        assert_eq!(gateways, [true, false]);
    }

    #[test]
    fn a_label_is_found_by_its_whole_name() {
        assert_eq!(label("{via_gateway=\"a\",gateway=\"b\"}", "gateway"), Some("b"));
        assert_eq!(label("via_gateway=\"a\"", "gateway"), None);
    }
}
