//! This machine's network: what the kernel knows and what is changed there.

mod dns;
mod netlink;
mod path;
mod plan;
mod resolve;

pub use dns::{Dns, chosen as dns_chosen, undo as dns_undo};
pub use netlink::{Family, Link, Netlink, Path, Rule};
pub use path::outside_mtu;
pub use plan::{FIRST_TABLE, Routing, routing, tunnel_mtu};
pub use resolve::resolve;
