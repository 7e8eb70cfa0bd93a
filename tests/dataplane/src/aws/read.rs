//! What an account holds, asked of the API as any client asks.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

use anyhow::{Context as _, Result, bail, ensure};
use ipnet::Ipv4Net;
use serde_json::{Value, json};
use warren_harness::{Element, Params};

use super::account::{
    Account, AclEntry, Attachment, Bucket, Destination, Endpoint, EndpointKind, Groups, Interface,
    InternetGateway, NatGateway, NetworkAcl, Peer, Peering, Permission, PrefixList, Protocol, RecordSet,
    ResolverEndpoint, ResolverRule, Route, RouteTable, SecurityGroup, Subnet, TransitGateway, TransitTable,
    Vpc, Zone,
};
use crate::servers::curl;

impl Account {
    /// Reads an account through the API of an emulated AWS. The default VPC is left out: nothing of Warren is in it.
    ///
    /// # Errors
    /// The API does not answer, or with something that AWS would not.
    pub fn read(endpoint_url: &str, region: &str) -> Result<Account> {
        let api = Api { endpoint: endpoint_url, region };
        let mut account = Account { region: region.to_owned(), ..Account::default() };
        for item in api.list("DescribeVpcs", "vpcSet", &[])? {
            if item.text_at("isDefault") != "true" {
                account.vpcs.push(api.vpc(&item)?);
            }
        }
        let known: Vec<String> = account.vpcs.iter().map(|vpc| vpc.id.clone()).collect();
        let ours = |item: &Element| known.iter().any(|id| id == item.text_at("vpcId"));
        let list = |action: &str, set: &str| -> Result<Vec<Element>> {
            Ok(api.list(action, set, &[])?.into_iter().filter(ours).collect())
        };
        account.subnets = each(list("DescribeSubnets", "subnetSet")?, subnet)?;
        account.route_tables = each(list("DescribeRouteTables", "routeTableSet")?, route_table)?;
        account.prefix_lists = api.prefix_lists()?;
        account.internet_gateways =
            each(api.list("DescribeInternetGateways", "internetGatewaySet", &[])?, internet_gateway)?;
        account
            .internet_gateways
            .retain(|gateway| gateway.vpc.as_ref().is_some_and(|vpc| known.contains(vpc)));
        account.nat_gateways = each(living(list("DescribeNatGateways", "natGatewaySet")?), nat_gateway)?;
        account.peerings = api.peerings()?;
        account.transit_gateways = api.transit_gateways()?;
        account.network_acls = each(list("DescribeNetworkAcls", "networkAclSet")?, network_acl)?;
        account.security_groups = each(list("DescribeSecurityGroups", "securityGroupInfo")?, security_group)?;
        let interfaces = list("DescribeNetworkInterfaces", "networkInterfaceSet")?;
        account.interfaces = api.interfaces(&interfaces)?;
        let groups = list("DescribeSecurityGroups", "securityGroupInfo")?;
        let endpoints = living(list("DescribeVpcEndpoints", "vpcEndpointSet")?);
        account.endpoints = each(endpoints, |item| endpoint(item, &groups, &interfaces))?;
        account.zones = api.zones()?;
        account.resolver_endpoints = api.resolver_endpoints()?;
        account.resolver_rules = api.resolver_rules()?;
        account.buckets = api.buckets()?;
        Ok(account)
    }
}

/// A client of the API.
#[derive(Clone, Copy, Debug)]
struct Api<'a> {
    endpoint: &'a str,
    region: &'a str,
}

