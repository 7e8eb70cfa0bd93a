//! The data planes of both clouds with one internet between them.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use anyhow::Result;
use warren_dataplane::aws::{Account, Network, Options};
use warren_dataplane::google::{Of, Plane, Ports};
use warren_dataplane::lab::{Internet, Lab, Node};
use warren_model::policy::Assertion;
use warren_model::topology::Protocol;

use super::applied::Applied;
use super::ask::PORTS;
use super::pods::{Hosts, Pods};

/// Nodes for an applied example.
pub(super) struct Ground {
    pub(super) hosts: Vec<Host>,
    pub(super) pods: Pods,
    _aws: Option<Network>,
    _google: Option<Plane>,
    pub(super) internet: Internet,
    pub(super) lab: Lab,
}

/// A host of either cloud.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) kind: Kind,
    /// The name of the subnet or instance.
    pub(super) name: String,
    pub(super) network: String,
    pub(super) node: Node,
    pub(super) address: Ipv4Addr,
    pub(super) public: Option<Ipv4Addr>,
}

/// What a host stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Subnet,
    Instance,
}

impl Ground {
    pub(super) fn build(applied: &Applied, assertions: &[Assertion]) -> Result<Ground> {
        let ports = ports(assertions);
        let lab = Lab::new()?;
        let mut internet = Internet::new(&lab, &ports)?;
        let mut hosts = Vec::new();
        let mut aws = None;
        if let Some(cloud) = applied.aws() {
            let account = Account::read(&cloud.endpoint(), "us-east-1")?;
            let options = Options { ports: ports.clone(), instances_answer: false, ..Options::default() };
            let network = Network::build(&lab, &mut internet, &account, &options)?;
            hosts.extend(of_aws(&network, &account));
            aws = Some(network);
        }
        let mut google = None;
        if let Some(cloud) = applied.google() {
            let mut objects = cloud.objects();
            objects.extend(cloud.record_sets());
            let ports = Ports { hosts: &ports, instances: &[], apis: &[443] };
            let plane = Plane::build(&lab, &mut internet, &objects, ports)?;
            hosts.extend(of_google(&plane));
            google = Some(plane);
        }
        let on = Hosts { aws: aws.as_ref(), google: google.as_ref() };
        let pods = Pods::start(&lab, &mut internet, applied, &on, assertions, &ports)?;
        Ok(Ground { hosts, pods, _aws: aws, _google: google, internet, lab })
    }
}

fn of_aws(network: &Network, account: &Account) -> Vec<Host> {
    let hosts = network.places().iter().map(|place| {
        let vpc = account.vpcs.iter().find(|vpc| vpc.id == place.vpc);
        let kind =
            if place.instance.is_some() || place.interface.is_some() { Kind::Instance } else { Kind::Subnet };
        Host {
            kind,
            name: place.name.clone(),
            network: vpc.map_or_else(String::new, |vpc| vpc.name.clone()),
            node: place.node.clone(),
            address: place.address,
            public: place.public_address,
        }
    });
    hosts.collect()
}

fn of_google(plane: &Plane) -> Vec<Host> {
    let inventory = plane.inventory();
    let hosts = plane.places().iter().map(|(place, node)| {
        let network =
            inventory.networks.get(&place.network).map_or_else(String::new, |network| network.name.clone());
        let (kind, name) = match &place.of {
            Of::Subnet(path) => (Kind::Subnet, inventory.subnets.get(path).map(|subnet| subnet.name.clone())),
            Of::Instance(path) => {
                (Kind::Instance, inventory.instances.get(path).map(|instance| instance.name.clone()))
            }
        };
        let name = name.unwrap_or_default();
        Host { kind, name, network, node: node.clone(), address: place.address, public: place.external }
    });
    hosts.collect()
}

/// All ports that an assertion of the policy is about.
fn ports(assertions: &[Assertion]) -> Vec<u16> {
    let mut ports: BTreeSet<u16> = PORTS.into();
    for assertion in assertions {
        if let Protocol::Tcp(low, high) | Protocol::Udp(low, high) = assertion.protocol
            && low == high
        {
            ports.insert(low);
        }
    }
    ports.into_iter().collect()
}
