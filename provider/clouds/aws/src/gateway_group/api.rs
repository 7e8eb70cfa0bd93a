//! EC2 API calls for the network interface and the volume.

use aws_sdk_ec2::types::{AttributeBooleanValue, ResourceType, VolumeState, VolumeType};
use tf_provider_rs::Attr;
use warren_managed::sets::{self, Set};

use super::model::{GatewayGroup, INCOMPLETE, RUNNING};
use super::{group, template};
use crate::error::{ApiError, Named, OrMissing, Parsed};
use crate::ids::{self, AllocationId, NetworkInterfaceId, SecurityGroupId, SubnetId, VolumeId};
use crate::session::Aws;
use crate::tags::{self, Tags, filter};

const DESCRIBE: &str = "DescribeNetworkInterfaces";

/// The network interface with its address.
#[derive(Clone, Debug)]
pub(super) struct Interface {
    pub(super) id: Attr<NetworkInterfaceId>,
    pub(super) zone: String,
    pub(super) subnet: SubnetId,
    pub(super) private_ip: Attr<std::net::Ipv4Addr>,
    pub(super) security_group_ids: Set<SecurityGroupId>,
    /// Whether AWS drops traffic that is not for the interface itself.
    pub(super) source_dest_check: bool,
    pub(super) allocation_id: Attr<AllocationId>,
    pub(super) public_ip: Attr<std::net::Ipv4Addr>,
    pub(super) tags: Tags,
}

/// The volume with the leases.
#[derive(Clone, Debug)]
pub(super) struct Volume {
    pub(super) id: VolumeId,
    /// Whether it is attached or can be.
    pub(super) is_ready: bool,
    pub(super) tags: Tags,
}

/// IDs of the interfaces of this fabric and owner with the planned name and subnet.
pub(super) async fn find(aws: &Aws, planned: &GatewayGroup) -> Result<Vec<String>, ApiError> {
    let mut filters = aws.filters(planned.object.name()?);
    filters.push(filter("subnet-id", planned.subnet_id.value()?));
    filters.push(filter("description", DESCRIPTION));
    let call = aws.ec2().describe_network_interfaces().set_filters(Some(filters));
    let found = call.send().await.named(DESCRIBE)?.network_interfaces.into_iter().flatten();
    found.map(|interface| interface.network_interface_id.or_missing(DESCRIBE, "NetworkInterfaceId")).collect()
}

/// Distinguishes the interface from those that instances bring along.
const DESCRIPTION: &str = "Warren gateway";

/// Creates the interface and returns its ID.
pub(super) async fn create_interface(
    aws: &Aws,
    planned: &GatewayGroup,
    tags: &Tags,
) -> Result<String, ApiError> {
    const OPERATION: &str = "CreateNetworkInterface";
    let made = aws
        .ec2()
        .create_network_interface()
        .subnet_id(planned.subnet_id.value()?.as_str())
        .description(DESCRIPTION)
        .set_private_ip_address(planned.private_ip.known().map(ToString::to_string))
        .set_groups(Some(ids::texts(sets::known(&planned.security_group_ids))))
        .tag_specifications(tags::specification(ResourceType::NetworkInterface, tags))
        .send()
        .await
        .named(OPERATION)?;
    let id = made.network_interface.and_then(|interface| interface.network_interface_id);
    id.or_missing(OPERATION, "NetworkInterfaceId")
}

