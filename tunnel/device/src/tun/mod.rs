//! The TUN device: frames of up to 64 KiB both ways, with the kernel's own segmentation and checksum offloads.

pub mod checksum;
pub mod coalesce;
pub mod ip;
pub mod packet;
mod queue;
pub mod split;
mod sys;
pub mod vnet;

pub use queue::{OpenError, Queue, Read, Tun, TunOffload};

/// Longest frame with its vnet header.
pub const FRAME: usize = vnet::VNET_HEADER + 65_535 + 1;