impl Api<'_> {
    /// All pages of a list of EC2.
    fn list(&self, action: &str, set: &str, params: &[(&str, &str)]) -> Result<Vec<Element>> {
        let mut found = Vec::new();
        let mut token = String::new();
        loop {
            let mut form = Params::from(params);
            if !token.is_empty() {
                form.set("NextToken", &token);
            }
            let answer = self.ec2(action, form)?;
            found.extend(answer.items(set).cloned());
            answer.text_at("nextToken").clone_into(&mut token);
            if token.is_empty() {
                return Ok(found);
            }
        }
    }

    fn ec2(&self, action: &str, mut form: Params) -> Result<Element> {
        form.set("Action", action);
        form.set("Version", "2016-11-15");
        let (who, form, to) = (self.authorization("ec2"), form.to_form(), format!("{}/", self.endpoint));
        let text = curl(&["--header", &who, "--data", &form, &to]).with_context(|| action.to_owned())?;
        Element::parse(&text)
    }

    fn route53(&self, path: &str) -> Result<Element> {
        let (who, url) = (self.authorization("route53"), format!("{}/2013-04-01/{path}", self.endpoint));
        Element::parse(&curl(&["--header", &who, &url]).with_context(|| path.to_owned())?)
    }

    fn resolver(&self, action: &str, body: &Value) -> Result<Value> {
        let (who, url) = (self.authorization("route53resolver"), format!("{}/", self.endpoint));
        let target = format!("x-amz-target: Route53Resolver.{action}");
        let kind = "content-type: application/x-amz-json-1.1";
        let all =
            ["--header", &who, "--header", &target, "--header", kind, "--data", &body.to_string(), &url];
        Ok(serde_json::from_str(&curl(&all).with_context(|| action.to_owned())?)?)
    }

    fn buckets(&self) -> Result<Vec<Bucket>> {
        let who = self.authorization("s3");
        let listed = Element::parse(&curl(&["--header", &who, &format!("{}/", self.endpoint)])?)?;
        let names = listed.items("Buckets").map(|bucket| bucket.text_at("Name").to_owned());
        let policy = |name: String| -> Result<Bucket> {
            let (status, url) = ("\n%{http_code}", format!("{}/{name}?policy", self.endpoint));
            let answer = curl(&["--no-fail", "--write-out", status, "--header", &who, &url])?;
            let policy = match answer.rsplit_once('\n').context("no status")? {
                (policy, "200") => Some(policy.to_owned()),
                (error, "404") if error.contains("NoSuchBucketPolicy") => None,
                (error, status) => bail!("GetBucketPolicy of {name}: {status} {error}"),
            };
            Ok(Bucket { name, policy })
        };
        names.map(policy).collect()
    }

    /// The emulator reads region and service from the credential scope, and checks no signature.
    fn authorization(&self, service: &str) -> String {
        format!(
            "Authorization: AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20260101/{}/{service}/aws4_request, \
             SignedHeaders=host, Signature=0",
            self.region
        )
    }

    fn vpc(&self, item: &Element) -> Result<Vpc> {
        let id = item.text_at("vpcId");
        let attribute = |name: &str| -> Result<bool> {
            let form = Params::from([("VpcId", id), ("Attribute", name)]);
            let answer = self.ec2("DescribeVpcAttribute", form)?;
            Ok(answer.text_at(&format!("{name}/value")) == "true")
        };
        // The primary range is the first.
        let mut cidrs: Vec<Ipv4Net> = vec![parsed(item, "cidrBlock")?];
        for association in item.items("cidrBlockAssociationSet") {
            let cidr = parsed(association, "cidrBlock")?;
            if association.text_at("cidrBlockState/state") == "associated" && !cidrs.contains(&cidr) {
                cidrs.push(cidr);
            }
        }
        Ok(Vpc {
            id: id.to_owned(),
            name: name(item, id),
            cidrs,
            enable_dns_support: attribute("enableDnsSupport")?,
            enable_dns_hostnames: attribute("enableDnsHostnames")?,
        })
    }

    fn prefix_lists(&self) -> Result<Vec<PrefixList>> {
        each(self.list("DescribeManagedPrefixLists", "prefixListSet", &[])?, |item| {
            let id = item.text_at("prefixListId");
            let entries = self.list("GetManagedPrefixListEntries", "entrySet", &[("PrefixListId", id)])?;
            // Lists of IPv6 have no entries here.
            let entries = entries.iter().filter_map(|entry| entry.text_at("cidr").parse().ok()).collect();
            Ok(PrefixList { id: id.to_owned(), name: item.text_at("prefixListName").to_owned(), entries })
        })
    }

    fn peerings(&self) -> Result<Vec<Peering>> {
        let mut all = self.list("DescribeVpcPeeringConnections", "vpcPeeringConnectionSet", &[])?;
        all.retain(|item| item.text_at("status/code") == "active");
        each(all, |item| {
            Ok(Peering {
                id: item.text_at("vpcPeeringConnectionId").to_owned(),
                requester: item.text_at("requesterVpcInfo/vpcId").to_owned(),
                accepter: item.text_at("accepterVpcInfo/vpcId").to_owned(),
            })
        })
    }

    fn transit_gateways(&self) -> Result<Vec<TransitGateway>> {
        let gateways = living(self.list("DescribeTransitGateways", "transitGatewaySet", &[])?);
        let attached =
            living(self.list("DescribeTransitGatewayVpcAttachments", "transitGatewayVpcAttachments", &[])?);
        let tables =
            living(self.list("DescribeTransitGatewayRouteTables", "transitGatewayRouteTables", &[])?);
        each(gateways, |gateway| {
            let id = gateway.text_at("transitGatewayId");
            let own = |item: &&Element| item.text_at("transitGatewayId") == id;
            let attachments = attached.iter().filter(own).map(|item| Attachment {
                id: item.text_at("transitGatewayAttachmentId").to_owned(),
                vpc: item.text_at("vpcId").to_owned(),
                subnets: texts(item, "subnetIds"),
            });
            let tables = tables.iter().filter(own).map(|item| self.transit_table(item));
            Ok(TransitGateway {
                id: id.to_owned(),
                attachments: attachments.collect(),
                tables: tables.collect::<Result<_>>()?,
            })
        })
    }

    fn transit_table(&self, item: &Element) -> Result<TransitTable> {
        let id = item.text_at("transitGatewayRouteTableId");
        let own = ("TransitGatewayRouteTableId", id);
        let associations = self.list("GetTransitGatewayRouteTableAssociations", "associations", &[own])?;
        let associations = associations.iter().filter(|item| item.text_at("state") == "associated");
        let associations =
            associations.map(|item| item.text_at("transitGatewayAttachmentId").to_owned()).collect();
        let filters = [
            own,
            ("Filter.1.Name", "state"),
            ("Filter.1.Value.1", "active"),
            ("Filter.1.Value.2", "blackhole"),
        ];
        let mut routes = Vec::new();
        for route in self.list("SearchTransitGatewayRoutes", "routeSet", &filters)? {
            let attachment = route.items("transitGatewayAttachments").next();
            let attachment = attachment.map(|item| item.text_at("transitGatewayAttachmentId").to_owned());
            let active = route.text_at("state") == "active";
            routes.push((parsed(&route, "destinationCidrBlock")?, attachment.filter(|_| active)));
        }
        Ok(TransitTable { id: id.to_owned(), associations, routes })
    }

    /// The interfaces of instances. Others belong to what has its own list here.
    fn interfaces(&self, all: &[Element]) -> Result<Vec<Interface>> {
        let mut instances = Vec::new();
        for reservation in self.list("DescribeInstances", "reservationSet", &[])? {
            instances.extend(reservation.items("instancesSet").cloned());
        }
        instances
            .retain(|item| !["terminated", "shutting-down"].contains(&item.text_at("instanceState/name")));
        let mut found = Vec::new();
        for item in all {
            let (id, instance) = (item.text_at("networkInterfaceId"), item.text_at("attachment/instanceId"));
            let Some(of) = instances.iter().find(|of| of.text_at("instanceId") == instance) else { continue };
            let public = item.text_at("association/publicIp");
            found.push(Interface {
                id: id.to_owned(),
                name: name(of, instance),
                instance: Some(instance.to_owned()),
                subnet: item.text_at("subnetId").to_owned(),
                address: parsed(item, "privateIpAddress")?,
                public_address: if public.is_empty() { None } else { Some(public.parse()?) },
                groups: Groups::Of(
                    item.items("groupSet").map(|group| group.text_at("groupId").to_owned()).collect(),
                ),
                source_dest_check: item.text_at("sourceDestCheck") != "false",
            });
        }
        Ok(found)
    }

    fn zones(&self) -> Result<Vec<Zone>> {
        let listed = self.route53("hostedzone")?;
        complete(&listed)?;
        let mut zones = Vec::new();
        for item in listed.items("HostedZones") {
            let id = item.text_at("Id").trim_start_matches("/hostedzone/");
            let vpcs = self.route53(&format!("hostedzone/{id}"))?;
            let own = vpcs.items("VPCs").filter(|vpc| vpc.text_at("VPCRegion") == self.region);
            let vpcs: Vec<String> = own.map(|vpc| vpc.text_at("VPCId").to_owned()).collect();
            // A public zone has none.
            if vpcs.is_empty() {
                continue;
            }
            let records = self.route53(&format!("hostedzone/{id}/rrset"))?;
            complete(&records)?;
            zones.push(Zone {
                id: id.to_owned(),
                name: domain(item.text_at("Name")),
                vpcs,
                records: records.items("ResourceRecordSets").map(record_set).collect(),
            });
        }
        Ok(zones)
    }

    fn resolver_endpoints(&self) -> Result<Vec<ResolverEndpoint>> {
        let listed = self.resolver("ListResolverEndpoints", &json!({ "MaxResults": 100 }))?;
        let mut endpoints = Vec::new();
        for item in array(&listed["ResolverEndpoints"]) {
            let body = json!({ "ResolverEndpointId": item["Id"], "MaxResults": 100 });
            let addresses = self.resolver("ListResolverEndpointIpAddresses", &body)?;
            let address = |item: &Value| -> Result<(String, Ipv4Addr)> {
                Ok((string(&item["SubnetId"]), string(&item["Ip"]).parse()?))
            };
            endpoints.push(ResolverEndpoint {
                id: string(&item["Id"]),
                inbound: item["Direction"] == "INBOUND",
                groups: array(&item["SecurityGroupIds"]).iter().map(string).collect(),
                addresses: array(&addresses["IpAddresses"]).iter().map(address).collect::<Result<_>>()?,
            });
        }
        Ok(endpoints)
    }

    fn resolver_rules(&self) -> Result<Vec<ResolverRule>> {
        let listed = self.resolver("ListResolverRules", &json!({ "MaxResults": 100 }))?;
        let associated = self.resolver("ListResolverRuleAssociations", &json!({ "MaxResults": 100 }))?;
        let mut rules = Vec::new();
        for item in array(&listed["ResolverRules"]) {
            let id = string(&item["Id"]);
            let target = |item: &Value| -> Result<(IpAddr, u16)> {
                // Numbers have arbitrary precision here; the port's default is 53.
                Ok((string(&item["Ip"]).parse()?, item["Port"].to_string().parse().unwrap_or(53)))
            };
            let of = array(&associated["ResolverRuleAssociations"]).iter();
            let of = of.filter(|association| string(&association["ResolverRuleId"]) == id);
            rules.push(ResolverRule {
                domain: domain(&string(&item["DomainName"])),
                endpoint: (item["RuleType"] == "FORWARD").then(|| string(&item["ResolverEndpointId"])),
                targets: array(&item["TargetIps"]).iter().map(target).collect::<Result<_>>()?,
                vpcs: of.map(|association| string(&association["VPCId"])).collect(),
                id,
            });
        }
        Ok(rules)
    }
}

