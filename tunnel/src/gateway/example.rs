//! A configuration file for tests.

use warren_wire::PrivateKey;
use warren_wire::gateway::GatewayConfig;

/// A small configuration, with `more` appended.
pub(crate) fn config(more: &str) -> GatewayConfig {
    GatewayConfig::parse(&text(more)).unwrap()
}

/// The text of the configuration.
pub(crate) fn text(more: &str) -> String {
    let key = PrivateKey::from_random([2; 32]).public();
    format!(
        r#"
fabric = "llm-training"
name = "gw-a"
[listen]
tls = "0.0.0.0:443"
[keys]
private_key_file = "k"
certificate_file = "c"
certificate_key_file = "c"
token_keys = ["k4.public.Hrnbu7wEfAP9cGBOAHHwmH4Wsot1ciXBHwBBXQ4gsaI"]
[pool]
prefixes = ["10.100.0.0/24"]
reserved = ["10.100.0.1"]
[[gateways]]
name = "gw-a"
key = "{key}"
udp = "192.0.2.1:51820"
tls = "192.0.2.1:443"
pins = ["AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM"]
{more}"#
    )
}
