//! Conversion of a perimeter's configuration to that of the API and back.

use std::collections::BTreeSet;

use google_cloud_identity_accesscontextmanager_v1::model;
use google_cloud_identity_accesscontextmanager_v1::model::service_perimeter_config::{
    self as sdk, ApiOperation, EgressFrom, EgressPolicy, EgressTo, IngressFrom, IngressPolicy, IngressSource,
    IngressTo, MethodSelector, VpcAccessibleServices,
};
use tf_provider_rs::Attr;
use warren_managed::sets::{self, Texts};

use super::model::{Config, Egress, IdentityType, Ingress, Operation};
use crate::error::{ApiError, OrMissing as _, Parsed as _};

/// How the API writes that a policy admits callers by name.
const UNSPECIFIED: &str = "IDENTITY_TYPE_UNSPECIFIED";

/// The configuration for the API.
pub(super) fn written(config: &Config) -> Result<model::ServicePerimeterConfig, ApiError> {
    let services = sets::all_known(&config.vpc_accessible_services);
    let services = services.filter(|_| config.vpc_accessible_services.is_known()).map(|services| {
        VpcAccessibleServices::new().set_enable_restriction(true).set_allowed_services(services)
    });
    let ingress = config.ingress_policies.known().into_iter().flatten().map(ingress);
    let egress = config.egress_policies.known().into_iter().flatten().map(egress);
    Ok(model::ServicePerimeterConfig::new()
        .set_resources(sets::known(&config.resources))
        .set_restricted_services(sets::known(&config.restricted_services))
        .set_access_levels(sets::known(&config.access_levels))
        .set_or_clear_vpc_accessible_services(services)
        .set_ingress_policies(ingress.collect::<Result<Vec<_>, _>>()?)
        .set_egress_policies(egress.collect::<Result<Vec<_>, _>>()?))
}

/// The configuration `found` with the planned settings, and the policies of `found` that get lost if others take their place. A
/// policy that stays keeps what the resource does not know of it. Policies have no identity: a changed one is another one.
pub(super) fn over(
    call: &'static str,
    found: &model::ServicePerimeterConfig,
    config: &Config,
) -> Result<(model::ServicePerimeterConfig, model::ServicePerimeterConfig), ApiError> {
    let new = written(config)?;
    let services = new.vpc_accessible_services.map(|services| {
        let before = found.vpc_accessible_services.clone().unwrap_or_default();
        before.set_enable_restriction(true).set_allowed_services(services.allowed_services)
    });
    let known = |policy: &IngressPolicy| read_ingress(call, policy);
    let (ingress, lost_ingress) = merged(&found.ingress_policies, new.ingress_policies, known, ingress)?;
    let known = |policy: &EgressPolicy| read_egress(call, policy);
    let (egress, lost_egress) = merged(&found.egress_policies, new.egress_policies, known, egress)?;
    let lost = model::ServicePerimeterConfig::new()
        .set_ingress_policies(lost_ingress)
        .set_egress_policies(lost_egress);
    let merged = found
        .clone()
        .set_resources(new.resources)
        .set_restricted_services(new.restricted_services)
        .set_access_levels(new.access_levels)
        .set_or_clear_vpc_accessible_services(services)
        .set_ingress_policies(ingress)
        .set_egress_policies(egress);
    Ok((merged, lost))
}

/// The policies `new`, as they were `found` if they are known as the same; and those that were found, without what is not known
/// of them unless another policy may have taken their place.
fn merged<P: Clone, K: PartialEq>(
    found: &[P],
    new: Vec<P>,
    known: impl Fn(&P) -> Result<K, ApiError>,
    written: impl Fn(&K) -> Result<P, ApiError>,
) -> Result<(Vec<P>, Vec<P>), ApiError> {
    let keys = found.iter().map(&known).collect::<Result<Vec<K>, _>>()?;
    let mut kept = vec![false; found.len()];
    let mut added = false;
    let mut merged = Vec::new();
    for policy in new {
        let key = known(&policy)?;
        match keys.iter().position(|other| *other == key) {
            Some(at) => {
                kept[at] = true;
                merged.push(found[at].clone());
            }
            None => {
                added = true;
                merged.push(policy);
            }
        }
    }
    let left = found.iter().zip(&keys).zip(kept);
    let left =
        left.map(|((policy, key), kept)| if kept || !added { written(key) } else { Ok(policy.clone()) });
    Ok((merged, left.collect::<Result<_, _>>()?))
}

