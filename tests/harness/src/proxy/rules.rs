//! What AWS refuses and the emulator accepts. One file a subject; each rule says why AWS refuses.

use anyhow::Result;

use super::Shared;
use super::lifecycle::{CLASSES, Class};
use super::request::Request;
use crate::front::reply::Rejection;
use crate::query::Params;
use crate::xml::Element;

mod addresses;
mod deletes;
mod endpoints;
mod gateways;
mod peering;
mod ranges;
mod routes;
mod transit;

/// The verdict of a rule.
type Verdict = Result<(), Rejection>;

/// What a rule sees: the request, and the emulator to ask what exists.
pub(super) struct Context<'a> {
    pub(super) shared: &'a Shared,
    region: &'a str,
    pub(super) params: &'a Params,
}

impl<'a> Context<'a> {
    pub(super) fn of(shared: &'a Shared, request: &'a Request) -> Self {
        Self { shared, region: &request.region, params: &request.params }
    }

    pub(super) fn get(&self, name: &str) -> &str {
        self.params.get(name)
    }

    /// The items that a describe answers with. An id that does not exist gives none, so that the emulator's own
    /// answer to the request stands.
    pub(super) async fn list(&self, action: &str, set: &str, params: &[(&str, &str)]) -> Vec<Element> {
        let answer = self.shared.emulator.ec2(self.region, action, params).await;
        answer.map(|answer| answer.items(set).cloned().collect()).unwrap_or_default()
    }

    /// As [`Self::list`] with one filter.
    async fn filtered(&self, action: &str, set: &str, filter: &str, value: &str) -> Vec<Element> {
        self.list(action, set, &[("Filter.1.Name", filter), ("Filter.1.Value.1", value)]).await
    }

    /// The VPC with this id.
    pub(super) async fn vpc(&self, id: &str) -> Option<Element> {
        self.list("DescribeVpcs", "vpcSet", &[("VpcId.1", id)]).await.into_iter().next()
    }

    /// The state that clients see instead of the emulator's.
    pub(super) fn transient(&self, id: &str) -> Option<&'static str> {
        self.shared.state().lifecycle.transient(id)
    }

    /// An object that is still being deleted and holds this one.
    fn held_by(&self, id: &str) -> Option<String> {
        self.shared.state().lifecycle.held_by(id)
    }
}

/// Refuses what AWS would refuse.
pub(super) async fn check(shared: &Shared, request: &Request) -> Verdict {
    let context = Context::of(shared, request);
    match request.action.as_str() {
        "CreateVpc" => ranges::vpc(&context),
        "AssociateVpcCidrBlock" => ranges::secondary(&context).await,
        "CreateSubnet" => ranges::subnet(&context),
        "AttachInternetGateway" => gateways::attach(&context).await,
        "DetachInternetGateway" => gateways::detach(&context).await,
        "DeleteInternetGateway" => gateways::delete(&context).await,
        "CreateNatGateway" => gateways::nat(&context).await,
        "CreateRoute" | "ReplaceRoute" => routes::put(&context).await,
        "AssociateAddress" => addresses::associate(&context).await,
        "ReleaseAddress" => addresses::release(&context).await,
        "CreateVpcEndpoint" => endpoints::create(&context).await,
        "ModifyVpcEndpoint" => endpoints::modify(&context).await,
        "AcceptVpcPeeringConnection" => peering::accept(&context),
        "CreateTransitGatewayVpcAttachment" => transit::attach(&context).await,
        "DeleteTransitGateway" => transit::delete(&context).await,
        "DeleteTransitGatewayRouteTable" => transit::delete_table(&context),
        "CreateTransitGatewayRouteTable" => transit::available(&context),
        "DeleteNetworkInterface" => deletes::interface(&context).await,
        "DeleteSubnet" => deletes::subnet(&context).await,
        "DeleteSecurityGroup" => deletes::security_group(&context).await,
        "DeleteVolume" => deletes::volume(&context).await,
        "DeleteVpc" => deletes::vpc(&context).await,
        _ => Ok(()),
    }
}

/// An object that the request is about to delete, as it is before.
pub(super) type Doomed = (&'static Class, String, Element);

/// Looks at what a delete is about to remove.
///
/// # Errors
/// It does not exist, or is deleted already. The emulator crashes there.
pub(super) async fn doomed(shared: &Shared, request: &Request) -> Result<Vec<Doomed>, Rejection> {
    let Some(class) = Class::deleted_by(&request.action) else { return Ok(Vec::new()) };
    let context = Context::of(shared, request);
    let mut found = Vec::new();
    for id in class.doomed(&request.params) {
        let item = context.list(class.describe, class.set, &[(&format!("{}.1", class.ids), &id)]).await;
        match item.into_iter().find(|item| item.text_at(class.id) == id && class.state_of(item) != "deleted")
        {
            Some(item) => found.push((class, id, item)),
            // The answer to a list of ids names those that failed, which the emulator does itself.
            None if class.delete == "DeleteVpcEndpoints" => {}
            None => return Err(class.not_found(&id)),
        }
    }
    Ok(found)
}

/// Does in the emulator what AWS would have done as a consequence of a successful call.
pub(super) async fn settle(shared: &Shared, request: &Request, answer: &Element, doomed: &[Doomed]) {
    let context = Context::of(shared, request);
    match request.action.as_str() {
        "CreateVpcPeeringConnection" => peering::settle(&context, answer).await,
        "CreateNatGateway" => gateways::unattached(&context, answer).await,
        "DeleteNatGateway" => {
            for (_, _, item) in doomed {
                gateways::settle(&context, item).await;
            }
        }
        "TerminateInstances" => addresses::settle(&context).await,
        _ => {}
    }
}

/// Whether the VPC has an internet gateway.
async fn reaches_internet(context: &Context<'_>, vpc: &str) -> bool {
    let (describe, filter) = ("DescribeInternetGateways", "attachment.vpc-id");
    !context.filtered(describe, "internetGatewaySet", filter, vpc).await.is_empty()
}

/// The non-deleted objects of one asynchronous kind.
async fn living(context: &Context<'_>, describe: &str) -> Vec<Element> {
    let Some(class) = CLASSES.iter().find(|class| class.describe == describe) else { return Vec::new() };
    let mut items = context.list(describe, class.set, &[]).await;
    items.retain(|item| class.state_of(item) != "deleted");
    items
}

/// The error of a delete that something still needs.
fn dependency(message: String) -> Rejection {
    Rejection::new("DependencyViolation", message)
}
