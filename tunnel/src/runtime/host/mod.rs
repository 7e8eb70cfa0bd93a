//! This machine, apart from its network: capabilities, folders, files, sockets, and names that become part of paths.

pub mod capabilities;
pub mod environment;
pub mod folders;
pub mod local_socket;
mod name;
pub mod secret;

pub use name::InterfaceName;
