//! Random topologies in Google Cloud, as configurations of Terraform with instances.
//!
//! A topology is made of one to four VPC networks with what connects and filters them: subnetworks with secondary ranges, static
//! routes, peerings, firewall rules, Cloud NAT, Private Google Access, endpoints for Google APIs, private zones. Everything may be
//! missing, and routes and zones lead anywhere that Google accepts, also where no packet arrives.
//!
//! A question must have one answer. Hence an open network has subnetworks as places and rules for all hosts, while in a network
//! with instances these are the places, and routes and rules depend on their tags and service accounts. Ranges of rules contain
//! whole subnetworks, and no public addresses but those that Google documents. Two routes to the same destination never have the
//! same priority, since Google would use both.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::super::random::Random;

/// How many topologies one run holds: each has four /16 of 10.0.0.0/8, and the lab has addresses for 128 networks.
pub(super) const SLOTS: usize = 30;

/// The project of all topologies.
pub(super) const PROJECT: &str = "acme-ml";

const REGIONS: [&str; 2] = ["us-central1", "us-east1"];

const PRIVATE: &str = "199.36.153.8";
const RESTRICTED: &str = "199.36.153.4";

/// Names of Google APIs, which are public, and others.
const NAMES: [&str; 7] = [
    "storage.googleapis.com",
    "compute.googleapis.com",
    "us-central1-docker.pkg.dev",
    "gcr.io",
    "www.example.com",
    "sub.example.com",
    "host.corp.example",
];

/// Domains of private zones.
const DOMAINS: [&str; 7] = [
    "googleapis.com",
    "storage.googleapis.com",
    "pkg.dev",
    "gcr.io",
    "example.com",
    "sub.example.com",
    "corp.example",
];

/// A topology in its slot.
#[derive(Clone, Debug)]
pub struct GoogleTopology {
    /// What decides it.
    pub seed: u64,
    /// The prefix of its names.
    pub name: String,
    /// Its configuration.
    pub configuration: String,
    /// The subnetworks whose hosts are compared: name and region.
    pub subnets: Vec<(String, String)>,
    /// The instances.
    pub instances: Vec<Instance>,
    /// Host names that are compared everywhere.
    pub names: Vec<String>,
    /// Host names that only a network with an endpoint has, by the prefix of its places' names.
    pub own_names: BTreeMap<String, Vec<String>>,
    /// Host names that other name servers may answer, about which the model knows nothing.
    pub forwarded: BTreeSet<String>,
}

/// An instance.
#[derive(Clone, Debug)]
pub struct Instance {
    /// Its name.
    pub name: String,
    /// The name of its subnetwork.
    pub subnet: String,
    /// Its region; it is in the first zone.
    pub region: String,
    /// Its internal address.
    pub address: String,
    /// Its external address.
    pub external: Option<String>,
    /// Network tags.
    pub tags: Vec<String>,
    /// Its service account.
    pub account: String,
}

struct Network {
    name: String,
    /// The second byte of its addresses.
    number: usize,
    /// Whether instances are its places.
    instances: bool,
    /// Its subnetworks with their regions.
    subnets: Vec<(String, &'static str)>,
    endpoint: Option<String>,
}

impl GoogleTopology {
    /// The topology of a seed in a slot.
    pub fn random(seed: u64, slot: usize) -> GoogleTopology {
        let topology = GoogleTopology {
            seed,
            name: format!("t{slot}"),
            configuration: String::new(),
            subnets: Vec::new(),
            instances: Vec::new(),
            names: NAMES.map(str::to_owned).to_vec(),
            own_names: BTreeMap::new(),
            forwarded: BTreeSet::new(),
        };
        let mut maker = Maker { random: Random::new(seed), out: topology };
        let networks: Vec<Network> =
            (0..=maker.random.below(4)).map(|number| maker.network(slot, number)).collect();
        for one in 0..networks.len() {
            for other in one + 1..networks.len() {
                if maker.random.chance(60) {
                    maker.peering(&networks[one], &networks[other]);
                }
            }
        }
        for own in 0..networks.len() {
            maker.routes(&networks, own);
            maker.nats(&networks[own]);
            maker.firewalls(&networks, own);
        }
        // Which network resolves the target of an alias behind a peering zone, Google does not say.
        let peered = maker.random.chance(60);
        for domain in DOMAINS {
            maker.zones(&networks, domain, peered);
        }
        maker.out
    }
}

/// Writes a topology.
struct Maker {
    random: Random,
    out: GoogleTopology,
}

impl Maker {
    fn resource(&mut self, kind: &str, label: &str, body: &[String]) {
        let body: String = body.iter().map(|line| format!("  {line}\n")).collect();
        let _ = writeln!(self.out.configuration, "resource \"warren_gcp_{kind}\" \"{label}\" {{\n{body}}}\n");
    }

