//! A VPC's resolver: Route 53 Resolver at the VPC's base address plus two.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use hickory_proto::op::ResponseCode;
use hickory_proto::rr::{Name, RData, Record, RecordType};

use super::account::{Account, Endpoint, EndpointKind, RecordSet, Vpc, Zone};
use crate::lab::{Answer, Names, Node, PublicNames, Question, ask};

/// How many aliases are followed.
const DEPTH: u8 = 8;

/// What all resolvers of an account know.
#[derive(Debug)]
pub(super) struct Directory {
    pub(super) account: Account,
    pub(super) public: PublicNames,
    /// The addresses of interface endpoints, by ID.
    pub(super) endpoints: BTreeMap<String, Vec<IpAddr>>,
    /// The nodes that outbound endpoints ask from, by ID.
    pub(super) outbound: BTreeMap<String, Vec<Node>>,
    /// All private addresses, by VPC.
    pub(super) private: BTreeMap<String, Vec<IpAddr>>,
}

/// The resolver of a VPC.
#[derive(Clone, Debug)]
pub(super) struct Resolver {
    pub(super) directory: Arc<Directory>,
    pub(super) vpc: String,
    /// Whether it is asked through an inbound endpoint.
    pub(super) inbound: bool,
}

/// Who is responsible for a name.
enum Authority<'a> {
    /// Servers that an outbound endpoint asks, by the endpoint's ID.
    Forwarded(&'a str, &'a [(IpAddr, u16)]),
    /// A private hosted zone.
    Zone(&'a Zone),
    /// The hosted zone that AWS manages for an interface endpoint.
    Endpoint(&'a str),
    /// Everybody's names.
    Public,
}

#[async_trait::async_trait]
impl Names for Resolver {
    async fn answer(&self, question: Question) -> Option<Answer> {
        // "If enableDnsSupport is false, queries to the Amazon provided DNS server do not succeed" ("DNS attributes for your VPC").
        let vpc = self.directory.account.vpc(&self.vpc).filter(|vpc| vpc.enable_dns_support)?;
        let mut records = Vec::new();
        let mut name = question.name.clone();
        for _ in 0..DEPTH {
            let step = Question { name: name.clone(), ..question.clone() };
            let answer = match self.authority(vpc, &name) {
                Authority::Forwarded(endpoint, targets) => self.forward(endpoint, targets, &step).await,
                Authority::Zone(zone) => self.in_zone(zone, &step),
                Authority::Endpoint(id) => Answer::addresses(&step, self.endpoint(id)),
                Authority::Public => self.public(&step),
            };
            let alias = answer.records.iter().find_map(|record| match &record.data {
                RData::CNAME(target) if answer.records.len() == 1 => Some(plain(&target.0)),
                _ => None,
            });
            records.extend(answer.records);
            match alias.filter(|_| question.record != RecordType::CNAME) {
                Some(target) => name = target,
                None => return Some(Answer { code: answer.code, records }),
            }
        }
        Some(Answer::code(ResponseCode::ServFail))
    }
}

impl Resolver {
    /// The most specific of rules, private hosted zones and endpoints' zones: "If there are rules for both a more specific and a
    /// less specific domain, the more specific wins", and "the Resolver rule takes precedence" over a private hosted zone of the
    /// same domain ("Considerations when working with a private hosted zone").
    fn authority<'a>(&'a self, vpc: &Vpc, name: &str) -> Authority<'a> {
        let account = &self.directory.account;
        let mut best: Option<(usize, u8, Authority<'a>)> = None;
        let mut offer = |length: usize, rank: u8, authority: Authority<'a>| {
            if best.as_ref().is_none_or(|(known, other, _)| (length, rank) > (*known, *other)) {
                best = Some((length, rank, authority));
            }
        };
        // "To use private hosted zones, you must set enableDnsHostnames and enableDnsSupport to true".
        let zones =
            account.zones.iter().filter(|zone| vpc.enable_dns_hostnames && zone.vpcs.contains(&vpc.id));
        for zone in zones.filter(|zone| below(name, &zone.name)) {
            offer(zone.name.len(), 1, Authority::Zone(zone));
        }
        for endpoint in account.endpoints.iter().filter(|endpoint| endpoint.vpc == vpc.id) {
            if let Some(domain) = self.private_name(vpc, endpoint, name) {
                offer(domain.len(), 0, Authority::Endpoint(&endpoint.id));
            }
        }
        for rule in account.resolver_rules.iter().filter(|rule| rule.vpcs.contains(&vpc.id)) {
            if below(name, &rule.domain) {
                let authority = match &rule.endpoint {
                    Some(endpoint) => Authority::Forwarded(endpoint, &rule.targets),
                    // A rule of type SYSTEM: "Resolver processes the DNS queries", unless a zone is as specific.
                    None if account.zones.iter().any(|zone| zone.name == rule.domain) => continue,
                    None => Authority::Public,
                };
                offer(rule.domain.len(), 2, authority);
            }
        }
        best.map_or(Authority::Public, |(.., authority)| authority)
    }

    /// The domain of an interface endpoint's managed zone, where it has the name: "private DNS" needs both DNS attributes of the
    /// VPC, and serves that VPC alone ("Access an AWS service using an interface VPC endpoint").
    fn private_name(&self, vpc: &Vpc, endpoint: &Endpoint, name: &str) -> Option<String> {
        let EndpointKind::Interface { private_dns: true, private_dns_only_for_inbound, .. } = endpoint.kind
        else {
            return None;
        };
        // "Private DNS only for inbound resolver endpoints": "traffic from the VPC uses the gateway endpoint".
        let serves = vpc.enable_dns_hostnames && (self.inbound || !private_dns_only_for_inbound);
        let names = private_names(&self.directory.account.region, &endpoint.service_name);
        names.into_iter().find(|domain| serves && (name == domain || wildcard(domain, name)))
    }

    async fn forward(&self, endpoint: &str, targets: &[(IpAddr, u16)], question: &Question) -> Answer {
        for node in self.directory.outbound.get(endpoint).into_iter().flatten() {
            for (address, port) in targets {
                let opened = node.inside(|| {
                    let socket = std::net::UdpSocket::bind("0.0.0.0:0")?;
                    socket.set_nonblocking(true)?;
                    Ok(socket)
                });
                let Ok(Ok(socket)) = opened.map(tokio::net::UdpSocket::from_std) else { continue };
                let target = SocketAddr::new(*address, *port);
                if let Ok(answer) = ask(&socket, target, &question.name, question.record).await {
                    return answer;
                }
            }
        }
        Answer::code(ResponseCode::ServFail)
    }

    /// "If there's a matching private hosted zone but there's no record that matches the domain name and type in the request,
    /// Resolver doesn't forward the request to a public resolver. Instead, it returns NXDOMAIN".
    fn in_zone(&self, zone: &Zone, question: &Question) -> Answer {
        let found = records(zone, &question.name);
        if found.is_empty() {
            return Answer::code(ResponseCode::NXDomain);
        }
        let owner = owner(&question.name);
        let kind = question.record.to_string();
        let mut answer = Answer::code(ResponseCode::NoError);
        for set in found.into_iter().filter(|set| set.kind == kind || set.kind == "CNAME") {
            if let Some(target) = &set.alias {
                answer.records.extend(self.alias(zone, target, question).records);
            }
            let data = set.values.iter().filter_map(|value| match set.kind.as_str() {
                "A" => value.parse().ok().map(RData::A),
                "AAAA" => value.parse().ok().map(RData::AAAA),
                "CNAME" => Some(RData::CNAME(hickory_proto::rr::rdata::CNAME(self::owner(value)))),
                _ => None,
            });
            answer.records.extend(data.map(|data| Record::from_rdata(owner.clone(), 60, data)));
        }
        answer
    }

    /// An alias record answers as its target does: another record of the zone, or an AWS resource such as an endpoint.
    fn alias(&self, zone: &Zone, target: &str, question: &Question) -> Answer {
        let same = records(zone, target);
        let values = same.iter().flat_map(|set| &set.values).filter_map(|value| value.parse::<IpAddr>().ok());
        let addresses: Vec<IpAddr> = if below(target, &zone.name) {
            values.collect()
        } else {
            self.directory.public.find(target).unwrap_or_default()
        };
        Answer::addresses(question, addresses)
    }

    fn endpoint(&self, id: &str) -> Vec<IpAddr> {
        self.directory.endpoints.get(id).cloned().unwrap_or_default()
    }

    fn public(&self, question: &Question) -> Answer {
        if let Some(address) = self.instance_name(&question.name) {
            return Answer::addresses(question, [address]);
        }
        match self.directory.public.find(&question.name) {
            Some(addresses) => Answer::addresses(question, addresses),
            None => Answer::code(ResponseCode::NXDomain),
        }
    }

    /// The private name of an address of the VPC: `ip-10-0-0-5.ec2.internal` ("Amazon EC2 instance hostname types").
    fn instance_name(&self, name: &str) -> Option<IpAddr> {
        let region = &self.directory.account.region;
        let domain = if region == "us-east-1" {
            "ec2.internal".to_owned()
        } else {
            format!("{region}.compute.internal")
        };
        let host = name.strip_suffix(&domain)?.strip_suffix('.')?.strip_prefix("ip-")?;
        let address: IpAddr = host.replace('-', ".").parse().ok()?;
        let known = self.directory.private.get(&self.vpc)?;
        known.contains(&address).then_some(address)
    }
}