fn subnet(item: &Element) -> Result<Subnet> {
    let id = item.text_at("subnetId");
    Ok(Subnet {
        id: id.to_owned(),
        name: name(item, id),
        vpc: item.text_at("vpcId").to_owned(),
        cidr: parsed(item, "cidrBlock")?,
        zone: item.text_at("availabilityZone").to_owned(),
        map_public_ip_on_launch: item.text_at("mapPublicIpOnLaunch") == "true",
    })
}

fn route_table(item: &Element) -> Result<RouteTable> {
    let associations = || item.items("associationSet");
    let subnets = associations().map(|item| item.text_at("subnetId").to_owned()).filter(|id| !id.is_empty());
    let mut routes = Vec::new();
    for route in item.items("routeSet").filter(|route| route.text_at("gatewayId") != "local") {
        let (range, list) = (route.text_at("destinationCidrBlock"), route.text_at("destinationPrefixListId"));
        let destination = match (range, list) {
            ("", "") => continue,
            ("", list) => Destination::PrefixList(list.to_owned()),
            (range, _) => Destination::Range(range.parse().with_context(|| range.to_owned())?),
        };
        let targets = [
            "gatewayId",
            "natGatewayId",
            "transitGatewayId",
            "vpcPeeringConnectionId",
            "networkInterfaceId",
            "instanceId",
        ];
        let target = targets.iter().map(|name| route.text_at(name)).find(|target| !target.is_empty());
        let blackhole = route.text_at("state") == "blackhole";
        routes.push(Route { destination, target: target.unwrap_or_default().to_owned(), blackhole });
    }
    Ok(RouteTable {
        id: item.text_at("routeTableId").to_owned(),
        vpc: item.text_at("vpcId").to_owned(),
        main: associations().any(|item| item.text_at("main") == "true"),
        subnets: subnets.collect(),
        routes,
    })
}

