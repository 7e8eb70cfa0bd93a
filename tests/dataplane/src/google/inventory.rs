//! What the emulated Google Cloud holds, as its API shows it.
//!
//! Only answers of the API are read: neither Terraform's state nor the reachability model.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use anyhow::{Context as _, Result};
use ipnet::Ipv4Net;
use serde_json::Value;

/// The name of an object from `projects/` on.
pub type Path = String;

/// Everything that carries or filters packets.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    /// VPC networks.
    pub networks: BTreeMap<Path, Network>,
    /// Subnetworks.
    pub subnets: BTreeMap<Path, Subnet>,
    /// Instances.
    pub instances: BTreeMap<Path, Instance>,
    /// Static routes.
    pub routes: BTreeMap<Path, Route>,
    /// Firewall rules.
    pub firewalls: BTreeMap<Path, Firewall>,
    /// Cloud NAT gateways.
    pub nats: Vec<Nat>,
    /// Private Service Connect endpoints for Google APIs.
    pub endpoints: BTreeMap<Path, Endpoint>,
    /// Managed zones of Cloud DNS that are private.
    pub zones: BTreeMap<Path, Zone>,
}

/// A VPC network.
#[derive(Clone, Debug)]
pub struct Network {
    /// Its name.
    pub name: String,
    /// The MTU of its links.
    pub mtu: u32,
    /// Its sides of peerings.
    pub peerings: Vec<Peering>,
}

/// One side of a peering.
#[derive(Clone, Debug)]
pub struct Peering {
    /// The other network.
    pub network: Path,
    /// Whether custom routes are accepted from the other network.
    pub import_custom: bool,
    /// Whether custom routes are offered to the other network.
    pub export_custom: bool,
    /// Whether subnet routes of privately used public ranges are accepted.
    pub import_public: bool,
    /// Whether subnet routes of privately used public ranges are offered.
    pub export_public: bool,
}

/// A subnetwork.
#[derive(Clone, Debug)]
pub struct Subnet {
    /// Its name.
    pub name: String,
    /// Its network.
    pub network: Path,
    /// Its region.
    pub region: String,
    /// The primary range.
    pub range: Ipv4Net,
    /// Secondary ranges by name.
    pub secondary: BTreeMap<String, Ipv4Net>,
    /// Whether Private Google Access is enabled.
    pub google_access: bool,
}

/// An instance with one interface.
#[derive(Clone, Debug)]
pub struct Instance {
    /// Its name.
    pub name: String,
    /// The subnetwork of its interface.
    pub subnet: Path,
    /// Its internal address.
    pub address: Ipv4Addr,
    /// Its external address.
    pub external: Option<Ipv4Addr>,
    /// Network tags.
    pub tags: BTreeSet<String>,
    /// Addresses of its service accounts.
    pub accounts: BTreeSet<String>,
    /// Whether it may forward packets of others.
    pub forwards: bool,
    /// Whether it runs.
    pub runs: bool,
}

/// A static route.
#[derive(Clone, Debug)]
pub struct Route {
    /// Its network.
    pub network: Path,
    /// The destination.
    pub range: Ipv4Net,
    /// Lower is preferred.
    pub priority: u32,
    /// Tags of the instances that it applies to; all if there are none.
    pub tags: BTreeSet<String>,
    /// Where packets go.
    pub hop: Hop,
}

/// The next hop of a static route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hop {
    /// The default internet gateway.
    Internet,
    /// An instance.
    Instance(Path),
    /// The instance with this internal address.
    Address(Ipv4Addr),
}

/// A firewall rule that is enabled.
#[derive(Clone, Debug)]
pub struct Firewall {
    /// Its network.
    pub network: Path,
    /// Whether it is about connections that a target opens.
    pub egress: bool,
    /// Whether it allows.
    pub allow: bool,
    /// Lower is stronger.
    pub priority: u32,
    /// Protocols with ports.
    pub traffic: Vec<Traffic>,
    /// Ranges of sources.
    pub sources: Vec<Ipv4Net>,
    /// Ranges of destinations.
    pub destinations: Vec<Ipv4Net>,
    /// Tags of source instances.
    pub source_tags: BTreeSet<String>,
    /// Service accounts of source instances.
    pub source_accounts: BTreeSet<String>,
    /// Tags of the instances that it applies to.
    pub target_tags: BTreeSet<String>,
    /// Service accounts of the instances that it applies to.
    pub target_accounts: BTreeSet<String>,
}

/// A protocol with ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// As the API writes it: `tcp`, `all`, `6`.
    pub protocol: String,
    /// Ports and ranges of ports; all if there are none.
    pub ports: Vec<String>,
}

