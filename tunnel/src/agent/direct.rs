//! Direct paths to other pods: requests to the gateway about the pods that this one sends to, and what it offers.
//!
//! ```text
//! packets to pods --> addresses --> GET /v1/direct at the gateway, through the tunnel --> offers --> control thread
//! ```
//!
//! A pod that sends nothing to others requests nothing. Offers end unless the gateway repeats them, so a gateway that has gone
//! ends them too.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use ipnet::IpNet;
use tokio::sync::oneshot;
use warren_proto::plane::DirectRules;
use warren_wire::enrolment::{ChannelBinding, DirectService, Purpose};
use warren_wire::gateway::{DIRECT_PATH, DIRECT_SECONDS, Offer, Offers};

use super::credentials::Way;
use super::enrolled::Enrolled;
use super::settings::{Settings, Source};
use super::tunnel::{Tunnel, TunnelHandle};
use crate::runtime::control::DirectOffer;
use crate::runtime::datapath::Clock;
use crate::runtime::problem::{Context as _, Result};
use crate::runtime::supervise::Supervisor;

/// How often it looks at the destinations of packets.
const LOOK: Duration = Duration::from_secs(1);
/// Between two requests while there are offers, or packets to pods.
const REPEAT: Duration = Duration::from_secs(DIRECT_SECONDS as u64 / 3);
/// Destinations in one request.
const MAX_DESTINATIONS: usize = 64;
/// Offers that are accepted: the gateway makes fewer.
const MAX_OFFERS: usize = 64;
/// Places of one peer that are tried.
const MAX_ENDPOINTS: usize = 4;

/// The running requests; dropping it ends them.
pub(super) struct DirectClient {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl DirectClient {
    /// Starts; `None` for an agent without a token, for a tunnel in the kernel, and with `--gateway-only`.
    ///
    /// # Errors
    /// No thread can be started.
    pub(super) fn start(
        settings: &Settings,
        tunnel: &dyn Tunnel,
        supervisor: &Supervisor,
    ) -> Result<Option<Self>> {
        let Source::Token(enrolled) = &settings.source else { return Ok(None) };
        let handle = tunnel.handle();
        if settings.gateway_only || !handle.has_signs() {
            return Ok(None);
        }
        let doing = || "direct paths".to_owned();
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().while_doing(doing)?;
        let (enrolled, way) = (Arc::clone(enrolled), tunnel.way());
        let (stop, stopped) = oneshot::channel();
        let thread = supervisor
            .thread("direct paths", 2 << 20, move || {
                runtime.block_on(async {
                    tokio::select! {
                        () = run(&enrolled, &way, handle.as_ref()) => {}
                        _ = stopped => {}
                    }
                });
            })
            .while_doing(doing)?;
        Ok(Some(Self { stop: Some(stop), thread: Some(thread) }))
    }
}

impl Drop for DirectClient {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
    }
}

async fn run(enrolled: &Enrolled, way: &Way, tunnel: &dyn TunnelHandle) {
    let (mut offered, mut last) = (false, None::<Duration>);
    let (mut destinations, mut asked): (Vec<IpAddr>, Vec<IpAddr>) = Default::default();
    loop {
        let service = enrolled.direct();
        let nets = service.as_ref().map_or(&[][..], |service| &service.peers);
        let found = tunnel.destinations(nets);
        // Destinations are noted from the first call on.
        tokio::time::sleep(LOOK).await;
        let Ok((more, own)) = found else { continue };
        let Some(service) = service else {
            if std::mem::take(&mut offered) {
                tunnel.set_direct(Vec::new());
            }
            continue;
        };
        let new = more.iter().any(|to| !asked.contains(to) && !destinations.contains(to));
        destinations.extend(more);
        destinations.sort_unstable();
        destinations.dedup();
        destinations.truncate(MAX_DESTINATIONS);
        let now = Clock.mono();
        let due = last.is_none_or(|last| now.saturating_sub(last) >= REPEAT);
        if !(new || due && (offered || !destinations.is_empty())) {
            continue;
        }
        last = Some(now);
        asked = std::mem::take(&mut destinations);
        match request(enrolled, way, &service, &asked, &own).await {
            Ok(offers) => {
                let peers = accepted(&service, &enrolled.addresses(), offers, now);
                offered = !peers.is_empty();
                tunnel.set_direct(peers);
            }
            Err(what) => tracing::debug!("direct paths: {what}"),
        }
    }
}

