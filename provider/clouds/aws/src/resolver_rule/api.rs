//! Route 53 Resolver API calls for rules and their associations.

use std::collections::BTreeMap;

use aws_sdk_route53resolver::types::{
    Filter, ResolverRule, ResolverRuleAssociation, ResolverRuleAssociationStatus as Association,
    ResolverRuleConfig, ResolverRuleStatus as Status, RuleTypeOption, TargetAddress,
};
use tf_provider_rs::Attr;
use warren_managed::{Failure, sets};

use super::model::{Rule, Target};
use crate::error::{ApiError, Named, OrMissing, Parsed};
use crate::ids::VpcId;
use crate::resolver::{Listed, id_if_ours, once, read_tags, shown, to_sdk};
use crate::route53::{absolute, same_name, spelled};
use crate::session::Aws;
use crate::tags::{self, Tags};

const GET: &str = "GetResolverRule";
const LIST: &str = "ListResolverRules";
const ASSOCIATIONS: &str = "ListResolverRuleAssociations";

/// IDs of the living rules of this fabric and owner with the planned name, domain and type.
pub(super) async fn find(aws: &Aws, planned: &Rule) -> Result<Vec<String>, ApiError> {
    let (name, domain) = (planned.object.name()?, planned.domain_name.value()?);
    let kind = planned.rule_type.value()?.as_str();
    let mut pages = aws.resolver().list_resolver_rules().into_paginator().items().send();
    let mut ids = Vec::new();
    while let Some(rule) = pages.next().await {
        let rule = rule.named(LIST)?;
        let same = rule.domain_name.as_deref().is_some_and(|found| same_name(found, domain))
            && rule.rule_type.as_ref().is_some_and(|found| found.as_str() == kind)
            && rule.status != Some(Status::Deleting);
        let listed = Listed { token: rule.creator_request_id, arn: rule.arn, id: rule.id };
        if same {
            ids.extend(id_if_ours(aws, name, LIST, listed).await?);
        }
    }
    Ok(ids)
}

fn targets(planned: &Rule) -> Option<Vec<TargetAddress>> {
    let target = |target: &Target| {
        let port = target.port.known().copied();
        TargetAddress::builder().set_ip(target.ip.known().map(ToString::to_string)).set_port(port).build()
    };
    Some(planned.target_ips.known()?.iter().map(target).collect())
}

/// Creates a rule and returns its ID. AWS refuses a second one with the same reference.
pub(super) async fn create(aws: &Aws, planned: &Rule, tags: &Tags) -> Result<String, ApiError> {
    const OPERATION: &str = "CreateResolverRule";
    let made = aws
        .resolver()
        .create_resolver_rule()
        .creator_request_id(aws.reference(planned.object.name()?))
        .name(shown(planned.object.name()?))
        .domain_name(absolute(planned.domain_name.value()?).trim_end_matches('.').to_owned() + root(planned))
        .rule_type(RuleTypeOption::from(planned.rule_type.value()?.as_str()))
        .set_resolver_endpoint_id(planned.resolver_endpoint_id.known().map(ToString::to_string))
        .set_target_ips(targets(planned))
        .set_tags(Some(to_sdk(tags)?))
        .customize()
        .config_override(once())
        .send()
        .await
        .named(OPERATION)?;
    made.resolver_rule.and_then(|rule| rule.id).or_missing(OPERATION, "ResolverRule.Id")
}

/// The root has no other name.
fn root(planned: &Rule) -> &'static str {
    if planned.domain_name.as_deref() == Some(".") { "." } else { "" }
}

/// A rule as it is now, with what no attribute shows.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) state: Rule,
    pub(super) status: Status,
    /// What AWS says about the status.
    pub(super) message: String,
    /// Its name in consoles.
    pub(super) shown: Option<String>,
    pub(super) associations: BTreeMap<VpcId, ResolverRuleAssociation>,
}

/// The rule of `before`, also if it is being deleted; an error if it does not exist.
pub(super) async fn get(aws: &Aws, before: &Rule) -> Result<Found, ApiError> {
    let id = before.object.id()?;
    let answer = aws.resolver().get_resolver_rule().resolver_rule_id(id).send().await.named(GET)?;
    let rule = answer.resolver_rule.or_missing(GET, "ResolverRule")?;
    let tags = match &rule.status {
        Some(Status::Deleting) => tags::known(&before.object.tags_all),
        _ => read_tags(aws, rule.arn.as_deref().or_missing(GET, "Arn")?).await?,
    };
    found(aws, rule, associations(aws, id).await?, &tags, before)
}

