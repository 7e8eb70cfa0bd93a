//! Managed services with addresses in networks: Kubernetes clusters with their node groups, and load balancers.

use super::{Head, Key};
use serde::Serialize;

/// The type of a managed service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ManagedKind {
    /// A Kubernetes cluster.
    Cluster,
    /// A group of nodes of a cluster.
    Nodes,
    /// A load balancer.
    Balancer,
}

impl ManagedKind {
    /// Every type, in the order of a diagram.
    pub const ALL: [ManagedKind; 3] = [ManagedKind::Cluster, ManagedKind::Nodes, ManagedKind::Balancer];

    /// Display name.
    pub fn word(self) -> &'static str {
        match self {
            ManagedKind::Cluster => "cluster",
            ManagedKind::Nodes => "node group",
            ManagedKind::Balancer => "load balancer",
        }
    }
}

/// A managed service with addresses in a network. It may be in several subnets at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Managed {
    /// Common properties.
    pub head: Head,
    /// The type.
    pub kind: ManagedKind,
    /// Its product: `EKS`, `EKS nodes`, `ALB`, `classic LB`.
    pub product: String,
    /// Its network, if it is in no known subnet. `None` if unknown, or if the service is at the edge of the cloud.
    pub network: Option<Key>,
    /// The subnets that it has addresses in.
    pub subnets: Vec<Key>,
    /// Whether it is a load balancer that accepts connections from the internet.
    pub public: bool,
}

impl Managed {
    /// The product, and `public` if clients on the internet reach it: `EKS`, `public ALB`.
    pub fn short(&self) -> String {
        let public = if self.public { "public " } else { "" };
        format!("{public}{}", self.product)
    }

    /// The product and the type: `EKS cluster`, `public ALB`.
    pub fn word(&self) -> String {
        match self.kind {
            ManagedKind::Cluster => format!("{} {}", self.short(), self.kind.word()),
            ManagedKind::Nodes | ManagedKind::Balancer => self.short(),
        }
    }
}
