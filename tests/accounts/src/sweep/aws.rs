//! An account of AWS: what carries the tag of a run, kind by kind in the order of deletion.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow, bail, ensure};
use aws_config::{BehaviorVersion, Region};
use aws_sdk_ec2::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_ec2::types::{
    AttachmentStatus, Filter, InstanceStateName, NatGatewayState, State, Tag, TransitGatewayAttachmentState,
    TransitGatewayRouteTableState, TransitGatewayState, VpcPeeringConnectionStateReasonCode as Peering,
};
use aws_sdk_route53::types::{Change, ChangeAction, ChangeBatch, ResourceRecordSet, RrType, TagResourceType};
use aws_sdk_route53resolver::types::Filter as ResolverFilter;
use aws_sdk_ssm::types::ResourceTypeForTagging;

use super::{Found, Place};
use crate::fabric::{Fabric, PREFIX};

/// The tag that names the fabric of an object.
const TAG: &str = "warren:fabric";

/// The kinds in the order of their deletion. What uses another object goes before it.
pub(super) const KINDS: &[&str] = &[
    "instance",
    "flow log",
    "resolver rule",
    "resolver endpoint",
    "hosted zone",
    "VPC endpoint",
    "NAT gateway",
    "VPC peering",
    "transit gateway attachment",
    "transit gateway route table",
    "transit gateway",
    "internet gateway",
    "elastic IP",
    "network interface",
    "route table",
    "subnet",
    "security group",
    "VPC",
    "ECR repository",
    "parameter",
    "instance profile",
    "role",
];

/// Clients of one account in one region.
#[derive(Debug)]
pub(super) struct Account {
    ec2: aws_sdk_ec2::Client,
    ecr: aws_sdk_ecr::Client,
    iam: aws_sdk_iam::Client,
    route53: aws_sdk_route53::Client,
    resolver: aws_sdk_route53resolver::Client,
    ssm: aws_sdk_ssm::Client,
}

/// Objects as they are found.
#[derive(Default)]
struct Finds(Vec<Found>);

impl Finds {
    /// Notes the object if it belongs to a run.
    fn note(&mut self, kind: &'static str, id: Option<&str>, fabric: Option<&str>) {
        if let (Some(id), Some(fabric)) = (id, fabric.and_then(Fabric::parse)) {
            self.0.push(Found { kind, id: id.to_owned(), fabric });
        }
    }
}

/// Notes the objects of a kind that EC2 lists, except those that a list shows for a while after their end.
macro_rules! note {
    ($found:ident, $kind:literal, $call:expr, $id:ident, |$object:ident| $gone:expr) => {{
        let mut pages = $call.into_paginator().items().send();
        while let Some(object) = pages.next().await {
            let $object = object.told(concat!("listing each ", $kind))?;
            if !$gone {
                $found.note($kind, $object.$id(), fabric($object.tags()));
            }
        }
    }};
}

impl Account {
    pub(super) async fn open(place: &Place) -> Account {
        let mut loader =
            aws_config::defaults(BehaviorVersion::latest()).region(Region::new(place.region.clone()));
        if let Some(url) = &place.endpoint {
            loader = loader.endpoint_url(url);
        }
        let config = loader.load().await;
        Account {
            ec2: aws_sdk_ec2::Client::new(&config),
            ecr: aws_sdk_ecr::Client::new(&config),
            iam: aws_sdk_iam::Client::new(&config),
            route53: aws_sdk_route53::Client::new(&config),
            resolver: aws_sdk_route53resolver::Client::new(&config),
            ssm: aws_sdk_ssm::Client::new(&config),
        }
    }

    /// Every object of a run, in the order of [`KINDS`].
    pub(super) async fn find(&self) -> Result<Vec<Found>> {
        let mut found = Finds::default();
        self.find_in_ec2(&mut found).await?;
        self.find_zones(&mut found).await?;
        self.find_in_resolver(&mut found).await?;
        self.find_named(&mut found).await?;
        let place = |kind: &str| KINDS.iter().position(|other| *other == kind);
        found.0.sort_by_key(|object| place(object.kind));
        Ok(found.0)
    }

