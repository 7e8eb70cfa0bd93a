//! The tunnel's network devices: TUN with offloads, kernel WireGuard, a netstack in this process, and the kernel's
//! stack in a user namespace.

pub mod kernel;
pub mod namespace;
pub mod tun;
pub mod user;
