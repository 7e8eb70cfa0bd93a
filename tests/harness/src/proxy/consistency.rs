//! Eventual consistency: a new object is not known to the next few calls.

use std::collections::BTreeMap;

use super::config::Consistency;
use super::request::Request;
use crate::front::is_read;
use crate::front::reply::Rejection;
use crate::xml::Element;

/// How one kind of object is created, listed and missed.
#[derive(Debug)]
struct Class {
    create: &'static str,
    /// Path of the new id in the answer.
    created: &'static str,
    describe: &'static str,
    set: &'static str,
    id: &'static str,
    code: &'static str,
    /// Message; `{}` is the id.
    message: &'static str,
}

macro_rules! classes {
    ($($create:literal $created:literal, $describe:literal $set:literal $id:literal, $code:literal $message:literal;)*) => {
        &[$(Class {
            create: $create, created: $created, describe: $describe, set: $set, id: $id, code: $code, message: $message,
        }),*]
    };
}

const CLASSES: &[Class] = classes! {
    "CreateVpc" "vpc/vpcId", "DescribeVpcs" "vpcSet" "vpcId",
        "InvalidVpcID.NotFound" "The vpc ID '{}' does not exist";
    "CreateSubnet" "subnet/subnetId", "DescribeSubnets" "subnetSet" "subnetId",
        "InvalidSubnetID.NotFound" "The subnet ID '{}' does not exist";
    "CreateInternetGateway" "internetGateway/internetGatewayId", "DescribeInternetGateways" "internetGatewaySet" "internetGatewayId",
        "InvalidInternetGatewayID.NotFound" "The internetGateway ID '{}' does not exist";
    "CreateNatGateway" "natGateway/natGatewayId", "DescribeNatGateways" "natGatewaySet" "natGatewayId",
        "NatGatewayNotFound" "NatGateway {} was not found";
    "AllocateAddress" "allocationId", "DescribeAddresses" "addressesSet" "allocationId",
        "InvalidAllocationID.NotFound" "The allocation ID '{}' does not exist";
    "CreateRouteTable" "routeTable/routeTableId", "DescribeRouteTables" "routeTableSet" "routeTableId",
        "InvalidRouteTableID.NotFound" "The routeTable ID '{}' does not exist";
    "CreateSecurityGroup" "groupId", "DescribeSecurityGroups" "securityGroupInfo" "groupId",
        "InvalidGroup.NotFound" "The security group '{}' does not exist";
    "CreateVpcEndpoint" "vpcEndpoint/vpcEndpointId", "DescribeVpcEndpoints" "vpcEndpointSet" "vpcEndpointId",
        "InvalidVpcEndpointId.NotFound" "The Vpc Endpoint Id '{}' does not exist";
    "CreateVpcPeeringConnection" "vpcPeeringConnection/vpcPeeringConnectionId",
        "DescribeVpcPeeringConnections" "vpcPeeringConnectionSet" "vpcPeeringConnectionId",
        "InvalidVpcPeeringConnectionID.NotFound" "The vpcPeeringConnection ID '{}' does not exist";
    "CreateTransitGateway" "transitGateway/transitGatewayId", "DescribeTransitGateways" "transitGatewaySet" "transitGatewayId",
        "InvalidTransitGatewayID.NotFound" "Transit Gateway {} was deleted or does not exist.";
    "CreateTransitGatewayVpcAttachment" "transitGatewayVpcAttachment/transitGatewayAttachmentId",
        "DescribeTransitGatewayVpcAttachments" "transitGatewayVpcAttachments" "transitGatewayAttachmentId",
        "InvalidTransitGatewayAttachmentID.NotFound" "Transit Gateway Attachment {} was deleted or does not exist.";
    "CreateTransitGatewayRouteTable" "transitGatewayRouteTable/transitGatewayRouteTableId",
        "DescribeTransitGatewayRouteTables" "transitGatewayRouteTables" "transitGatewayRouteTableId",
        "InvalidRouteTableID.NotFound" "Transit Gateway Route Table {} was deleted or does not exist.";
    "CreateFlowLogs" "flowLogIdSet/item", "DescribeFlowLogs" "flowLogSet" "flowLogId",
        "InvalidFlowLogId.NotFound" "These flow log ids in the input list are not found: [TotalCount: 1] {}";
    "CreateNetworkInterface" "networkInterface/networkInterfaceId",
        "DescribeNetworkInterfaces" "networkInterfaceSet" "networkInterfaceId",
        "InvalidNetworkInterfaceID.NotFound" "The networkInterface ID '{}' does not exist";
};

/// New objects that are not visible everywhere yet.
#[derive(Debug, Default)]
pub(super) struct Stale {
    objects: BTreeMap<String, Unseen>,
}

#[derive(Debug)]
struct Unseen {
    class: &'static Class,
    left: Consistency,
}

impl Stale {
    pub(super) fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// Remembers what a successful call has created.
    pub(super) fn created(&mut self, action: &str, answer: &Element, habit: Consistency) {
        if habit == Consistency::default() {
            return;
        }
        if let Some(class) = CLASSES.iter().find(|class| class.create == action) {
            let id = answer.text_at(class.created).to_owned();
            self.objects.insert(id, Unseen { class, left: habit });
        }
    }

    /// Refuses a call that names an object which is not visible yet, and counts it.
    pub(super) fn refuse(&mut self, request: &Request) -> Option<Rejection> {
        let read = is_read(&request.action);
        let named = request
            .params
            .iter()
            .filter(|(name, _)| !name.starts_with("Filter.") && !name.starts_with("Tag"))
            .find_map(|(_, value)| self.objects.get_key_value(value).map(|(id, _)| id.clone()))?;
        let unseen = self.objects.get_mut(&named)?;
        let left = if read { &mut unseen.left.reads } else { &mut unseen.left.writes };
        if *left == 0 {
            return None;
        }
        *left -= 1;
        let rejection = Rejection::new(unseen.class.code, unseen.class.message.replace("{}", &named));
        self.prune();
        Some(rejection)
    }

    /// Leaves what is not visible yet out of a list, and counts it.
    pub(super) fn hide(&mut self, action: &str, answer: &mut Element) {
        for class in CLASSES.iter().filter(|class| class.describe == action) {
            let Some(set) = answer.child_mut(class.set) else { continue };
            set.children.retain(|item| match self.objects.get_mut(item.text_at(class.id)) {
                Some(unseen) if unseen.left.reads > 0 => {
                    unseen.left.reads -= 1;
                    false
                }
                _ => true,
            });
        }
        self.prune();
    }

    fn prune(&mut self) {
        self.objects.retain(|_, unseen| unseen.left != Consistency::default());
    }
}