fn ingress(policy: &Ingress) -> Result<IngressPolicy, ApiError> {
    let levels = sets::known(&policy.source_access_levels);
    let levels = levels.into_iter().map(|level| IngressSource::new().set_access_level(level));
    let resources = sets::known(&policy.source_resources);
    let resources = resources.into_iter().map(|resource| IngressSource::new().set_resource(resource));
    let from = IngressFrom::new()
        .set_identity_type(sdk::IdentityType::from(
            policy.identity_type.known().map_or(UNSPECIFIED, IdentityType::as_str),
        ))
        .set_identities(sets::known(&policy.identities))
        .set_sources(levels.chain(resources));
    let to = IngressTo::new()
        .set_resources(sets::known(&policy.resources))
        .set_operations(operations(&policy.operations)?);
    Ok(IngressPolicy::new().set_ingress_from(from).set_ingress_to(to))
}

fn egress(policy: &Egress) -> Result<EgressPolicy, ApiError> {
    let from = EgressFrom::new()
        .set_identity_type(sdk::IdentityType::from(
            policy.identity_type.known().map_or(UNSPECIFIED, IdentityType::as_str),
        ))
        .set_identities(sets::known(&policy.identities));
    let to = EgressTo::new()
        .set_resources(sets::known(&policy.resources))
        .set_external_resources(sets::known(&policy.external_resources))
        .set_operations(operations(&policy.operations)?);
    Ok(EgressPolicy::new().set_egress_from(from).set_egress_to(to))
}

fn operations(operations: &Attr<BTreeSet<Operation>>) -> Result<Vec<ApiOperation>, ApiError> {
    let operations = operations.known().into_iter().flatten();
    operations
        .map(|operation| {
            let methods = sets::known(&operation.methods);
            let methods = methods.into_iter().map(|method| MethodSelector::new().set_method(method));
            let permissions = sets::known(&operation.permissions);
            let permissions =
                permissions.into_iter().map(|permission| MethodSelector::new().set_permission(permission));
            Ok(ApiOperation::new()
                .set_service_name(operation.service_name.value()?)
                .set_method_selectors(methods.chain(permissions)))
        })
        .collect()
}

/// The configuration of the API; `None` if it is empty.
pub(super) fn read(
    call: &'static str,
    config: &model::ServicePerimeterConfig,
) -> Result<Option<Config>, ApiError> {
    let services = config.vpc_accessible_services.as_ref().filter(|services| services.enable_restriction);
    let config = Config {
        resources: texts(&config.resources),
        restricted_services: texts(&config.restricted_services),
        access_levels: texts(&config.access_levels),
        vpc_accessible_services: services
            .map(|services| services.allowed_services.iter().cloned().map(Attr::Known).collect())
            .into(),
        ingress_policies: set(config.ingress_policies.iter().map(|policy| read_ingress(call, policy)))?,
        egress_policies: set(config.egress_policies.iter().map(|policy| read_egress(call, policy)))?,
    };
    Ok(normal(&Attr::Known(config)))
}

fn read_ingress(call: &'static str, policy: &IngressPolicy) -> Result<Ingress, ApiError> {
    let from = policy.ingress_from.as_ref().or_missing(call, "ingressPolicies.ingressFrom")?;
    let to = policy.ingress_to.as_ref().or_missing(call, "ingressPolicies.ingressTo")?;
    Ok(Ingress {
        identity_type: identity_type(call, &from.identity_type)?,
        identities: texts(&from.identities),
        source_access_levels: texts(from.sources.iter().filter_map(|source| source.access_level())),
        source_resources: texts(from.sources.iter().filter_map(|source| source.resource())),
        resources: texts(&to.resources),
        operations: read_operations(call, &to.operations)?,
    })
}

