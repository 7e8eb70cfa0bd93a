//! Transit gateways: attachments of networks, and route tables.

use super::{Head, Key};
use ipnet::IpNet;
use serde::Serialize;

/// An attachment of a network to a transit gateway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Attachment {
    /// Common properties.
    pub head: Head,
    /// The transit gateway.
    pub gateway: Option<Key>,
    /// The network.
    pub network: Option<Key>,
    /// The subnets through which packets from the gateway enter.
    pub subnets: Vec<Key>,
    /// Whether it is associated with the default table. Otherwise, only a [`TransitTable`] applies.
    pub associates: bool,
    /// Whether it propagates to the default table.
    pub propagates: bool,
}

/// A route table of a transit gateway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TransitTable {
    /// Common properties.
    pub head: Head,
    /// The transit gateway.
    pub gateway: Option<Key>,
    /// Associated attachments.
    pub associations: Vec<Key>,
    /// Attachments that propagate their ranges to it.
    pub propagations: Vec<Key>,
    /// Static routes.
    pub routes: Vec<TransitRoute>,
    /// Whether every association and propagation is known.
    pub complete: bool,
}

/// A static route of a transit gateway's table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct TransitRoute {
    /// The destination.
    pub net: IpNet,
    /// The target.
    pub target: TransitTarget,
}

/// The target of a transit gateway's route.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TransitTarget {
    /// An attachment.
    Attachment(Key),
    /// Dropped.
    Blackhole,
    /// Known only after apply.
    Unknown,
}
