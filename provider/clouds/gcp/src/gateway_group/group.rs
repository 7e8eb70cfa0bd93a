//! API calls for managed instance groups and their VMs.

use google_cloud_compute_v1::model;
use google_cloud_compute_v1::model::instance_group_manager_update_policy as policy;
use google_cloud_compute_v1::model::managed_instance::{CurrentAction, InstanceStatus, TargetStatus};
use google_cloud_gax::options::RequestOptionsBuilder as _;
use tf_provider_rs::Attr;

use super::model::GatewayGroup;
use super::{DEVICE, api, template};
use crate::account::Gcp;
use crate::begun::{Begun, begin};
use crate::common::Located as _;
use crate::error::{ApiError, Failure as _, Named as _, OrMissing as _};
use crate::labels;
use crate::link::{self, AddressRef, Reference as _};

const GET: &str = "instanceGroupManagers.get";
const LIST: &str = "instanceGroupManagers.listManagedInstances";

/// The only network interface of a VM, as per-instance configurations name it.
const INTERFACE: &str = "nic0";

/// A VM that a group manages, whether it exists or not.
#[derive(Clone, Debug)]
pub(super) struct Vm {
    pub(super) name: String,
    /// Its URL.
    url: String,
    /// Whether it runs, and the group has nothing to do with it.
    pub(super) runs: bool,
    /// Whether the group keeps it running.
    is_kept: bool,
    /// Whether the group is creating it.
    comes: bool,
    /// Whether the group is deleting it.
    leaves: bool,
    /// The name of the template that it has, or is getting.
    pub(super) template: Option<String>,
    /// The disk that the group attaches to it.
    disk: Option<String>,
    /// The internal address that the group gives it.
    internal: Option<String>,
    /// The external address that the group gives it.
    pub(super) external: Option<String>,
    /// What the group does with it, or why that failed.
    doing: String,
}

impl Vm {
    /// What the group does with it, or why that failed.
    pub(super) fn shown(&self) -> String {
        format!("{}: {}", self.name, self.doing)
    }

    /// Whether the group keeps it running with the disk and the addresses of a gateway.
    pub(super) fn is_gateway(&self, gcp: &Gcp, group: &GatewayGroup) -> Result<bool, ApiError> {
        let has =
            |have: &Option<String>, want: &str| have.as_deref().is_some_and(|have| link::same(have, want));
        let id = group.object.id()?;
        Ok(self.name == group.object.name()?
            && self.is_kept
            && has(&self.disk, &api::disk_id(id)?)
            && has(&self.internal, &api::address_id(gcp, group)?)
            && has(&self.external, &group.address.value()?.id()))
    }
}

/// The external address that the group gives its VM; as `before` if it has none.
pub(super) fn address(vms: &[Vm], before: &Attr<AddressRef>) -> Attr<AddressRef> {
    let found = vms.first().and_then(|vm| vm.external.as_deref()).map(link::id);
    let Some(found) = found.and_then(|found| found.parse::<AddressRef>().ok()) else { return before.clone() };
    match before.known() {
        Some(before) if before.link() == found.link() => Attr::Known(before.clone()),
        _ => Attr::Known(found),
    }
}

/// Reads the group; not found is an error.
pub(super) async fn fetch(gcp: &Gcp, id: &str) -> Result<model::InstanceGroupManager, ApiError> {
    let (project, zone, name) = link::regional(GET, id)?;
    let call = gcp.clients.groups().await?.get().set_project(project).set_zone(zone);
    call.set_instance_group_manager(name).send().await.named(GET)
}

/// The group; an error if another owner has it.
pub(super) async fn ours(
    gcp: &Gcp,
    group: &GatewayGroup,
) -> Result<Option<model::InstanceGroupManager>, ApiError> {
    let Some(found) = ApiError::if_found(fetch(gcp, group.object.id()?).await)? else { return Ok(None) };
    group.adoptable(gcp, found.description.as_deref(), || Ok(true))?;
    Ok(Some(found))
}

