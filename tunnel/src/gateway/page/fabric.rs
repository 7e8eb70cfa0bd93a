//! All gateways of a fabric, as the page shows them. Pure.

use std::collections::HashMap;

use serde::Serialize;

use crate::gateway::model::{PeerEntry, Report};

/// What the page shows.
#[derive(Debug, Serialize)]
pub struct Fabric {
    /// Its name.
    pub fabric: String,
    /// The gateway that serves the page.
    pub gateway: String,
    /// All gateways of the file; that one first.
    pub gateways: Vec<GatewayView>,
    /// All pods, each as the gateway that it uses sees it.
    pub pods: Vec<PeerEntry>,
}

/// A gateway.
#[derive(Debug, Serialize)]
pub struct GatewayView {
    /// Its name in the file.
    pub name: String,
    /// Age of the report in seconds.
    pub age: Option<f64>,
    /// Why there is no newer one.
    pub problem: Option<String>,
    /// The report, without its pods.
    pub report: Option<Report>,
}

impl Fabric {
    /// Combines a gateway's own report with those of others. A pod is taken from the gateway that its lease names. If that one has
    /// not reported it, only its lease is known.
    pub fn new(own: Report, others: Vec<GatewayView>) -> Self {
        let (fabric, gateway) = (own.status.fabric.clone(), own.status.name.clone());
        let own = GatewayView { name: gateway.clone(), age: Some(0.0), problem: None, report: Some(own) };
        let mut gateways: Vec<GatewayView> = std::iter::once(own).chain(others).collect();
        let mut pods: HashMap<String, (bool, PeerEntry)> = HashMap::new();
        for view in &mut gateways {
            for mut pod in view.report.iter_mut().flat_map(|report| std::mem::take(&mut report.peers)) {
                let is_here = pod.gateway.as_ref() == Some(&view.name);
                if !is_here {
                    (pod.carrier, pod.rtt, pod.endpoint, pod.last_handshake_age) = (None, None, None, None);
                    (pod.rx_bytes, pod.tx_bytes, pod.flows, pod.denied) = (0, 0, 0, 0);
                    pod.transfers.clear();
                }
                let replaces = match pods.get(&pod.public_key) {
                    None => true,
                    Some(_) if !is_here => false,
                    // Both have it, as after a move between gateways that do not share a store: the last handshake decides.
                    Some((true, known)) => is_fresher(&pod, known),
                    // A lease in a shared store names the gateway. What another one says about a pod that has left it is old.
                    Some((false, known)) => known.gateway.is_none() || known.gateway == pod.gateway,
                };
                if replaces {
                    pods.insert(pod.public_key.clone(), (is_here, pod));
                }
            }
        }
        let mut pods: Vec<PeerEntry> = pods.into_values().map(|(_, pod)| pod).collect();
        pods.sort_by(|a, b| {
            (&a.group, &a.host, &a.addresses, &a.public_key).cmp(&(
                &b.group,
                &b.host,
                &b.addresses,
                &b.public_key,
            ))
        });
        Self { fabric, gateway, gateways, pods }
    }
}

/// Whether the last handshake of `new` is later than that of `known`.
fn is_fresher(new: &PeerEntry, known: &PeerEntry) -> bool {
    let age = |pod: &PeerEntry| pod.last_handshake_age.unwrap_or(f64::INFINITY);
    age(new) < age(known)
}
