//! Conformance, packet by packet: scripts in virtual time inject segments and say which segments must leave, and when.
//!
//! A script reads from top to bottom. `lab.inject(..)` is what the peer sends, `lab.expect(..)` is what must have left, and
//! `lab.silence(..)` says that nothing does. Sequence numbers count from the initial one, so the SYN is 0 and the first byte 1.
//! Both sides use a maximum segment of 1,000 bytes. `docs/tcp.md` has the requirements that the scripts stand for.

mod closing;
mod ecn;
mod fragments;
mod handshake;
mod lab;
mod recovery;
mod segment;
mod sending;
mod table;
mod timers;
mod window;