/// Finds the group if we have created it.
pub(super) async fn find(gcp: &Gcp, group: &GatewayGroup) -> Result<Vec<String>, ApiError> {
    let found = ours(gcp, group).await?;
    found.map(|_| Ok(group.object.id()?.to_owned())).into_iter().collect()
}

/// Starts creating the group, without a VM, and returns its ID.
pub(super) async fn create(gcp: &Gcp, group: &GatewayGroup) -> Result<String, ApiError> {
    let id = group.object.id()?;
    let (project, zone, name) = link::regional("instanceGroupManagers.insert", id)?;
    let body = model::InstanceGroupManager::new()
        .set_name(&name)
        .set_description(template::description(gcp, group)?)
        .set_base_instance_name(name)
        .set_instance_template(template::id(gcp, group)?)
        // The VM is created with its configuration.
        .set_target_size(0)
        .set_update_policy(update_policy(true));
    let call = gcp.clients.groups().await?.insert().set_project(project).set_zone(zone).set_body(body);
    gcp.began(id, begin!("instanceGroupManagers.insert", id, call));
    Ok(id.to_owned())
}

/// Starts changing the group if it differs.
pub(super) async fn update(gcp: &Gcp, group: &GatewayGroup) -> Result<Option<Begun>, ApiError> {
    let id = group.object.id()?;
    let (project, zone, name) = link::regional("instanceGroupManagers.patch", id)?;
    let (found, template) = (fetch(gcp, id).await?, template::id(gcp, group)?);
    if is_current(&found, &template) {
        return Ok(None);
    }
    let have = link::last(found.instance_template.as_deref()).unwrap_or_default();
    let recreates = template::recreates(have, &template::name(group)?);
    let body = model::InstanceGroupManager::new()
        .set_fingerprint(found.fingerprint.or_missing(GET, "fingerprint")?)
        .set_instance_template(template)
        .set_update_policy(update_policy(recreates));
    let call = gcp.clients.groups().await?.patch().set_project(project).set_zone(zone);
    let call = call.set_instance_group_manager(name).set_body(body);
    Ok(Some(begin!("instanceGroupManagers.patch", id, call)))
}

/// The group applies another template by itself. A VM with stateful addresses is recreated under its name, and only
/// without a second one beside it (Compute Engine documentation, "Configuring stateful IP addresses in MIGs").
pub(super) fn update_policy(recreates: bool) -> model::InstanceGroupManagerUpdatePolicy {
    let most = |vms| model::FixedOrPercent::new().set_fixed(vms);
    model::InstanceGroupManagerUpdatePolicy::new()
        .set_type("PROACTIVE")
        .set_replacement_method("RECREATE")
        // Labels and network tags are given to a running VM.
        .set_minimal_action(if recreates { "REPLACE" } else { "REFRESH" })
        .set_most_disruptive_allowed_action("REPLACE")
        .set_max_surge(most(0))
        .set_max_unavailable(most(1))
}

