//! EC2 API calls for instances.

use std::collections::BTreeSet;

use aws_sdk_ec2::types::{
    AttributeBooleanValue, BlockDeviceMapping, EbsBlockDevice, HttpTokensState,
    IamInstanceProfileSpecification, Instance, InstanceAttributeName, InstanceMetadataEndpointState,
    InstanceMetadataOptionsRequest, InstanceType, ResourceType, VolumeType,
};
use aws_smithy_types::base64;

use super::schema::{Gateway, digest};
use crate::client;
use crate::error::{ApiError, Named};
use crate::session::Aws;
use crate::tags::{self, Tags, filter};

/// Tag with the digest of the boot script. It distinguishes a gateway of an interrupted run from one with
/// another script.
const BOOTS: &str = "warren:boots";

/// Name of the root disk if the image does not report one.
const ROOT_DEVICE: &str = "/dev/xvda";

/// An instance as returned by DescribeInstances.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) id: String,
    pub(super) image_id: String,
    pub(super) instance_type: String,
    pub(super) subnet_id: String,
    pub(super) groups: BTreeSet<String>,
    pub(super) instance_profile_arn: Option<String>,
    pub(super) private_ip: Option<String>,
    pub(super) network_interface_id: Option<String>,
    pub(super) source_dest_check: bool,
    pub(super) metadata_tokens: String,
    /// The address that it has from `allocation_id`.
    pub(super) public_ip: Option<String>,
    pub(super) allocation_id: Option<String>,
    pub(super) user_data: Option<String>,
    pub(super) state: String,
    pub(super) reason: Option<String>,
    pub(super) tags: Tags,
}

impl Found {
    /// Whether it exists or is being created.
    pub(super) fn is_living(&self) -> bool {
        !matches!(self.state.as_str(), "shutting-down" | "terminated")
    }
}