    fn network(&mut self, slot: usize, number: usize) -> Network {
        let name = format!("{}n{number}", self.out.name);
        let closed = self.random.chance(40);
        self.resource(
            "network",
            &name,
            &[format!("name = \"{name}\""), format!("delete_default_routes = {closed}")],
        );
        let mut network = Network {
            number: slot * 4 + number,
            instances: self.random.chance(35),
            subnets: Vec::new(),
            endpoint: None,
            name,
        };
        for index in 0..=self.random.below(2) {
            self.subnet(&mut network, index);
        }
        if self.random.chance(40) {
            let name = format!("{}psc", network.name);
            let bundle = if self.random.chance(50) { "all-apis" } else { "vpc-sc" };
            let automatic = self.random.chance(70);
            self.resource(
                "private_service_connect",
                &name,
                &[
                    format!("name = \"{name}\""),
                    network.link(),
                    format!("address = \"{}\"", network.endpoint_address()),
                    format!("bundle = \"{bundle}\""),
                    format!("automate_dns = {automatic}"),
                ],
            );
            if automatic {
                let own = vec![format!("storage-{name}.p.googleapis.com")];
                self.out.own_names.insert(network.name.clone(), own);
            }
            network.endpoint = Some(name);
        }
        network
    }

    fn subnet(&mut self, network: &mut Network, index: usize) {
        let (name, number) = (format!("{}s{index}", network.name), network.number);
        let region = REGIONS[self.random.below(REGIONS.len())];
        let mut body = vec![
            format!("name = \"{name}\""),
            network.link(),
            format!("region = \"{region}\""),
            format!("ip_cidr_range = \"10.{number}.{index}.0/24\""),
            format!("private_ip_google_access = {}", self.random.chance(50)),
        ];
        if !network.instances && self.random.chance(40) {
            body.push(format!("secondary_ip_ranges = {{ pods = \"10.{number}.{}.0/24\" }}", 64 + index));
        }
        self.resource("subnetwork", &name, &body);
        if network.instances {
            for host in 0..=self.random.below(2) {
                let external = self.random.chance(35);
                let instance = Instance {
                    name: format!("{name}i{host}"),
                    subnet: name.clone(),
                    region: region.to_owned(),
                    address: format!("10.{number}.{index}.{}", 10 + host),
                    external: external.then(|| format!("34.65.{number}.{}", index * 8 + host)),
                    tags: self
                        .random
                        .some(&["blue", "red"], 45)
                        .into_iter()
                        .map(|tag| (*tag).to_owned())
                        .collect(),
                    account: account(self.random.below(2)),
                };
                self.out.instances.push(instance);
            }
        } else {
            self.out.subnets.push((name.clone(), region.to_owned()));
        }
        network.subnets.push((name, region));
    }

    /// A peering, which some have on one side only.
    fn peering(&mut self, one: &Network, other: &Network) {
        let sides = [(one, other), (other, one)];
        let count = if self.random.chance(85) { 2 } else { 1 };
        let mut after = Vec::new();
        for (near, far) in &sides[..count] {
            let label = format!("{}-{}", near.name, far.name);
            let mut body = vec![
                format!("name = \"{label}\""),
                near.link(),
                format!("peer_network = warren_gcp_network.{}.id", far.name),
                format!("export_custom_routes = {}", self.random.chance(50)),
                format!("import_custom_routes = {}", self.random.chance(50)),
            ];
            body.append(&mut after);
            self.resource("network_peering", &label, &body);
            after.push(format!("depends_on = [warren_gcp_network_peering.{label}]"));
        }
    }

