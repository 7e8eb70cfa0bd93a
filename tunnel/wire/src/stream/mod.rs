//! WireGuard datagrams over a stream of bytes, which is TLS 1.3 as a rule.
//!
//! ```text
//! client                                          gateway
//!   TLS ClientHello, ALPN http/1.1  ------------->
//!                                   <-------------  ServerHello .. Finished
//!   Finished; GET /warren/tunnel,
//!   Upgrade: warren-tunnel/1        ------------->
//!                                   <-------------  101 Switching Protocols, Upgrade: warren-tunnel/1
//!   frames                          <------------>  frames
//!
//! frame:     length (u16, big endian, not 0) | that many bytes, of which the first is the type
//! type 1..4  a WireGuard message of 32 to 65,507 bytes
//! type 0x80  ping: 8 bytes that the other end sends back
//! type 0x81  pong: the 8 bytes of a ping
//! others     ignored: for later versions
//! ```
//!
//! [`frame`] is the part after the upgrade, [`http`] the part before it: the port speaks ordinary HTTP/1.1 to whoever asks
//! for something else, so it can serve enrolment too, and versions are negotiated as HTTP does it (RFC 9110
//! section 7.8).

pub mod frame;
pub mod http;
