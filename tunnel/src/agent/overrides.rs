//! Flags and environment variables that override the configuration, also after a reload.

use warren_wire::key::PrivateKey;

use super::carriers::TlsOverrides;

/// Settings from flags and environment that override the file.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// MTU.
    pub mtu: Option<u16>,
    /// UDP port.
    pub listen_port: Option<u16>,
    /// Private key.
    pub private_key: Option<PrivateKey>,
    /// Settings that the file has in `# warren:` comments.
    pub tls: TlsOverrides,
}