/// A Cloud NAT gateway for ranges of subnetworks.
#[derive(Clone, Debug)]
pub struct Nat {
    /// Its network.
    pub network: Path,
    /// Its region.
    pub region: String,
    /// Addresses that were reserved for it; Google allocates some if there are none.
    pub addresses: Vec<Ipv4Addr>,
    /// What it serves.
    pub serves: Serves,
}

/// The ranges that a Cloud NAT gateway serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Serves {
    /// The primary ranges of all subnetworks, and the secondary ones if so set.
    All {
        /// Whether secondary ranges count.
        secondary: bool,
    },
    /// Subnetworks, each with whether its primary range counts, and the secondary ranges that do.
    Listed(BTreeMap<Path, (bool, Secondary)>),
}

/// Secondary ranges that a Cloud NAT gateway serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Secondary {
    /// All of them.
    All,
    /// Those with these names.
    Named(BTreeSet<String>),
}

/// A Private Service Connect endpoint for Google APIs.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The name of its forwarding rule, which names in `p.googleapis.com` end with.
    pub name: String,
    /// Its network.
    pub network: Path,
    /// Its address.
    pub address: Ipv4Addr,
    /// The bundle: `all-apis` or `vpc-sc`.
    pub bundle: String,
    /// Whether names in `p.googleapis.com` are created.
    pub automatic_names: bool,
}

/// A private zone of Cloud DNS.
#[derive(Clone, Debug)]
pub struct Zone {
    /// Its domain, in lower case without the last dot.
    pub domain: String,
    /// The networks whose hosts it answers.
    pub networks: BTreeSet<Path>,
    /// How it answers.
    pub answers: ZoneAnswers,
}

/// How a zone answers.
#[derive(Clone, Debug)]
pub enum ZoneAnswers {
    /// From its record sets, by name and type.
    Records(BTreeMap<(String, String), Vec<String>>),
    /// From name servers.
    Forwarding(Vec<Ipv4Addr>),
    /// As another network would.
    Peering(Path),
}

impl Inventory {
    /// Reads objects by their names from `projects/` on, as the emulator lists them.
    ///
    /// # Errors
    /// An object lacks a field that the API always shows.
    pub fn read(objects: &BTreeMap<String, Value>) -> Result<Inventory> {
        let mut inventory = Inventory::default();
        for (path, body) in objects {
            inventory.add(path, body, objects).with_context(|| path.clone())?;
        }
        Ok(inventory)
    }

    /// The instances and the subnetworks of a network.
    pub fn subnets_of<'a>(&'a self, network: &'a str) -> impl Iterator<Item = (&'a Path, &'a Subnet)> {
        self.subnets.iter().filter(move |(_, subnet)| subnet.network == network)
    }

    /// The networks that `network` has an active peering with, and both sides: its own, and theirs.
    pub fn peers_of<'a>(&'a self, network: &'a str) -> Vec<(&'a Path, &'a Peering, &'a Peering)> {
        let own = self.networks.get(network).map(|network| network.peerings.as_slice()).unwrap_or_default();
        let both = own.iter().filter_map(|side| {
            let (path, peer) = self.networks.get_key_value(&side.network)?;
            let theirs = peer.peerings.iter().find(|theirs| theirs.network == network)?;
            Some((path, side, theirs))
        });
        both.collect()
    }

    fn add(&mut self, path: &str, body: &Value, objects: &BTreeMap<String, Value>) -> Result<()> {
        let parts: Vec<&str> = path.split('/').collect();
        let collection = parts.iter().rev().nth(1).copied().unwrap_or_default();
        let path = path.to_owned();
        match collection {
            "networks" => drop(self.networks.insert(path, network(body)?)),
            "subnetworks" => drop(self.subnets.insert(path, subnet(body)?)),
            "instances" => drop(self.instances.insert(path, instance(body)?)),
            "firewalls" if body["disabled"] != true => drop(self.firewalls.insert(path, firewall(body)?)),
            // Routes of subnets and peerings follow from these objects, see `tables`.
            "routes" if body["routeType"] == "STATIC" => {
                if let Some(route) = route(body)? {
                    self.routes.insert(path, route);
                }
            }
            "routers" => {
                for nat in body["nats"].as_array().into_iter().flatten() {
                    if nat["type"] != "PRIVATE" {
                        self.nats.push(cloud_nat(body, nat, objects)?);
                    }
                }
            }
            "forwardingRules" => drop(self.endpoints.insert(path, endpoint(body)?)),
            "managedZones" if body["visibility"] == "private" => {
                self.zones.insert(path.clone(), zone(&path, body, objects)?);
            }
            _ => {}
        }
        Ok(())
    }
}

