//! WireGuard datagrams over a byte stream, normally TLS 1.3.
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
//! [`http`] is the part before the upgrade, [`frame`] the part after it. All other requests on the port are ordinary
//! HTTP/1.1, so it also serves enrolment. Versions are negotiated as in HTTP (RFC 9110 section 7.8).

pub mod frame;
pub mod http;