    fn routes(&mut self, networks: &[Network], own: usize) {
        let network = &networks[own];
        let other = self.random.below(networks.len());
        let destinations = [
            ("0.0.0.0/0".to_owned(), 60),
            (format!("{PRIVATE}/30"), 35),
            (format!("{RESTRICTED}/30"), 20),
            ("10.0.0.0/8".to_owned(), 15),
            (format!("10.{}.0.0/16", networks[other].number), 15),
        ];
        for (place, (destination, percent)) in destinations.iter().enumerate() {
            // The default route has the priority 1000.
            for priority in [500, 800, 1200] {
                if !self.random.chance(percent / 2) {
                    continue;
                }
                let label = format!("{}r{place}p{priority}", network.name);
                let hop = if self.random.chance(70) {
                    "next_hop_gateway = \"default-internet-gateway\"".to_owned()
                } else {
                    // No host has this address.
                    format!("next_hop_ip = \"10.{}.0.77\"", network.number)
                };
                let mut body = vec![
                    format!("name = \"{label}\""),
                    network.link(),
                    format!("dest_range = \"{destination}\""),
                    hop,
                    // Networks exchange routes.
                    format!("priority = {}", priority + own),
                    format!("depends_on = [warren_gcp_subnetwork.{}]", network.subnets[0].0),
                ];
                if network.instances && self.random.chance(50) {
                    body.push(format!(
                        "tags = [\"{}\"]",
                        if self.random.chance(50) { "blue" } else { "red" }
                    ));
                }
                self.resource("route", &label, &body);
            }
        }
    }

    fn nats(&mut self, network: &Network) {
        for region in REGIONS {
            if !self.random.chance(30) {
                continue;
            }
            let label = format!("{}-{region}", network.name);
            let mut body =
                vec![format!("name = \"{label}\""), network.link(), format!("region = \"{region}\"")];
            let here = network.subnets.iter().filter(|(_, other)| *other == region);
            let here: Vec<String> =
                here.map(|(name, _)| format!("warren_gcp_subnetwork.{name}.id")).collect();
            let listed = self.random.some(&here, 60);
            if !listed.is_empty() && self.random.chance(50) {
                let listed: Vec<&str> = listed.into_iter().map(String::as_str).collect();
                body.push(format!("subnetworks = [{}]", listed.join(", ")));
            }
            self.resource("router_nat", &label, &body);
        }
    }

    fn firewalls(&mut self, networks: &[Network], own: usize) {
        let network = &networks[own];
        if self.random.chance(70) {
            let label = format!("{}-inside", network.name);
            self.resource(
                "firewall",
                &label,
                &[
                    format!("name = \"{label}\""),
                    network.link(),
                    "allow = [{ protocol = \"all\" }]".to_owned(),
                    "source_ranges = [\"10.0.0.0/8\"]".to_owned(),
                ],
            );
        }
        for number in 0..self.random.below(5) {
            let label = format!("{}f{number}", network.name);
            let egress = self.random.chance(50);
            let mut body = vec![
                format!("name = \"{label}\""),
                network.link(),
                format!("direction = \"{}\"", if egress { "EGRESS" } else { "INGRESS" }),
                format!("priority = {}", [0, 900, 1000, 1100, 65534][self.random.below(5)]),
                format!("disabled = {}", self.random.chance(15)),
            ];
            let action = if self.random.chance(50) { "allow" } else { "deny" };
            body.push(format!("{action} = [{}]", self.traffic()));
            self.peers(networks, own, egress, &mut body);
            if network.instances {
                // Google does not let a rule mix tags and service accounts.
                let names = |what: &str| body.iter().any(|line| line.starts_with(what));
                let (tags, accounts) = (names("source_tags"), names("source_service_accounts"));
                match self.random.below(4) {
                    0 if !accounts => body.push("target_tags = [\"blue\"]".to_owned()),
                    1 if !tags => body.push(format!("target_service_accounts = [\"{}\"]", account(1))),
                    _ => {}
                }
            }
            self.resource("firewall", &label, &body);
        }
    }

