//! Access Context Manager API calls for perimeters.

use std::collections::BTreeSet;

use google_cloud_identity_accesscontextmanager_v1::model;
use google_cloud_identity_accesscontextmanager_v1::model::service_perimeter::PerimeterType;
use google_cloud_identity_accesscontextmanager_v1::model::service_perimeter_config::{
    ApiOperation, EgressFrom, EgressPolicy, EgressTo, IdentityType, IngressFrom, IngressPolicy,
    IngressSource, IngressTo, MethodSelector, VpcAccessibleServices,
};
use google_cloud_wkt::FieldMask;
use tf_provider_rs::Attr;
use warren_managed::sets::{self, Texts};

use super::schema::{self, Config, Egress, Ingress, Operation, ServicePerimeter};
use crate::common::{Common as _, Located as _};
use crate::error::{ApiError, Failure as _, Named as _};
use crate::operation::Begun;
use crate::session::Gcp;

/// A perimeter as the API returns it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Found {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) description: String,
    pub(super) status: Option<Config>,
    pub(super) spec: Option<Config>,
}

/// Finds the perimeter of this name if an interrupted create of ours left it.
pub(super) async fn find(gcp: &Gcp, planned: &ServicePerimeter) -> Result<Vec<String>, ApiError> {
    let id = planned.place(&gcp.project).unwrap_or_default();
    let Some(found) = ApiError::if_found(call(gcp, &id).await)? else { return Ok(Vec::new()) };
    planned.adoptable(gcp, &found.description, found.perimeter_type == PerimeterType::Regular)
}

/// Starts creating a perimeter and returns its ID.
pub(super) async fn create(
    gcp: &Gcp,
    planned: &ServicePerimeter,
    description: &str,
) -> Result<String, ApiError> {
    let id = planned.place(&gcp.project).unwrap_or_default();
    let body = written(model::ServicePerimeter::new().set_name(&id), planned, description)
        .set_perimeter_type(PerimeterType::Regular);
    let call = gcp.clients.perimeters.create_service_perimeter();
    let call = call.set_parent(schema::policy(planned.access_policy.text())).set_service_perimeter(body);
    let operation = call.send().await.named("servicePerimeters.create")?;
    gcp.began(&id, Begun::in_perimeters("servicePerimeters.create", operation.name));
    Ok(id)
}

/// Starts updating the perimeter if it differs from the plan.
///
/// The request contains the perimeter as it was read, including its etag, which this client keeps among its unknown fields.
/// Google rejects the request if the perimeter has changed in between.
pub(super) async fn update(gcp: &Gcp, id: &str, want: &ServicePerimeter) -> Result<Option<Begun>, ApiError> {
    let have = call(gcp, id).await?;
    let found = told(id, &have)?;
    // An unmarked object, such as an imported perimeter, stays unmarked while its text stays the same.
    let marks = want.marks(gcp)?;
    let marked = found.description == marks || found.description == want.description.text();
    let changed = [
        ("title", found.title != want.title.text()),
        ("description", !marked),
        ("status", found.status != schema::plain(&want.status)),
        ("spec", found.spec != schema::plain(&want.spec)),
        ("use_explicit_dry_run_spec", have.use_explicit_dry_run_spec != is_dry_run(want)),
    ];
    let paths: Vec<&str> =
        changed.into_iter().filter(|(_, changed)| *changed).map(|(name, _)| name).collect();
    if paths.is_empty() {
        return Ok(None);
    }
    let call = gcp.clients.perimeters.update_service_perimeter();
    let call = call.set_service_perimeter(written(have, want, &marks));
    let operation = call
        .set_update_mask(FieldMask::default().set_paths(paths))
        .send()
        .await
        .named("servicePerimeters.patch")?;
    Ok(Some(Begun::in_perimeters("servicePerimeters.patch", operation.name)))
}

/// The perimeter `id`; not found is an error, and so is a bridge, which has no rules of its own.
pub(super) async fn get(gcp: &Gcp, id: &str) -> Result<Found, ApiError> {
    told(id, &call(gcp, id).await?)
}

pub(super) async fn delete(gcp: &Gcp, id: &str) -> Result<Begun, ApiError> {
    let call = gcp.clients.perimeters.delete_service_perimeter().set_name(id);
    let operation = call.send().await.named("servicePerimeters.delete")?;
    Ok(Begun::in_perimeters("servicePerimeters.delete", operation.name))
}

async fn call(gcp: &Gcp, id: &str) -> Result<model::ServicePerimeter, ApiError> {
    if schema::parts(id).is_none() {
        return Err(ApiError::absent("servicePerimeters.get", id));
    }
    let call = gcp.clients.perimeters.get_service_perimeter().set_name(id);
    call.send().await.named("servicePerimeters.get")
}

fn is_dry_run(perimeter: &ServicePerimeter) -> bool {
    schema::plain(&perimeter.spec).is_some()
}

fn written(
    perimeter: model::ServicePerimeter,
    want: &ServicePerimeter,
    description: &str,
) -> model::ServicePerimeter {
    perimeter
        .set_title(want.title.text())
        .set_description(description)
        .set_or_clear_status(schema::plain(&want.status).as_ref().map(config))
        .set_or_clear_spec(schema::plain(&want.spec).as_ref().map(config))
        .set_use_explicit_dry_run_spec(is_dry_run(want))
}

fn config(config: &Config) -> model::ServicePerimeterConfig {
    let services = sets::all_known(&config.vpc_accessible_services);
    let services = services.filter(|_| config.vpc_accessible_services.is_known()).map(|services| {
        VpcAccessibleServices::new().set_enable_restriction(true).set_allowed_services(services)
    });
    model::ServicePerimeterConfig::new()
        .set_resources(sets::known(&config.resources))
        .set_restricted_services(sets::known(&config.restricted_services))
        .set_access_levels(sets::known(&config.access_levels))
        .set_or_clear_vpc_accessible_services(services)
        .set_ingress_policies(config.ingress_policies.known().into_iter().flatten().map(ingress))
        .set_egress_policies(config.egress_policies.known().into_iter().flatten().map(egress))
}

