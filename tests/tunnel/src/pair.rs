//! Two hosts with a wire between them and a tunnel over it.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::{
    Device, Impairment, Implementation, Interface, KeyPair, LongWire, Namespace, PeerState, Remote,
    preshared_key, wait_for,
};

/// A version of the internet protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// One of the two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The first.
    Left,
    /// The second.
    Right,
}

impl Side {
    /// The other one.
    pub fn other(self) -> Side {
        match self {
            Side::Left => Side::Right,
            Side::Right => Side::Left,
        }
    }

    fn index(self) -> usize {
        match self {
            Side::Left => 0,
            Side::Right => 1,
        }
    }

    /// Its address on the wire.
    pub fn outer(self, family: Family) -> IpAddr {
        let text = match (self, family) {
            (Side::Left, Family::V4) => "10.200.0.1",
            (Side::Right, Family::V4) => "10.200.0.2",
            (Side::Left, Family::V6) => "fd00:200::1",
            (Side::Right, Family::V6) => "fd00:200::2",
        };
        address(text)
    }

    /// Its address in the tunnel.
    pub fn inner(self, family: Family) -> IpAddr {
        let text = match (self, family) {
            (Side::Left, Family::V4) => "10.77.0.1",
            (Side::Right, Family::V4) => "10.77.0.2",
            (Side::Left, Family::V6) => "fd00:77::1",
            (Side::Right, Family::V6) => "fd00:77::2",
        };
        address(text)
    }
}

/// What may differ between experiments.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// What the tunnel's packets travel over.
    pub outer: Family,
    /// Whether both know a preshared key.
    pub preshared: bool,
    /// The only one that knows where the other is; without one both do.
    pub initiator: Option<Side>,
    /// The tunnel's MTU.
    pub mtu: u16,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { outer: Family::V4, preshared: false, initiator: None, mtu: 1420 }
    }
}

/// Two hosts, a wire and a tunnel.
#[derive(Debug)]
pub struct Pair {
    // Devices go before the hosts that they run on.
    devices: [Option<Device>; 2],
    interfaces: [Interface; 2],
    implementations: [Implementation; 2],
    hosts: [Arc<Namespace>; 2],
}

impl Pair {
    /// The UDP port of both sides.
    pub const PORT: u16 = 51820;

    /// Two hosts joined by a wire, with addresses of both families on it, and no tunnel yet.
    ///
    /// # Errors
    /// This process may not make namespaces.
    pub fn hosts() -> Result<[Arc<Namespace>; 2]> {
        let hosts = [Arc::new(Namespace::new()?), Arc::new(Namespace::new()?)];
        hosts[0].join(&hosts[1])?;
        Pair::address(&hosts)?;
        Ok(hosts)
    }

    /// The same with a long and lossy wire.
    ///
    /// # Errors
    /// As [`Pair::hosts`]; or there are no TUN devices.
    pub fn distant_hosts(impairment: Impairment) -> Result<([Arc<Namespace>; 2], LongWire)> {
        let hosts = [Arc::new(Namespace::new()?), Arc::new(Namespace::new()?)];
        let wire = LongWire::join(&hosts, impairment)?;
        Pair::address(&hosts)?;
        Ok((hosts, wire))
    }

    fn address(hosts: &[Arc<Namespace>; 2]) -> Result<()> {
        for side in [Side::Left, Side::Right] {
            let host = &hosts[side.index()];
            host.ip(&format!("address add {}/24 dev wire", side.outer(Family::V4)))?;
            host.ip(&format!("address add {}/64 dev wire nodad", side.outer(Family::V6)))?;
        }
        Ok(())
    }