/// Whether the group has this template, and replaces VMs as a gateway needs it.
pub(super) fn is_current(found: &model::InstanceGroupManager, template: &str) -> bool {
    let policy = found.update_policy.as_ref();
    let is_proactive = policy.and_then(|policy| policy.r#type.as_ref()).and_then(policy::Type::name);
    let method = policy.and_then(|policy| policy.replacement_method.as_ref());
    found.instance_template.as_deref().is_some_and(|have| link::same(have, template))
        && is_proactive == Some("PROACTIVE")
        && method.and_then(policy::ReplacementMethod::name) == Some("RECREATE")
}

/// The VMs of a group, the one with its name first.
pub(super) async fn vms(gcp: &Gcp, id: &str) -> Result<Vec<Vm>, ApiError> {
    let (project, zone, name) = link::regional(LIST, id)?;
    let call = gcp.clients.groups().await?.list_managed_instances().set_project(project).set_zone(zone);
    let call = call.set_instance_group_manager(&name).with_idempotency(true);
    let found = call.send().await.named(LIST)?.managed_instances;
    let mut found = found.into_iter().map(vm).collect::<Result<Vec<Vm>, ApiError>>()?;
    found.sort_by_key(|vm| vm.name != name);
    Ok(found)
}

fn vm(found: model::ManagedInstance) -> Result<Vm, ApiError> {
    let action = found.current_action.as_ref().and_then(CurrentAction::name).unwrap_or("NONE");
    let status = found.instance_status.as_ref().and_then(InstanceStatus::name);
    let target = found.target_status.as_ref().and_then(TargetStatus::name);
    let failures = found.last_attempt.and_then(|attempt| attempt.errors).map(|errors| errors.errors);
    let failure = failures.into_iter().flatten().find_map(|error| error.message);
    let mut kept = found.preserved_state_from_config.unwrap_or_default();
    let mut of =
        |addresses: fn(&mut model::PreservedState) -> Option<model::PreservedStatePreservedNetworkIp>| {
            addresses(&mut kept).and_then(|kept| kept.ip_address).and_then(|kept| kept.address)
        };
    let internal = of(|kept| kept.internal_i_ps.remove(INTERFACE));
    let external = of(|kept| kept.external_i_ps.remove(INTERFACE));
    let url = found.instance.or_missing(LIST, "managedInstances.instance")?;
    let doing = match (failure, action) {
        (Some(failure), _) => failure,
        (None, "NONE") => status.unwrap_or("no VM").to_owned(),
        (None, action) => action.to_owned(),
    };
    Ok(Vm {
        name: link::last(Some(&url)).unwrap_or_default().to_owned(),
        url,
        runs: action == "NONE" && status == Some("RUNNING"),
        is_kept: matches!(target, None | Some("RUNNING")),
        comes: action == "CREATING",
        leaves: matches!(action, "DELETING" | "ABANDONING"),
        template: found
            .version
            .and_then(|version| Some(link::last(version.instance_template.as_deref())?.to_owned())),
        disk: kept.disks.remove(DEVICE).and_then(|disk| disk.source),
        internal,
        external,
        doing,
    })
}

/// The VMs of the group that are not the gateway.
pub(super) async fn others(gcp: &Gcp, group: &GatewayGroup) -> Result<Vec<Vm>, ApiError> {
    let mut others = Vec::new();
    for vm in vms(gcp, group.object.id()?).await? {
        // Its configuration is shown once it was applied.
        let comes = vm.comes && vm.name == group.object.name()?;
        if vm.leaves || !(comes || vm.is_gateway(gcp, group)?) {
            others.push(vm);
        }
    }
    Ok(others)
}

/// Starts deleting the VMs of the group that are not the gateway, which someone else has caused it to create or changed.
pub(super) async fn dismiss(gcp: &Gcp, group: &GatewayGroup) -> Result<Option<Begun>, ApiError> {
    const DELETE: &str = "instanceGroupManagers.deleteInstances";
    let id = group.object.id()?;
    let others = others(gcp, group).await?;
    let urls: Vec<String> = others.into_iter().filter(|vm| !vm.leaves).map(|vm| vm.url).collect();
    if urls.is_empty() {
        return Ok(None);
    }
    let (project, zone, name) = link::regional(DELETE, id)?;
    let body = model::InstanceGroupManagersDeleteInstancesRequest::new().set_instances(urls);
    let call = gcp.clients.groups().await?.delete_instances().set_project(project).set_zone(zone);
    let call = call.set_instance_group_manager(name).set_body(body);
    Ok(Some(begin!("instanceGroupManagers.deleteInstances", id, call)))
}

/// Whether a VM that the group does not manage has the name of its VM, such as the single VM that the group replaces.
///
/// # Errors
/// The VM belongs to someone else.
pub(super) async fn is_awaited(gcp: &Gcp, group: &GatewayGroup) -> Result<bool, ApiError> {
    const GET: &str = "instances.get";
    let id = group.object.id()?;
    if !vms(gcp, id).await?.is_empty() {
        return Ok(false);
    }
    let (project, zone, name) = link::regional(GET, id)?;
    let call = gcp.clients.instances().await?.get().set_project(project).set_zone(zone).set_instance(name);
    let Some(found) = ApiError::if_found(call.send().await.named(GET))? else { return Ok(false) };
    let labels = found.labels.into_iter().collect();
    labels::adoptable(gcp, group, &labels, || Ok(true)).map(|_| true)
}

/// Starts creating the VM of the group with its disk and addresses, if it has none.
pub(super) async fn start(gcp: &Gcp, group: &GatewayGroup) -> Result<Option<Begun>, ApiError> {
    let id = group.object.id()?;
    if !vms(gcp, id).await?.is_empty() {
        return Ok(None);
    }
    let disk = model::PreservedStatePreservedDisk::new()
        .set_source(api::disk_id(id)?)
        .set_mode("READ_WRITE")
        .set_auto_delete("NEVER");
    let ip = |address: String| {
        let reserved = model::PreservedStatePreservedNetworkIpIpAddress::new().set_address(address);
        let kept = model::PreservedStatePreservedNetworkIp::new().set_ip_address(reserved);
        (INTERFACE, kept.set_auto_delete("NEVER"))
    };
    let kept = model::PreservedState::new()
        .set_disks([(DEVICE, disk)])
        .set_internal_i_ps([ip(api::address_id(gcp, group)?)])
        .set_external_i_ps([ip(group.address.value()?.id())]);
    let vm = model::PerInstanceConfig::new().set_name(group.object.name()?).set_preserved_state(kept);
    let (project, zone, name) = link::regional("instanceGroupManagers.createInstances", id)?;
    let body = model::InstanceGroupManagersCreateInstancesRequest::new().set_instances([vm]);
    let call = gcp.clients.groups().await?.create_instances().set_project(project).set_zone(zone);
    let call = call.set_instance_group_manager(name).set_body(body);
    Ok(Some(begin!("instanceGroupManagers.createInstances", id, call)))
}

/// Starts deleting the group with its VM, but not the disk and the addresses.
pub(super) async fn delete(gcp: &Gcp, id: &str) -> Result<Begun, ApiError> {
    let (project, zone, name) = link::regional("instanceGroupManagers.delete", id)?;
    let call = gcp.clients.groups().await?.delete().set_project(project).set_zone(zone);
    Ok(begin!("instanceGroupManagers.delete", id, call.set_instance_group_manager(name)))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The VM of a gateway, as the API shows it when the group does this with it.
    pub(in super::super) fn vm(gcp: &Gcp, group: &GatewayGroup, doing: &str) -> Vm {
        let id = group.object.id().unwrap();
        let ip = |address: String| {
            let address = model::PreservedStatePreservedNetworkIpIpAddress::new().set_address(address);
            [(INTERFACE, model::PreservedStatePreservedNetworkIp::new().set_ip_address(address))]
        };
        let disk = model::PreservedStatePreservedDisk::new().set_source(api::disk_id(id).unwrap());
        let kept = model::PreservedState::new()
            .set_disks([(DEVICE, disk)])
            .set_internal_i_ps(ip(api::address_id(gcp, group).unwrap()))
            .set_external_i_ps(ip(group.address.value().unwrap().id()));
        let url = id.replace("instanceGroupManagers", "instances");
        let template = template::id(gcp, group).unwrap();
        let found = model::ManagedInstance::new()
            .set_instance(format!("https://www.googleapis.com/compute/v1/{url}"))
            .set_preserved_state_from_config(kept)
            .set_version(model::ManagedInstanceVersion::new().set_instance_template(template));
        super::vm(match doing {
            "RUNNING" => found.set_current_action("NONE").set_instance_status("RUNNING"),
            "STOPPED" => found.set_current_action("NONE").set_target_status("STOPPED"),
            doing => found.set_current_action(doing).set_target_status("RUNNING"),
        })
        .unwrap()
    }
}