    async fn find_in_ec2(&self, found: &mut Finds) -> Result<()> {
        let ec2 = &self.ec2;
        let runs = || Filter::builder().name(format!("tag:{TAG}")).values(format!("{PREFIX}*")).build();
        let mut reservations = ec2.describe_instances().filters(runs()).into_paginator().items().send();
        while let Some(reservation) = reservations.next().await {
            for instance in reservation.told("listing instances")?.instances() {
                let state = instance.state().and_then(|state| state.name());
                if state != Some(&InstanceStateName::Terminated) {
                    found.note("instance", instance.instance_id(), fabric(instance.tags()));
                }
            }
        }
        note!(found, "flow log", ec2.describe_flow_logs().filter(runs()), flow_log_id, |_o| false);
        note!(found, "VPC endpoint", ec2.describe_vpc_endpoints().filters(runs()), vpc_endpoint_id, |o| {
            o.state() == Some(&State::Deleted)
        });
        note!(found, "NAT gateway", ec2.describe_nat_gateways().filter(runs()), nat_gateway_id, |o| {
            o.state() == Some(&NatGatewayState::Deleted)
        });
        note!(
            found,
            "VPC peering",
            ec2.describe_vpc_peering_connections().filters(runs()),
            vpc_peering_connection_id,
            |o| {
                let ended = [Peering::Deleted, Peering::Rejected, Peering::Expired, Peering::Failed];
                o.status().and_then(|status| status.code()).is_some_and(|code| ended.contains(code))
            }
        );
        note!(
            found,
            "transit gateway attachment",
            ec2.describe_transit_gateway_vpc_attachments().filters(runs()),
            transit_gateway_attachment_id,
            |o| {
                let ended = [
                    TransitGatewayAttachmentState::Deleted,
                    TransitGatewayAttachmentState::Rejected,
                    TransitGatewayAttachmentState::Failed,
                ];
                o.state().is_some_and(|state| ended.contains(state))
            }
        );
        note!(
            found,
            "transit gateway route table",
            ec2.describe_transit_gateway_route_tables().filters(runs()),
            transit_gateway_route_table_id,
            |o| o.state() == Some(&TransitGatewayRouteTableState::Deleted)
        );
        note!(
            found,
            "transit gateway",
            ec2.describe_transit_gateways().filters(runs()),
            transit_gateway_id,
            |o| o.state() == Some(&TransitGatewayState::Deleted)
        );
        note!(
            found,
            "internet gateway",
            ec2.describe_internet_gateways().filters(runs()),
            internet_gateway_id,
            |_o| false
        );
        // Not split into pages.
        let addresses = ec2.describe_addresses().filters(runs()).send().await.told("listing addresses")?;
        for address in addresses.addresses() {
            found.note("elastic IP", address.allocation_id(), fabric(address.tags()));
        }
        let mut interfaces =
            ec2.describe_network_interfaces().filters(runs()).into_paginator().items().send();
        while let Some(interface) = interfaces.next().await {
            let interface = interface.told("listing network interfaces")?;
            // AWS deletes those that it made for another object.
            if interface.requester_managed() != Some(true) {
                found.note(
                    "network interface",
                    interface.network_interface_id(),
                    fabric(interface.tag_set()),
                );
            }
        }
        note!(found, "subnet", ec2.describe_subnets().filters(runs()), subnet_id, |_o| false);
        note!(found, "route table", ec2.describe_route_tables().filters(runs()), route_table_id, |_o| false);
        note!(found, "security group", ec2.describe_security_groups().filters(runs()), group_id, |_o| false);
        note!(found, "VPC", ec2.describe_vpcs().filters(runs()), vpc_id, |_o| false);
        Ok(())
    }

    async fn find_zones(&self, found: &mut Finds) -> Result<()> {
        let mut zones = self.route53.list_hosted_zones().into_paginator().items().send();
        while let Some(zone) = zones.next().await {
            let zone = zone.told("ListHostedZones")?;
            let id = zone.id().trim_start_matches("/hostedzone/");
            let call = self.route53.list_tags_for_resource().resource_type(TagResourceType::Hostedzone);
            let tags = call.resource_id(id).send().await.told("ListTagsForResource")?;
            let tags = tags.resource_tag_set().map(|set| set.tags()).unwrap_or_default();
            let tag = tags.iter().find(|tag| tag.key() == Some(TAG));
            found.note("hosted zone", Some(id), tag.and_then(|tag| tag.value()));
        }
        Ok(())
    }

    async fn find_in_resolver(&self, found: &mut Finds) -> Result<()> {
        let mut rules = self.resolver.list_resolver_rules().into_paginator().items().send();
        while let Some(rule) = rules.next().await {
            let rule = rule.told("ListResolverRules")?;
            // Rules of AWS itself have no owner with tags.
            if rule.owner_id().is_some_and(|owner| owner.bytes().all(|byte| byte.is_ascii_digit())) {
                let fabric = self.resolver_fabric(rule.arn()).await?;
                found.note("resolver rule", rule.id(), fabric.as_deref());
            }
        }
        let mut endpoints = self.resolver.list_resolver_endpoints().into_paginator().items().send();
        while let Some(endpoint) = endpoints.next().await {
            let endpoint = endpoint.told("ListResolverEndpoints")?;
            let fabric = self.resolver_fabric(endpoint.arn()).await?;
            found.note("resolver endpoint", endpoint.id(), fabric.as_deref());
        }
        Ok(())
    }

