//! Random topologies in AWS, as configurations of Terraform.
//!
//! A topology is made of one to four VPCs with what connects them: route tables, internet gateways, NAT gateways, peerings, a
//! transit gateway with its tables, endpoints, private zones. Routes lead anywhere that AWS accepts, also where no packet
//! arrives. A seed decides everything except the addresses and the names, which depend on the topology's slot, so that
//! several topologies fit into one run of Terraform.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::policies::{Bucket, Policies};
use super::random::Random;

/// How many topologies one run holds: the second byte of their addresses.
pub(super) const SLOTS: usize = 200;

/// A topology in its slot.
#[derive(Clone, Debug)]
pub struct Topology {
    /// What decides it.
    pub seed: u64,
    /// The prefix of its names.
    pub name: String,
    /// Its configuration.
    pub configuration: String,
    /// The names of its subnets.
    pub subnets: Vec<String>,
    /// Host names whose way is compared, besides the internet and the services.
    pub names: Vec<String>,
    /// Buckets, each with a policy or without.
    pub(super) buckets: Vec<Bucket>,
}

const ZONES: [&str; 3] = ["us-east-1a", "us-east-1b", "us-east-1c"];

/// Services with the host names that their clients use. A bucket's name is below that of S3.
pub(super) const SERVICES: [(&str, &[&str]); 3] = [
    ("s3", &["s3.us-east-1.amazonaws.com", "bucket.s3.us-east-1.amazonaws.com"]),
    ("ecr.api", &["api.ecr.us-east-1.amazonaws.com"]),
    ("sts", &["sts.us-east-1.amazonaws.com"]),
];

struct Vpc {
    name: String,
    range: String,
    subnets: Vec<Subnet>,
    dns: bool,
    internet: bool,
    nat: bool,
    attached: bool,
    /// Services whose host name has an answer in it already.
    named: BTreeSet<&'static str>,
}

struct Subnet {
    name: String,
    range: String,
    zone: &'static str,
    /// Whether its fifth address, the first that AWS does not reserve, is that of its machine.
    alone: bool,
}

impl Topology {
    /// The topology of a seed in a slot.
    pub fn random(seed: u64, slot: usize) -> Topology {
        let name = format!("t{slot}");
        let policies = Policies::new(seed, &name);
        let mut maker = Maker { random: Random::new(seed), policies, name, out: String::new() };
        let mut vpcs = maker.vpcs(slot);
        for vpc in &vpcs {
            maker.policies.vpc(&vpc.name, &vpc.range);
            vpc.subnets.iter().for_each(|subnet| maker.policies.subnet(&subnet.range));
        }
        let peerings = maker.peerings(&vpcs);
        maker.transit_gateway(&mut vpcs);
        let tables = maker.route_tables(&vpcs, &peerings);
        maker.gateway_endpoints(&vpcs, &tables);
        maker.interface_endpoints(&mut vpcs);
        let names = maker.own_zone(&vpcs);
        let subnets = vpcs.iter().flat_map(|vpc| &vpc.subnets).map(|subnet| subnet.name.clone()).collect();
        let buckets = maker.policies.buckets();
        Topology { seed, name: maker.name, configuration: maker.out, subnets, names, buckets }
    }
}

/// Writes a topology.
struct Maker {
    random: Random,
    policies: Policies,
    name: String,
    out: String,
}

impl Maker {
    fn resource(&mut self, kind: &str, label: &str, body: &str) {
        let _ = writeln!(self.out, "resource \"warren_aws_{kind}\" \"{label}\" {{\n{body}}}\n");
    }

    fn vpcs(&mut self, slot: usize) -> Vec<Vpc> {
        let mut vpcs = Vec::new();
        for number in 0..=self.random.below(4) {
            let vpc = self.vpc(slot, number);
            vpcs.push(vpc);
        }
        vpcs
    }

