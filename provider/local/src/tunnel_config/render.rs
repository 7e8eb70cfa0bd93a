//! Renders settings to files and variables. The same settings always produce the same bytes.

use std::collections::BTreeMap;

use tera::{Context, Tera};
use tf_provider_rs::{Attr, Diagnostic, Diagnostics, Path};
use warren_wire::config::{Config, Interface, Peer, TlsEndpoint};

use super::model::{CloudInit, Kubernetes, TunnelConfig, WireGuard};

/// Environment variables by name.
type Variables = BTreeMap<String, String>;

const SOCKS5: &str = "127.0.0.1:1080";
const HTTP_PROXY: &str = "127.0.0.1:3128";
const METRICS_PORT: u16 = 9586;
/// Seconds between keepalives of a WireGuard peer, the interval that wg(8) recommends behind NAT.
const KEEPALIVE: u16 = 25;
const KEY_FILE: &str = "/etc/warren/private.key";
/// Destinations that bypass the proxy: loopback addresses and the clouds' metadata servers.
const NO_PROXY: &str = "localhost,127.0.0.1,::1,169.254.169.254,metadata.google.internal";

/// Fills in the computed attributes.
///
/// # Errors
/// A value that the agent would reject, with its path.
pub(super) fn render(mut config: TunnelConfig) -> Result<TunnelConfig, Diagnostics> {
    let settings = settings(&config);
    config.wg_quick = match config.wireguard.known() {
        Some(wireguard) => wg_quick(wireguard)?.into(),
        None => Attr::Null,
    };
    config.kubernetes_sidecar = match config.kubernetes.known() {
        Some(kubernetes) => sidecar(kubernetes, &settings)?.into(),
        None => Attr::Null,
    };
    config.cloud_config = match config.cloud_init.known() {
        Some(cloud_init) => cloud_config(cloud_init, &settings)?.into(),
        None => Attr::Null,
    };
    let mut environment = settings;
    if let Some(reference) = config.token_reference.known() {
        environment.insert("WARREN_TOKEN".to_owned(), reference.clone());
    }
    if let Some(wireguard) = config.wireguard.known() {
        environment.insert("WARREN_PRIVATE_KEY_FILE".to_owned(), key_file(wireguard).to_owned());
    }
    config.environment = variables(environment);
    config.proxy_environment = variables(proxies(&config));
    Ok(config)
}