    async fn resolver_fabric(&self, arn: Option<&str>) -> Result<Option<String>> {
        let call = self.resolver.list_tags_for_resource().set_resource_arn(arn.map(str::to_owned));
        let tags = call.send().await.told("ListTagsForResource")?;
        let tag = tags.tags().iter().find(|tag| tag.key() == TAG);
        Ok(tag.map(|tag| tag.value().to_owned()))
    }

    /// What has a name of its own instead of an ID.
    async fn find_named(&self, found: &mut Finds) -> Result<()> {
        let mut repositories = self.ecr.describe_repositories().into_paginator().items().send();
        while let Some(repository) = repositories.next().await {
            let repository = repository.told("DescribeRepositories")?;
            let arn = repository.repository_arn().map(str::to_owned);
            let call = self.ecr.list_tags_for_resource().set_resource_arn(arn);
            let tags = call.send().await.told("ListTagsForResource")?;
            let tag = tags.tags().iter().find(|tag| tag.key() == TAG);
            found.note("ECR repository", repository.repository_name(), tag.map(|tag| tag.value()));
        }
        let mut pages = self.ssm.describe_parameters().into_paginator().send();
        while let Some(page) = pages.next().await {
            for parameter in page.told("DescribeParameters")?.parameters() {
                let call = self.ssm.list_tags_for_resource().resource_type(ResourceTypeForTagging::Parameter);
                let call = call.set_resource_id(parameter.name().map(str::to_owned));
                let tags = call.send().await.told("ListTagsForResource")?;
                let tag = tags.tag_list().iter().find(|tag| tag.key() == TAG);
                found.note("parameter", parameter.name(), tag.map(|tag| tag.value()));
            }
        }
        let mut profiles = self.iam.list_instance_profiles().into_paginator().items().send();
        while let Some(profile) = profiles.next().await {
            let profile = profile.told("ListInstanceProfiles")?;
            // The list comes without tags.
            let name = profile.instance_profile_name();
            let answer = self.iam.get_instance_profile().instance_profile_name(name).send().await;
            let answer = answer.told("GetInstanceProfile")?;
            let tags = answer.instance_profile().map(|profile| profile.tags()).unwrap_or_default();
            let tag = tags.iter().find(|tag| tag.key() == TAG);
            found.note("instance profile", Some(name), tag.map(|tag| tag.value()));
        }
        let mut roles = self.iam.list_roles().into_paginator().items().send();
        while let Some(role) = roles.next().await {
            let role = role.told("ListRoles")?;
            // Roles of AWS services are in paths of their own, and a run never creates one there.
            if !role.path().starts_with("/aws-service-role/") {
                let tags = self.iam.list_role_tags().role_name(role.role_name()).send().await;
                let tags = tags.told("ListRoleTags")?;
                let tag = tags.tags().iter().find(|tag| tag.key() == TAG);
                found.note("role", Some(role.role_name()), tag.map(|tag| tag.value()));
            }
        }
        Ok(())
    }

