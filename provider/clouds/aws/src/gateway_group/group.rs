//! Auto Scaling API calls.

use aws_config::retry::RetryConfig;
use aws_sdk_autoscaling::types::{AutoScalingGroup, LaunchTemplateSpecification, Tag};

use super::template::Template;
use crate::error::{ApiError, Named, OrMissing};
use crate::session::Aws;
use crate::tags::{self, Tags};

const DESCRIBE: &str = "DescribeAutoScalingGroups";
/// The type of resource in tags.
const KIND: &str = "auto-scaling-group";
/// Time after which an instance whose status checks fail is replaced, in seconds.
const GRACE: i32 = 300;

/// The Auto Scaling group of a gateway.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// ID and version of its launch template.
    pub(super) template: Option<(String, i64)>,
    /// Its instance, if it has one.
    pub(super) instance: Option<Instance>,
    pub(super) tags: Tags,
}

/// The instance of a group.
#[derive(Clone, Debug)]
pub(super) struct Instance {
    pub(super) id: String,
    /// Such as `InService`.
    pub(super) state: String,
    /// The version of the launch template that it was started with.
    pub(super) version: Option<i64>,
}

/// The group with this name; an error if another owner has it.
pub(super) async fn find(aws: &Aws, name: &str) -> Result<Option<Group>, ApiError> {
    let call = aws.autoscaling().describe_auto_scaling_groups().auto_scaling_group_names(name);
    let found = call.send().await.named(DESCRIBE)?.auto_scaling_groups.into_iter().flatten().next();
    let Some(group) = found.map(group).transpose()? else { return Ok(None) };
    if aws.owns(&group.tags, name) {
        return Ok(Some(group));
    }
    let what = format!("the Auto Scaling group {name}");
    Err(tags::taken("CreateAutoScalingGroup", "AlreadyExists", &what, &group.tags))
}

/// As [`find`]; an error if it does not exist.
pub(super) async fn ours(aws: &Aws, name: &str) -> Result<Group, ApiError> {
    find(aws, name).await?.ok_or_else(|| ApiError::absent(DESCRIBE, name))
}

fn group(found: AutoScalingGroup) -> Result<Group, ApiError> {
    let version = |template: Option<LaunchTemplateSpecification>| {
        let template = template?;
        Some((template.launch_template_id?, template.version?.parse().ok()?))
    };
    let instance = found.instances.into_iter().flatten().next();
    let instance = instance
        .map(|instance| {
            Ok::<_, ApiError>(Instance {
                id: instance.instance_id.or_missing(DESCRIBE, "InstanceId")?,
                state: instance.lifecycle_state.or_missing(DESCRIBE, "LifecycleState")?.as_str().to_owned(),
                version: version(instance.launch_template).map(|(_, version)| version),
            })
        })
        .transpose()?;
    let tags = found.tags.into_iter().flatten();
    Ok(Group {
        template: version(found.launch_template),
        instance,
        tags: tags.filter_map(|tag| Some((tag.key?, tag.value.unwrap_or_default()))).collect(),
    })
}

/// Creates the group. Its name is its identity: a repeat of the SDK after a lost answer would meet `AlreadyExists`.
pub(super) async fn create(
    aws: &Aws,
    name: &str,
    zone: &str,
    template: &Template,
    tags: &Tags,
) -> Result<(), ApiError> {
    let call = aws
        .autoscaling()
        .create_auto_scaling_group()
        .auto_scaling_group_name(name)
        .min_size(1)
        .max_size(1)
        .desired_capacity(1)
        .availability_zones(zone)
        .launch_template(specification(template))
        .health_check_type("EC2")
        .health_check_grace_period(GRACE)
        .set_tags(Some(to_sdk(name, tags)))
        .customize()
        .config_override(aws_sdk_autoscaling::Config::builder().retry_config(RetryConfig::disabled()));
    call.send().await.named("CreateAutoScalingGroup").map(drop)
}

pub(super) async fn update(aws: &Aws, name: &str, template: &Template) -> Result<(), ApiError> {
    let call = aws.autoscaling().update_auto_scaling_group().auto_scaling_group_name(name);
    let call = call.launch_template(specification(template));
    call.send().await.named("UpdateAutoScalingGroup").map(drop)
}

/// Reconciles the tags of the group, which the instances that it starts later have too.
pub(super) async fn retag(aws: &Aws, name: &str, have: &Tags, want: &Tags) -> Result<(), ApiError> {
    let (set, unset) = tags::difference(have, want);
    if !set.is_empty() {
        let call = aws.autoscaling().create_or_update_tags().set_tags(Some(to_sdk(name, &set)));
        call.send().await.named("CreateOrUpdateTags")?;
    }
    if !unset.is_empty() {
        let gone: Tags = unset.into_iter().map(|key| (key, String::new())).collect();
        let call = aws.autoscaling().delete_tags().set_tags(Some(to_sdk(name, &gone)));
        call.send().await.named("DeleteTags")?;
    }
    Ok(())
}

/// Terminates an instance, which the group then replaces.
pub(super) async fn replace(aws: &Aws, instance: &str) -> Result<(), ApiError> {
    let call = aws.autoscaling().terminate_instance_in_auto_scaling_group().instance_id(instance);
    let call = call.should_decrement_desired_capacity(false);
    call.send().await.named("TerminateInstanceInAutoScalingGroup").map(drop)
}

/// Deletes the group and terminates its instance.
pub(super) async fn delete(aws: &Aws, name: &str) -> Result<(), ApiError> {
    let call = aws.autoscaling().delete_auto_scaling_group().auto_scaling_group_name(name).force_delete(true);
    call.send().await.named("DeleteAutoScalingGroup").map(drop)
}

/// What the group is doing, or why it could not start an instance.
pub(super) async fn activity(aws: &Aws, name: &str) -> Result<String, ApiError> {
    let call = aws.autoscaling().describe_scaling_activities().auto_scaling_group_name(name).max_records(1);
    let activities = call.send().await.named("DescribeScalingActivities")?.activities;
    let last = activities.into_iter().flatten().next();
    let told = last.and_then(|activity| activity.status_message.or(activity.description));
    Ok(told.unwrap_or_else(|| "starting an instance".to_owned()))
}

fn specification(template: &Template) -> LaunchTemplateSpecification {
    LaunchTemplateSpecification::builder()
        .launch_template_id(&template.id)
        .version(template.version.to_string())
        .build()
}

fn to_sdk(name: &str, tags: &Tags) -> Vec<Tag> {
    let tag = |(key, value)| {
        Tag::builder()
            .resource_id(name)
            .resource_type(KIND)
            .key(key)
            .value(value)
            .propagate_at_launch(true)
            .build()
    };
    tags.iter().map(tag).collect()
}
