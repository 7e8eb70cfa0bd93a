//! Attributes of `warren_tunnel_config`.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use tf_provider_rs::schema::{Attribute, Nesting, Schema};
use tf_provider_rs::{Attr, Diagnostics, Path, Type, Value, model};

/// Environment variables by name.
pub(super) type Variables = Attr<BTreeMap<String, Attr<String>>>;

model! {
    /// Settings of an agent, and its rendered configuration for each platform.
    pub(crate) struct TunnelConfig {
        /// Placeholder of the token.
        pub(crate) token_reference: Attr<String>,
        /// `auto`, `user`, `tun`, `kernel`.
        pub(crate) device: Attr<String>,
        /// `auto`, `udp`, `tls`.
        pub(crate) carrier: Attr<String>,
        /// Listen address of SOCKS5.
        pub(crate) socks5: Attr<String>,
        /// Listen address of HTTP CONNECT.
        pub(crate) http_proxy: Attr<String>,
        /// Listen address of DNS.
        pub(crate) dns: Attr<String>,
        /// `[udp:]ADDR:PORT=HOST:PORT`.
        pub(crate) forwards: Attr<Vec<Attr<String>>>,
        /// `[udp:]PORT=HOST:PORT`.
        pub(crate) reverse: Attr<Vec<Attr<String>>>,
        /// Whether the proxies connect directly to other destinations.
        pub(crate) direct: Attr<bool>,
        /// Listen address of the metrics.
        pub(crate) metrics: Attr<String>,
        /// Static WireGuard configuration.
        pub(crate) wireguard: Attr<WireGuard>,
        /// Settings of the sidecar.
        pub(crate) kubernetes: Attr<Kubernetes>,
        /// Settings of the virtual machine.
        pub(crate) cloud_init: Attr<CloudInit>,
        /// The agent's variables.
        pub(crate) environment: Variables,
        /// Variables of programs that run beside it.
        pub(crate) proxy_environment: Variables,
        /// A wg-quick file.
        pub(crate) wg_quick: Attr<String>,
        /// Part of a pod's `spec`.
        pub(crate) kubernetes_sidecar: Attr<String>,
        /// User data.
        pub(crate) cloud_config: Attr<String>,
    }

    /// A static configuration, without enrolment.
    pub(crate) struct WireGuard {
        /// Addresses of the tunnel, with prefix length.
        pub(crate) addresses: Attr<Vec<Attr<String>>>,
        /// Resolvers and search domains.
        pub(crate) dns: Attr<Vec<Attr<String>>>,
        /// MTU in bytes.
        pub(crate) mtu: Attr<i64>,
        /// Path of the private key.
        pub(crate) private_key_file: Attr<String>,
        /// The WireGuard peers.
        pub(crate) peers: Attr<Vec<Peer>>,
    }

    /// A WireGuard peer.
    pub(crate) struct Peer {
        /// Base64.
        pub(crate) public_key: Attr<String>,
        /// `host:port` of WireGuard over UDP.
        pub(crate) endpoint: Attr<String>,
        /// Ranges behind it.
        pub(crate) allowed_ips: Attr<Vec<Attr<String>>>,
        /// Seconds.
        pub(crate) persistent_keepalive: Attr<i64>,
        /// `host:port` of TLS.
        pub(crate) tls_endpoint: Attr<String>,
        /// `sha256//…`.
        pub(crate) tls_pin: Attr<String>,
    }

    /// A sidecar.
    pub(crate) struct Kubernetes {
        /// The agent's image.
        pub(crate) image: Attr<String>,
        /// The `Secret` with the token.
        pub(crate) secret_name: Attr<String>,
        /// Its key.
        pub(crate) secret_key: Attr<String>,
    }

    /// A virtual machine.
    pub(crate) struct CloudInit {
        /// URL of the agent's binary.
        pub(crate) binary_url: Attr<String>,
        /// Its hash.
        pub(crate) binary_sha256: Attr<String>,
        /// Command that prints the token.
        pub(crate) token_command: Attr<String>,
    }
}

pub(super) fn schema() -> Schema {
    Schema::new(
        "Renders the tunnel agent's configuration for the platform that runs the pods: environment variables, a \
         wg-quick file, an unprivileged Kubernetes sidecar or cloud-init user data. The data source calls no API. \
         It neither accepts nor returns secrets: tokens and keys are referenced by their location.",
    )
    .attributes(settings())
    .attributes([wireguard(), kubernetes(), cloud_init()])
    .attributes([
        Attribute::of("environment", Type::map(Type::String)).computed().describe(
            "Environment variables for the agent (`warren-tunnel agent` or `warren-tunnel exec`).",
        ),
        Attribute::of("proxy_environment", Type::map(Type::String)).computed().describe(
            "Proxy environment variables for programs that run alongside the agent, in lower and upper case. \
             `warren-tunnel exec` sets them automatically.",
        ),
        Attribute::string("wg_quick").computed().describe(
            "wg-quick file with the settings of `wireguard`, without the private key. Null without `wireguard`.",
        ),
        Attribute::string("kubernetes_sidecar").computed().describe(
            "YAML fragment of a Kubernetes pod's `spec` that runs the agent as a sidecar. Null without `kubernetes`.",
        ),
        Attribute::string("cloud_config").computed().describe(
            "cloud-init user data that runs the agent as an unprivileged service. Null without `cloud_init`.",
        ),
    ])
}