fn ingress(policy: &Ingress) -> IngressPolicy {
    let levels = sets::known(&policy.source_access_levels);
    let levels = levels.into_iter().map(|level| IngressSource::new().set_access_level(level));
    let resources = sets::known(&policy.source_resources);
    let resources = resources.into_iter().map(|resource| IngressSource::new().set_resource(resource));
    let from = IngressFrom::new()
        .set_identity_type(IdentityType::from(
            policy.identity_type.known().map_or(UNSPECIFIED, String::as_str),
        ))
        .set_identities(sets::known(&policy.identities))
        .set_sources(levels.chain(resources));
    let to = IngressTo::new()
        .set_resources(sets::known(&policy.resources))
        .set_operations(operations(&policy.operations));
    IngressPolicy::new().set_ingress_from(from).set_ingress_to(to)
}

fn egress(policy: &Egress) -> EgressPolicy {
    let from = EgressFrom::new()
        .set_identity_type(IdentityType::from(
            policy.identity_type.known().map_or(UNSPECIFIED, String::as_str),
        ))
        .set_identities(sets::known(&policy.identities));
    let to = EgressTo::new()
        .set_resources(sets::known(&policy.resources))
        .set_external_resources(sets::known(&policy.external_resources))
        .set_operations(operations(&policy.operations));
    EgressPolicy::new().set_egress_from(from).set_egress_to(to)
}

fn operations(operations: &Attr<BTreeSet<Operation>>) -> Vec<ApiOperation> {
    let operations = operations.known().into_iter().flatten();
    operations
        .map(|operation| {
            let methods = sets::known(&operation.methods);
            let methods = methods.into_iter().map(|method| MethodSelector::new().set_method(method));
            let permissions = sets::known(&operation.permissions);
            let permissions =
                permissions.into_iter().map(|permission| MethodSelector::new().set_permission(permission));
            ApiOperation::new()
                .set_service_name(operation.service_name.text())
                .set_method_selectors(methods.chain(permissions))
        })
        .collect()
}

const UNSPECIFIED: &str = "IDENTITY_TYPE_UNSPECIFIED";

fn told(id: &str, perimeter: &model::ServicePerimeter) -> Result<Found, ApiError> {
    if perimeter.perimeter_type != PerimeterType::Regular {
        let message = format!("{id} is a perimeter bridge, not a regular perimeter");
        return Err(ApiError::taken("servicePerimeters.get", message));
    }
    let spec = perimeter.spec.as_ref().filter(|_| perimeter.use_explicit_dry_run_spec);
    Ok(Found {
        id: id.to_owned(),
        title: perimeter.title.clone(),
        description: perimeter.description.clone(),
        status: perimeter.status.as_ref().and_then(told_config),
        spec: spec.and_then(told_config),
    })
}

fn told_config(config: &model::ServicePerimeterConfig) -> Option<Config> {
    let services = config.vpc_accessible_services.as_ref().filter(|services| services.enable_restriction);
    let config = Config {
        resources: texts(&config.resources),
        restricted_services: texts(&config.restricted_services),
        access_levels: texts(&config.access_levels),
        vpc_accessible_services: services
            .map(|services| services.allowed_services.iter().cloned().map(Attr::Known).collect())
            .into(),
        ingress_policies: set(config.ingress_policies.iter().map(told_ingress)),
        egress_policies: set(config.egress_policies.iter().map(told_egress)),
    };
    schema::plain(&Attr::Known(config))
}

fn told_ingress(policy: &IngressPolicy) -> Ingress {
    let from = policy.ingress_from.clone().unwrap_or_default();
    let to = policy.ingress_to.clone().unwrap_or_default();
    Ingress {
        identity_type: identity_type(&from.identity_type),
        identities: texts(&from.identities),
        source_access_levels: texts(from.sources.iter().filter_map(|source| source.access_level())),
        source_resources: texts(from.sources.iter().filter_map(|source| source.resource())),
        resources: texts(&to.resources),
        operations: told_operations(&to.operations),
    }
}

fn told_egress(policy: &EgressPolicy) -> Egress {
    let from = policy.egress_from.clone().unwrap_or_default();
    let to = policy.egress_to.clone().unwrap_or_default();
    Egress {
        identity_type: identity_type(&from.identity_type),
        identities: texts(&from.identities),
        resources: texts(&to.resources),
        external_resources: texts(&to.external_resources),
        operations: told_operations(&to.operations),
    }
}

fn told_operations(operations: &[ApiOperation]) -> Attr<BTreeSet<Operation>> {
    set(operations.iter().map(|operation| Operation {
        service_name: operation.service_name.as_str().into(),
        methods: texts(operation.method_selectors.iter().filter_map(|selector| selector.method())),
        permissions: texts(operation.method_selectors.iter().filter_map(|selector| selector.permission())),
    }))
}

fn identity_type(kind: &IdentityType) -> Attr<String> {
    match kind.name() {
        None | Some(UNSPECIFIED) => Attr::Null,
        Some(name) => name.into(),
    }
}

fn texts<'a>(items: impl IntoIterator<Item = &'a String>) -> Texts {
    sets::found(items.into_iter().cloned(), &Attr::Null)
}

fn set<T: Ord>(items: impl Iterator<Item = T>) -> Attr<BTreeSet<T>> {
    let items: BTreeSet<T> = items.collect();
    if items.is_empty() { Attr::Null } else { Attr::Known(items) }
}