    fn traffic(&mut self) -> String {
        let one = |random: &mut Random| {
            let protocol = ["tcp", "tcp", "udp", "all", "6"][random.below(5)];
            let ports = ["[\"443\"]", "[\"80\"]", "[\"22\", \"400-500\"]", "null"][random.below(4)];
            match protocol {
                "all" => "{ protocol = \"all\" }".to_owned(),
                protocol => format!("{{ protocol = \"{protocol}\", ports = {ports} }}"),
            }
        };
        let mut all = vec![one(&mut self.random)];
        if self.random.chance(30) {
            all.push(one(&mut self.random));
        }
        all.sort();
        all.dedup();
        all.join(", ")
    }

    /// The far ends of a rule.
    fn peers(&mut self, networks: &[Network], own: usize, egress: bool, body: &mut Vec<String>) {
        let network = &networks[own];
        let other = &networks[self.random.below(networks.len())];
        let subnet = self.random.below(other.subnets.len());
        let mut ranges = vec![
            "0.0.0.0/0".to_owned(),
            "10.0.0.0/8".to_owned(),
            format!("10.{}.0.0/16", other.number),
            format!("10.{}.{subnet}.0/24", other.number),
            format!("10.{}.{}.0/24", other.number, 64 + subnet),
        ];
        if egress {
            ranges.push(format!("{PRIVATE}/30"));
            ranges.push(format!("{RESTRICTED}/30"));
            ranges.push(format!("{}/32", network.endpoint_address()));
        }
        let mut chosen = vec![ranges[self.random.below(ranges.len())].clone()];
        if self.random.chance(25) {
            chosen.push(ranges[self.random.below(ranges.len())].clone());
        }
        chosen.sort();
        chosen.dedup();
        let chosen = format!("\"{}\"", chosen.join("\", \""));
        if egress {
            body.push(format!("destination_ranges = [{chosen}]"));
            return;
        }
        match self.random.below(if network.instances { 4 } else { 1 }) {
            1 => body.push("source_tags = [\"red\"]".to_owned()),
            2 => body.push(format!("source_service_accounts = [\"{}\"]", account(0))),
            3 => body.extend([format!("source_ranges = [{chosen}]"), "source_tags = [\"red\"]".to_owned()]),
            _ => body.push(format!("source_ranges = [{chosen}]")),
        }
    }

    /// Zones of a domain; a network uses at most one of them. If `peered`, some are peering zones, otherwise some aliases lead to
    /// other zones.
    fn zones(&mut self, networks: &[Network], domain: &str, peered: bool) {
        let mut groups = [Vec::new(), Vec::new(), Vec::new()];
        for (number, network) in networks.iter().enumerate() {
            if self.random.chance(45) {
                groups[self.random.below(3)].push((number, network));
            }
        }
        for (group, members) in groups.iter().enumerate().filter(|(_, members)| !members.is_empty()) {
            let label = format!("{}z{group}-{}", self.out.name, domain.replace('.', "-"));
            let ids: Vec<String> = members
                .iter()
                .map(|(_, network)| format!("warren_gcp_network.{}.id", network.name))
                .collect();
            let mut body = vec![
                format!("name = \"{label}\""),
                format!("dns_name = \"{domain}.\""),
                format!("networks = [{}]", ids.join(", ")),
            ];
            let free: Vec<&Network> = networks
                .iter()
                .enumerate()
                .filter(|(number, _)| members.iter().all(|(own, _)| own != number))
                .map(|(_, network)| network)
                .collect();
            if domain == "corp.example" && self.random.chance(50) {
                let server = format!("10.{}.0.5", members[0].1.number);
                body.push(format!("forwarding_targets = [{{ ipv4_address = \"{server}\" }}]"));
                self.out.forwarded.insert("host.corp.example".to_owned());
                self.resource("dns_zone", &label, &body);
            } else if let Some(peer) = self.random.pick(&free)
                && peered
                && self.random.chance(50)
            {
                body.push(format!("peering_network = warren_gcp_network.{}.id", peer.name));
                self.resource("dns_zone", &label, &body);
            } else {
                self.resource("dns_zone", &label, &body);
                self.records(networks, &label, domain, peered);
            }
        }
    }