    /// Begins to delete an object.
    pub(super) async fn delete(&self, object: &Found) -> Result<()> {
        let (ec2, id) = (&self.ec2, object.id.as_str());
        match object.kind {
            "instance" => {
                ec2.terminate_instances().instance_ids(id).send().await.told("TerminateInstances").map(drop)
            }
            "flow log" => {
                ec2.delete_flow_logs().flow_log_ids(id).send().await.told("DeleteFlowLogs").map(drop)
            }
            "VPC endpoint" => {
                let answer = ec2.delete_vpc_endpoints().vpc_endpoint_ids(id).send().await;
                // The call succeeds even if it deletes nothing.
                let answer = answer.told("DeleteVpcEndpoints")?;
                let refused = answer.unsuccessful().first().and_then(|item| item.error());
                let why = refused.and_then(|error| error.message()).unwrap_or_default();
                ensure!(refused.is_none(), "DeleteVpcEndpoints failed: {why}");
                Ok(())
            }
            "NAT gateway" => {
                ec2.delete_nat_gateway().nat_gateway_id(id).send().await.told("DeleteNatGateway").map(drop)
            }
            "VPC peering" => {
                let call = ec2.delete_vpc_peering_connection().vpc_peering_connection_id(id);
                call.send().await.told("DeleteVpcPeeringConnection").map(drop)
            }
            "transit gateway attachment" => {
                let call = ec2.delete_transit_gateway_vpc_attachment().transit_gateway_attachment_id(id);
                call.send().await.told("DeleteTransitGatewayVpcAttachment").map(drop)
            }
            "transit gateway route table" => {
                let call = ec2.delete_transit_gateway_route_table().transit_gateway_route_table_id(id);
                call.send().await.told("DeleteTransitGatewayRouteTable").map(drop)
            }
            "transit gateway" => {
                let call = ec2.delete_transit_gateway().transit_gateway_id(id);
                call.send().await.told("DeleteTransitGateway").map(drop)
            }
            "internet gateway" => self.delete_internet_gateway(id).await,
            "elastic IP" => {
                ec2.release_address().allocation_id(id).send().await.told("ReleaseAddress").map(drop)
            }
            "network interface" => {
                let call = ec2.delete_network_interface().network_interface_id(id);
                call.send().await.told("DeleteNetworkInterface").map(drop)
            }
            "subnet" => ec2.delete_subnet().subnet_id(id).send().await.told("DeleteSubnet").map(drop),
            "route table" => self.delete_route_table(id).await,
            "security group" => self.delete_security_group(id).await,
            "VPC" => ec2.delete_vpc().vpc_id(id).send().await.told("DeleteVpc").map(drop),
            "hosted zone" => self.delete_zone(id).await,
            "resolver rule" => self.delete_rule(id).await,
            "resolver endpoint" => {
                let call = self.resolver.delete_resolver_endpoint().resolver_endpoint_id(id);
                call.send().await.told("DeleteResolverEndpoint").map(drop)
            }
            "ECR repository" => {
                let call = self.ecr.delete_repository().repository_name(id).force(true);
                call.send().await.told("DeleteRepository").map(drop)
            }
            "parameter" => {
                self.ssm.delete_parameter().name(id).send().await.told("DeleteParameter").map(drop)
            }
            "instance profile" => self.delete_profile(id).await,
            "role" => self.delete_role(id).await,
            other => bail!("a {other} cannot be deleted"),
        }
    }

    async fn delete_internet_gateway(&self, id: &str) -> Result<()> {
        let answer = self.ec2.describe_internet_gateways().internet_gateway_ids(id).send().await;
        let answer = answer.told("DescribeInternetGateways")?;
        for attachment in answer.internet_gateways().iter().flat_map(|gateway| gateway.attachments()) {
            if attachment.state() != Some(&AttachmentStatus::Detached) {
                let call = self.ec2.detach_internet_gateway().internet_gateway_id(id);
                let call = call.set_vpc_id(attachment.vpc_id().map(str::to_owned));
                call.send().await.told("DetachInternetGateway")?;
            }
        }
        let call = self.ec2.delete_internet_gateway().internet_gateway_id(id);
        call.send().await.told("DeleteInternetGateway").map(drop)
    }

    /// Deletes a table that no subnet uses any more. The main table of a VPC goes with it.
    async fn delete_route_table(&self, id: &str) -> Result<()> {
        let answer = self.ec2.describe_route_tables().route_table_ids(id).send().await;
        let answer = answer.told("DescribeRouteTables")?;
        let associations = answer.route_tables().iter().flat_map(|table| table.associations());
        for association in associations.filter(|association| association.main() != Some(true)) {
            let call = self.ec2.disassociate_route_table();
            let call = call.set_association_id(association.route_table_association_id().map(str::to_owned));
            call.send().await.told("DisassociateRouteTable")?;
        }
        self.ec2.delete_route_table().route_table_id(id).send().await.told("DeleteRouteTable").map(drop)
    }

    /// Deletes a group. Groups whose rules name each other can only be deleted without these rules.
    async fn delete_security_group(&self, id: &str) -> Result<()> {
        let Err(error) = self.ec2.delete_security_group().group_id(id).send().await else { return Ok(()) };
        if error.code() != Some("DependencyViolation") {
            return Err(error).told("DeleteSecurityGroup");
        }
        let answer = self.ec2.describe_security_groups().group_ids(id).send().await;
        for group in answer.told("DescribeSecurityGroups")?.security_groups() {
            let to_groups = |rules: &[aws_sdk_ec2::types::IpPermission]| {
                let rules = rules.iter().filter(|rule| !rule.user_id_group_pairs().is_empty());
                rules.cloned().collect::<Vec<_>>()
            };
            let (ingress, egress) =
                (to_groups(group.ip_permissions()), to_groups(group.ip_permissions_egress()));
            if !ingress.is_empty() {
                let call = self.ec2.revoke_security_group_ingress().group_id(id);
                call.set_ip_permissions(Some(ingress)).send().await.told("RevokeSecurityGroupIngress")?;
            }
            if !egress.is_empty() {
                let call = self.ec2.revoke_security_group_egress().group_id(id);
                call.set_ip_permissions(Some(egress)).send().await.told("RevokeSecurityGroupEgress")?;
            }
        }
        Err(error).told("DeleteSecurityGroup")
    }

