//! The machine's network as known to the kernel and changed by the agent, and private networks of this process.

mod dns;
mod journal;
mod netlink;
mod path;
mod plan;
mod private;
mod resolve;

pub use dns::{Dns, chosen as dns_chosen, undo as dns_undo};
pub use journal::{Change, Journal};
pub use netlink::{Family, Link, Netlink, Path, Rule};
pub use path::outside_mtu;
pub use plan::{FIRST_TABLE, Routing, routing, tunnel_mtu};
pub use private::{ENTER, HELPER, PrivateNetwork};
pub use resolve::resolve;