/// The interface; an error if it does not exist.
pub(super) async fn interface(aws: &Aws, id: &str) -> Result<Interface, ApiError> {
    let answer = aws.ec2().describe_network_interfaces().network_interface_ids(id).send().await;
    let found = answer.named(DESCRIBE)?.network_interfaces.into_iter().flatten().next();
    let found = found.ok_or_else(|| ApiError::absent(DESCRIBE, id))?;
    let call = aws.ec2().describe_addresses().filters(filter("network-interface-id", id));
    let address = call.send().await.named("DescribeAddresses")?.addresses.into_iter().flatten().next();
    let (public_ip, allocation_id) = address.map(|it| (it.public_ip, it.allocation_id)).unwrap_or_default();
    let groups = found.groups.into_iter().flatten().map(|group| group.group_id);
    Ok(Interface {
        id: found.network_interface_id.parsed_if_set(DESCRIBE, "NetworkInterfaceId")?.into(),
        zone: found.availability_zone.or_missing(DESCRIBE, "AvailabilityZone")?,
        subnet: found.subnet_id.parsed(DESCRIBE, "SubnetId")?,
        private_ip: found.private_ip_address.parsed_if_set(DESCRIBE, "PrivateIpAddress")?.into(),
        security_group_ids: sets::of(ids::all(groups, DESCRIBE, "Groups.GroupId")?),
        source_dest_check: found.source_dest_check != Some(false),
        allocation_id: allocation_id.parsed_if_set("DescribeAddresses", "AllocationId")?.into(),
        public_ip: public_ip.parsed_if_set("DescribeAddresses", "PublicIp")?.into(),
        tags: tags::from_sdk(&found.tag_set.unwrap_or_default()),
    })
}

/// The gateway group as it is now; an error if its interface does not exist.
pub(super) async fn get(aws: &Aws, before: &GatewayGroup) -> Result<GatewayGroup, ApiError> {
    let interface = interface(aws, before.object.id()?).await?;
    let name = tags::name(&interface.tags);
    let name = name.value()?;
    let (volume, template) = (volume(aws, name).await?, template::find(aws, name).await?);
    let group = group::find(aws, name).await?;
    Ok(state(aws, (interface, volume, template, group), before))
}

pub(super) fn state(
    aws: &Aws,
    (interface, volume, template, group): (
        Interface,
        Option<Volume>,
        Option<template::Template>,
        Option<group::Group>,
    ),
    before: &GatewayGroup,
) -> GatewayGroup {
    let data = template.as_ref().and_then(|template| template.data.clone());
    let current = template.as_ref().zip(group.as_ref()).is_some_and(|(template, group)| {
        let same = group.template == Some((template.id.clone(), template.version));
        same && group.instance.as_ref().is_none_or(|instance| instance.version == Some(template.version))
    });
    let is_whole = current && volume.is_some() && !interface.source_dest_check;
    let id = interface.id.known().map(ToString::to_string).unwrap_or_default();
    let mut state = GatewayGroup {
        object: before.object.found(aws, &id, &interface.tags),
        subnet_id: Attr::Known(interface.subnet),
        private_ip: interface.private_ip,
        security_group_ids: interface.security_group_ids,
        allocation_id: interface.allocation_id,
        public_ip: interface.public_ip,
        network_interface_id: interface.id,
        // Kept while the volume is missing, so that only the apply that creates another one changes the script.
        volume_id: volume.map_or_else(|| before.volume_id.clone(), |volume| Attr::Known(volume.id)),
        state: if is_whole { RUNNING } else { INCOMPLETE }.into(),
        ..before.clone()
    };
    if let Some(data) = data {
        if let Some(image) = data.image_id.and_then(|image| image.parse().ok()) {
            state.image_id = Attr::Known(image);
        }
        if let Some(kind) = data.instance_type {
            state.instance_type = kind.as_str().into();
        }
        if let Some(arn) = data.iam_instance_profile.and_then(|profile| profile.arn) {
            state.instance_profile_arn = arn.into();
        }
        let script = data.user_data.and_then(|text| aws_smithy_types::base64::decode(text).ok());
        if let Some(script) = script {
            state.user_data = String::from_utf8_lossy(&script).into_owned().into();
        }
        state.key_name = data.key_name.into();
    }
    state
}