    /// The interfaces of both sides.
    ///
    /// # Errors
    /// `wg` cannot make keys.
    pub fn interfaces(settings: &Settings) -> Result<[Interface; 2]> {
        let keys = [KeyPair::generate()?, KeyPair::generate()?];
        let preshared = if settings.preshared { Some(preshared_key()?) } else { None };
        let make = |side: Side| {
            let other = side.other();
            let knows = settings.initiator.is_none_or(|initiator| initiator == side);
            let endpoint = match settings.outer {
                Family::V4 => format!("{}:{}", other.outer(Family::V4), Pair::PORT),
                Family::V6 => format!("[{}]:{}", other.outer(Family::V6), Pair::PORT),
            };
            Interface {
                keys: keys[side.index()].clone(),
                port: Pair::PORT,
                addresses: vec![
                    format!("{}/24", side.inner(Family::V4)),
                    format!("{}/64", side.inner(Family::V6)),
                ],
                mtu: settings.mtu,
                peers: vec![Remote {
                    public_key: keys[other.index()].public.clone(),
                    preshared_key: preshared.clone(),
                    endpoint: knows.then_some(endpoint),
                    allowed: vec![
                        format!("{}/32", other.inner(Family::V4)),
                        format!("{}/128", other.inner(Family::V6)),
                    ],
                    keepalive: None,
                }],
                extra: Vec::new(),
            }
        };
        Ok([make(Side::Left), make(Side::Right)])
    }

    /// A tunnel from `left` to `right`, up on both sides; nobody has sent anything yet.
    ///
    /// # Errors
    /// A program is missing or does not come up.
    pub fn start(left: &Implementation, right: &Implementation, settings: &Settings) -> Result<Pair> {
        Pair::start_with(left, right, Pair::interfaces(settings)?, &[])
    }

    /// A tunnel between given interfaces; `arguments` go to the left program.
    ///
    /// # Errors
    /// As [`Pair::start`].
    pub fn start_with(
        left: &Implementation,
        right: &Implementation,
        interfaces: [Interface; 2],
        arguments: &[&str],
    ) -> Result<Pair> {
        let hosts = Pair::hosts()?;
        let devices = [
            Some(Device::start_with(left, &hosts[0], &interfaces[0], arguments)?),
            Some(Device::start(right, &hosts[1], &interfaces[1])?),
        ];
        Ok(Pair { devices, interfaces, implementations: [left.clone(), right.clone()], hosts })
    }

    /// The host of a side.
    pub fn host(&self, side: Side) -> &Arc<Namespace> {
        &self.hosts[side.index()]
    }

    /// The device of a side.
    ///
    /// # Panics
    /// It was stopped and not started again.
    pub fn device(&self, side: Side) -> &Device {
        let Some(device) = self.devices[side.index()].as_ref() else { panic!("{side:?} is stopped") };
        device
    }

    /// The process of a side, to end it.
    ///
    /// # Panics
    /// It was stopped and not started again.
    pub fn daemon(&mut self, side: Side) -> &mut crate::Daemon {
        let Some(device) = self.devices[side.index()].as_mut() else { panic!("{side:?} is stopped") };
        device.daemon()
    }

    /// What a side was configured with; a restart takes changes to it.
    pub fn interface(&mut self, side: Side) -> &mut Interface {
        &mut self.interfaces[side.index()]
    }

    /// Ends the program of a side.
    pub fn stop(&mut self, side: Side) {
        self.devices[side.index()] = None;
    }

    /// Ends the program of a side if it runs, and starts it again.
    ///
    /// # Errors
    /// It does not come up again.
    pub fn restart(&mut self, side: Side) -> Result<()> {
        self.stop(side);
        let index = side.index();
        let device =
            Device::start(&self.implementations[index], &self.hosts[index], &self.interfaces[index])?;
        self.devices[index] = Some(device);
        Ok(())
    }

    /// Pings from a side until an answer comes, and returns the peer as that side sees it then.
    ///
    /// # Errors
    /// None comes within ten seconds: the error has both logs.
    pub fn meet(&self, from: Side, inner: Family) -> Result<PeerState> {
        let target = from.other().inner(inner).to_string();
        let met = wait_for(Duration::from_secs(10), "answer through the tunnel", || {
            let answer = self.host(from).run("ping", &["-c1", "-W1", &target]);
            Ok(answer.is_ok().then_some(()))
        });
        met.with_context(|| {
            let log =
                |side| self.devices[side as usize].as_ref().map(|device| device.log()).unwrap_or_default();
            format!("left's log:\n{}\nright's log:\n{}", log(Side::Left), log(Side::Right))
        })?;
        self.device(from).peer()
    }
}

fn address(text: &str) -> IpAddr {
    match text.parse() {
        Ok(address) => address,
        Err(_) => unreachable!("a literal address"),
    }
}
