//! EC2 API calls for the launch template.

use aws_sdk_ec2::types::{
    InstanceType, LaunchTemplateBlockDeviceMappingRequest, LaunchTemplateEbsBlockDeviceRequest,
    LaunchTemplateHttpTokensState, LaunchTemplateIamInstanceProfileSpecificationRequest,
    LaunchTemplateInstanceMetadataEndpointState, LaunchTemplateInstanceMetadataOptionsRequest,
    LaunchTemplateInstanceNetworkInterfaceSpecificationRequest, RequestLaunchTemplateData, ResourceType,
    ResponseLaunchTemplateData, VolumeType,
};
use aws_smithy_types::base64;
use sha2::{Digest as _, Sha256};
use tf_provider_rs::NotKnown;

use super::model::GatewayGroup;
use crate::error::{ApiError, Named, OrMissing};
use crate::gateway::root_device;
use crate::session::Aws;
use crate::tags::{self, Tags};

/// Before the digest in the description of a version.
const DESCRIPTION: &str = "warren ";

/// A launch template with its latest version.
#[derive(Clone, Debug)]
pub(super) struct Template {
    pub(super) id: String,
    pub(super) version: i64,
    /// The digest of the gateway that the latest version is for.
    pub(super) digest: Option<String>,
    pub(super) data: Option<ResponseLaunchTemplateData>,
}

/// The digest of everything that a version contains.
///
/// # Errors
/// A value is not known yet.
pub(super) fn digest(group: &GatewayGroup) -> Result<String, NotKnown> {
    let parts = [
        group.image_id.value()?.as_str(),
        group.instance_type.value()?,
        group.instance_profile_arn.value()?,
        &group.disk_gib.value()?.to_string(),
        group.key_name.known().map_or("", String::as_str),
        group.network_interface_id.value()?.as_str(),
        group.user_data.value()?,
    ];
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
        hash.update([0]);
    }
    Ok(hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect())
}

/// The launch template of the gateway, if there is one.
pub(super) async fn find(aws: &Aws, name: &str) -> Result<Option<Template>, ApiError> {
    const DESCRIBE: &str = "DescribeLaunchTemplates";
    const VERSIONS: &str = "DescribeLaunchTemplateVersions";
    let call = aws.ec2().describe_launch_templates().set_filters(Some(aws.filters(name)));
    let found = call.send().await.named(DESCRIBE)?.launch_templates.into_iter().flatten().next();
    let Some(found) = found else { return Ok(None) };
    let id = found.launch_template_id.or_missing(DESCRIBE, "LaunchTemplateId")?;
    let call = aws.ec2().describe_launch_template_versions().launch_template_id(&id).versions("$Latest");
    let versions = call.send().await.named(VERSIONS)?.launch_template_versions;
    let version = versions.into_iter().flatten().next().or_missing(VERSIONS, "LaunchTemplateVersions")?;
    let digest = version.version_description.as_deref().and_then(|text| text.strip_prefix(DESCRIPTION));
    Ok(Some(Template {
        id,
        version: version.version_number.or_missing(VERSIONS, "VersionNumber")?,
        digest: digest.map(str::to_owned),
        data: version.launch_template_data,
    }))
}

/// Creates the template, or its next version.
pub(super) async fn write(aws: &Aws, group: &GatewayGroup, tags: &Tags) -> Result<(), ApiError> {
    let name = group.object.name()?;
    let description = format!("{DESCRIPTION}{}", digest(group)?);
    let data = data(aws, group).await?;
    if let Some(have) = find(aws, name).await? {
        let call = aws.ec2().create_launch_template_version().launch_template_id(have.id);
        let call = call.version_description(description).launch_template_data(data);
        return call.send().await.named("CreateLaunchTemplateVersion").map(drop);
    }
    let call = aws
        .ec2()
        .create_launch_template()
        .launch_template_name(name)
        .version_description(description)
        .launch_template_data(data)
        .tag_specifications(tags::specification(ResourceType::LaunchTemplate, tags));
    call.send().await.named("CreateLaunchTemplate").map(drop)
}

pub(super) async fn delete(aws: &Aws, id: &str) -> Result<(), ApiError> {
    let call = aws.ec2().delete_launch_template().launch_template_id(id);
    call.send().await.named("DeleteLaunchTemplate").map(drop)
}

/// An existing interface as the only one is what a group in one zone can start with (Auto Scaling API reference,
/// "CreateAutoScalingGroup", `AvailabilityZones`).
async fn data(aws: &Aws, group: &GatewayGroup) -> Result<RequestLaunchTemplateData, ApiError> {
    let image = group.image_id.value()?.as_str();
    let interface = LaunchTemplateInstanceNetworkInterfaceSpecificationRequest::builder()
        .device_index(0)
        .network_interface_id(group.network_interface_id.value()?.as_str())
        .delete_on_termination(false)
        .build();
    let disk = LaunchTemplateEbsBlockDeviceRequest::builder()
        .encrypted(true)
        .volume_type(VolumeType::Gp3)
        .set_volume_size(group.disk_gib.known().copied().map(i32::from))
        .delete_on_termination(true)
        .build();
    let disk = LaunchTemplateBlockDeviceMappingRequest::builder()
        .device_name(root_device(aws, image).await?)
        .ebs(disk)
        .build();
    let metadata = LaunchTemplateInstanceMetadataOptionsRequest::builder()
        .http_endpoint(LaunchTemplateInstanceMetadataEndpointState::Enabled)
        .http_tokens(LaunchTemplateHttpTokensState::Required)
        .http_put_response_hop_limit(1)
        .build();
    let profile = LaunchTemplateIamInstanceProfileSpecificationRequest::builder()
        .arn(group.instance_profile_arn.value()?)
        .build();
    Ok(RequestLaunchTemplateData::builder()
        .image_id(image)
        .instance_type(InstanceType::from(group.instance_type.value()?.as_str()))
        .iam_instance_profile(profile)
        .network_interfaces(interface)
        .block_device_mappings(disk)
        .metadata_options(metadata)
        .set_key_name(group.key_name.known().cloned())
        .user_data(base64::encode(group.user_data.value()?))
        .build())
}