fn settings() -> Vec<Attribute> {
    vec![
        Attribute::string("token_reference").optional().validate(no_token).describe(
            "Placeholder that the platform replaces with the token, such as `warren_runpod_secret.token.reference`. \
             It becomes the value of `WARREN_TOKEN` in `environment`. Must not be the token itself.",
        ),
        Attribute::string("device").optional().validate(one_of(&["auto", "user", "tun", "kernel"])).describe(
            "Device that handles packets: `auto`, `user`, `tun` or `kernel`. The sidecar and the cloud-init service \
             default to `user`; otherwise the agent defaults to `auto`, which selects `user` in an unprivileged \
             container.",
        ),
        Attribute::string("carrier").optional().validate(one_of(&["auto", "udp", "tls"])).describe(
            "Carrier of the tunnel: `auto`, `udp` or `tls`. Defaults to `auto`, which uses UDP and falls back to \
             TLS if UDP is blocked.",
        ),
        Attribute::string("socks5").optional().validate(address).describe(
            "Listen address of the SOCKS5 proxy, `ADDR:PORT` or `off`. Defaults to `127.0.0.1:1080`.",
        ),
        Attribute::string("http_proxy").optional().validate(address).describe(
            "Listen address of the HTTP CONNECT proxy, which S3 clients need, `ADDR:PORT` or `off`. Defaults to \
             `127.0.0.1:3128`.",
        ),
        Attribute::string("dns").optional().validate(address).describe(
            "Listen address of the DNS server that resolves through the tunnel, `ADDR:PORT` or `off`. Defaults to \
             `off`.",
        ),
        Attribute::of("forwards", Type::list(Type::String)).optional().validate(words).describe(
            "Local ports to forward into the tunnel, each `[udp:]ADDR:PORT=HOST:PORT`.",
        ),
        Attribute::of("reverse", Type::list(Type::String)).optional().validate(words).describe(
            "Ports on the tunnel addresses to forward to local services, each `[udp:]PORT=HOST:PORT`.",
        ),
        Attribute::bool("direct").optional().describe(
            "Whether the proxies connect directly to destinations outside the tunnel. Defaults to `true`.",
        ),
        Attribute::string("metrics").optional().validate(address).describe(
            "Listen address of the Prometheus metrics endpoint, `ADDR:PORT` or `off`. Defaults to `127.0.0.1:9586`; \
             in a sidecar to `0.0.0.0:9586`, because the kubelet's probes do not come from the pod's loopback.",
        ),
    ]
}

fn wireguard() -> Attribute {
    let texts = |name: &str| Attribute::of(name, Type::list(Type::String));
    Attribute::nested(
        "wireguard",
        Nesting::Single,
        [
            texts("addresses")
                .required()
                .describe("Tunnel addresses with prefix length, such as `10.100.0.7/32`."),
            texts("dns").optional().describe(
                "IP addresses of DNS resolvers inside the tunnel, and the domains to resolve with them.",
            ),
            Attribute::number("mtu")
                .optional()
                .describe("MTU of the tunnel in bytes. Chosen by the agent by default."),
            Attribute::string("private_key_file").optional().describe(
                "Path of the private key file on the machine. Defaults to `/etc/warren/private.key`.",
            ),
            Attribute::nested(
                "peers",
                Nesting::List,
                [
                    Attribute::string("public_key")
                        .required()
                        .describe("Public key of the peer, base64-encoded."),
                    Attribute::string("endpoint")
                        .optional()
                        .describe("UDP endpoint of the peer, as `host:port`."),
                    texts("allowed_ips").required().describe("Ranges routed to the peer, in CIDR notation."),
                    Attribute::number("persistent_keepalive")
                        .optional()
                        .describe("Keepalive interval in seconds, 1 to 65535. Defaults to `25`."),
                    Attribute::string("tls_endpoint").optional().describe(
                        "TLS endpoint of the peer, as \
                                       `host:port`.",
                    ),
                    Attribute::string("tls_pin").optional().describe(
                        "Pin of the public key in the peer's TLS \
                                       certificate, `sha256//…`.",
                    ),
                ],
            )
            .required()
            .describe("WireGuard peers, at least one."),
        ],
    )
    .optional()
    .describe("Static WireGuard configuration, without enrolment. Renders `wg_quick`.")
}

fn kubernetes() -> Attribute {
    Attribute::nested(
        "kubernetes",
        Nesting::Single,
        [
            Attribute::string("image")
                .required()
                .validate(word)
                .describe("Container image that contains the agent."),
            Attribute::string("secret_name")
                .required()
                .validate(word)
                .describe("Name of the Kubernetes `Secret` that contains the token."),
            Attribute::string("secret_key").optional().validate(word).describe(
                "Key of the token in the `Secret`. \
                               Defaults to `token`.",
            ),
        ],
    )
    .optional()
    .describe("Settings of the Kubernetes sidecar. Renders `kubernetes_sidecar`.")
}

fn cloud_init() -> Attribute {
    Attribute::nested(
        "cloud_init",
        Nesting::Single,
        [
            Attribute::string("binary_url").required().validate(word).describe("URL of the agent's static binary."),
            Attribute::string("binary_sha256").required().validate(sha256).describe("SHA-256 hash of the binary, 64 \
                               hexadecimal digits."),
            Attribute::string("token_command").required().validate(line).describe(
                "Shell command that prints the token, such as `aws ssm get-parameter --name /warren/token \
                 --with-decryption --query Parameter.Value --output text`. It runs as the service's user at each \
                 start.",
            ),
        ],
    )
    .optional()
    .describe("Settings of a virtual machine with systemd and cloud-init. Renders `cloud_config`.")
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

fn one_of(words: &'static [&'static str]) -> impl Fn(&Value, &Path, &mut Diagnostics) + Send + Sync {
    move |value, path, diagnostics| {
        let text = value.as_str().unwrap_or_default();
        if !words.contains(&text) {
            let list = words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
            wrong(path, diagnostics, format!("{text:?} is not supported. Use one of {list}."));
        }
    }
}