fn internet_gateway(item: &Element) -> Result<InternetGateway> {
    let vpc = item.items("attachmentSet").map(|item| item.text_at("vpcId")).find(|vpc| !vpc.is_empty());
    Ok(InternetGateway { id: item.text_at("internetGatewayId").to_owned(), vpc: vpc.map(str::to_owned) })
}

fn nat_gateway(item: &Element) -> Result<NatGateway> {
    let mut public =
        item.items("natGatewayAddressSet").filter_map(|item| item.text_at("publicIp").parse().ok());
    Ok(NatGateway {
        id: item.text_at("natGatewayId").to_owned(),
        subnet: item.text_at("subnetId").to_owned(),
        public_address: public.next(),
    })
}

fn network_acl(item: &Element) -> Result<NetworkAcl> {
    let mut entries = Vec::new();
    for entry in item.items("entrySet").filter(|entry| entry.child("cidrBlock").is_some()) {
        let ports = match entry.text_at("portRange/from") {
            "" => None,
            _ => Some((parsed(entry, "portRange/from")?, parsed(entry, "portRange/to")?)),
        };
        entries.push(AclEntry {
            number: parsed(entry, "ruleNumber")?,
            egress: entry.text_at("egress") == "true",
            allow: entry.text_at("ruleAction") == "allow",
            protocol: protocol(entry.text_at("protocol"))?,
            cidr: parsed(entry, "cidrBlock")?,
            ports,
        });
    }
    let subnets = item.items("associationSet").map(|item| item.text_at("subnetId").to_owned());
    Ok(NetworkAcl {
        id: item.text_at("networkAclId").to_owned(),
        vpc: item.text_at("vpcId").to_owned(),
        default: item.text_at("default") == "true",
        subnets: subnets.collect(),
        entries,
    })
}