fn network(body: &Value) -> Result<Network> {
    let peerings = body["peerings"].as_array().into_iter().flatten().map(|peering| {
        let flag = |name: &str, default: bool| peering[name].as_bool().unwrap_or(default);
        Ok(Peering {
            network: link(peering, "network")?,
            import_custom: flag("importCustomRoutes", false),
            export_custom: flag("exportCustomRoutes", false),
            import_public: flag("importSubnetRoutesWithPublicIp", false),
            export_public: flag("exportSubnetRoutesWithPublicIp", true),
        })
    });
    Ok(Network {
        name: text(body, "name")?.to_owned(),
        // "Maximum transmission unit": 1460 unless set.
        mtu: body["mtu"].as_u64().and_then(|mtu| u32::try_from(mtu).ok()).unwrap_or(1460),
        peerings: peerings.collect::<Result<_>>()?,
    })
}

fn subnet(body: &Value) -> Result<Subnet> {
    let secondary = body["secondaryIpRanges"].as_array().into_iter().flatten();
    let secondary = secondary.map(|range| {
        Ok((text(range, "rangeName")?.to_owned(), text(range, "ipCidrRange")?.parse::<Ipv4Net>()?))
    });
    Ok(Subnet {
        name: text(body, "name")?.to_owned(),
        network: link(body, "network")?,
        region: last(text(body, "region")?).to_owned(),
        range: text(body, "ipCidrRange")?.parse()?,
        secondary: secondary.collect::<Result<_>>()?,
        google_access: body["privateIpGoogleAccess"] == true,
    })
}

fn instance(body: &Value) -> Result<Instance> {
    let nic = &body["networkInterfaces"][0];
    let accounts = body["serviceAccounts"].as_array().into_iter().flatten();
    let external = nic["accessConfigs"].as_array().into_iter().flatten();
    Ok(Instance {
        name: text(body, "name")?.to_owned(),
        subnet: link(nic, "subnetwork")?,
        address: text(nic, "networkIP")?.parse()?,
        external: external.filter_map(|config| config["natIP"].as_str()?.parse().ok()).next(),
        tags: texts(&body["tags"]["items"]),
        accounts: accounts.filter_map(|account| Some(account["email"].as_str()?.to_owned())).collect(),
        forwards: body["canIpForward"] == true,
        runs: body["status"] == "RUNNING",
    })
}

fn route(body: &Value) -> Result<Option<Route>> {
    let hop = if body.get("nextHopGateway").is_some() {
        Hop::Internet
    } else if body.get("nextHopInstance").is_some() {
        Hop::Instance(link(body, "nextHopInstance")?)
    } else if let Some(address) = body["nextHopIp"].as_str() {
        Hop::Address(address.parse()?)
    } else {
        return Ok(None);
    };
    Ok(Some(Route {
        network: link(body, "network")?,
        range: text(body, "destRange")?.parse()?,
        priority: number(body, "priority", 1000),
        tags: texts(&body["tags"]),
        hop,
    }))
}

fn firewall(body: &Value) -> Result<Firewall> {
    let ranges = |field: &str| -> Result<Vec<Ipv4Net>> {
        let values = body[field].as_array().into_iter().flatten().filter_map(Value::as_str);
        // IPv6 ranges never match a packet of this plane.
        values.filter(|value| !value.contains(':')).map(net).collect()
    };
    let allow = body.get("allowed").is_some();
    let traffic = body[if allow { "allowed" } else { "denied" }].as_array().into_iter().flatten();
    let traffic = traffic.map(|traffic| {
        let ports = traffic["ports"].as_array().into_iter().flatten();
        Ok(Traffic {
            protocol: text(traffic, "IPProtocol")?.to_lowercase(),
            ports: ports.filter_map(|port| Some(port.as_str()?.to_owned())).collect(),
        })
    });
    Ok(Firewall {
        network: link(body, "network")?,
        egress: body["direction"] == "EGRESS",
        allow,
        priority: number(body, "priority", 1000),
        traffic: traffic.collect::<Result<_>>()?,
        sources: ranges("sourceRanges")?,
        destinations: ranges("destinationRanges")?,
        source_tags: texts(&body["sourceTags"]),
        source_accounts: texts(&body["sourceServiceAccounts"]),
        target_tags: texts(&body["targetTags"]),
        target_accounts: texts(&body["targetServiceAccounts"]),
    })
}

