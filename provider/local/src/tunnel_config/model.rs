//! Attributes of `warren_tunnel_config`.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use tf_provider_rs::{Attr, Choice, DataSource, Diagnostics, Object, Path, Value};

/// Environment variables by name.
pub(super) type Variables = Attr<BTreeMap<String, Attr<String>>>;

/// Renders the tunnel agent's configuration for the platform that runs the pods: environment variables, a wg-quick
/// file, an unprivileged Kubernetes sidecar or cloud-init user data. The data source calls no API. It neither accepts
/// nor returns secrets: tokens and keys are referenced by their location.
#[derive(Clone, Debug, Default, PartialEq, DataSource)]
#[data_source(name = "warren_tunnel_config")]
pub(crate) struct TunnelConfig {
    /// Placeholder that the platform replaces with the token, such as `warren_runpod_secret.token.reference`. It
    /// becomes the value of `WARREN_TOKEN` in `environment`. Must not be the token itself.
    #[attr(optional, validate = no_token)]
    pub(crate) token_reference: Attr<String>,
    /// Device that handles packets: `auto`, `user`, `tun` or `kernel`. The sidecar and the cloud-init service default
    /// to `user`; otherwise the agent defaults to `auto`, which selects `user` in an unprivileged container.
    #[attr(optional)]
    pub(crate) device: Attr<Device>,
    /// Carrier of the tunnel: `auto`, `udp` or `tls`. Defaults to `auto`, which uses UDP and falls back to TLS if UDP
    /// is blocked.
    #[attr(optional)]
    pub(crate) carrier: Attr<Carrier>,
    /// Listen address of the SOCKS5 proxy, `ADDR:PORT` or `off`. Defaults to `127.0.0.1:1080`.
    #[attr(optional, validate = address)]
    pub(crate) socks5: Attr<String>,
    /// Listen address of the HTTP CONNECT proxy, which S3 clients need, `ADDR:PORT` or `off`. Defaults to
    /// `127.0.0.1:3128`.
    #[attr(optional, validate = address)]
    pub(crate) http_proxy: Attr<String>,
    /// Listen address of the DNS server that resolves through the tunnel, `ADDR:PORT` or `off`. Defaults to `off`.
    #[attr(optional, validate = address)]
    pub(crate) dns: Attr<String>,
    /// Local ports to forward into the tunnel, each `[udp:]ADDR:PORT=HOST:PORT`.
    #[attr(optional, validate = words)]
    pub(crate) forwards: Attr<Vec<String>>,
    /// Ports on the tunnel addresses to forward to local services, each `[udp:]PORT=HOST:PORT`.
    #[attr(optional, validate = words)]
    pub(crate) reverse: Attr<Vec<String>>,
    /// Whether the proxies connect directly to destinations outside the tunnel. Defaults to `true`.
    #[attr(optional)]
    pub(crate) direct: Attr<bool>,
    /// Listen address of the Prometheus metrics endpoint, `ADDR:PORT` or `off`. Defaults to `127.0.0.1:9586`; in a
    /// sidecar to `0.0.0.0:9586`, because the kubelet's probes do not come from the pod's loopback.
    #[attr(optional, validate = address)]
    pub(crate) metrics: Attr<String>,
    /// Static WireGuard configuration, without enrolment. Renders `wg_quick`.
    #[attr(optional)]
    pub(crate) wireguard: Attr<WireGuard>,
    /// Settings of the Kubernetes sidecar. Renders `kubernetes_sidecar`.
    #[attr(optional)]
    pub(crate) kubernetes: Attr<Kubernetes>,
    /// Settings of a virtual machine with systemd and cloud-init. Renders `cloud_config`.
    #[attr(optional)]
    pub(crate) cloud_init: Attr<CloudInit>,
    /// Environment variables for the agent (`warren-tunnel agent` or `warren-tunnel exec`).
    #[attr(computed)]
    pub(crate) environment: Variables,
    /// Proxy environment variables for programs that run alongside the agent, in lower and upper case.
    /// `warren-tunnel exec` sets them automatically.
    #[attr(computed)]
    pub(crate) proxy_environment: Variables,
    /// wg-quick file with the settings of `wireguard`, without the private key. Null without `wireguard`.
    #[attr(computed)]
    pub(crate) wg_quick: Attr<String>,
    /// YAML fragment of a Kubernetes pod's `spec` that runs the agent as a sidecar. Null without `kubernetes`.
    #[attr(computed)]
    pub(crate) kubernetes_sidecar: Attr<String>,
    /// cloud-init user data that runs the agent as an unprivileged service. Null without `cloud_init`.
    #[attr(computed)]
    pub(crate) cloud_config: Attr<String>,
}

/// The device that handles packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub(crate) enum Device {
    #[choice("auto")]
    Auto,
    #[choice("user")]
    User,
    #[choice("tun")]
    Tun,
    #[choice("kernel")]
    Kernel,
}