    fn vpc(&mut self, slot: usize, number: usize) -> Vpc {
        let name = format!("{}v{number}", self.name);
        let range = format!("10.{slot}.{}.0/18", number * 64);
        let (dns, hostnames) = (self.random.chance(90), self.random.chance(80));
        self.resource(
            "vpc",
            &name,
            &format!(
                "  name = \"{name}\"\n  cidr_block = \"{range}\"\n  enable_dns_support = {dns}\n  enable_dns_hostnames = {}\n",
                dns && hostnames
            ),
        );
        let internet = self.random.chance(55);
        if internet {
            self.resource(
                "internet_gateway",
                &name,
                &format!("  name = \"{name}\"\n  vpc_id = warren_aws_vpc.{name}.id\n"),
            );
        }
        let mut subnets = Vec::new();
        for index in 0..=self.random.below(3) {
            let subnet = Subnet {
                name: format!("{name}s{index}"),
                range: format!("10.{slot}.{}.0/24", number * 64 + index),
                zone: ZONES[self.random.below(ZONES.len())],
                alone: true,
            };
            let public = self.random.chance(40);
            self.resource(
                "subnet",
                &subnet.name,
                &format!(
                    "  name = \"{}\"\n  vpc_id = warren_aws_vpc.{name}.id\n  cidr_block = \"{}\"\n  availability_zone = \
                     \"{}\"\n  map_public_ip_on_launch = {public}\n",
                    subnet.name, subnet.range, subnet.zone
                ),
            );
            subnets.push(subnet);
        }
        let nat = self.random.chance(if internet { 60 } else { 15 });
        if nat {
            let place = self.random.below(subnets.len());
            subnets[place].alone = false;
            let kind = if internet && self.random.chance(85) { "public" } else { "private" };
            let after = if internet {
                format!("  depends_on = [warren_aws_internet_gateway.{name}]\n")
            } else {
                String::new()
            };
            let subnet = subnets[place].name.clone();
            self.resource(
                "nat_gateway",
                &name,
                &format!(
                    "  name = \"{name}\"\n  subnet_id = warren_aws_subnet.{subnet}.id\n  connectivity_type = \"{kind}\"\n{after}"
                ),
            );
        }
        Vpc {
            name,
            range,
            subnets,
            dns: dns && hostnames,
            internet,
            nat,
            attached: false,
            named: BTreeSet::new(),
        }
    }

    /// Pairs of VPCs.
    fn peerings(&mut self, vpcs: &[Vpc]) -> Vec<(usize, usize)> {
        let mut pairs = Vec::new();
        for one in 0..vpcs.len() {
            for other in one + 1..vpcs.len() {
                if self.random.chance(35) {
                    let label = format!("{}p{one}{other}", self.name);
                    let (left, right) = (&vpcs[one].name, &vpcs[other].name);
                    self.resource(
                        "vpc_peering",
                        &label,
                        &format!(
                            "  name = \"{label}\"\n  vpc_id = warren_aws_vpc.{left}.id\n  peer_vpc_id = warren_aws_vpc.{right}.id\n"
                        ),
                    );
                    pairs.push((one, other));
                }
            }
        }
        pairs
    }

    fn transit_gateway(&mut self, vpcs: &mut [Vpc]) {
        if vpcs.len() < 2 || !self.random.chance(75) {
            return;
        }
        let name = self.name.clone();
        let (association, propagation) =
            if self.random.chance(35) { (true, self.random.chance(80)) } else { (false, false) };
        self.resource(
            "transit_gateway",
            &name,
            &format!(
                "  name = \"{name}\"\n  default_route_table_association = {association}\n  default_route_table_propagation = \
                 {propagation}\n"
            ),
        );
        let mut attached = Vec::new();
        for vpc in vpcs.iter_mut() {
            if !self.random.chance(80) {
                continue;
            }
            vpc.attached = true;
            attached.push(vpc.name.clone());
            // One subnet in each of some zones.
            let mut zones = BTreeMap::new();
            for subnet in &vpc.subnets {
                if zones.is_empty() || self.random.chance(80) {
                    zones
                        .entry(subnet.zone)
                        .or_insert_with(|| format!("warren_aws_subnet.{}.id", subnet.name));
                }
            }
            let subnets = zones.into_values().collect::<Vec<_>>().join(", ");
            let vpc = vpc.name.clone();
            self.resource(
                "transit_gateway_attachment",
                &vpc,
                &format!(
                    "  name = \"{vpc}\"\n  transit_gateway_id = warren_aws_transit_gateway.{name}.id\n  vpc_id = \
                     warren_aws_vpc.{vpc}.id\n  subnet_ids = [{subnets}]\n"
                ),
            );
        }
        if !association {
            let ranges: Vec<String> = vpcs.iter().map(|vpc| vpc.range.clone()).collect();
            self.transit_tables(&attached, &ranges);
        }
    }