fn cloud_nat(router: &Value, nat: &Value, objects: &BTreeMap<String, Value>) -> Result<Nat> {
    let reserved = nat["natIps"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let reserved = reserved.map(|address| {
        let address = objects.get(&path(address)).context("no such address")?;
        Ok(text(address, "address")?.parse::<Ipv4Addr>()?)
    });
    let serves = match text(nat, "sourceSubnetworkIpRangesToNat")? {
        "ALL_SUBNETWORKS_ALL_IP_RANGES" => Serves::All { secondary: true },
        "ALL_SUBNETWORKS_ALL_PRIMARY_IP_RANGES" => Serves::All { secondary: false },
        _ => {
            let listed = nat["subnetworks"].as_array().into_iter().flatten().map(|subnet| {
                let options = texts(&subnet["sourceIpRangesToNat"]);
                let all = options.contains("ALL_IP_RANGES");
                let secondary = if all {
                    Secondary::All
                } else {
                    Secondary::Named(texts(&subnet["secondaryIpRangeNames"]))
                };
                Ok((link(subnet, "name")?, (all || options.contains("PRIMARY_IP_RANGE"), secondary)))
            });
            Serves::Listed(listed.collect::<Result<_>>()?)
        }
    };
    Ok(Nat {
        network: link(router, "network")?,
        region: last(text(router, "region")?).to_owned(),
        addresses: reserved.collect::<Result<_>>()?,
        serves,
    })
}

fn endpoint(body: &Value) -> Result<Endpoint> {
    Ok(Endpoint {
        name: text(body, "name")?.to_owned(),
        network: link(body, "network")?,
        address: text(body, "IPAddress")?.parse()?,
        bundle: text(body, "target")?.to_owned(),
        automatic_names: body["noAutomateDnsZone"] != true,
    })
}

fn zone(path: &str, body: &Value, objects: &BTreeMap<String, Value>) -> Result<Zone> {
    let networks = body["privateVisibilityConfig"]["networks"].as_array().into_iter().flatten();
    let networks = networks.map(|network| link(network, "networkUrl")).collect::<Result<_>>()?;
    let targets = &body["forwardingConfig"]["targetNameServers"];
    let peer = &body["peeringConfig"]["targetNetwork"];
    let answers = if let Some(targets) = targets.as_array().filter(|targets| !targets.is_empty()) {
        let targets = targets.iter().map(|target| Ok(text(target, "ipv4Address")?.parse()?));
        ZoneAnswers::Forwarding(targets.collect::<Result<_>>()?)
    } else if peer.is_object() {
        ZoneAnswers::Peering(link(peer, "networkUrl")?)
    } else {
        let below = format!("{path}/");
        let sets = objects.iter().filter(|(name, set)| name.starts_with(&below) && set["rrdatas"].is_array());
        let sets = sets.map(|(_, set)| {
            let data = set["rrdatas"].as_array().into_iter().flatten();
            let data = data.filter_map(|data| Some(data.as_str()?.to_owned())).collect();
            Ok(((domain(text(set, "name")?), text(set, "type")?.to_owned()), data))
        });
        ZoneAnswers::Records(sets.collect::<Result<_>>()?)
    };
    Ok(Zone { domain: domain(text(body, "dnsName")?), networks, answers })
}

/// A name of DNS in lower case without the last dot.
pub(crate) fn domain(name: &str) -> String {
    name.trim_end_matches('.').to_lowercase()
}

fn text<'a>(body: &'a Value, field: &str) -> Result<&'a str> {
    body[field].as_str().with_context(|| format!("no {field}"))
}

fn link(body: &Value, field: &str) -> Result<Path> {
    text(body, field).map(path)
}

/// A link without what comes before `projects/`.
fn path(link: &str) -> Path {
    link.find("projects/").map_or(link, |start| &link[start..]).to_owned()
}

fn last(link: &str) -> &str {
    link.rsplit('/').next().unwrap_or_default()
}

fn texts(list: &Value) -> BTreeSet<String> {
    list.as_array().into_iter().flatten().filter_map(|item| Some(item.as_str()?.to_owned())).collect()
}

fn number(body: &Value, field: &str, default: u32) -> u32 {
    body[field].as_u64().and_then(|number| u32::try_from(number).ok()).unwrap_or(default)
}

fn net(value: &str) -> Result<Ipv4Net> {
    match value.parse::<Ipv4Net>() {
        Ok(net) => Ok(net.trunc()),
        Err(_) => Ok(Ipv4Net::from(value.parse::<Ipv4Addr>()?)),
    }
}