/// The carrier of the tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub(crate) enum Carrier {
    #[choice("auto")]
    Auto,
    #[choice("udp")]
    Udp,
    #[choice("tls")]
    Tls,
}

/// A static configuration, without enrolment.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct WireGuard {
    /// Tunnel addresses with prefix length, such as `10.100.0.7/32`.
    #[attr(required)]
    pub(crate) addresses: Attr<Vec<String>>,
    /// IP addresses of DNS resolvers inside the tunnel, and the domains to resolve with them.
    #[attr(optional)]
    pub(crate) dns: Attr<Vec<String>>,
    /// MTU of the tunnel in bytes. Chosen by the agent by default.
    #[attr(optional)]
    pub(crate) mtu: Attr<u16>,
    /// Path of the private key file on the machine. Defaults to `/etc/warren/private.key`.
    #[attr(optional)]
    pub(crate) private_key_file: Attr<String>,
    /// WireGuard peers, at least one.
    #[attr(required)]
    pub(crate) peers: Attr<Vec<Peer>>,
}

/// A WireGuard peer.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct Peer {
    /// Public key of the peer, base64-encoded.
    #[attr(required)]
    pub(crate) public_key: Attr<String>,
    /// UDP endpoint of the peer, as `host:port`.
    #[attr(optional)]
    pub(crate) endpoint: Attr<String>,
    /// Ranges routed to the peer, in CIDR notation.
    #[attr(required)]
    pub(crate) allowed_ips: Attr<Vec<String>>,
    /// Keepalive interval in seconds, 1 to 65535. Defaults to `25`.
    #[attr(optional)]
    pub(crate) persistent_keepalive: Attr<u16>,
    /// TLS endpoint of the peer, as `host:port`.
    #[attr(optional)]
    pub(crate) tls_endpoint: Attr<String>,
    /// Pin of the public key in the peer's TLS certificate, `sha256//…`.
    #[attr(optional)]
    pub(crate) tls_pin: Attr<String>,
}

/// A sidecar.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct Kubernetes {
    /// Container image that contains the agent.
    #[attr(required, validate = word)]
    pub(crate) image: Attr<String>,
    /// Name of the Kubernetes `Secret` that contains the token.
    #[attr(required, validate = word)]
    pub(crate) secret_name: Attr<String>,
    /// Key of the token in the `Secret`. Defaults to `token`.
    #[attr(optional, validate = word)]
    pub(crate) secret_key: Attr<String>,
}

/// A virtual machine.
#[derive(Clone, Debug, Default, PartialEq, Object)]
pub(crate) struct CloudInit {
    /// URL of the agent's static binary.
    #[attr(required, validate = word)]
    pub(crate) binary_url: Attr<String>,
    /// SHA-256 hash of the binary, 64 hexadecimal digits.
    #[attr(required, validate = sha256)]
    pub(crate) binary_sha256: Attr<String>,
    /// Shell command that prints the token, such as `aws ssm get-parameter --name /warren/token --with-decryption
    /// --query Parameter.Value --output text`. It runs as the service's user at each start.
    #[attr(required, validate = line)]
    pub(crate) token_command: Attr<String>,
}

fn wrong(path: &Path, diagnostics: &mut Diagnostics, why: String) {
    diagnostics.error_at(path.clone(), "Invalid agent setting", why);
}

fn no_token(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    if value.as_str().is_some_and(|text| text.contains("v4.public.")) {
        wrong(
            path,
            diagnostics,
            format!(
                "`{path}` contains a token, which would be stored in the state. Use a placeholder instead, such as \
                 the `reference` of a secret."
            ),
        );
    }
}

fn address(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let text = value.as_str().unwrap_or_default();
    if text != "off" && text.parse::<SocketAddr>().is_err() {
        wrong(
            path,
            diagnostics,
            format!(
                "{text:?} is not an IP address with a port. Use a value such as `127.0.0.1:1080`, or `off`."
            ),
        );
    }
}

fn word(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let text = value.as_str().unwrap_or_default();
    if text.is_empty()
        || text.contains(|c: char| c.is_whitespace() || c.is_control() || "'\"`$;&|<>(){}\\".contains(c))
    {
        wrong(
            path,
            diagnostics,
            format!(
                "{text:?} is empty or contains whitespace, quotes or shell metacharacters, which are not allowed here. Use a \
                 value without them."
            ),
        );
    }
}

fn words(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    value.as_slice().into_iter().flatten().filter(|item| item.as_str().is_some()).for_each(|item| {
        word(item, path, diagnostics);
    });
}

fn line(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let text = value.as_str().unwrap_or_default();
    if text.trim().is_empty() || text.contains(char::is_control) {
        wrong(path, diagnostics, format!("`{path}` must be a shell command on one line."));
    }
}

fn sha256(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let text = value.as_str().unwrap_or_default();
    if text.len() != 64 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        wrong(
            path,
            diagnostics,
            format!("{text:?} is not a SHA-256 hash. Use 64 hexadecimal digits, as printed by `sha256sum`."),
        );
    }
}
