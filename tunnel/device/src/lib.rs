//! Where packets come from and go to: TUN with offloads, kernel WireGuard.

pub mod kernel;
pub mod tun;
