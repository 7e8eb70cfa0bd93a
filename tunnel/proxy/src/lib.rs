//! SOCKS, HTTP and forwarding proxies, which reach the network only through [`net::Dial`] and [`net::Listen`].
//!
//! ```text
//! service   accepts, within limits ──┬─ socks   RFC 1928, 1929
//!                                    ├─ http    CONNECT, absolute-form requests
//!                                    └─ forward one fixed target, either way
//! outbound  target -> may it? -> addresses (dns) -> net::Dial      relay  bytes between two streams
//! dns       names by domain to the tunnel's servers; a cache; a server for this machine or a network
//! net       streams and datagrams: the system's, or both split by prefix
//! ```

pub mod auth;
pub mod counters;
pub mod dns;
pub mod forward;
#[cfg(any(test, feature = "fuzz"))]
pub mod fuzz;
pub mod http;
pub mod limits;
pub mod net;
pub mod outbound;
pub mod relay;
pub mod service;
pub mod socks;
pub mod target;

pub use auth::Credentials;
pub use counters::{Counters, Refusal, Snapshot};
pub use limits::Limits;
pub use outbound::Outbound;
pub use service::Services;
pub use target::{Host, Name, Target};
