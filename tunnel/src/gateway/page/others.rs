//! The reports of the other gateways of the file, over their TLS ports.
//!
//! A gateway requests them while somebody looks at its page. It knows the others by their pins, and proves its own key to them, so
//! no password is shared.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::runtime::Handle as Runtime;
use warren_transport::tls::{Target, Trust, exchange};
use warren_wire::config::Host;
use warren_wire::enrolment::ChannelBinding;
use warren_wire::token::{Gateway, GatewaySet};
use warren_wire::{Name, PrivateKey};

use super::GatewayView;
use crate::enrolment::client;
use crate::gateway::model::{Report, TRANSFERS};

/// Time between two requests to one gateway, and after one that failed.
const INTERVAL: Duration = Duration::from_secs(4);
const INTERVAL_AFTER_FAILURE: Duration = Duration::from_secs(15);
/// Time for a connection, and for each read.
const TIMEOUT: Duration = Duration::from_secs(4);
/// What is shown of a report of another gateway, which may be hostile: entries of each list, and letters of a problem.
const ENTRIES: usize = 200;
const LETTERS: usize = 300;
/// A report that is older says nothing about now.
const AGE_MAX: Duration = Duration::from_secs(60);

/// The latest report of each other gateway.
pub(in crate::gateway) struct Others {
    key: PrivateKey,
    runtime: Runtime,
    known: Arc<Mutex<HashMap<Name, Known>>>,
}

#[derive(Default)]
struct Known {
    begun: Option<Instant>,
    running: bool,
    last: Option<(Instant, Report)>,
    problem: Option<String>,
}

impl Others {
    pub(in crate::gateway) fn new(key: PrivateKey, runtime: Runtime) -> Self {
        Self { key, runtime, known: Arc::default() }
    }

    /// What is known about the gateways other than `own`. Requests their next reports, without waiting for them.
    pub(in crate::gateway) fn views(&self, gateways: &GatewaySet, own: &Name) -> Vec<GatewayView> {
        let others = || gateways.as_slice().iter().filter(|gateway| gateway.name != *own);
        self.known.lock().retain(|name, _| others().any(|gateway| gateway.name == *name));
        others().map(|gateway| self.view(gateway)).collect()
    }

    fn view(&self, gateway: &Gateway) -> GatewayView {
        let mut all = self.known.lock();
        let known = all.entry(gateway.name.clone()).or_default();
        let interval = if known.problem.is_some() { INTERVAL_AFTER_FAILURE } else { INTERVAL };
        if !known.running && known.begun.is_none_or(|begun| begun.elapsed() >= interval) {
            (known.running, known.begun) = (true, Some(Instant::now()));
            let (key, gateway, all) = (self.key.clone(), gateway.clone(), Arc::clone(&self.known));
            self.runtime.spawn_blocking(move || {
                let report = fetch(&gateway, &key);
                let mut all = all.lock();
                let Some(known) = all.get_mut(&gateway.name) else { return };
                known.running = false;
                match report {
                    Ok(report) => (known.last, known.problem) = (Some((Instant::now(), report)), None),
                    Err(problem) => known.problem = Some(problem.chars().take(LETTERS).collect()),
                }
            });
        }
        let last = known.last.as_ref().filter(|(at, _)| at.elapsed() < AGE_MAX);
        GatewayView {
            name: gateway.name.to_string(),
            age: last.map(|(at, _)| at.elapsed().as_secs_f64()),
            problem: known.problem.clone(),
            report: last.map(|(_, report)| report.clone()),
        }
    }
}

fn fetch(gateway: &Gateway, key: &PrivateKey) -> Result<Report, String> {
    let host = match &gateway.tls.host {
        Host::Ip(address) => address.to_string(),
        Host::Name(name) => name.clone(),
    };
    let target = Target {
        host,
        port: gateway.tls.port,
        server_name: None,
        trust: Trust::Pins(gateway.pins.clone()),
        proxy: None,
        fwmark: None,
    };
    let mut stream = exchange(&target, TIMEOUT).map_err(|error| error.to_string())?;
    let binding = ChannelBinding(stream.binding());
    let report = client::report(&mut stream, &binding, gateway, key).map_err(|error| error.to_string())?;
    let mut report: Report =
        serde_json::from_slice(&report).map_err(|error| format!("its report cannot be read: {error}"))?;
    report.denied.truncate(ENTRIES);
    report.peers.iter_mut().for_each(|peer| peer.transfers.truncate(TRANSFERS));
    report.events.truncate(ENTRIES);
    Ok(report)
}
