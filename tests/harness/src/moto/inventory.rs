//! What exists in the emulator, by its own word.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use anyhow::Result;
use serde_json::json;

use super::MotoApi;
use crate::xml::Element;

/// A kind of object in the inventory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names are the cloud's own")]
pub enum Kind {
    Vpc,
    Subnet,
    InternetGateway,
    EgressOnlyInternetGateway,
    NatGateway,
    ElasticIp,
    RouteTable,
    SecurityGroup,
    NetworkAcl,
    NetworkInterface,
    VpcEndpoint,
    VpcPeering,
    TransitGateway,
    TransitGatewayAttachment,
    TransitGatewayRouteTable,
    FlowLog,
    Instance,
    Volume,
    LaunchTemplate,
    AutoScalingGroup,
    EcrRepository,
    LogGroup,
    Parameter,
    Role,
    InstanceProfile,
    HostedZone,
    /// `ZONE NAME TYPE`, without the two that every zone has.
    Record,
    ResolverEndpoint,
    ResolverRule,
    ResolverRuleAssociation,
}

/// How EC2 lists one kind: action, set of items, element of the id.
const EC2_KINDS: &[(Kind, &str, &str, &str)] = &[
    (Kind::Vpc, "DescribeVpcs", "vpcSet", "vpcId"),
    (Kind::Subnet, "DescribeSubnets", "subnetSet", "subnetId"),
    (Kind::InternetGateway, "DescribeInternetGateways", "internetGatewaySet", "internetGatewayId"),
    (
        Kind::EgressOnlyInternetGateway,
        "DescribeEgressOnlyInternetGateways",
        "egressOnlyInternetGatewaySet",
        "egressOnlyInternetGatewayId",
    ),
    (Kind::NatGateway, "DescribeNatGateways", "natGatewaySet", "natGatewayId"),
    (Kind::ElasticIp, "DescribeAddresses", "addressesSet", "allocationId"),
    (Kind::RouteTable, "DescribeRouteTables", "routeTableSet", "routeTableId"),
    (Kind::SecurityGroup, "DescribeSecurityGroups", "securityGroupInfo", "groupId"),
    (Kind::NetworkAcl, "DescribeNetworkAcls", "networkAclSet", "networkAclId"),
    (Kind::NetworkInterface, "DescribeNetworkInterfaces", "networkInterfaceSet", "networkInterfaceId"),
    (Kind::VpcEndpoint, "DescribeVpcEndpoints", "vpcEndpointSet", "vpcEndpointId"),
    (Kind::VpcPeering, "DescribeVpcPeeringConnections", "vpcPeeringConnectionSet", "vpcPeeringConnectionId"),
    (Kind::TransitGateway, "DescribeTransitGateways", "transitGatewaySet", "transitGatewayId"),
    (
        Kind::TransitGatewayAttachment,
        "DescribeTransitGatewayAttachments",
        "transitGatewayAttachments",
        "transitGatewayAttachmentId",
    ),
    (
        Kind::TransitGatewayRouteTable,
        "DescribeTransitGatewayRouteTables",
        "transitGatewayRouteTables",
        "transitGatewayRouteTableId",
    ),
    (Kind::FlowLog, "DescribeFlowLogs", "flowLogSet", "flowLogId"),
    (Kind::Volume, "DescribeVolumes", "volumeSet", "volumeId"),
    (Kind::LaunchTemplate, "DescribeLaunchTemplates", "launchTemplates", "launchTemplateId"),
];

/// How IAM lists one kind: action, result, set of members, element of the name.
const IAM_KINDS: &[(Kind, &str, &str, &str, &str)] = &[
    (Kind::Role, "ListRoles", "ListRolesResult", "Roles", "RoleName"),
    (
        Kind::InstanceProfile,
        "ListInstanceProfiles",
        "ListInstanceProfilesResult",
        "InstanceProfiles",
        "InstanceProfileName",
    ),
];

/// How the Route 53 Resolver lists one kind: action, list.
const RESOLVER_KINDS: &[(Kind, &str, &str)] = &[
    (Kind::ResolverEndpoint, "ListResolverEndpoints", "ResolverEndpoints"),
    (Kind::ResolverRule, "ListResolverRules", "ResolverRules"),
    (Kind::ResolverRuleAssociation, "ListResolverRuleAssociations", "ResolverRuleAssociations"),
];

/// States in which an object counts as gone.
const GONE: &[&str] = &["deleted", "terminated", "rejected", "failed", "expired"];