/// Turns off the source/destination check, so that the instance can forward traffic.
pub(super) async fn forward(aws: &Aws, id: &str) -> Result<(), ApiError> {
    let off = AttributeBooleanValue::builder().value(false).build();
    let call = aws.ec2().modify_network_interface_attribute().network_interface_id(id).source_dest_check(off);
    call.send().await.named("ModifyNetworkInterfaceAttribute").map(drop)
}

pub(super) async fn set_groups(aws: &Aws, id: &str, groups: &Set<SecurityGroupId>) -> Result<(), ApiError> {
    let call = aws.ec2().modify_network_interface_attribute().network_interface_id(id);
    let call = call.set_groups(Some(ids::texts(sets::known(groups))));
    call.send().await.named("ModifyNetworkInterfaceAttribute").map(drop)
}

/// Associates the address with the interface, even if another object uses it.
pub(super) async fn associate(aws: &Aws, id: &str, address: &Attr<AllocationId>) -> Result<(), ApiError> {
    let call = aws.ec2().associate_address().network_interface_id(id).allow_reassociation(true);
    call.allocation_id(address.value()?.as_str()).send().await.named("AssociateAddress").map(drop)
}

/// Deletes the interface; an error if it does not exist.
pub(super) async fn delete_interface(aws: &Aws, id: &str) -> Result<(), ApiError> {
    let call = aws.ec2().delete_network_interface().network_interface_id(id);
    call.send().await.named("DeleteNetworkInterface").map(drop)
}

/// The volume of the gateway, if there is one.
pub(super) async fn volume(aws: &Aws, name: &str) -> Result<Option<Volume>, ApiError> {
    const DESCRIBE: &str = "DescribeVolumes";
    let mut filters = aws.filters(name);
    filters.push(filter(&format!("tag:{}", tags::PART_OF), PART));
    let call = aws.ec2().describe_volumes().set_filters(Some(filters));
    let mut found = call.send().await.named(DESCRIBE)?.volumes.into_iter().flatten();
    let living = found.find(|volume| {
        !matches!(volume.state, Some(VolumeState::Deleting | VolumeState::Deleted | VolumeState::Error))
    });
    living
        .map(|volume| {
            Ok(Volume {
                tags: own(tags::from_sdk(volume.tags())),
                id: volume.volume_id.parsed(DESCRIBE, "VolumeId")?,
                is_ready: matches!(volume.state, Some(VolumeState::Available | VolumeState::InUse)),
            })
        })
        .transpose()
}

/// The value of the tag that distinguishes the volume from root disks.
const PART: &str = "warren_aws_gateway_group";

/// The tags without the one that only the volume has.
fn own(mut tags: Tags) -> Tags {
    tags.remove(tags::PART_OF);
    tags
}

pub(super) async fn create_volume(aws: &Aws, zone: &str, tags: &Tags) -> Result<(), ApiError> {
    let mut own = tags.clone();
    own.insert(tags::PART_OF.to_owned(), PART.to_owned());
    let call = aws
        .ec2()
        .create_volume()
        .availability_zone(zone)
        .size(1)
        .volume_type(VolumeType::Gp3)
        .encrypted(true)
        .tag_specifications(tags::specification(ResourceType::Volume, &own));
    call.send().await.named("CreateVolume").map(drop)
}

pub(super) async fn delete_volume(aws: &Aws, id: &VolumeId) -> Result<(), ApiError> {
    aws.ec2().delete_volume().volume_id(id.as_str()).send().await.named("DeleteVolume").map(drop)
}

/// The tags of an instance; an error if it does not exist.
pub(super) async fn instance_tags(aws: &Aws, id: &str) -> Result<Tags, ApiError> {
    const DESCRIBE: &str = "DescribeInstances";
    let answer = aws.ec2().describe_instances().instance_ids(id).send().await.named(DESCRIBE)?;
    let instances = answer.reservations.into_iter().flatten();
    let found = instances.flat_map(|reservation| reservation.instances.unwrap_or_default()).next();
    Ok(tags::from_sdk(found.ok_or_else(|| ApiError::absent(DESCRIBE, id))?.tags()))
}
