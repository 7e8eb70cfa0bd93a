//! What agent and gateway share: packets, the control thread, and what the tunnel changes and reports.
//!
//! ```text
//! lookups ──┐                       supervise: what runs, and what has died
//! uapi ─────┴─► control: the engine's thread ─► datapath_runner ─► datapath: packets
//! metrics, log ◄─ status       net: addresses, routes, DNS, journal ─► host: files and privileges
//!
//! sandbox: what the process gives up before it hears anything
//! http1: requests to the process itself
//! ```

pub mod cipher;
pub mod control;
pub mod datapath;
pub(crate) mod datapath_runner;
pub mod host;
pub(crate) mod http1;
mod listen;
pub mod log;
pub mod lookups;
pub mod metrics;
pub mod net;
pub(crate) mod netstack;
pub mod problem;
pub mod queues;
mod random;
pub mod sandbox;
pub mod status;
pub mod supervise;
pub mod uapi;

pub use listen::ListenAddress;
pub use queues::Queues;
pub use random::random;
