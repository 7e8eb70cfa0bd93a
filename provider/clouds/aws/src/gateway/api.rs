//! EC2 API calls for instances.

use aws_sdk_ec2::types::{
    Address, ArchitectureValues, AttributeBooleanValue, BlockDeviceMapping, EbsBlockDevice, HttpTokensState,
    IamInstanceProfileSpecification, Image, Instance, InstanceAttributeName, InstanceMetadataEndpointState,
    InstanceMetadataOptionsRequest, InstanceType, ResourceType, VolumeType,
};
use aws_smithy_types::base64;

use sha2::{Digest as _, Sha256};
use tf_provider_rs::Attr;

use super::model::Gateway;
use crate::error::{ApiError, Named, OrMissing, Parsed};
use crate::ids::{self, SecurityGroupId};
use crate::session::Aws;
use crate::tags::{self, Tags, filter};
use warren_gateways::architecture::Architecture;
use warren_managed::sets::{self, Set};

const DESCRIBE: &str = "DescribeInstances";
const ID: &str = "InstanceId";

/// Tag with the digest of the boot script. It distinguishes a gateway of an interrupted run from one with
/// another script.
const BOOTS: &str = "warren:boots";

/// Name of the root disk if the image does not report one.
const ROOT_DEVICE: &str = "/dev/xvda";

/// A gateway as it is now, with what no attribute shows.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) state: Gateway,
    /// State of the instance as AWS reports it.
    pub(super) status: String,
    /// Why it has this state.
    pub(super) reason: Option<String>,
    /// Whether AWS drops traffic that is not for the instance itself.
    pub(super) source_dest_check: bool,
    /// Whether the metadata service requires IMDSv2.
    pub(super) requires_tokens: bool,
}

impl Found {
    /// Whether it exists or is being created.
    pub(super) fn is_living(&self) -> bool {
        is_living(&self.status)
    }
}

fn is_living(state: &str) -> bool {
    !matches!(state, "shutting-down" | "terminated")
}

