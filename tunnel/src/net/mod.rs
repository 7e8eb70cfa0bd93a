//! This machine's network: what the kernel knows and what is changed there; and a network of this process's own.

mod dns;
mod netlink;
mod path;
mod plan;
mod private;
mod resolve;

pub use dns::{Dns, chosen as dns_chosen, undo as dns_undo};
pub use netlink::{Family, Link, Netlink, Path, Rule};
pub use path::outside_mtu;
pub use plan::{FIRST_TABLE, Routing, routing, tunnel_mtu};
pub use private::{HELPER, PrivateNetwork};
pub use resolve::resolve;
