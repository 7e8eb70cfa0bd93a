//! Carriers of the tunnel's datagrams.

pub mod udp;