/// One thing that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// The cloud's id of it; where there is none, its name.
    pub id: String,
    /// The VPC or transit gateway it is in, where it is in one.
    pub owner: Option<String>,
    /// The IPv4 range of a VPC or subnet.
    pub cidr: Option<String>,
    /// Its tags.
    pub tags: BTreeMap<String, String>,
    /// Whether it came into being with something else and goes with it: main route table, default security group,
    /// default network ACL, a transit gateway's default route table.
    pub implicit: bool,
}

/// Everything that exists in one region. Objects in a final state such as `deleted` are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inventory {
    objects: BTreeMap<Kind, BTreeMap<String, Object>>,
}

impl Inventory {
    pub(crate) async fn take(api: &MotoApi, region: &str) -> Result<Self> {
        let mut inventory = Self::default();
        for (kind, action, set, id) in EC2_KINDS {
            let answer = api.ec2(region, action, &[]).await?;
            for item in answer.items(set) {
                inventory.insert(*kind, item, id);
            }
        }
        let reservations = api.ec2(region, "DescribeInstances", &[]).await?;
        for item in reservations.items("reservationSet").flat_map(|found| found.items("instancesSet")) {
            inventory.insert(Kind::Instance, item, "instanceId");
        }
        let target = "AmazonEC2ContainerRegistry_V20150921.DescribeRepositories";
        let repositories = api.json(region, "ecr", target, &json!({})).await?;
        inventory.insert_named(Kind::EcrRepository, &repositories["repositories"], "repositoryName");
        let groups = api.json(region, "logs", "Logs_20140328.DescribeLogGroups", &json!({})).await?;
        inventory.insert_named(Kind::LogGroup, &groups["logGroups"], "logGroupName");
        let parameters = api.json(region, "ssm", "AmazonSSM.DescribeParameters", &json!({})).await?;
        inventory.insert_named(Kind::Parameter, &parameters["Parameters"], "Name");
        for (kind, action, result, set, name) in IAM_KINDS {
            let answer = api.query(region, ("iam", "2010-05-08"), action, &[]).await?;
            let members = answer.child(result).and_then(|result| result.child(set));
            for item in members.into_iter().flat_map(|set| &set.children) {
                inventory.insert_name(*kind, item.text_at(name));
            }
        }
        let groups =
            api.query(region, ("autoscaling", "2011-01-01"), "DescribeAutoScalingGroups", &[]).await?;
        let groups = groups
            .child("DescribeAutoScalingGroupsResult")
            .and_then(|found| found.child("AutoScalingGroups"));
        for item in groups.into_iter().flat_map(|set| &set.children) {
            inventory.insert_name(Kind::AutoScalingGroup, item.text_at("AutoScalingGroupName"));
        }
        inventory.take_zones(api).await?;
        for (kind, action, list) in RESOLVER_KINDS {
            let target = format!("Route53Resolver.{action}");
            let found = api.json(region, "route53resolver", &target, &json!({})).await?;
            inventory.insert_named(*kind, &found[list], "Id");
        }
        inventory.forget_followers();
        Ok(inventory)
    }

    async fn take_zones(&mut self, api: &MotoApi) -> Result<()> {
        for zone in api.route53("hostedzone").await?.items("HostedZones") {
            let id = zone.text_at("Id").trim_start_matches("/hostedzone/").to_owned();
            let tags = api.route53(&format!("tags/hostedzone/{id}")).await?;
            let tags = tags.child("ResourceTagSet").into_iter().flat_map(|set| set.items("Tags"));
            let tags =
                tags.map(|tag| (tag.text_at("Key").to_owned(), tag.text_at("Value").to_owned())).collect();
            let object = Object { id: id.clone(), owner: None, cidr: None, tags, implicit: false };
            self.objects.entry(Kind::HostedZone).or_default().insert(id.clone(), object);
            let sets = api.route53(&format!("hostedzone/{id}/rrset")).await?;
            for set in sets.items("ResourceRecordSets") {
                let (name, kind) = (set.text_at("Name"), set.text_at("Type"));
                if name != zone.text_at("Name") || !["NS", "SOA"].contains(&kind) {
                    self.insert_name(Kind::Record, &format!("{id} {name} {kind}"));
                }
            }
        }
        Ok(())
    }

    /// Leaves out implicit objects whose owner is gone. AWS deletes them with it; the emulator keeps default network
    /// ACLs and default transit gateway route tables for ever, where no API call could remove them.
    fn forget_followers(&mut self) {
        for (kind, owner) in
            [(Kind::NetworkAcl, Kind::Vpc), (Kind::TransitGatewayRouteTable, Kind::TransitGateway)]
        {
            let owners: BTreeSet<String> = self.of(owner).map(|object| object.id.clone()).collect();
            let Some(followers) = self.objects.get_mut(&kind) else { continue };
            followers.retain(|_, object| {
                !object.implicit || object.owner.as_ref().is_none_or(|owner| owners.contains(owner))
            });
            if followers.is_empty() {
                self.objects.remove(&kind);
            }
        }
    }