/// The associations of a rule by VPC, also those that are being deleted.
pub(super) async fn associations(
    aws: &Aws,
    id: &str,
) -> Result<BTreeMap<VpcId, ResolverRuleAssociation>, ApiError> {
    let filter = Filter::builder().name("ResolverRuleId").values(id).build();
    let call = aws.resolver().list_resolver_rule_associations().filters(filter);
    let mut pages = call.into_paginator().items().send();
    let mut found = BTreeMap::new();
    while let Some(association) = pages.next().await {
        let association = association.named(ASSOCIATIONS)?;
        found.insert(association.vpc_id.clone().parsed(ASSOCIATIONS, "VPCId")?, association);
    }
    Ok(found)
}

pub(super) fn found(
    aws: &Aws,
    found: ResolverRule,
    associations: BTreeMap<VpcId, ResolverRuleAssociation>,
    tags: &Tags,
    before: &Rule,
) -> Result<Found, ApiError> {
    let id = found.id.or_missing(GET, "Id")?;
    let domain = found.domain_name.or_missing(GET, "DomainName")?;
    let kind = found.rule_type.map(|kind| kind.as_str().to_owned());
    let mut targets = Vec::new();
    for target in found.target_ips.into_iter().flatten() {
        let ip = target.ip.or(target.ipv6).parsed(GET, "TargetIps.Ip")?;
        targets.push(Target { ip: Attr::Known(ip), port: target.port.unwrap_or(53).into() });
    }
    let living = associations.iter().filter(|(_, one)| one.status != Some(Association::Deleting));
    let living: Vec<VpcId> = living.map(|(vpc, _)| vpc.clone()).collect();
    let vpc_ids = match sets::all_known(&before.vpc_ids).filter(|_| before.vpc_ids.is_known()) {
        Some(listed) => sets::of(living.into_iter().filter(|vpc| listed.contains(vpc))),
        // After an import, all.
        None => sets::found(living.into_iter().filter(|_| before.domain_name.is_null()), &Attr::Null),
    };
    let state = Rule {
        object: before.object.found(aws, &id, tags),
        domain_name: match domain.as_str() {
            "." => domain.into(),
            domain => spelled(domain, &before.domain_name),
        },
        rule_type: Attr::Known(kind.parsed(GET, "RuleType")?),
        resolver_endpoint_id: found.resolver_endpoint_id.parsed_if_set(GET, "ResolverEndpointId")?.into(),
        target_ips: (!targets.is_empty()).then(|| targets.into_iter().collect()).into(),
        vpc_ids,
        owner_id: found.owner_id.parsed_if_set(GET, "OwnerId")?.into(),
        arn: Attr::Known(found.arn.or_missing(GET, "Arn")?),
        leaving: before.leaving.clone(),
    };
    Ok(Found {
        state,
        status: found.status.or_missing(GET, "Status")?,
        message: found.status_message.unwrap_or_default(),
        shown: found.name,
        associations,
    })
}

/// Updates name, targets and endpoint. Without differences it calls nothing.
pub(super) async fn modify(aws: &Aws, have: &Found, want: &Rule) -> Result<(), ApiError> {
    let name = shown(want.object.name()?);
    let settings = |of: &Rule| (of.resolver_endpoint_id.clone(), of.target_ips.clone());
    if have.shown.as_deref() == Some(name.as_str()) && settings(&have.state) == settings(want) {
        return Ok(());
    }
    let config = ResolverRuleConfig::builder()
        .name(name)
        .set_resolver_endpoint_id(want.resolver_endpoint_id.known().map(ToString::to_string))
        .set_target_ips(targets(want));
    let call =
        aws.resolver().update_resolver_rule().resolver_rule_id(want.object.id()?).config(config.build());
    call.send().await.named("UpdateResolverRule").map(drop)
}

/// Requests an association. Repeating this after a lost response is refused (`ResourceExistsException`), so it does not
/// repeat itself.
pub(super) async fn associate(aws: &Aws, id: &str, vpc: &VpcId) -> Result<(), ApiError> {
    let call = aws.resolver().associate_resolver_rule().resolver_rule_id(id).vpc_id(&**vpc);
    call.customize().config_override(once()).send().await.named("AssociateResolverRule").map(drop)
}

/// Requests the end of an association. One that does not exist is a success.
pub(super) async fn disassociate(aws: &Aws, id: &str, vpc: &VpcId) -> Result<(), ApiError> {
    let call = aws.resolver().disassociate_resolver_rule().resolver_rule_id(id).vpc_id(&**vpc);
    ApiError::unless_gone(call.send().await.named("DisassociateResolverRule").map(drop))
}

pub(super) async fn delete(aws: &Aws, id: &str) -> Result<(), ApiError> {
    aws.resolver()
        .delete_resolver_rule()
        .resolver_rule_id(id)
        .send()
        .await
        .named("DeleteResolverRule")
        .map(drop)
}
