//! Deletes of what is still in use. The emulator deletes and leaves dangling references.

use super::{Context, Verdict, dependency, living};
use crate::front::reply::Rejection;
use crate::xml::Element;

/// Interfaces, gateways, endpoints and attachments have addresses in the subnet.
pub(super) async fn subnet(context: &Context<'_>) -> Verdict {
    let id = context.get("SubnetId");
    let interfaces =
        context.filtered("DescribeNetworkInterfaces", "networkInterfaceSet", "subnet-id", id).await;
    let used = !interfaces.is_empty()
        || named_by(
            context,
            &["DescribeNatGateways", "DescribeVpcEndpoints", "DescribeTransitGatewayVpcAttachments"],
            id,
        )
        .await
        || context.held_by(id).is_some();
    if used {
        return Err(dependency(format!("The subnet '{id}' has dependencies and cannot be deleted.")));
    }
    Ok(())
}

/// Interfaces and endpoints wear the group, and other groups' rules name it.
pub(super) async fn security_group(context: &Context<'_>) -> Verdict {
    let id = context.get("GroupId");
    if id.is_empty() {
        return Ok(());
    }
    let interfaces = context.list("DescribeNetworkInterfaces", "networkInterfaceSet", &[]).await;
    let worn =
        interfaces.iter().any(|item| item.items("groupSet").any(|group| group.text_at("groupId") == id));
    let used = worn
        || named_by(context, &["DescribeVpcEndpoints"], id).await
        || named_by_a_rule(context, id).await
        || context.held_by(id).is_some();
    if used {
        return Err(dependency(format!("resource {id} has a dependent object")));
    }
    Ok(())
}

/// An interface of an instance stays with it.
pub(super) async fn interface(context: &Context<'_>) -> Verdict {
    let id = context.get("NetworkInterfaceId");
    let found = context
        .list("DescribeNetworkInterfaces", "networkInterfaceSet", &[("NetworkInterfaceId.1", id)])
        .await;
    if found.iter().any(|interface| !interface.text_at("attachment/instanceId").is_empty()) {
        let message = format!("Network interface '{id}' is currently in use.");
        return Err(Rejection::new("InvalidParameterValue", message));
    }
    Ok(())
}

/// A volume of an instance stays with it.
pub(super) async fn volume(context: &Context<'_>) -> Verdict {
    let id = context.get("VolumeId");
    let found = context.list("DescribeVolumes", "volumeSet", &[("VolumeId.1", id)]).await;
    let mut holders = found.iter().flat_map(|volume| volume.items("attachmentSet"));
    match holders.next() {
        Some(holder) => Err(Rejection::new(
            "VolumeInUse",
            format!("Volume {id} is currently attached to {}", holder.text_at("instanceId")),
        )),
        None => Ok(()),
    }
}

/// What the emulator does not look at itself: everything in the VPC that has a life of its own.
pub(super) async fn vpc(context: &Context<'_>) -> Verdict {
    let id = context.get("VpcId");
    let lists = ["DescribeNatGateways", "DescribeVpcEndpoints", "DescribeTransitGatewayVpcAttachments"];
    let mut used = named_by(context, &lists, id).await;
    for (action, set) in
        [("DescribeSubnets", "subnetSet"), ("DescribeNetworkInterfaces", "networkInterfaceSet")]
    {
        used = used || !context.filtered(action, set, "vpc-id", id).await.is_empty();
    }
    let groups = context.filtered("DescribeSecurityGroups", "securityGroupInfo", "vpc-id", id).await;
    used = used || groups.iter().any(|group| group.text_at("groupName") != "default");
    let gateways =
        context.filtered("DescribeInternetGateways", "internetGatewaySet", "attachment.vpc-id", id).await;
    if used || !gateways.is_empty() || context.held_by(id).is_some_and(|holder| !holder.starts_with("pcx-")) {
        return Err(dependency(format!("The vpc '{id}' has dependencies and cannot be deleted.")));
    }
    Ok(())
}

async fn named_by(context: &Context<'_>, describes: &[&str], id: &str) -> bool {
    for describe in describes {
        if living(context, describe).await.iter().any(|item| item.texts().contains(&id)) {
            return true;
        }
    }
    false
}

async fn named_by_a_rule(context: &Context<'_>, id: &str) -> bool {
    let groups = context.list("DescribeSecurityGroups", "securityGroupInfo", &[]).await;
    let rules = |group: &Element| {
        ["ipPermissions", "ipPermissionsEgress"].iter().any(|set| {
            group.items(set).flat_map(|rule| rule.items("groups")).any(|pair| pair.text_at("groupId") == id)
        })
    };
    groups.iter().any(|group| group.text_at("groupId") != id && rules(group))
}
