//! The netstack as a device: connections begin and end in this process, without an interface and without privileges.
//!
//! ```text
//!  proxies, forwards            any task of any runtime
//!    Net::connect -> Stream        AsyncRead + AsyncWrite, back-pressure by wakers
//!    Net::listen  -> Listener
//!    Net::bind_udp -> Datagrams
//!    Net::forward -> Forwarded     flows to other hosts: a gateway's
//!         |  a lock for the time of one copy
//!      Stack (warren-netstack)
//!         |  a lock for one batch of packets
//!    Driver::turn               the data path's thread: opened packets in, packets to be sealed out, timers, wakers
//! ```
//!
//! One thread drives the stack. Streams touch it only to copy bytes in or out; they wake the thread only when it sleeps
//! and has something to do. A stream that has nothing to say holds no buffer and runs no timer but keepalive.

mod datagrams;
mod driver;
mod error;
mod forward;
mod listener;
mod net;
mod shared;
mod stream;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::time::Duration;

pub use datagrams::Datagrams;
pub use driver::{Driver, Turn};
pub use error::{BindError, ConnectError, Undeliverable};
pub use forward::{Admission, Arrival, Forwarded, Incoming};
pub use listener::Listener;
pub use net::Net;
pub use stream::Stream;
pub use warren_netstack::{
    Batch, Congestion, Datagram, Echo, HEADROOM, Memory, Ping, Place, TAILROOM, Undelivered, Unreachable,
};

use warren_netstack::{Config, Keepalive};

/// Silence before an idle peer is probed, pause between probes, and probes without an answer that end the connection:
/// shorter than what common translators of addresses forget after.
const KEEPALIVE: Keepalive =
    Keepalive { idle: Duration::from_secs(120), interval: Duration::from_secs(30), count: 5 };
/// Time for a connection to come up: five SYNs.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Whether the tunnel carries packets to an address.
pub type Routes = Box<dyn Fn(IpAddr) -> bool + Send + Sync>;

/// The congestion control of a new stream to an address.
pub type Controllers = Box<dyn Fn(IpAddr) -> Congestion + Send + Sync>;

/// Whether segments of an unknown connection, from one other host to another, are passed on as they are. Else they are refused.
pub type Passes = warren_netstack::Passes;

/// How to make the device.
pub struct UserConfig {
    /// Own addresses inside the tunnel.
    pub addresses: Vec<IpAddr>,
    /// Largest packet inside the tunnel, in bytes; at least 1,280.
    pub mtu: usize,
    /// Bytes that all buffers of all streams may take together.
    pub memory: usize,
    /// Congestion control of new streams.
    pub congestion: Controllers,
    /// Random: sequence numbers and ports come from it.
    pub seed: [u8; 32],
    /// The destinations that are reachable.
    pub routes: Routes,
    /// Accept traffic to any address, for [`Net::forward`], with at most this many streams.
    pub forward: Option<usize>,
    /// Segments between other hosts that are not ended here.
    pub pass: Option<Passes>,
}

impl UserConfig {
    fn stack(&self) -> Config {
        let mut config = Config::new(self.addresses.clone(), self.seed);
        config.mtu = self.mtu;
        config.budget_bytes = self.memory;
        config.keepalive = Some(KEEPALIVE);
        config.connect_timeout = CONNECT_TIMEOUT;
        if let Some(streams) = self.forward {
            config.accept_any = true;
            config.max_streams = streams;
            config.max_half_open = streams;
            config.max_time_wait = streams;
        }
        config
    }
}

/// Makes a device: the half that moves packets, and the half that programs use.
///
/// # Errors
/// When the kernel gives no eventfd.
pub fn open(config: UserConfig) -> std::io::Result<(Driver, Net)> {
    let shared = shared::Shared::new(config)?;
    Ok((Driver::new(std::sync::Arc::clone(&shared)), Net::new(shared)))
}