    fn transit_tables(&mut self, attached: &[String], ranges: &[String]) {
        let name = self.name.clone();
        let tables: Vec<String> =
            (0..=self.random.below(3)).map(|number| format!("{name}r{number}")).collect();
        for table in &tables {
            self.resource(
                "transit_gateway_route_table",
                table,
                &format!(
                    "  name = \"{table}\"\n  transit_gateway_id = warren_aws_transit_gateway.{name}.id\n"
                ),
            );
        }
        let edge = |table: &str, attachment: &str| {
            format!(
                "  transit_gateway_route_table_id = warren_aws_transit_gateway_route_table.{table}.id\n  \
                 transit_gateway_attachment_id = warren_aws_transit_gateway_attachment.{attachment}.id\n"
            )
        };
        for attachment in attached {
            if self.random.chance(90) {
                let table = self.random.pick(&tables).cloned().unwrap_or_default();
                self.resource(
                    "transit_gateway_route_table_association",
                    attachment,
                    &edge(&table, attachment),
                );
            }
            for table in &tables {
                if self.random.chance(55) {
                    let label = format!("{table}{attachment}");
                    self.resource(
                        "transit_gateway_route_table_propagation",
                        &label,
                        &edge(table, attachment),
                    );
                }
            }
        }
        for table in &tables {
            let all = "0.0.0.0/0".to_owned();
            let destinations: Vec<String> = ranges.iter().cloned().chain([all]).collect();
            for (number, to) in destinations.iter().enumerate() {
                if !self.random.chance(25) {
                    continue;
                }
                let target = match self.random.pick(attached) {
                    Some(attachment) if self.random.chance(60) => edge(table, attachment),
                    _ => format!(
                        "  transit_gateway_route_table_id = warren_aws_transit_gateway_route_table.{table}.id\n  blackhole = true\n"
                    ),
                };
                let label = format!("{table}d{number}");
                self.resource(
                    "transit_gateway_route",
                    &label,
                    &format!("{target}  destination_cidr_block = \"{to}\"\n"),
                );
            }
        }
    }

    /// The tables of each VPC.
    fn route_tables(&mut self, vpcs: &[Vpc], peerings: &[(usize, usize)]) -> Vec<Vec<String>> {
        let mut all = Vec::new();
        for (number, vpc) in vpcs.iter().enumerate() {
            let count = self.random.below(3) + usize::from(self.random.chance(85));
            let mut users: BTreeMap<usize, Vec<String>> = BTreeMap::new();
            for subnet in &vpc.subnets {
                // Without a table of its own, a subnet uses the main table.
                if count > 0 && self.random.chance(90) {
                    users
                        .entry(self.random.below(count))
                        .or_default()
                        .push(format!("warren_aws_subnet.{}.id", subnet.name));
                }
            }
            let mut tables = Vec::new();
            for index in 0..count {
                let label = format!("{}r{index}", vpc.name);
                let routes = self.routes(vpcs, number, peerings);
                let subnets = users.remove(&index).unwrap_or_default().join(", ");
                let after = if vpc.attached {
                    format!("  depends_on = [warren_aws_transit_gateway_attachment.{}]\n", vpc.name)
                } else {
                    String::new()
                };
                self.resource(
                    "route_table",
                    &label,
                    &format!(
                        "  name = \"{label}\"\n  vpc_id = warren_aws_vpc.{}.id\n  subnet_ids = [{subnets}]\n  routes = \
                         [{}]\n{after}",
                        vpc.name,
                        routes.join(", ")
                    ),
                );
                tables.push(label);
            }
            all.push(tables);
        }
        all
    }

