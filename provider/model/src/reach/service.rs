//! Services and named hosts: the names that a client asks for, where they resolve, the path to that address, and the
//! policies of endpoints and buckets on it.

use super::names::{Found, Resolved};
use super::walk::{End, Goal, Kind, no_access, walk};
use super::{Answer, HTTPS, Hop, Lists, Reason, Side, Way};
use crate::policy::within;
use crate::topology::{Endpoint, EndpointKind, GatewayKind, Home, Protocol, Request, StoreKind};
use ipnet::IpNet;
use std::net::IpAddr;

/// Domains of Google's APIs.
const GOOGLE: &[&str] = &["googleapis.com", "gcr.io", "pkg.dev"];

/// Services of Google, with the names that their clients ask for. `*` is any label.
const GOOGLE_SERVICES: &[(&str, &[&str])] = &[
    ("googleapis", &["*.googleapis.com"]),
    ("storage", &["storage.googleapis.com"]),
    ("artifact-registry", &["*.pkg.dev"]),
    // Layers are in Google Storage.
    ("gcr", &["gcr.io", "storage.googleapis.com"]),
];

impl<'a> Lists<'a> {
    /// How a service is reached: every name that its clients ask for must resolve and answer.
    pub(super) fn service(&self, from: &Side<'a>, service: &str) -> Answer {
        let names = self.names_of(from, service);
        if names.is_empty() {
            return self.unnamed(from, service);
        }
        let mut all: Option<Answer> = None;
        for name in &names {
            let answer = self.named(from, name, HTTPS);
            if !answer.reached {
                return answer;
            }
            all = Some(match all {
                None => answer,
                Some(mut all) => {
                    all.way = if answer.way == Way::Internet { Way::Internet } else { all.way };
                    all.hops.extend(answer.hops);
                    all
                }
            });
        }
        all.unwrap_or_else(|| self.unnamed(from, service))
    }

