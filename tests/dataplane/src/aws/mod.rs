//! AWS's network, from what an account holds, after AWS's documentation.
//!
//! [`Account`] is plain data: [`Account::read`] fills it from the API of the emulated AWS, tests also write it by hand.
//! [`Network::build`] makes a data plane of it:
//!
//! ```text
//!  machine -- guard --+                 +-- transit gateway -- other VPCs
//!  (subnet)  (groups) |                 |
//!  endpoint ----------+-- VPC's router -+-- peering -- another VPC's router
//!  NAT gateway -------+   (route tables,|
//!                          ACLs, names) +-- internet gateway -- internet -- public addresses of AWS
//!                                       +-- gateway endpoint
//! ```
//!
//! S3 and ECR refuse what the policy of the endpoint or of the bucket refuses: [`Network::gate`].
//!
//! There is a machine for each subnet, with security groups that allow everything, and one for each network interface of an
//! instance, with the groups that it has. IPv6, VPN, Direct Connect, and edge associations of route tables are not modelled.

mod access;
mod account;
mod addresses;
mod condition;
mod edge;
mod filter;
mod names;
mod network;
mod operation;
mod policy;
mod read;
mod router;
mod transit;

pub use account::*;
pub use network::{Network, Options, Place, Server};
