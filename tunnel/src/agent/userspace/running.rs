//! A running tunnel: reloads, and what others may ask of it.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use ipnet::IpNet;
use warren_device::user::Congestion;
use warren_proto::engine::Liveness;
use warren_sync::net::Network;
use warren_wire::{PublicKey, config::Config};

use super::{MIN_MTU, Stack, UserspaceTunnel, errors::port_problem, own_addresses};
use crate::{
    agent::{
        credentials::Way,
        peers,
        proxies::{Proxies, Services, Sockets, dns_zones},
        tunnel::{Tunnel, TunnelHandle},
    },
    runtime::{
        control::{self, Command, DirectOffer, Handle},
        log,
        problem::{Problem, Result},
        status::Status,
    },
};

impl Tunnel for UserspaceTunnel {
    /// Applies the differences of another file and returns a summary.
    fn apply(&mut self, before: &Config, after: &Config, mark: (Option<u32>, Option<u32>)) -> Result<String> {
        let mut changes = Vec::new();
        let (old, new) = (&before.interface, &after.interface);
        if old.listen_port != new.listen_port || mark.0 != mark.1 {
            let port = new.listen_port.filter(|_| old.listen_port != new.listen_port);
            let fwmark = (mark.0 != mark.1).then(|| mark.1.unwrap_or(0));
            self.handle
                .request(|done| Command::Listen { port, fwmark, done })?
                .map_err(|error| port_problem(port.unwrap_or(0), &error))?;
            changes.push("port or mark changed".to_owned());
        }
        if old.private_key != new.private_key
            && let Some(key) = &new.private_key
        {
            self.handle.send(Command::PrivateKey(key.clone()));
            changes.push("private key changed, all sessions restarted".to_owned());
        }
        if let Some(floor) = new.stamp_floor {
            self.handle.send(Command::StampFloor(Duration::from_secs(floor.as_secs())));
        }
        let (gone, changed) = control::difference(
            &peers::of(before, &self.carriers, mark.0, false),
            &peers::of(after, &self.carriers, mark.1, false),
        );
        if !gone.is_empty() {
            changes.push(format!("{} peers removed", gone.len()));
        }
        if !changed.is_empty() {
            changes.push(format!("{} peers added or changed", changed.len()));
        }
        self.put(gone, changed)?;
        if let Stack::Netstack(net) = &self.stack {
            // Streams whose packets went nowhere need not wait for their timers.
            net.nudge();
        }
        if old.listen_tls != new.listen_tls {
            log::warn(
                &Problem::new("ListenTLS has changed; the agent applies this only when it starts")
                    .hint("restart the agent"),
            );
        }
        if old.addresses != new.addresses
            || old.mtu != new.mtu
            || old.dns != new.dns
            || old.dns_zones != new.dns_zones
            || old.table != new.table
        {
            changes.push("addresses, MTU, DNS or table changed".to_owned());
        }
        Ok(if changes.is_empty() { "no changes".to_owned() } else { changes.join(", ") })
    }

    fn reset_connections(&self) {
        if let Stack::Netstack(net) = &self.stack {
            net.abort_all();
        }
    }

    /// Updates the facts that the control thread reports in its status.
    fn facts(&mut self, config: &Config, mtu: Option<u32>) {
        self.facts.addresses.clone_from(&config.interface.addresses);
        self.facts.dns_zones = dns_zones(config);
        if let Some(mtu) = mtu {
            self.facts.mtu = mtu;
        }
        match &mut self.stack {
            Stack::Interface => {}
            Stack::Netstack(net) => {
                self.facts.mtu = self.facts.mtu.max(MIN_MTU);
                net.set_addresses(own_addresses(config));
                net.set_mtu(self.facts.mtu as usize);
            }
            Stack::Private(network) => {
                self.facts.mtu = self.facts.mtu.max(MIN_MTU);
                if let Err(problem) = network.configure(own_addresses(config).into_iter(), self.facts.mtu) {
                    log::warn(&problem);
                }
            }
        }
        if let Some(services) = &self.services {
            services.reload(config);
        }
        self.handle.send(Command::Facts(Box::new(self.facts.clone())));
    }

    fn handle(&self) -> Arc<dyn TunnelHandle> {
        Arc::new(self.handle.clone())
    }

    fn network(&self) -> Option<u32> {
        match &self.stack {
            Stack::Private(network) => Some(network.namespace().helper()),
            Stack::Interface | Stack::Netstack(_) => None,
        }
    }

    fn way(&self) -> Way {
        match &self.stack {
            Stack::Interface => Way::Machine,
            Stack::Netstack(net) => Way::Netstack(net.clone()),
            // The proxies report when the namespace is gone.
            Stack::Private(network) => {
                Way::Private(Sockets::new(Arc::clone(network.namespace()), Congestion::default(), || ()))
            }
        }
    }

    fn proxies(&self) -> Option<Proxies> {
        self.services.as_ref().map(Services::proxies)
    }

    fn dial(&self) -> Option<Arc<dyn Network>> {
        self.services.as_ref().map(Services::dial)
    }
}

impl TunnelHandle for Handle {
    fn status(&self) -> Result<Status> {
        self.request(Command::Status)
    }

    fn alive(&self) -> bool {
        self.request(Command::Ping).is_ok()
    }

    fn ended(&self) -> bool {
        Handle::ended(self)
    }

    fn has_signs(&self) -> bool {
        true
    }

    fn start_handshakes(&self) {
        self.send(Command::StartHandshakes);
    }

    fn signs(&self, keys: Vec<PublicKey>) -> Result<(Duration, Vec<(PublicKey, Liveness)>)> {
        self.request(|answer| Command::Liveness(keys, answer))
    }

    fn destinations(&self, nets: &[IpNet]) -> Result<(Vec<IpAddr>, Vec<SocketAddr>)> {
        self.request(|answer| Command::Destinations(nets.to_vec(), answer))
    }

    fn set_direct(&self, offers: Vec<DirectOffer>) {
        self.send(Command::Direct(offers));
    }

    fn probe(&self, key: PublicKey) {
        self.send(Command::Probe(key));
    }
}