    /// The names that clients of a service ask for. None if the service is not one of a cloud.
    pub(super) fn names_of(&self, from: &Side<'_>, service: &str) -> Vec<String> {
        if let Some((_, names)) = GOOGLE_SERVICES.iter().find(|(known, _)| *known == service) {
            return names.iter().map(|name| (*name).to_owned()).collect();
        }
        let plain = |text: &str| {
            text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c))
        };
        if !plain(service) || service.starts_with("com.") {
            return Vec::new();
        }
        let network = from.subnet.network.as_deref().unwrap_or_default();
        // Endpoints of other providers have the names of services that AWS does not know.
        let custom = self.all.endpoints.values().any(|it| it.service == service && it.head.home != Home::Aws);
        let Some(domain) = self.aws_domain(service, network).filter(|_| !custom) else { return Vec::new() };
        match service {
            "s3" => vec![format!("*.{domain}")],
            "ecr.dkr" => vec![format!("*.{domain}")],
            "ecr" => {
                let [api, dkr, s3] =
                    ["ecr.api", "ecr.dkr", "s3"].map(|it| self.aws_domain(it, network).unwrap_or_default());
                let region = self.region(network).unwrap_or_else(|| "region".to_owned());
                vec![api, format!("*.{dkr}"), format!("prod-{region}-starport-layer-bucket.{s3}")]
            }
            _ => vec![domain],
        }
    }

    /// The public name of an AWS service in the region of a network: `ecr.api` is `api.ecr.REGION.amazonaws.com`.
    pub(super) fn aws_domain(&self, service: &str, network: &str) -> Option<String> {
        if service.is_empty() || service.starts_with('(') || service.contains("vpce-svc") {
            return None;
        }
        let labels: Vec<&str> = service.split('.').rev().collect();
        let region = self.region(network).unwrap_or_else(|| "region".to_owned());
        let suffix = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
        Some(format!("{}.{region}.{suffix}", labels.join(".")))
    }

    /// The region of an AWS network: its own, that of its subnets, or that of everything in the plan.
    fn region(&self, network: &str) -> Option<String> {
        let of_zone = |zone: &str| zone.trim_end_matches(|c: char| c.is_ascii_lowercase()).to_owned();
        let region = self.all.networks.get(network).and_then(|it| it.region.clone());
        let subnets = || self.all.subnets.values().filter(|it| it.head.home == Home::Aws);
        let own = || subnets().find(|it| it.network.as_deref() == Some(network) && it.zone.is_some());
        let any = || subnets().find(|it| it.zone.is_some());
        let zoned = || own().or_else(any)?.zone.as_deref().map(of_zone);
        let domain = || {
            self.all.zones.values().find_map(|it| {
                let labels: Vec<&str> =
                    it.domain.as_deref()?.strip_suffix(".amazonaws.com")?.split('.').collect();
                labels.last().map(|label| (*label).to_owned())
            })
        };
        region.or_else(zoned).or_else(domain).filter(|it| !it.is_empty())
    }

    /// A connection to a host by its name.
    pub(super) fn named(&self, from: &Side<'a>, name: &str, protocol: Protocol) -> Answer {
        self.connect(from, self.resolve(from, name), name, protocol)
    }

    /// A connection to what a name resolved to.
    pub(super) fn connect(
        &self,
        from: &Side<'a>,
        resolved: Resolved<'a>,
        name: &str,
        protocol: Protocol,
    ) -> Answer {
        let Resolved { found, name: last, mut hops } = resolved;
        let answer = match &found {
            Found::Nothing(why) => Answer::no(Vec::new(), why.clone()),
            Found::Endpoint(endpoint) => self.through_endpoint(from, endpoint, name, protocol),
            Found::Addresses(addresses) => self.to_addresses(from, addresses, protocol),
            Found::Public => self.to_public(from, &last, protocol),
        };
        hops.extend(answer.hops);
        let hint = match &found {
            Found::Public if answer.way != Way::Endpoint => answer.hint.or_else(|| self.advice(from, &last)),
            _ => answer.hint,
        };
        self.judged(from, Answer { hops, hint, ..answer }, name, protocol)
    }

    /// What brings a name that resolves to public addresses to an endpoint.
    fn advice(&self, from: &Side<'a>, name: &str) -> Option<String> {
        let network = self.all.networks.get(from.subnet.network.as_deref()?)?;
        let place = &network.head.name;
        if let Some(endpoint) = self.scoped(network, name) {
            let key = &endpoint.head.key;
            return Some(format!(
                "set `{key}.private_dns_enabled = false`, and associate a private zone that contains this name with {place}; or create an endpoint in {place}"
            ));
        }
        match (kind(name), network.head.home) {
            (Kind::Aws(service), Home::Aws) => {
                let table = self.table(from.subnet)?;
                let own = self.all.endpoints.values().find(|it| {
                    it.service == service
                        && it.kind == EndpointKind::Gateway
                        && it.network == from.subnet.network
                });
                Some(match own {
                    Some(own) => {
                        format!("add route table {} to `{}.route_table_ids`", table.head.name, own.head.key)
                    }
                    None => format!(
                        "create a gateway endpoint for {service} in {place} with route table {}",
                        table.head.name
                    ),
                })
            }
            (Kind::Google, Home::Google) => Some(format!(
                "create a private zone for the domain of {name} visible in {place}, with the addresses of private.googleapis.com (199.36.153.8/30) or of an endpoint"
            )),
            _ => None,
        }
    }

    /// The public addresses of a service, or of any host.
    fn to_public(&self, from: &Side<'a>, name: &str, protocol: Protocol) -> Answer {
        let kind = kind(name);
        let answer = self.public_addresses(from, kind, protocol);
        match &answer.why {
            Some(why) if !answer.reached && !answer.unsure() => {
                let why = why.reworded(|why| format!("no path to the public addresses of {name}: {why}"));
                Answer { why: Some(why), ..answer }
            }
            _ => answer,
        }
    }

    fn through_endpoint(
        &self,
        from: &Side<'a>,
        endpoint: &'a Endpoint,
        name: &str,
        protocol: Protocol,
    ) -> Answer {
        let own = &endpoint.head.name;
        let last = || Hop::new(&endpoint.head.key, format!("endpoint {own} for {name}"));
        if let Some(address) = endpoint.address {
            return self.to_addresses(from, &[address], protocol);
        }
        let mut first: Option<Answer> = None;
        for subnet in endpoint.subnets.iter().filter_map(|key| self.all.subnets.get(key)) {
            let address = endpoint.address_in(subnet);
            let to = Side { address, groups: endpoint.groups.as_deref(), ..Side::of(own, subnet) };
            let answer = self.between(from, &to, protocol);
            if answer.reached {
                let mut hops = answer.hops;
                hops.push(last());
                return Answer { way: Way::Endpoint, hops, ..answer };
            }
            first.get_or_insert(answer);
        }
        if let Some(first) = first {
            return first;
        }
        let start = Hop::new(&from.subnet.head.key, format!("subnet {}", from.subnet.head.name));
        let same = endpoint.network.is_some() && endpoint.network == from.subnet.network;
        let google = endpoint.head.home == Home::Google && endpoint.service == "googleapis";
        if !same {
            return Answer::no(vec![start], format!("endpoint {own} serves only hosts of its own network"));
        }
        if google && self.google_access(from.subnet, from.public).is_none() {
            let why = no_access(from.subnet, &format!("endpoint {own} needs it"));
            return Answer::no(vec![start], why);
        }
        Answer { reached: true, way: Way::Endpoint, hops: vec![start, last()], why: None, hint: None }
    }

    /// Any of the addresses of a record: in a subnet, an endpoint of Private Service Connect, or public.
    fn to_addresses(&self, from: &Side<'a>, addresses: &[IpAddr], protocol: Protocol) -> Answer {
        let mut first: Option<Answer> = None;
        for address in addresses.iter().filter(|it| from.permits(**it)) {
            let answer = self.to_address(from, *address, protocol);
            if answer.reached {
                return answer;
            }
            first.get_or_insert(answer);
        }
        first.unwrap_or_else(|| Answer::no(Vec::new(), "no rule allows any of its addresses"))
    }

    fn to_address(&self, from: &Side<'a>, address: IpAddr, protocol: Protocol) -> Answer {
        let mut first: Option<Answer> = None;
        for a in self.addresses(from).into_iter().filter(|a| a.is_ipv4() == address.is_ipv4()) {
            for tags in self.tags_of(from) {
                let goal = Goal::address(address);
                let answer = match walk(self, &from.sends(a, &tags), goal).end {
                    End::Subnet(key) => {
                        let Some(subnet) = self.all.subnets.get(&key) else { continue };
                        // The filters of an endpoint with this address are known, those of another host are not.
                        let endpoint = self.all.endpoints.values().find(|it| it.address == Some(address));
                        let groups = endpoint.and_then(|it| it.groups.as_deref());
                        let to =
                            Side { address: Some(address), groups, ..Side::of(&subnet.head.name, subnet) };
                        let from = Side { address: Some(a), ..*from };
                        let way = if endpoint.is_some() { Way::Endpoint } else { Way::Network };
                        Answer { way, ..self.between(&from, &to, protocol) }
                    }
                    _ => self.leaving(from, (a, &tags), goal, protocol),
                };
                if answer.reached {
                    return answer;
                }
                first.get_or_insert(answer);
            }
        }
        let family = || Answer::no(Vec::new(), "source and destination have no address family in common");
        first.unwrap_or_else(family)
    }

    /// Services that no cloud names, such as endpoints of other providers: their own names resolve everywhere.
    pub(super) fn unnamed(&self, from: &Side<'a>, service: &str) -> Answer {
        let mut first: Option<Answer> = None;
        for endpoint in self
            .all
            .endpoints
            .values()
            .filter(|it| it.service == service && it.kind == EndpointKind::Interface)
        {
            let answer = self.through_endpoint(from, endpoint, service, HTTPS);
            if answer.reached {
                return answer;
            }
            first.get_or_insert(answer);
        }
        first.unwrap_or_else(|| {
            Answer::no(
                Vec::new(),
                format!("the plan has no endpoint for {service}, whose public names are not known"),
            )
        })
    }

    /// The answer after the policies of the endpoint and the bucket: whether they allow to read some object.
    fn judged(&self, from: &Side<'_>, answer: Answer, name: &str, protocol: Protocol) -> Answer {
        let Some(bucket) = bucket(name).filter(|_| answer.reached) else { return answer };
        let endpoints = answer.hops.iter().rev().filter_map(|hop| self.all.endpoints.get(&hop.key));
        let through = endpoints.into_iter().next().filter(|_| answer.way == Way::Endpoint);
        let store =
            self.all.stores.values().find(|it| it.kind == StoreKind::Bucket && it.head.name == bucket);
        let accesses = [through.map(|it| &it.access), store.map(|it| &it.access)];
        let mut objects: Vec<String> = vec!["object".to_owned()];
        objects.extend(accesses.iter().flatten().flat_map(|it| it.objects()));
        let sources = self.sources(from, &answer.hops);
        let encrypted = match protocol {
            HTTPS => Some(true),
            Protocol::Tcp(80, 80) => Some(false),
            _ => None,
        };
        let endpoint = through.map_or("", |it| &it.head.name);
        let mut refusal: Option<Reason> = None;
        for object in &objects {
            let request = Request { bucket, object, through, sources: &sources, encrypted };
            let [by_endpoint, by_bucket] = [(accesses[0], true), (accesses[1], false)]
                .map(|(access, closed)| access.map_or(Some(false), |access| access.forbids(request, closed)));
            let reason: Reason = match (by_endpoint, by_bucket) {
                (Some(false), Some(false)) => return answer,
                (Some(true), _) => {
                    format!("the policy of endpoint {endpoint} does not allow bucket {bucket}").into()
                }
                (_, Some(true)) => format!("the policy of bucket {bucket} does not allow this path").into(),
                (None, _) => Reason::unknown(format!(
                    "whether the policy of endpoint {endpoint} allows bucket {bucket} is known only after apply"
                )),
                (_, None) => Reason::unknown(format!(
                    "whether the policy of bucket {bucket} allows this path is known only after apply"
                )),
            };
            if refusal.as_ref().is_none_or(|it| !it.is_unknown() && reason.is_unknown()) {
                refusal = Some(reason);
            }
        }
        match refusal {
            Some(reason) => Answer::no(answer.hops, reason),
            None => answer,
        }
    }

    /// The private addresses from which a service sees requests: those of the source, or of the last NAT gateway on the path.
    fn sources(&self, from: &Side<'_>, hops: &[Hop]) -> Vec<IpNet> {
        let gateways = hops.iter().rev().filter_map(|hop| self.all.gateways.get(&hop.key));
        let mut translators =
            gateways.filter(|it| matches!(it.kind, GatewayKind::Nat | GatewayKind::PrivateNat));
        let subnet = match translators.next() {
            Some(nat) => nat.subnet.as_ref().and_then(|key| self.all.subnets.get(key)),
            None => match from.address {
                Some(address) => return vec![address.into()],
                None => Some(from.subnet),
            },
        };
        let ranges = subnet.into_iter().flat_map(|it| &it.ranges);
        ranges.filter(|range| range.addr().is_ipv4()).copied().collect()
    }
}

/// The public addresses that a name has.
pub(super) fn kind(name: &str) -> Kind<'static> {
    if GOOGLE.iter().any(|domain| within(name, domain)) {
        return Kind::Google;
    }
    let Some((host, _)) = name.rsplit_once(".amazonaws.com") else { return Kind::Public };
    let labels: Vec<&str> = host.split('.').collect();
    let service = |label: &str| labels.iter().rev().take(2).any(|it| *it == label);
    if service("s3") {
        Kind::Aws("s3")
    } else if service("dynamodb") {
        Kind::Aws("dynamodb")
    } else {
        Kind::Public
    }
}

/// The bucket in a name of S3: `BUCKET.s3.REGION.amazonaws.com`. Wildcards name none.
fn bucket(name: &str) -> Option<&str> {
    let (bucket, rest) = name.split_once(".s3.")?;
    (rest.contains("amazonaws.com") && bucket != "*").then_some(bucket)
}
