//! Elastic addresses and interfaces of instances.

use super::{Context, Verdict, reaches_internet};
use crate::front::reply::Rejection;

/// An address that is associated would be taken from under its user.
pub(super) async fn release(context: &Context<'_>) -> Verdict {
    let id = context.get("AllocationId");
    if id.is_empty() {
        return Ok(());
    }
    let addresses = context.list("DescribeAddresses", "addressesSet", &[("AllocationId.1", id)]).await;
    let used = addresses.iter().any(|address| !address.text_at("associationId").is_empty());
    if used || context.held_by(id).is_some() {
        return Err(Rejection::new(
            "InvalidIPAddress.InUse",
            format!("Address with allocation id [{id}] is in use."),
        ));
    }
    Ok(())
}

/// Traffic of a public address passes the VPC's internet gateway.
pub(super) async fn associate(context: &Context<'_>) -> Verdict {
    let vpc = if context.params.has("InstanceId") {
        let id = [("InstanceId.1", context.get("InstanceId"))];
        let found = context.list("DescribeInstances", "reservationSet", &id).await;
        let mut instances = found.iter().flat_map(|item| item.items("instancesSet"));
        instances.next().map(|item| item.text_at("vpcId").to_owned())
    } else {
        let id = [("NetworkInterfaceId.1", context.get("NetworkInterfaceId"))];
        let found = context.list("DescribeNetworkInterfaces", "networkInterfaceSet", &id).await;
        found.first().map(|item| item.text_at("vpcId").to_owned())
    };
    match vpc {
        Some(vpc) if !reaches_internet(context, &vpc).await => Err(Rejection::new(
            "Gateway.NotAttached",
            format!("Network {vpc} is not attached to any internet gateway"),
        )),
        _ => Ok(()),
    }
}

/// Instances that are terminated give their addresses back, and their interfaces go with them.
pub(super) async fn settle(context: &Context<'_>) {
    let emulator = &context.shared.emulator;
    for instance in context.params.list("InstanceId") {
        let addresses = context.filtered("DescribeAddresses", "addressesSet", "instance-id", instance).await;
        let associations = addresses
            .iter()
            .map(|address| ("DisassociateAddress", "AssociationId", address.text_at("associationId")));
        let (describe, filter) = ("DescribeNetworkInterfaces", "attachment.instance-id");
        let interfaces = context.filtered(describe, "networkInterfaceSet", filter, instance).await;
        let interfaces = interfaces.iter().map(|interface| {
            ("DeleteNetworkInterface", "NetworkInterfaceId", interface.text_at("networkInterfaceId"))
        });
        for (action, name, id) in associations.chain(interfaces) {
            // It may be gone already, which is what is wanted.
            let _ = emulator.ec2(context.region, action, &[(name, id)]).await;
        }
    }
}
