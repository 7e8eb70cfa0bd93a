//! A lab of network namespaces in which the tunnel meets other implementations of WireGuard.
//!
//! - [`Namespace`] is a host: a network namespace with its own interfaces, joined to another by [`Namespace::join`].
//! - [`Implementation`] is a program that speaks WireGuard; a missing one is installed or named in the error.
//! - [`Device`] is such a program at work on one interface, configured, observable and stoppable.
//! - [`Pair`] is the usual experiment: two hosts, a wire between them, a device on each.
//! - [`Pod`] is our tunnel as it runs in a rented container: an ordinary user without any privilege or device.
//! - [`Fabric`] is gateways of ours and pods that enrol with them.
//! - [`fleet`] is several of these gateways over etcd, and programs in pods that notice what happens to them.
//! - [`Relay`] is a long and lossy way between two hosts, for the datagrams of one port. [`LongWire`] is one for all packets.
//! - [`traffic`] sends through the tunnel: streams checked by digest, datagrams and their echoes.
//! - [`web`] is a web server, [`dns`] are name servers.
//! - [`wire`] drops UDP between two hosts, or slows everything down.
//! - [`events`] reads what the programs of examples print.
//! - [`fuzz`] has an entry for each parser of bytes from outside; it alone needs no root.
//!
//! Everything needs root and Linux; without them a test fails and says so.

mod config;
mod device;
pub mod dns;
pub mod events;
pub mod fabric;
pub mod fleet;
pub mod fuzz;
mod implementation;
mod long_wire;
mod namespace;
mod pair;
pub mod pod;
mod process;
mod relay;
pub mod traffic;
mod wait;
pub mod web;
pub mod wire;

pub use config::{Interface, KeyPair, Remote, preshared_key};
pub use device::{Device, PeerState};
pub use fabric::Fabric;
pub use implementation::{Implementation, WIREPROXY, from_environment};
pub use long_wire::LongWire;
pub use namespace::Namespace;
pub use pair::{Family, Pair, Settings, Side};
pub use pod::Pod;
pub use process::Daemon;
pub use relay::{Impairment, Relay};
pub use wait::wait_for;
pub use warren_programs::{cache_folder, program, version, workspace_root};
