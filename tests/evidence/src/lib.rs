//! Answers of real clouds, each with its source, replayed through the provider's clients and the emulated clouds.
//!
//! An emulator that was written with the client it tests proves only that both agree. An [`Answer`] is a fact from
//! outside: what a cloud answered, and who published it. `aws.toml`, `google.toml` and `runpod.toml` hold them. Two tests
//! read each answer:
//!
//! - The client's (`provider/clouds/*/src/evidence.rs`) receives the answer from a [`Server`] through the cloud's SDK. It
//!   must be classified as the corpus says, and what the user then sees is a snapshot.
//! - The emulator's (`tests/double.rs`) must give the same status, code, message and form. Where the answer has `play`,
//!   the emulator gives it because of what was requested, else because a test injects it.

mod answer;
mod body;
mod corpus;
mod judge;
mod message;
mod record;
mod scrub;
mod server;
mod shape;
mod step;

pub use answer::{Answer, Class, Service};
pub use corpus::Corpus;
pub use judge::{Replay, Seen};
pub use message::form;
pub use record::record;
pub use scrub::scrub;
pub use server::Server;
pub use shape::shape;
pub use step::{Names, Step, send};