fn security_group(item: &Element) -> Result<SecurityGroup> {
    let permissions = |set: &str| item.items(set).map(permission).collect::<Result<Vec<_>>>();
    Ok(SecurityGroup {
        id: item.text_at("groupId").to_owned(),
        vpc: item.text_at("vpcId").to_owned(),
        ingress: permissions("ipPermissions")?,
        egress: permissions("ipPermissionsEgress")?,
    })
}

fn permission(item: &Element) -> Result<Permission> {
    let mut peers = Vec::new();
    for range in item.items("ipRanges") {
        peers.push(Peer::Range(parsed(range, "cidrIp")?));
    }
    peers.extend(item.items("groups").map(|group| Peer::Group(group.text_at("groupId").to_owned())));
    peers.extend(
        item.items("prefixListIds").map(|list| Peer::PrefixList(list.text_at("prefixListId").to_owned())),
    );
    let ports = match (item.text_at("fromPort"), item.text_at("toPort")) {
        ("" | "-1", _) => None,
        (from, to) => Some((from.parse()?, to.parse()?)),
    };
    Ok(Permission { protocol: protocol(item.text_at("ipProtocol"))?, ports, peers })
}

fn protocol(text: &str) -> Result<Protocol> {
    Ok(match text {
        "-1" => Protocol::All,
        "tcp" | "6" => Protocol::Tcp,
        "udp" | "17" => Protocol::Udp,
        "icmp" | "1" => Protocol::Icmp,
        other => Protocol::Number(other.parse().with_context(|| format!("protocol {other}"))?),
    })
}