/// The private DNS names of a service, as `DescribeVpcEndpointServices` lists them: the regional name unless noted
/// ("AWS services that integrate with AWS PrivateLink").
pub(super) fn private_names(region: &str, service_name: &str) -> Vec<String> {
    let service =
        service_name.rsplit_once(&format!("{region}.")).map_or(service_name, |(_, service)| service);
    match service {
        "s3" => vec![format!("s3.{region}.amazonaws.com"), format!("*.s3.{region}.amazonaws.com")],
        "ecr.api" => vec![format!("api.ecr.{region}.amazonaws.com")],
        "ecr.dkr" => vec![format!("*.dkr.ecr.{region}.amazonaws.com")],
        other => vec![format!("{other}.{region}.amazonaws.com")],
    }
}

/// The record sets of a name: its own, or those of the nearest wildcard above (RFC 4592).
fn records<'a>(zone: &'a Zone, name: &str) -> Vec<&'a RecordSet> {
    let of = |name: &str| -> Vec<&'a RecordSet> {
        zone.records.iter().filter(|set| set.name.eq_ignore_ascii_case(name)).collect()
    };
    let own = of(name);
    if !own.is_empty() {
        return own;
    }
    for (dot, _) in name.match_indices('.') {
        let parent = &name[dot + 1..];
        let stars = of(&format!("*.{parent}"));
        let exists = parent == zone.name || zone.records.iter().any(|set| below(&set.name, parent));
        if !stars.is_empty() || exists {
            return stars;
        }
    }
    Vec::new()
}

/// Whether a name is a domain's or below it.
fn below(name: &str, domain: &str) -> bool {
    domain.is_empty() || name == domain || name.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'))
}

fn wildcard(pattern: &str, name: &str) -> bool {
    pattern.strip_prefix('*').is_some_and(|rest| name.len() > rest.len() && name.ends_with(rest))
}

fn owner(name: &str) -> Name {
    Name::from_ascii(format!("{}.", name.trim_end_matches('.'))).unwrap_or_default()
}

fn plain(name: &Name) -> String {
    name.to_ascii().trim_end_matches('.').to_lowercase()
}
