//! What distinguishes associations from propagations: words, states and EC2 API calls.

use std::fmt::Debug;

use aws_sdk_ec2::types::{TransitGatewayRouteTableAssociation, TransitGatewayRouteTablePropagation};
use tf_provider_rs::async_trait;

use crate::client;
use crate::error::{ApiError, Named};
use crate::session::Aws;
use crate::tags::filter;

/// What an attachment and a route table of a transit gateway can have in common.
#[async_trait]
pub(crate) trait Relation: Clone + Debug + Default + PartialEq + Send + Sync + 'static {
    /// The resource type.
    const TYPE: &'static str;
    const DESCRIPTION: &'static str;
    const NOUN: &'static str;
    /// The noun with its article.
    const A_NOUN: &'static str;
    /// The states of the API.
    const STATES: States;
    /// The operation that lists.
    const LIST: &'static str;

    /// Begins; an error if it exists, or if the attachment has another association.
    async fn begin(aws: &Aws, table: &str, attachment: &str) -> Result<(), ApiError>;

    /// Those of the table, which may be of other attachments too.
    async fn list(aws: &Aws, table: &str, attachment: &str) -> Result<Vec<Answer>, ApiError>;

    /// Ends; an error if it does not exist.
    async fn end(aws: &Aws, table: &str, attachment: &str) -> Result<(), ApiError>;
}

/// What states of the API are called, other than the one that leads to the last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct States {
    pub(super) beginning: &'static str,
    pub(super) begun: &'static str,
    pub(super) ended: &'static str,
}

/// An association or propagation in a response.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(super) attachment: Option<String>,
    pub(super) resource_id: Option<String>,
    pub(super) resource_type: Option<String>,
    pub(super) state: Option<String>,
}

impl Answer {
    /// Whether it no longer exists; AWS lists it for a while.
    pub(super) fn is_ended<R: Relation>(&self) -> bool {
        self.state.as_deref() == Some(R::STATES.ended)
    }
}

/// The table decides where traffic from the attachment goes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Association;

/// The table learns the ranges of the attachment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Propagation;

#[async_trait]
impl Relation for Association {
    const TYPE: &'static str = "warren_aws_transit_gateway_route_table_association";
    const DESCRIPTION: &'static str = "Associates an attachment of a transit gateway with a route table. The table \
                                       decides where traffic goes that comes from the attachment. An attachment has \
                                       at most one association.";
    const NOUN: &'static str = "association";
    const A_NOUN: &'static str = "an association";
    const STATES: States = States { beginning: "associating", begun: "associated", ended: "disassociated" };
    const LIST: &'static str = "GetTransitGatewayRouteTableAssociations";

    async fn begin(aws: &Aws, table: &str, attachment: &str) -> Result<(), ApiError> {
        let call = aws.ec2().associate_transit_gateway_route_table();
        let call = call.transit_gateway_route_table_id(table).transit_gateway_attachment_id(attachment);
        let answer = call.customize().config_override(client::once()).send().await;
        answer.named("AssociateTransitGatewayRouteTable").map(drop)
    }

    async fn list(aws: &Aws, table: &str, attachment: &str) -> Result<Vec<Answer>, ApiError> {
        let call = aws.ec2().get_transit_gateway_route_table_associations();
        let call = call.transit_gateway_route_table_id(table).filters(of(attachment));
        let answer = call.send().await.named(Association::LIST)?;
        Ok(answer.associations.into_iter().flatten().map(Answer::from).collect())
    }

    async fn end(aws: &Aws, table: &str, attachment: &str) -> Result<(), ApiError> {
        let call = aws.ec2().disassociate_transit_gateway_route_table();
        let call = call.transit_gateway_route_table_id(table).transit_gateway_attachment_id(attachment);
        call.send().await.named("DisassociateTransitGatewayRouteTable").map(drop)
    }
}

#[async_trait]
impl Relation for Propagation {
    const TYPE: &'static str = "warren_aws_transit_gateway_route_table_propagation";
    const DESCRIPTION: &'static str = "Propagates the routes of an attachment to a route table of the transit \
                                       gateway: the ranges of an attached VPC become routes of the table. An \
                                       attachment can propagate to several tables.";
    const NOUN: &'static str = "propagation";
    const A_NOUN: &'static str = "a propagation";
    const STATES: States = States { beginning: "enabling", begun: "enabled", ended: "disabled" };
    const LIST: &'static str = "GetTransitGatewayRouteTablePropagations";

    async fn begin(aws: &Aws, table: &str, attachment: &str) -> Result<(), ApiError> {
        let call = aws.ec2().enable_transit_gateway_route_table_propagation();
        let call = call.transit_gateway_route_table_id(table).transit_gateway_attachment_id(attachment);
        let answer = call.customize().config_override(client::once()).send().await;
        answer.named("EnableTransitGatewayRouteTablePropagation").map(drop)
    }

    async fn list(aws: &Aws, table: &str, attachment: &str) -> Result<Vec<Answer>, ApiError> {
        let call = aws.ec2().get_transit_gateway_route_table_propagations();
        let call = call.transit_gateway_route_table_id(table).filters(of(attachment));
        let answer = call.send().await.named(Propagation::LIST)?;
        Ok(answer.transit_gateway_route_table_propagations.into_iter().flatten().map(Answer::from).collect())
    }

    async fn end(aws: &Aws, table: &str, attachment: &str) -> Result<(), ApiError> {
        let call = aws.ec2().disable_transit_gateway_route_table_propagation();
        let call = call.transit_gateway_route_table_id(table).transit_gateway_attachment_id(attachment);
        call.send().await.named("DisableTransitGatewayRouteTablePropagation").map(drop)
    }
}

impl From<TransitGatewayRouteTableAssociation> for Answer {
    fn from(found: TransitGatewayRouteTableAssociation) -> Answer {
        Answer {
            attachment: found.transit_gateway_attachment_id,
            resource_id: found.resource_id,
            resource_type: found.resource_type.map(|resource_type| resource_type.as_str().to_owned()),
            state: found.state.map(|state| state.as_str().to_owned()),
        }
    }
}

impl From<TransitGatewayRouteTablePropagation> for Answer {
    fn from(found: TransitGatewayRouteTablePropagation) -> Answer {
        Answer {
            attachment: found.transit_gateway_attachment_id,
            resource_id: found.resource_id,
            resource_type: found.resource_type.map(|resource_type| resource_type.as_str().to_owned()),
            state: found.state.map(|state| state.as_str().to_owned()),
        }
    }
}

fn of(attachment: &str) -> aws_sdk_ec2::types::Filter {
    filter("transit-gateway-attachment-id", attachment)
}
