//! What an apply made, at work on this machine: instances of gateways and pods on the hosts of a data plane; nothing has a
//! privilege.
//!
//! What runs is what Terraform made: the boot script of the instance's user data, the secret store's values, the
//! environment that the pods' cloud gives them.

mod instance;
mod pod;
mod process;
mod world;

use std::process::Command;

pub use instance::Instance;
pub use pod::Pod;
pub use process::Process;
use warren_dataplane::lab::Node;
use warren_harness::NetNs;
pub use world::{POD, World};

/// Where programs run: a network of their own.
pub trait Host {
    /// A command that runs `program` there.
    fn command(&self, program: &str) -> Command;
}

impl Host for NetNs {
    fn command(&self, program: &str) -> Command {
        NetNs::command(self, program)
    }
}

impl Host for Node {
    fn command(&self, program: &str) -> Command {
        Node::command(self, program)
    }
}