/// The settings as environment variables of the agent.
fn settings(config: &TunnelConfig) -> Variables {
    let lists = |list: &Attr<Vec<String>>| {
        list.known().filter(|items| !items.is_empty()).map(|items| items.join(","))
    };
    let pairs = [
        ("WARREN_DEVICE", config.device.known().map(ToString::to_string)),
        ("WARREN_CARRIER", config.carrier.known().map(ToString::to_string)),
        ("WARREN_SOCKS5", config.socks5.known().cloned()),
        ("WARREN_HTTP_PROXY", config.http_proxy.known().cloned()),
        ("WARREN_DNS", config.dns.known().cloned()),
        ("WARREN_FORWARD", lists(&config.forwards)),
        ("WARREN_REVERSE", lists(&config.reverse)),
        ("WARREN_NO_DIRECT", (config.direct == Attr::Known(false)).then(|| "true".to_owned())),
        ("WARREN_METRICS", config.metrics.known().cloned()),
        ("WARREN_LOG_FORMAT", Some("json".to_owned())),
    ];
    pairs.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

fn proxies(config: &TunnelConfig) -> Variables {
    let at = |setting: &Attr<String>, default: &str| match setting.known().map(String::as_str) {
        Some("off") => None,
        Some(address) => Some(address.to_owned()),
        None => Some(default.to_owned()),
    };
    let mut found = Variables::new();
    let mut both = |name: &str, value: String| {
        found.insert(name.to_lowercase(), value.clone());
        found.insert(name.to_owned(), value);
    };
    if let Some(http) = at(&config.http_proxy, HTTP_PROXY) {
        both("HTTPS_PROXY", format!("http://{http}"));
        both("HTTP_PROXY", format!("http://{http}"));
    }
    if let Some(socks5) = at(&config.socks5, SOCKS5) {
        both("ALL_PROXY", format!("socks5h://{socks5}"));
    }
    both("NO_PROXY", NO_PROXY.to_owned());
    found
}

fn key_file(wireguard: &WireGuard) -> &str {
    wireguard.private_key_file.known().map_or(KEY_FILE, String::as_str)
}

/// The wg-quick file, rendered with the types that the agent parses it with, so that only valid files are written.
fn wg_quick(wireguard: &WireGuard) -> Result<String, Diagnostics> {
    let root = Path::of("wireguard");
    let mut interface = Interface {
        addresses: all(&wireguard.addresses, &root.attribute("addresses"))?,
        mtu: wireguard.mtu.known().copied(),
        // wg-quick does not read key files; the agent gets the path from its environment instead.
        post_up: vec![format!("wg set %i private-key {}", key_file(wireguard))],
        ..Interface::default()
    };
    for server in wireguard.dns.known().into_iter().flatten() {
        match server.parse() {
            Ok(address) => interface.dns.push(address),
            Err(_) => interface.dns_search.push(server.clone()),
        }
    }
    let mut peers = Vec::new();
    for (index, peer) in wireguard.peers.known().into_iter().flatten().enumerate() {
        let at = |attribute: &str| root.attribute("peers").index(index).attribute(attribute);
        let endpoint =
            |text: &Attr<String>, path: Path| text.known().map(|text| one::<_, _>(text, &path)).transpose();
        let tls = match endpoint(&peer.tls_endpoint, at("tls_endpoint"))? {
            Some(endpoint) => Some(TlsEndpoint {
                endpoint,
                pins: peer.tls_pin.known().map(|pin| one(pin, &at("tls_pin"))).transpose()?,
                name: None,
            }),
            None => None,
        };
        peers.push(Peer {
            public_key: one(peer.public_key.value()?, &at("public_key"))?,
            preshared_key: None,
            allowed_ips: all(&peer.allowed_ips, &at("allowed_ips"))?,
            endpoint: endpoint(&peer.endpoint, at("endpoint"))?,
            persistent_keepalive: peer.persistent_keepalive.known().copied().or(Some(KEEPALIVE)),
            tls,
        });
    }
    let text = Config { interface, peers }.to_string();
    match Config::parse(&text) {
        Ok(_) => Ok(text),
        Err(error) => Err(refused(&error, &root)),
    }
}

fn sidecar(kubernetes: &Kubernetes, settings: &Variables) -> Result<String, Diagnostics> {
    let mut environment = settings.clone();
    let metrics =
        environment.entry("WARREN_METRICS".to_owned()).or_insert_with(|| format!("0.0.0.0:{METRICS_PORT}"));
    let port = metrics.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).unwrap_or(METRICS_PORT);
    environment.entry("WARREN_DEVICE".to_owned()).or_insert_with(|| "user".to_owned());
    let mut context = Context::new();
    context.insert("image", kubernetes.image.value()?);
    context.insert("environment", &environment);
    context.insert("secret_variable", "WARREN_TOKEN");
    context.insert("secret_name", kubernetes.secret_name.value()?);
    context.insert("secret_key", kubernetes.secret_key.known().map_or("token", String::as_str));
    context.insert("metrics_port", &port);
    fill("sidecar", include_str!("templates/sidecar.yaml"), &context)
}

fn cloud_config(cloud_init: &CloudInit, settings: &Variables) -> Result<String, Diagnostics> {
    let mut environment = settings.clone();
    environment.entry("WARREN_DEVICE".to_owned()).or_insert_with(|| "user".to_owned());
    let mut context = Context::new();
    context.insert("environment", &environment);
    context.insert("binary_url", cloud_init.binary_url.value()?);
    context.insert("binary_sha256", &cloud_init.binary_sha256.value()?.to_lowercase());
    context.insert("token_command", cloud_init.token_command.value()?);
    fill("cloud-init", include_str!("templates/cloud-init.yaml"), &context)
}

fn fill(name: &str, template: &str, context: &Context) -> Result<String, Diagnostics> {
    let mut tera = Tera::default();
    let filled = tera.add_raw_template(name, template).and_then(|()| tera.render(name, context));
    filled.map_err(|error| refused(&error, &Path::root()))
}

fn variables(variables: Variables) -> Attr<BTreeMap<String, Attr<String>>> {
    Attr::Known(variables.into_iter().map(|(name, value)| (name, value.into())).collect())
}

fn all<T>(texts: &Attr<Vec<String>>, path: &Path) -> Result<Vec<T>, Diagnostics>
where
    T: std::str::FromStr<Err: std::fmt::Display>,
{
    let texts = texts.known().into_iter().flatten().enumerate();
    texts.map(|(index, text)| one(text, &path.index(index))).collect()
}

fn one<T, E: std::fmt::Display>(text: &str, path: &Path) -> Result<T, Diagnostics>
where
    T: std::str::FromStr<Err = E>,
{
    text.parse().map_err(|error| refused(&format!("{text:?}: {error}"), path))
}

fn refused(error: &dyn std::fmt::Display, path: &Path) -> Diagnostics {
    Diagnostic::error("Invalid agent configuration", format!("{error}.")).at(path.clone()).into()
}