fn read_egress(call: &'static str, policy: &EgressPolicy) -> Result<Egress, ApiError> {
    let from = policy.egress_from.as_ref().or_missing(call, "egressPolicies.egressFrom")?;
    let to = policy.egress_to.as_ref().or_missing(call, "egressPolicies.egressTo")?;
    Ok(Egress {
        identity_type: identity_type(call, &from.identity_type)?,
        identities: texts(&from.identities),
        resources: texts(&to.resources),
        external_resources: texts(&to.external_resources),
        operations: read_operations(call, &to.operations)?,
    })
}

fn read_operations(
    call: &'static str,
    operations: &[ApiOperation],
) -> Result<Attr<BTreeSet<Operation>>, ApiError> {
    set(operations.iter().map(|operation| {
        let selectors = || operation.method_selectors.iter();
        Ok(Operation {
            service_name: operation.service_name.clone().or_missing(call, "operations.serviceName")?.into(),
            methods: texts(selectors().filter_map(|selector| selector.method())),
            permissions: texts(selectors().filter_map(|selector| selector.permission())),
        })
    }))
}

fn identity_type(call: &'static str, found: &sdk::IdentityType) -> Result<Attr<IdentityType>, ApiError> {
    let named = found.name().filter(|name| *name != UNSPECIFIED);
    Ok(named.parsed_if_set(call, "identityType")?.into())
}

fn texts<'a>(items: impl IntoIterator<Item = &'a String>) -> Texts {
    sets::found(items.into_iter().cloned(), &Attr::Null)
}

fn set<T: Ord>(items: impl Iterator<Item = Result<T, ApiError>>) -> Result<Attr<BTreeSet<T>>, ApiError> {
    let items: BTreeSet<T> = items.collect::<Result<_, _>>()?;
    Ok(if items.is_empty() { Attr::Null } else { Attr::Known(items) })
}

/// The configuration as it was written, if it means the same as what was found.
pub(super) fn kept(before: &Attr<Config>, found: Option<Config>) -> Attr<Config> {
    if !before.is_unknown() && normal(before) == found { before.clone() } else { found.into() }
}

/// A configuration as the API returns it: empty sets are null, and so is a configuration without sets. The exception is
/// `vpc_accessible_services`, where an empty set permits no API.
pub(super) fn normal(config: &Attr<Config>) -> Option<Config> {
    let config = config.known()?;
    let normal = Config {
        resources: some(&config.resources),
        restricted_services: some(&config.restricted_services),
        access_levels: some(&config.access_levels),
        vpc_accessible_services: config.vpc_accessible_services.clone(),
        ingress_policies: all(&config.ingress_policies, |policy| Ingress {
            identity_type: policy.identity_type,
            identities: some(&policy.identities),
            source_access_levels: some(&policy.source_access_levels),
            source_resources: some(&policy.source_resources),
            resources: some(&policy.resources),
            operations: all(&policy.operations, operation),
        }),
        egress_policies: all(&config.egress_policies, |policy| Egress {
            identity_type: policy.identity_type,
            identities: some(&policy.identities),
            resources: some(&policy.resources),
            external_resources: some(&policy.external_resources),
            operations: all(&policy.operations, operation),
        }),
    };
    (normal != Config::default()).then_some(normal)
}

fn operation(operation: &Operation) -> Operation {
    Operation {
        service_name: operation.service_name.clone(),
        methods: some(&operation.methods),
        permissions: some(&operation.permissions),
    }
}

fn some(set: &Texts) -> Texts {
    if sets::is_empty(set) { Attr::Null } else { set.clone() }
}

fn all<T: Ord>(set: &Attr<BTreeSet<T>>, normal: impl Fn(&T) -> T) -> Attr<BTreeSet<T>> {
    match set.known() {
        Some(items) if !items.is_empty() => Attr::Known(items.iter().map(normal).collect()),
        _ => Attr::Null,
    }
}