async fn request(
    enrolled: &Enrolled,
    way: &Way,
    service: &DirectService,
    destinations: &[IpAddr],
    own: &[SocketAddr],
) -> std::result::Result<Offers, String> {
    let to = destinations.iter().map(|to| format!("to={to}"));
    let local = own.iter().take(MAX_ENDPOINTS).map(|local| format!("local={local}"));
    let query: Vec<String> = to.chain(local).collect();
    let path = format!("{DIRECT_PATH}?{}", query.join("&"));
    let prove = |challenge: &ChannelBinding| enrolled.prove(Purpose::Direct, challenge);
    let (status, body) = way.ask(&service.servers, &path, None, &prove).await?;
    if status != 200 {
        return Err(format!("the gateway answered with status {status}"));
    }
    serde_json::from_slice(&body).map_err(|error| format!("the gateway's answer: {error}"))
}

/// The offers that are about pods: a gateway cannot redirect traffic to anything else this way.
fn accepted(service: &DirectService, own: &[IpAddr], offers: Offers, asked: Duration) -> Vec<DirectOffer> {
    let until = asked + Duration::from_secs(offers.seconds.min(DIRECT_SECONDS).into());
    let of_pods = |offer: &Offer| {
        let in_pool = |address: &IpAddr| service.peers.iter().any(|net: &IpNet| net.contains(address));
        let served = |address: &IpAddr| service.servers.iter().any(|server| server.ip() == *address);
        offer.addresses.iter().all(|of| in_pool(of) && !served(of) && !own.contains(of))
    };
    let offers = offers.peers.into_iter().filter(of_pods).take(MAX_OFFERS);
    offers
        .map(|mut offer| {
            offer
                .endpoints
                .retain(|at| at.port() != 0 && !at.ip().is_unspecified() && !at.ip().is_multicast());
            offer.endpoints.truncate(MAX_ENDPOINTS);
            DirectOffer {
                public_key: offer.public_key,
                name: offer.name,
                endpoints: offer.endpoints,
                rules: DirectRules { addresses: offer.addresses, opens: offer.opens, accepts: offer.accepts },
                until,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_offers_about_pods_are_accepted() {
        let service = DirectService {
            servers: vec!["10.100.0.1:9581".parse().unwrap()],
            peers: vec!["10.100.0.0/24".parse().unwrap()],
        };
        let offer = |address: &str| Offer {
            name: "train-1.trainers".into(),
            public_key: warren_wire::PrivateKey::from_random([7; 32]).public(),
            addresses: vec![address.parse().unwrap()],
            endpoints: ["0.0.0.0:1", "192.0.2.1:51820"].map(|at| at.parse().unwrap()).to_vec(),
            opens: Vec::new(),
            accepts: Vec::new(),
        };
        let all = ["10.100.0.7", "10.0.0.7", "10.100.0.1", "10.100.0.2"].map(offer).to_vec();
        let offers = Offers { seconds: 3600, peers: all };
        let own = ["10.100.0.2".parse().unwrap()];
        let accepted = accepted(&service, &own, offers, Duration::from_secs(100));
        let [one] = accepted.as_slice() else { panic!("{accepted:?}") };
        assert_eq!(one.rules.addresses, ["10.100.0.7".parse::<IpAddr>().unwrap()]);
        assert_eq!(one.endpoints, ["192.0.2.1:51820".parse().unwrap()]);
        assert_eq!(one.until, Duration::from_secs(115));
    }
}
