//! RunPod: the private networks of clusters.

use super::resource::Resource;
use super::role::Role;
use super::{Context, Reader};
use warren_model::Excluded;

pub(super) const READERS: &[(Role, Reader)] = &[("runpod.cluster", cluster)];

/// RunPod chooses the range and isolates the networks of clusters from each other, so two of them may have the same one.
/// The pods of a cluster cannot reach a network with these addresses.
fn cluster(context: &mut Context<'_>, resource: &Resource<'_>) {
    const RANGE: &str = "network_cidr";
    if let Ok(Some(block)) = context.block(resource, &resource.values, RANGE, RANGE) {
        let (name, owner) = (resource.address.clone(), context.owner.to_owned());
        context.model.excluded.push(Excluded { name, owner, network: None, block });
    }
}
