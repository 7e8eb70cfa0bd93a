//! The double of Google Cloud: held to Google's documents, to Google's rules and to Google's own client.

#![expect(clippy::unwrap_used, reason = "a test ends where its footing gives way")]

mod client;
mod rules;
