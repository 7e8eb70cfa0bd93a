//! The tunnel: agent and gateway in one binary.

pub mod datapath;