/// The tags without the digest, which is not part of the plan.
pub(super) fn without_digest(tags: &Tags) -> Tags {
    tags.iter().filter(|(key, _)| *key != BOOTS).map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// IDs of the live gateways of this fabric and owner with the planned name, subnet, image, type and script.
pub(super) async fn find(aws: &Aws, planned: &Gateway) -> Result<Vec<String>, ApiError> {
    let mut filters = aws.filters(planned.name.text());
    filters.push(filter("subnet-id", planned.subnet_id.text()));
    filters.push(filter("image-id", planned.image_id.text()));
    filters.push(filter("instance-type", planned.instance_type.text()));
    filters.push(filter(&format!("tag:{BOOTS}"), &digest(planned.user_data.text())));
    let call = aws.ec2().describe_instances().set_filters(Some(filters));
    let mut pages = call.into_paginator().items().send();
    let mut ids = Vec::new();
    while let Some(reservation) = pages.next().await {
        let instances = reservation.named("DescribeInstances")?.instances.unwrap_or_default();
        let living = instances.into_iter().map(found).filter(Found::is_living);
        ids.extend(living.map(|found| found.id));
    }
    Ok(ids)
}

/// Runs an instance and returns its ID.
pub(super) async fn run(aws: &Aws, planned: &Gateway, tags: &Tags) -> Result<String, ApiError> {
    let root = root_device(aws, planned.image_id.text()).await?;
    let disk = EbsBlockDevice::builder()
        .encrypted(true)
        .set_kms_key_id(planned.kms_key_id.known().cloned())
        .volume_type(VolumeType::Gp3)
        .set_volume_size(planned.disk_gib.known().and_then(|size| i32::try_from(*size).ok()))
        .delete_on_termination(true)
        .build();
    let metadata = InstanceMetadataOptionsRequest::builder()
        .http_endpoint(InstanceMetadataEndpointState::Enabled)
        .http_tokens(HttpTokensState::Required)
        .http_put_response_hop_limit(1)
        .build();
    let mut own = tags.clone();
    own.insert(BOOTS.to_owned(), digest(planned.user_data.text()));
    let groups = warren_managed::sets::known(&planned.security_group_ids);
    let made = aws
        .ec2()
        .run_instances()
        .min_count(1)
        .max_count(1)
        .image_id(planned.image_id.text())
        .instance_type(InstanceType::from(planned.instance_type.text()))
        .subnet_id(planned.subnet_id.text())
        .set_private_ip_address(planned.private_ip.known().cloned())
        .set_security_group_ids(Some(groups.into_iter().collect()))
        .iam_instance_profile(
            IamInstanceProfileSpecification::builder().arn(planned.instance_profile_arn.text()).build(),
        )
        .metadata_options(metadata)
        .block_device_mappings(BlockDeviceMapping::builder().device_name(root).ebs(disk).build())
        .user_data(base64::encode(planned.user_data.text()))
        .tag_specifications(tags::specification(ResourceType::Instance, &own))
        .tag_specifications(tags::specification(ResourceType::Volume, tags))
        .tag_specifications(tags::specification(ResourceType::NetworkInterface, tags))
        .customize()
        .config_override(client::once())
        .send()
        .await
        .named("RunInstances")?;
    let instance = made.instances.unwrap_or_default().into_iter().next();
    Ok(instance.and_then(|instance| instance.instance_id).unwrap_or_default())
}

/// The name of the root disk of the image, to configure its encryption.
async fn root_device(aws: &Aws, image: &str) -> Result<String, ApiError> {
    let answer = aws.ec2().describe_images().image_ids(image).send().await.named("DescribeImages")?;
    let image = answer.images.unwrap_or_default().into_iter().next();
    Ok(image.and_then(|image| image.root_device_name).unwrap_or_else(|| ROOT_DEVICE.to_owned()))
}

/// The instance `id` with its address, even if it is terminated; an error if it does not exist.
pub(super) async fn get(aws: &Aws, id: &str) -> Result<Found, ApiError> {
    let answer = aws.ec2().describe_instances().instance_ids(id).send().await.named("DescribeInstances")?;
    let instances = answer.reservations.unwrap_or_default().into_iter();
    let instance = instances.flat_map(|reservation| reservation.instances.unwrap_or_default()).next();
    let mut found = instance.map(found).ok_or_else(|| ApiError::absent("DescribeInstances", id))?;
    let call = aws.ec2().describe_addresses().filters(filter("instance-id", id));
    let addresses = call.send().await.named("DescribeAddresses")?.addresses.unwrap_or_default();
    if let Some(address) = addresses.into_iter().next() {
        found.public_ip = address.public_ip;
        found.allocation_id = address.allocation_id;
    }
    Ok(found)
}

fn found(instance: Instance) -> Found {
    let interface = instance.network_interfaces.unwrap_or_default().into_iter().next();
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    Found {
        id: instance.instance_id.unwrap_or_default(),
        image_id: instance.image_id.unwrap_or_default(),
        instance_type: text(instance.instance_type.as_ref().map(InstanceType::as_str)),
        subnet_id: instance.subnet_id.unwrap_or_default(),
        groups: instance
            .security_groups
            .unwrap_or_default()
            .into_iter()
            .filter_map(|group| group.group_id)
            .collect(),
        instance_profile_arn: instance.iam_instance_profile.and_then(|profile| profile.arn),
        private_ip: instance.private_ip_address,
        network_interface_id: interface.and_then(|interface| interface.network_interface_id),
        source_dest_check: instance.source_dest_check.unwrap_or(true),
        metadata_tokens: text(
            instance
                .metadata_options
                .as_ref()
                .and_then(|options| options.http_tokens.as_ref())
                .map(HttpTokensState::as_str),
        ),
        public_ip: None,
        allocation_id: None,
        user_data: None,
        state: text(instance.state.as_ref().and_then(|state| state.name.as_ref()).map(|name| name.as_str())),
        reason: instance.state_reason.and_then(|reason| reason.message),
        tags: tags::from_sdk(instance.tags.as_deref().unwrap_or_default()),
    }
}

/// The script that the instance boots with.
pub(super) async fn user_data(aws: &Aws, id: &str) -> Result<Option<String>, ApiError> {
    let call =
        aws.ec2().describe_instance_attribute().instance_id(id).attribute(InstanceAttributeName::UserData);
    let encoded = call.send().await.named("DescribeInstanceAttribute")?.user_data.and_then(|data| data.value);
    let decoded = encoded.and_then(|text| base64::decode(text).ok());
    Ok(decoded.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
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

pub(super) async fn set_groups(aws: &Aws, id: &str, groups: &BTreeSet<String>) -> Result<(), ApiError> {
    let call = aws.ec2().modify_instance_attribute().instance_id(id);
    let call = call.set_groups(Some(groups.iter().cloned().collect()));
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
