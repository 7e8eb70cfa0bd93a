//! `agent`: brings a tunnel up, keeps it up, and undoes all changes at the end.
//!
//! ```text
//! run, scoped ─► supervisor ─► backend ─► userspace, kernel      network, hooks: changes to the machine
//! confinement: what is given up before the first thread starts
//! settings ─► enrolled: token ─► gateways                        proxies: for a tunnel without an interface
//!                                                                echo: for `warren-tunnel ping`
//!                                                                credentials: of clouds, from the gateway
//! ```

mod args;
mod backend;
mod carriers;
mod choice;
mod confinement;
mod credentials;
mod direct;
mod echo;
mod enrolled;
mod events;
mod hooks;
mod kernel;
mod local_dns;
mod lock;
mod metrics_source;
mod network;
mod overrides;
mod peers;
pub mod proxies;
mod run;
mod scoped;
mod settings;
mod supervisor;
mod tunnel;
mod userspace;

pub use args::{AgentArgs, CarrierChoice, DeviceChoice, KeyArgument};
pub use carriers::{Carriers, TlsOverrides};
pub(crate) use credentials::of_interface as credentials_of;
pub(crate) use credentials::{TRANSFERS_TOKEN_FILE, TRANSFERS_URL};
pub use enrolled::{Enrolled, token_of};
pub use overrides::Overrides;
pub(crate) use proxies::{names_by_interface, test_names};
pub use run::run;
pub use scoped::{ScopedTunnel, with_tunnel};
pub use settings::{Settings, Source};