    /// Deletes a zone and its records, but for the two that every zone has.
    async fn delete_zone(&self, id: &str) -> Result<()> {
        let zone = self.route53.get_hosted_zone().id(id).send().await.told("GetHostedZone")?;
        let apex = zone.hosted_zone().map(|zone| zone.name().to_owned()).unwrap_or_default();
        let own =
            |set: &ResourceRecordSet| set.name() == apex && [RrType::Ns, RrType::Soa].contains(set.r#type());
        let mut changes = Vec::new();
        // The first page: the next round deletes the next one.
        let sets = self.route53.list_resource_record_sets().hosted_zone_id(id).send().await;
        for set in sets.told("ListResourceRecordSets")?.resource_record_sets() {
            if !own(set) {
                let change = Change::builder().action(ChangeAction::Delete).resource_record_set(set.clone());
                changes.push(change.build()?);
            }
        }
        if !changes.is_empty() {
            let batch = ChangeBatch::builder().set_changes(Some(changes)).build()?;
            let call = self.route53.change_resource_record_sets().hosted_zone_id(id).change_batch(batch);
            call.send().await.told("ChangeResourceRecordSets")?;
        }
        self.route53.delete_hosted_zone().id(id).send().await.told("DeleteHostedZone").map(drop)
    }

    async fn delete_rule(&self, id: &str) -> Result<()> {
        let filter = ResolverFilter::builder().name("ResolverRuleId").values(id).build();
        let call = self.resolver.list_resolver_rule_associations().filters(filter);
        let mut associations = call.into_paginator().items().send();
        while let Some(association) = associations.next().await {
            let vpc = association.told("ListResolverRuleAssociations")?.vpc_id().map(str::to_owned);
            let call = self.resolver.disassociate_resolver_rule().resolver_rule_id(id).set_vpc_id(vpc);
            call.send().await.told("DisassociateResolverRule")?;
        }
        let call = self.resolver.delete_resolver_rule().resolver_rule_id(id);
        call.send().await.told("DeleteResolverRule").map(drop)
    }

    /// Deletes an instance profile, also one that has no role.
    async fn delete_profile(&self, name: &str) -> Result<()> {
        let iam = &self.iam;
        let answer = iam.get_instance_profile().instance_profile_name(name).send().await;
        let answer = answer.told("GetInstanceProfile")?;
        for role in answer.instance_profile().map(|profile| profile.roles()).unwrap_or_default() {
            let call = iam.remove_role_from_instance_profile().instance_profile_name(name);
            call.role_name(role.role_name()).send().await.told("RemoveRoleFromInstanceProfile")?;
        }
        let call = iam.delete_instance_profile().instance_profile_name(name);
        call.send().await.told("DeleteInstanceProfile").map(drop)
    }

    /// Deletes a role with its inline policies.
    async fn delete_role(&self, name: &str) -> Result<()> {
        let iam = &self.iam;
        let policies = iam.list_role_policies().role_name(name).send().await.told("ListRolePolicies")?;
        for policy in policies.policy_names() {
            let call = iam.delete_role_policy().role_name(name).policy_name(policy);
            call.send().await.told("DeleteRolePolicy")?;
        }
        iam.delete_role().role_name(name).send().await.told("DeleteRole").map(drop)
    }
}

/// The fabric in the tags of an object of EC2.
fn fabric(tags: &[Tag]) -> Option<&str> {
    let tags: BTreeMap<&str, &str> = tags.iter().filter_map(|tag| tag.key().zip(tag.value())).collect();
    tags.get(TAG).copied()
}

/// Errors in prose.
trait Told<T> {
    fn told(self, call: &str) -> Result<T>;
}

impl<T, E, R> Told<T> for Result<T, SdkError<E, R>>
where
    E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    R: std::fmt::Debug + Send + Sync + 'static,
{
    fn told(self, call: &str) -> Result<T> {
        self.map_err(|error| match error.code() {
            Some(code) => anyhow!("{call} failed: {code}: {}", error.message().unwrap_or_default()),
            None => anyhow::Error::from(error).context(format!("{call} failed")),
        })
    }
}
