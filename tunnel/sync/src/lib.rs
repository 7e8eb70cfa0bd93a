//! Resumable transfer of objects between stores and folders.
//!
//! ```text
//! location, filter ─► listing ─► plan ─► queue ─► transfer ─► index
//!                     pages      pure             parts, journal, sums
//! watch ─► checkpoint (pure) ─► transfer ─► manifest
//! ```
//!
//! What is decided is in modules without I/O: [`plan`], [`parts`], [`journal`], [`index`], and [`checkpoint`], which receive
//! listings and times as arguments, and in [`adapt`], which decides how many requests run. [`engine`] transfers and deletes,
//! while its source is still being listed; [`watch`] uploads checkpoints. [`net`] is the HTTP client of the stores, over a network that is a trait.

pub mod adapt;
mod buffers;
pub mod checkpoint;
pub mod engine;
pub mod error;
pub mod filter;
pub mod index;
pub mod journal;
mod listing;
pub mod local;
pub mod location;
pub mod net;
pub mod parts;
pub mod place;
pub mod plan;
mod queue;
pub mod sums;
mod transfer;
pub mod watch;

pub use engine::{Engine, Event, Gate, Options, Progress, Step, Summary};
pub use error::{Kind, SyncError};
pub use filter::Filter;
pub use location::Location;
pub use place::{Objects, Place, Remote};
