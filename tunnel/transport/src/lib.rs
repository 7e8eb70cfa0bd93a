//! Carriers of the tunnel's datagrams: [`udp`], and [`tls`] connections where UDP is blocked.

pub mod tls;
pub mod udp;