    fn insert(&mut self, kind: Kind, item: &Element, id: &str) {
        let state =
            match (item.text_at("state"), item.text_at("status/code"), item.text_at("instanceState/name")) {
                ("", "", state) | ("", state, _) | (state, _, _) => state,
            };
        if GONE.contains(&state) {
            return;
        }
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let object = Object {
            id: item.text_at(id).to_owned(),
            owner: given(item.text_at("vpcId")).or_else(|| given(item.text_at("transitGatewayId"))),
            cidr: given(item.text_at("cidrBlock")),
            tags: item.tags().map(|(key, value)| (key.to_owned(), value.to_owned())).collect(),
            implicit: is_implicit(kind, item),
        };
        self.objects.entry(kind).or_default().insert(object.id.clone(), object);
    }

    fn insert_named(&mut self, kind: Kind, list: &serde_json::Value, name: &str) {
        for entry in list.as_array().into_iter().flatten() {
            self.insert_name(kind, entry[name].as_str().unwrap_or_default());
        }
    }

    fn insert_name(&mut self, kind: Kind, name: &str) {
        let id = name.to_owned();
        let object =
            Object { id: id.clone(), owner: None, cidr: None, tags: BTreeMap::new(), implicit: false };
        self.objects.entry(kind).or_default().insert(id, object);
    }

    /// The objects of one kind, ordered by id.
    pub fn of(&self, kind: Kind) -> impl Iterator<Item = &Object> {
        self.objects.get(&kind).into_iter().flat_map(BTreeMap::values)
    }

    /// How many objects of each kind exist; kinds with none are left out.
    pub fn counts(&self) -> BTreeMap<Kind, usize> {
        self.objects.iter().map(|(kind, objects)| (*kind, objects.len())).collect()
    }

    /// What came and went since `baseline` was taken.
    pub fn since(&self, baseline: &Self) -> InventoryDiff {
        InventoryDiff { added: self.minus(baseline), removed: baseline.minus(self) }
    }

    fn minus(&self, other: &Self) -> Vec<(Kind, Object)> {
        self.objects
            .iter()
            .flat_map(|(kind, objects)| objects.values().map(move |object| (*kind, object)))
            .filter(|(kind, object)| {
                !other.objects.get(kind).is_some_and(|known| known.contains_key(&object.id))
            })
            .map(|(kind, object)| (kind, object.clone()))
            .collect()
    }

    /// Groups of objects of one kind that carry the same values of all these tags, more than one to a group.
    /// Objects without one of the tags are not compared.
    pub fn duplicates(&self, identity: &[&str]) -> Vec<(Kind, Vec<String>)> {
        let mut groups: BTreeMap<(Kind, Vec<&str>), BTreeSet<&str>> = BTreeMap::new();
        for (kind, objects) in &self.objects {
            for object in objects.values() {
                let values: Option<Vec<&str>> =
                    identity.iter().map(|tag| object.tags.get(*tag).map(String::as_str)).collect();
                if let Some(values) = values {
                    groups.entry((*kind, values)).or_default().insert(&object.id);
                }
            }
        }
        groups
            .into_iter()
            .filter(|(_, ids)| ids.len() > 1)
            .map(|((kind, _), ids)| (kind, ids.into_iter().map(str::to_owned).collect()))
            .collect()
    }
}

fn is_implicit(kind: Kind, item: &Element) -> bool {
    match kind {
        Kind::RouteTable => item.items("associationSet").any(|found| found.text_at("main") == "true"),
        Kind::SecurityGroup => item.text_at("groupName") == "default",
        Kind::NetworkAcl => item.text_at("default") == "true",
        Kind::TransitGatewayRouteTable => item.text_at("defaultAssociationRouteTable") == "true",
        _ => false,
    }
}

/// The difference of two inventories.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InventoryDiff {
    /// Objects that exist now and did not before.
    pub added: Vec<(Kind, Object)>,
    /// Objects that existed before and are gone.
    pub removed: Vec<(Kind, Object)>,
}

impl InventoryDiff {
    /// Whether nothing came and nothing went.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty()
    }
}

impl fmt::Display for InventoryDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("nothing came and nothing went");
        }
        let lines =
            self.added.iter().map(|entry| ('+', entry)).chain(self.removed.iter().map(|entry| ('-', entry)));
        for (sign, (kind, object)) in lines {
            let name = object.tags.get("Name").map(|name| format!(" ({name})")).unwrap_or_default();
            writeln!(f, "{sign} {kind:?} {}{name}", object.id)?;
        }
        Ok(())
    }
}
