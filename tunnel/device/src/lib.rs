//! Where packets come from and go to: TUN with offloads, kernel WireGuard, a netstack in this process.

pub mod kernel;
pub mod tun;
pub mod user;