/// The value of the tag for a boot script: half of its SHA-256 digest in hexadecimal.
fn digest(script: &str) -> String {
    Sha256::digest(script).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// IDs of the live gateways of this fabric and owner with the planned name, subnet, image, type and script.
pub(super) async fn find(aws: &Aws, planned: &Gateway) -> Result<Vec<String>, ApiError> {
    let mut filters = aws.filters(planned.object.name()?);
    filters.push(filter("subnet-id", planned.subnet_id.value()?));
    filters.push(filter("image-id", planned.image_id.value()?));
    filters.push(filter("instance-type", planned.instance_type.value()?));
    filters.push(filter(&format!("tag:{BOOTS}"), &digest(planned.user_data.value()?)));
    let call = aws.ec2().describe_instances().set_filters(Some(filters));
    let mut pages = call.into_paginator().items().send();
    let mut ids = Vec::new();
    while let Some(reservation) = pages.next().await {
        for instance in reservation.named(DESCRIBE)?.instances.into_iter().flatten() {
            if is_living(state_of(&instance)?) {
                ids.push(instance.instance_id.or_missing(DESCRIBE, ID)?);
            }
        }
    }
    Ok(ids)
}

fn state_of(instance: &Instance) -> Result<&str, ApiError> {
    let state = instance.state().and_then(|state| state.name());
    Ok(state.or_missing(DESCRIBE, "State.Name")?.as_str())
}

/// Runs an instance and returns its ID.
pub(super) async fn run(aws: &Aws, planned: &Gateway, tags: &Tags) -> Result<String, ApiError> {
    const OPERATION: &str = "RunInstances";
    let image = planned.image_id.value()?.as_str();
    let script = planned.user_data.value()?;
    let root = root_device(aws, image).await?;
    let disk = EbsBlockDevice::builder()
        .encrypted(true)
        .set_kms_key_id(planned.kms_key_id.known().cloned())
        .volume_type(VolumeType::Gp3)
        .set_volume_size(planned.disk_gib.known().copied().map(i32::from))
        .delete_on_termination(true)
        .build();
    let metadata = InstanceMetadataOptionsRequest::builder()
        .http_endpoint(InstanceMetadataEndpointState::Enabled)
        .http_tokens(HttpTokensState::Required)
        .http_put_response_hop_limit(1)
        .build();
    let mut own = tags.clone();
    own.insert(BOOTS.to_owned(), digest(script));
    let groups = ids::texts(sets::known(&planned.security_group_ids));
    let made = aws
        .ec2()
        .run_instances()
        .min_count(1)
        .max_count(1)
        .image_id(image)
        .instance_type(InstanceType::from(planned.instance_type.value()?.as_str()))
        .subnet_id(planned.subnet_id.value()?.as_str())
        .set_private_ip_address(planned.private_ip.known().map(ToString::to_string))
        .set_security_group_ids(Some(groups))
        .iam_instance_profile(
            IamInstanceProfileSpecification::builder().arn(planned.instance_profile_arn.value()?).build(),
        )
        .set_key_name(planned.key_name.known().cloned())
        .metadata_options(metadata)
        .block_device_mappings(BlockDeviceMapping::builder().device_name(root).ebs(disk).build())
        .user_data(base64::encode(script))
        .tag_specifications(tags::specification(ResourceType::Instance, &own))
        .tag_specifications(tags::specification(ResourceType::Volume, tags))
        .tag_specifications(tags::specification(ResourceType::NetworkInterface, tags))
        .send()
        .await
        .named(OPERATION)?;
    let instance = made.instances.into_iter().flatten().next().or_missing(OPERATION, "Instances")?;
    instance.instance_id.or_missing(OPERATION, ID)
}

/// The CPU architecture of the image, if the binary exists for it.
pub(super) async fn architecture(aws: &Aws, image: &str) -> Result<Option<Architecture>, ApiError> {
    let image = describe_image(aws, image).await?;
    Ok(match image.and_then(|image| image.architecture) {
        Some(ArchitectureValues::Arm64) => Some(Architecture::Arm),
        Some(ArchitectureValues::X8664) => Some(Architecture::X86),
        _ => None,
    })
}

async fn describe_image(aws: &Aws, id: &str) -> Result<Option<Image>, ApiError> {
    let answer = aws.ec2().describe_images().image_ids(id).send().await.named("DescribeImages")?;
    Ok(answer.images.unwrap_or_default().into_iter().next())
}

/// The name of the root disk of the image, to configure its encryption.
pub(crate) async fn root_device(aws: &Aws, image: &str) -> Result<String, ApiError> {
    let image = describe_image(aws, image).await?;
    Ok(image.and_then(|image| image.root_device_name).unwrap_or_else(|| ROOT_DEVICE.to_owned()))
}

/// The gateway of `before` as it is now, even if it is terminated; an error if it does not exist.
pub(super) async fn get(aws: &Aws, before: &Gateway) -> Result<Found, ApiError> {
    let id = before.object.id()?;
    let answer = aws.ec2().describe_instances().instance_ids(id).send().await.named(DESCRIBE)?;
    let instances = answer.reservations.into_iter().flatten();
    let instance = instances.flat_map(|reservation| reservation.instances.unwrap_or_default()).next();
    let call = aws.ec2().describe_addresses().filters(filter("instance-id", id));
    let addresses = call.send().await.named("DescribeAddresses")?.addresses;
    let address = addresses.into_iter().flatten().next();
    found(aws, instance.ok_or_else(|| ApiError::absent(DESCRIBE, id))?, address, before)
}

/// The state of the instance that was found with its elastic address, based on `before`.
pub(super) fn found(
    aws: &Aws,
    found: Instance,
    address: Option<Address>,
    before: &Gateway,
) -> Result<Found, ApiError> {
    let instance = state_of(&found)?.to_owned();
    let source_dest_check = found.source_dest_check != Some(false);
    let tokens = found.metadata_options().and_then(|options| options.http_tokens());
    let requires_tokens = tokens == Some(&HttpTokensState::Required);
    // Appears as drift, so that the next apply corrects it.
    let wrong = instance == "running" && (source_dest_check || !requires_tokens);
    let mut tags = tags::from_sdk(found.tags());
    // Not part of the plan.
    tags.remove(BOOTS);
    let groups = found.security_groups.into_iter().flatten().map(|group| group.group_id);
    let interface = found.network_interfaces.into_iter().flatten().next();
    let interface = interface.and_then(|interface| interface.network_interface_id);
    let id = found.instance_id.or_missing(DESCRIBE, ID)?;
    let (public_ip, allocation_id) = address.map(|it| (it.public_ip, it.allocation_id)).unwrap_or_default();
    let state = Gateway {
        object: before.object.found(aws, &id, &tags),
        image_id: Attr::Known(found.image_id.parsed(DESCRIBE, "ImageId")?),
        instance_type: found.instance_type.or_missing(DESCRIBE, "InstanceType")?.as_str().into(),
        // A terminated instance is in no subnet and has no interface.
        subnet_id: found.subnet_id.parsed_if_set(DESCRIBE, "SubnetId")?.into(),
        private_ip: found.private_ip_address.parsed_if_set(DESCRIBE, "PrivateIpAddress")?.into(),
        network_interface_id: interface.parsed_if_set(DESCRIBE, "NetworkInterfaceId")?.into(),
        security_group_ids: sets::of(ids::all(groups, DESCRIBE, "SecurityGroups.GroupId")?),
        key_name: found.key_name.into(),
        instance_profile_arn: found.iam_instance_profile.and_then(|profile| profile.arn).into(),
        allocation_id: allocation_id.parsed_if_set("DescribeAddresses", "AllocationId")?.into(),
        public_ip: public_ip.parsed_if_set("DescribeAddresses", "PublicIp")?.into(),
        state: if wrong { "misconfigured" } else { instance.as_str() }.into(),
        ..before.clone()
    };
    let reason = found.state_reason.and_then(|reason| reason.message);
    Ok(Found { state, status: instance, reason, source_dest_check, requires_tokens })
}

/// The script that the instance boots with.
pub(super) async fn user_data(aws: &Aws, id: &str) -> Result<Attr<String>, ApiError> {
    let call =
        aws.ec2().describe_instance_attribute().instance_id(id).attribute(InstanceAttributeName::UserData);
    let encoded = call.send().await.named("DescribeInstanceAttribute")?.user_data.and_then(|data| data.value);
    let decoded = encoded.and_then(|text| base64::decode(text).ok());
    Ok(decoded.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).into())
}

