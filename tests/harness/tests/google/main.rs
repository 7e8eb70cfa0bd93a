//! The double of Google Cloud: validated against Google's documents, to Google's rules and to Google's own client.

#![expect(clippy::unwrap_used, reason = "a test ends where its footing gives way")]
#![expect(clippy::needless_pass_by_value, reason = "bodies are written where they are sent")]

mod client;
mod dns;
mod documents;
mod exchanged;
mod groups;
mod operations;
mod perimeters;
mod python;
mod rules;
mod secrets;