    fn routes(&mut self, vpcs: &[Vpc], own: usize, peerings: &[(usize, usize)]) -> Vec<String> {
        let vpc = &vpcs[own];
        let mut routes = BTreeMap::new();
        let transit = format!("transit_gateway_id = warren_aws_transit_gateway.{}.id", self.name);
        let mut ways = Vec::new();
        if vpc.internet {
            ways.push(format!("gateway_id = warren_aws_internet_gateway.{}.id", vpc.name));
        }
        if vpc.nat {
            ways.push(format!("nat_gateway_id = warren_aws_nat_gateway.{}.id", vpc.name));
        }
        if vpc.attached {
            ways.push(transit.clone());
        }
        if let Some(way) = self.random.pick(&ways)
            && self.random.chance(75)
        {
            routes.insert("0.0.0.0/0".to_owned(), way.clone());
        }
        for (other, peer) in vpcs.iter().enumerate().filter(|(other, _)| *other != own) {
            let mut ways = Vec::new();
            if peerings.contains(&(own.min(other), own.max(other))) {
                let label = format!("{}p{}{}", self.name, own.min(other), own.max(other));
                ways.push(format!("vpc_peering_connection_id = warren_aws_vpc_peering.{label}.id"));
            }
            if vpc.attached {
                ways.push(transit.clone());
            }
            if let Some(way) = self.random.pick(&ways)
                && self.random.chance(80)
            {
                routes.insert(peer.range.clone(), way.clone());
            }
            // One subnet may have a route of its own.
            if let (Some(subnet), Some(way)) = (self.random.pick(&peer.subnets), self.random.pick(&ways))
                && self.random.chance(15)
            {
                routes.insert(subnet.range.clone(), way.clone());
            }
        }
        routes
            .into_iter()
            .map(|(to, way)| format!("{{ destination_cidr_block = \"{to}\", {way} }}"))
            .collect()
    }

    fn gateway_endpoints(&mut self, vpcs: &[Vpc], tables: &[Vec<String>]) {
        for (vpc, tables) in vpcs.iter().zip(tables) {
            if !self.random.chance(40) {
                continue;
            }
            let tables = self.random.some(tables, 60);
            let tables: Vec<String> =
                tables.into_iter().map(|table| format!("warren_aws_route_table.{table}.id")).collect();
            let name = format!("{}-s3", vpc.name);
            let policy = self.policies.of_endpoint(&name);
            self.resource(
                "vpc_endpoint",
                &name,
                &format!(
                    "  name = \"{name}\"\n  vpc_id = warren_aws_vpc.{}.id\n  service = \"s3\"\n  type = \"Gateway\"\n  \
                     route_table_ids = [{}]\n  allow_incomplete = true\n{policy}",
                    vpc.name,
                    tables.join(", ")
                ),
            );
        }
    }

    fn interface_endpoints(&mut self, vpcs: &mut [Vpc]) {
        for (service, hosts) in SERVICES {
            for number in 0..vpcs.len() {
                if !self.random.chance(30) {
                    continue;
                }
                let (vpc, dns) = (vpcs[number].name.clone(), vpcs[number].dns);
                let name = format!("{vpc}-{}", service.replace('.', "-"));
                let name = if service == "s3" { format!("{name}-interface") } else { name };
                let private =
                    service != "s3" && dns && !vpcs[number].named.contains(service) && self.random.chance(50);
                let from = match self.random.below(3) {
                    0 => vpcs[number].range.clone(),
                    1 => "10.0.0.0/8".to_owned(),
                    _ => vpcs[self.random.below(vpcs.len())].range.clone(),
                };
                self.resource(
                    "security_group",
                    &name,
                    &format!(
                        "  name = \"{name}\"\n  vpc_id = warren_aws_vpc.{vpc}.id\n  ingress = [{{ protocol = \"tcp\", from_port = 443, \
                         to_port = 443, cidr_blocks = [\"{from}\"] }}]\n"
                    ),
                );
                let place = self.random.below(vpcs[number].subnets.len());
                vpcs[number].subnets[place].alone = false;
                let subnet = vpcs[number].subnets[place].name.clone();
                let policy = if service == "s3" { self.policies.of_endpoint(&name) } else { String::new() };
                self.resource(
                    "vpc_endpoint",
                    &name,
                    &format!(
                        "  name = \"{name}\"\n  vpc_id = warren_aws_vpc.{vpc}.id\n  service = \"{service}\"\n  type = \
                         \"Interface\"\n  subnet_ids = [warren_aws_subnet.{subnet}.id]\n  security_group_ids = \
                         [warren_aws_security_group.{name}.id]\n  private_dns_enabled = {private}\n  allow_incomplete = true\n{policy}"
                    ),
                );
                if private {
                    vpcs[number].named.insert(service);
                } else if self.random.chance(70) {
                    self.shared_zone(vpcs, service, hosts[0], &name);
                }
            }
        }
    }

