//! Carriers of the tunnel's datagrams: [`udp`], and [`tls`] connections where UDP does not get through.

pub mod tls;
pub mod udp;