pub(super) async fn start(aws: &Aws, id: &str) -> Result<(), ApiError> {
    aws.ec2().start_instances().instance_ids(id).send().await.named("StartInstances").map(drop)
}

/// Turns off the source/destination check, so that the instance can forward traffic.
pub(super) async fn forward(aws: &Aws, id: &str) -> Result<(), ApiError> {
    let off = AttributeBooleanValue::builder().value(false).build();
    let call = aws.ec2().modify_instance_attribute().instance_id(id).source_dest_check(off);
    call.send().await.named("ModifyInstanceAttribute").map(drop)
}

pub(super) async fn require_tokens(aws: &Aws, id: &str) -> Result<(), ApiError> {
    let call = aws
        .ec2()
        .modify_instance_metadata_options()
        .instance_id(id)
        .http_tokens(HttpTokensState::Required)
        .http_put_response_hop_limit(1);
    call.send().await.named("ModifyInstanceMetadataOptions").map(drop)
}

pub(super) async fn set_groups(aws: &Aws, id: &str, groups: &Set<SecurityGroupId>) -> Result<(), ApiError> {
    let call = aws.ec2().modify_instance_attribute().instance_id(id);
    let call = call.set_groups(Some(ids::texts(sets::known(groups))));
    call.send().await.named("ModifyInstanceAttribute").map(drop)
}

/// Associates the address with this instance, even if another one uses it: a replacement takes over.
pub(super) async fn associate(aws: &Aws, id: &str, address: &str) -> Result<(), ApiError> {
    let call = aws.ec2().associate_address().instance_id(id).allocation_id(address).allow_reassociation(true);
    call.send().await.named("AssociateAddress").map(drop)
}

/// Terminates the instance; an error if it does not exist.
pub(super) async fn terminate(aws: &Aws, id: &str) -> Result<(), ApiError> {
    aws.ec2().terminate_instances().instance_ids(id).send().await.named("TerminateInstances").map(drop)
}