    fn records(&mut self, networks: &[Network], zone: &str, domain: &str, peered: bool) {
        let hosts = [domain.to_owned(), format!("*.{domain}"), format!("private.{domain}")];
        for (number, host) in hosts.iter().enumerate() {
            if !self.random.chance(65) {
                continue;
            }
            let (kind, data) = match self.random.below(8) {
                0 if number > 0 => ("TXT", "\\\"text\\\"".to_owned()),
                1 => ("AAAA", "2001:db8::1".to_owned()),
                2 | 3 if number == 1 => ("CNAME", format!("private.{domain}.")),
                4 | 5 if number == 1 && !peered => ("CNAME", "storage.googleapis.com.".to_owned()),
                _ => ("A", self.address(networks)),
            };
            self.record(zone, &format!("{number}"), host, kind, &data);
        }
        // A name that exists only because of the one below it.
        if self.random.chance(30) {
            let host = if domain == "example.com" { "deep.sub" } else { "deep.storage" };
            let data = self.address(networks);
            self.record(zone, "deep", &format!("{host}.{domain}"), "A", &data);
        }
        if domain == "googleapis.com" && self.random.chance(30) {
            let data = self.address(networks);
            self.record(zone, "compute", &format!("compute.{domain}"), "A", &data);
        }
    }

    fn record(&mut self, zone: &str, label: &str, host: &str, kind: &str, data: &str) {
        self.resource(
            "dns_record_set",
            &format!("{zone}-{label}"),
            &[
                format!("name = \"{host}.\""),
                format!("zone = warren_gcp_dns_zone.{zone}.id"),
                format!("type = \"{kind}\""),
                format!("rrdatas = [\"{data}\"]"),
            ],
        );
    }

    /// An address that a record may have: of Google APIs, an endpoint, a host, or the internet.
    fn address(&mut self, networks: &[Network]) -> String {
        let network = &networks[self.random.below(networks.len())];
        match self.random.below(6) {
            0 => RESTRICTED.to_owned(),
            1 if network.endpoint.is_some() => network.endpoint_address(),
            2 if network.endpoint.is_some() => network.endpoint_address(),
            3 if !network.instances => {
                // The last that Google does not reserve.
                format!("10.{}.{}.253", network.number, self.random.below(network.subnets.len()))
            }
            4 => "198.51.100.7".to_owned(),
            _ => PRIVATE.to_owned(),
        }
    }
}

impl Network {
    fn link(&self) -> String {
        format!("network = warren_gcp_network.{}.id", self.name)
    }

    /// Of an endpoint, whether there is one or not: outside the subnetworks.
    fn endpoint_address(&self) -> String {
        format!("10.{}.255.254", self.number)
    }
}

fn account(number: usize) -> String {
    format!("a{number}@{PROJECT}.iam.gserviceaccount.com")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_decides_everything() {
        let text = |seed| GoogleTopology::random(seed, 3).configuration;
        assert_eq!(text(1), text(1));
        assert_ne!(text(1), text(2));
    }

    #[test]
    fn everything_occurs() {
        let all: Vec<GoogleTopology> = (0..40).map(|seed| GoogleTopology::random(seed, 0)).collect();
        let text: String = all.iter().map(|topology| topology.configuration.as_str()).collect();
        for kind in [
            "network_peering",
            "route",
            "router_nat",
            "firewall",
            "private_service_connect",
            "dns_zone",
            "dns_record_set",
        ] {
            assert!(text.contains(&format!("\"warren_gcp_{kind}\"")), "{kind}");
        }
        for part in [
            "disabled = true",
            "source_tags",
            "source_service_accounts",
            "target_tags",
            "target_service_accounts",
            "\n  tags",
            "next_hop_ip",
            "subnetworks",
            "peering_network",
            "forwarding_targets",
            "secondary_ip_ranges",
        ] {
            assert!(text.contains(part), "{part}");
        }
        assert!(all.iter().any(|topology| topology.instances.iter().any(|it| it.external.is_some())));
    }
}