/// `groups` are all security groups: an endpoint without any has the default one of its VPC.
/// `interfaces` are all network interfaces, of which the endpoint has some.
fn endpoint(item: &Element, groups: &[Element], interfaces: &[Element]) -> Result<Endpoint> {
    let vpc = item.text_at("vpcId");
    let flag = |path: &str| item.text_at(path) == "true";
    let mut own: Vec<String> =
        item.items("groupSet").map(|group| group.text_at("groupId").to_owned()).collect();
    if own.is_empty() {
        let default =
            |group: &&Element| group.text_at("vpcId") == vpc && group.text_at("groupName") == "default";
        own.extend(groups.iter().find(default).map(|group| group.text_at("groupId").to_owned()));
    }
    let kind = if item.text_at("vpcEndpointType").eq_ignore_ascii_case("gateway") {
        EndpointKind::Gateway { route_tables: texts(item, "routeTableIdSet") }
    } else {
        EndpointKind::Interface {
            subnets: texts(item, "subnetIdSet"),
            addresses: own_addresses(item, interfaces)?,
            groups: own,
            private_dns: flag("privateDnsEnabled"),
            private_dns_only_for_inbound: flag("dnsOptions/privateDnsOnlyForInboundResolverEndpoint"),
            dns_names: item.items("dnsEntrySet").map(|entry| domain(entry.text_at("dnsName"))).collect(),
        }
    };
    let policy = Some(item.text_at("policyDocument")).filter(|text| !text.is_empty()).map(str::to_owned);
    let (id, service_name) = (item.text_at("vpcEndpointId"), item.text_at("serviceName"));
    Ok(Endpoint {
        id: id.to_owned(),
        vpc: vpc.to_owned(),
        service_name: service_name.to_owned(),
        kind,
        policy,
    })
}

fn own_addresses(endpoint: &Element, interfaces: &[Element]) -> Result<BTreeMap<String, Ipv4Addr>> {
    let ids = texts(endpoint, "networkInterfaceIdSet");
    let own = interfaces.iter().filter(|item| ids.iter().any(|id| id == item.text_at("networkInterfaceId")));
    own.map(|item| Ok((item.text_at("subnetId").to_owned(), parsed(item, "privateIpAddress")?))).collect()
}

fn record_set(item: &Element) -> RecordSet {
    let alias = item.text_at("AliasTarget/DNSName");
    RecordSet {
        name: domain(item.text_at("Name")),
        kind: item.text_at("Type").to_owned(),
        values: item.items("ResourceRecords").map(|record| record.text_at("Value").to_owned()).collect(),
        alias: (!alias.is_empty()).then(|| domain(alias)),
    }
}

/// A name without its final dot. Route 53 writes `*` as `\052`.
fn domain(text: &str) -> String {
    text.replace("\\052", "*").trim_end_matches('.').to_lowercase()
}

/// The tag `Name`, or the name that Warren's tags give, or the ID.
fn name(item: &Element, id: &str) -> String {
    let tag = |key: &str| item.tags().find(|(name, _)| *name == key).map(|(_, value)| value.to_owned());
    tag("Name").or_else(|| tag("warren:name")).unwrap_or_else(|| id.to_owned())
}

fn living(mut items: Vec<Element>) -> Vec<Element> {
    items.retain(|item| item.text_at("state") == "available");
    items
}

fn texts(item: &Element, set: &str) -> Vec<String> {
    item.items(set).flat_map(Element::texts).map(str::to_owned).collect()
}

fn parsed<T: FromStr<Err: Debug + std::error::Error + Send + Sync + 'static>>(
    item: &Element,
    path: &str,
) -> Result<T> {
    item.text_at(path).parse().with_context(|| format!("{path} is `{}`", item.text_at(path)))
}

fn each<T>(items: Vec<Element>, read: impl Fn(&Element) -> Result<T>) -> Result<Vec<T>> {
    items.into_iter().map(|item| read(&item)).collect()
}

/// The answers of these lists are not paged through: no example has as much as a page.
fn complete(answer: &Element) -> Result<()> {
    ensure!(answer.text_at("IsTruncated") != "true", "an answer of Route 53 has more than one page");
    Ok(())
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