    /// A zone that answers a service's name with the endpoint, in VPCs where nothing else does.
    fn shared_zone(&mut self, vpcs: &mut [Vpc], service: &'static str, host: &str, endpoint: &str) {
        let mut members = Vec::new();
        for vpc in vpcs.iter_mut() {
            if self.random.chance(65) && !vpc.named.contains(service) {
                vpc.named.insert(service);
                members.push(format!("{{ vpc_id = warren_aws_vpc.{}.id }}", vpc.name));
            }
        }
        if members.is_empty() {
            return;
        }
        self.resource(
            "route53_zone",
            endpoint,
            &format!(
                "  name = \"{endpoint}\"\n  domain_name = \"{host}\"\n  vpcs = [{}]\n",
                members.join(", ")
            ),
        );
        let entry = format!("warren_aws_vpc_endpoint.{endpoint}.dns_entries[0]");
        let wildcard =
            if service == "s3" && self.random.chance(70) { vec![format!("*.{host}")] } else { Vec::new() };
        for (number, host) in std::iter::once(host.to_owned()).chain(wildcard).enumerate() {
            self.resource(
            "route53_record",
            &format!("{endpoint}{number}"),
            &format!(
                "  zone_id = warren_aws_route53_zone.{endpoint}.id\n  name = \"{host}\"\n  type = \"A\"\n  alias = {{ dns_name = \
                 {entry}.dns_name, zone_id = {entry}.hosted_zone_id, evaluate_target_health = false }}\n"
            ),
        );
        }
    }

    /// A zone with names of machines.
    fn own_zone(&mut self, vpcs: &[Vpc]) -> Vec<String> {
        let domain = format!("{}.internal", self.name);
        let subnets: Vec<&Subnet> =
            vpcs.iter().flat_map(|vpc| &vpc.subnets).filter(|subnet| subnet.alone).collect();
        let Some(target) = self.random.pick(&subnets) else { return Vec::new() };
        if !self.random.chance(50) {
            return Vec::new();
        }
        let mut members: Vec<&Vpc> = self.random.some(vpcs, 60);
        if members.is_empty() {
            members.extend(vpcs.first());
        }
        let members: Vec<String> =
            members.into_iter().map(|vpc| format!("{{ vpc_id = warren_aws_vpc.{}.id }}", vpc.name)).collect();
        let (name, host) = (self.name.clone(), format!("machine.{domain}"));
        let address = target.range.replace(".0/24", ".4");
        self.resource(
            "route53_zone",
            &name,
            &format!(
                "  name = \"{name}\"\n  domain_name = \"{domain}\"\n  vpcs = [{}]\n",
                members.join(", ")
            ),
        );
        self.resource(
            "route53_record",
            &name,
            &format!(
                "  zone_id = warren_aws_route53_zone.{name}.id\n  name = \"{host}\"\n  type = \"A\"\n  ttl = 60\n  records = \
                 [\"{address}\"]\n"
            ),
        );
        vec![host]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_decides_everything() {
        let text = |seed| Topology::random(seed, 3).configuration;
        assert_eq!(text(1), text(1));
        assert_ne!(text(1), text(2));
        assert_eq!(
            Topology::random(1, 4).configuration.replace("t4", "t3").replace("10.4.", "10.3."),
            text(1)
        );
    }

    #[test]
    fn everything_occurs() {
        let all: String = (0..40).map(|seed| Topology::random(seed, 0).configuration).collect();
        for kind in [
            "internet_gateway",
            "nat_gateway",
            "vpc_peering",
            "transit_gateway_route_table_association",
            "transit_gateway_route_table_propagation",
            "transit_gateway_route\"",
            "vpc_endpoint",
            "route53_zone",
            "route53_record",
        ] {
            assert!(all.contains(&format!("\"warren_aws_{kind}")), "{kind}");
        }
        for text in [
            "policy = jsonencode",
            "aws:SourceVpc",
            "NotResource",
            "blackhole = true",
            "private_dns_enabled = true",
            "connectivity_type = \"private\"",
        ] {
            assert!(all.contains(text), "{text}");
        }
    }
}
