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
        let mut pods: HashMap<String, PeerEntry> = HashMap::new();
        for view in &mut gateways {
            for mut pod in view.report.iter_mut().flat_map(|report| std::mem::take(&mut report.peers)) {
                let is_here = pod.gateway.as_ref() == Some(&view.name);
                if !is_here {
                    (pod.carrier, pod.rtt, pod.endpoint, pod.last_handshake_age) = (None, None, None, None);
                }
                let known = pods.get(&pod.public_key);
                // This gateway's lease is the newest: what another one says about a pod that has left it is old.
                if known.is_none_or(|known| is_here && known.gateway == pod.gateway) {
                    pods.insert(pod.public_key.clone(), pod);
                }
            }
        }
        let mut pods: Vec<PeerEntry> = pods.into_values().collect();
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
