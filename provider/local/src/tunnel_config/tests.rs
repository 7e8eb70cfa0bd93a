use tf_provider_rs::Attr;

use super::model::{CloudInit, Kubernetes, Peer, TunnelConfig, WireGuard};
use super::render::render;

fn texts(items: &[&str]) -> Attr<Vec<String>> {
    Attr::Known(items.iter().map(|item| (*item).to_owned()).collect())
}

fn peer() -> Peer {
    Peer {
        public_key: "zhfKdDHZcX0PG5KWPqvLZyRj8kpBMsCjqvYhAXi7Ugg=".into(),
        endpoint: "gw-a.example.com:51820".into(),
        allowed_ips: texts(&["10.0.0.0/16", "fd00:1::/64"]),
        tls_endpoint: "gw-a.example.com:443".into(),
        tls_pin: "sha256//AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM=".into(),
        ..Peer::default()
    }
}

fn config() -> TunnelConfig {
    TunnelConfig {
        token_reference: "{{ RUNPOD_SECRET_token }}".into(),
        forwards: texts(&["127.0.0.1:5432=db.internal:5432", "127.0.0.1:6379=cache.internal:6379"]),
        direct: false.into(),
        wireguard: Attr::Known(WireGuard {
            addresses: texts(&["10.100.0.7/32"]),
            dns: texts(&["10.0.0.2", "internal.example"]),
            mtu: 1420.into(),
            peers: Attr::Known(vec![peer()]),
            ..WireGuard::default()
        }),
        kubernetes: Attr::Known(Kubernetes {
            image: "registry.example/warren-tunnel:1".into(),
            secret_name: "warren".into(),
            ..Kubernetes::default()
        }),
        cloud_init: Attr::Known(CloudInit {
            binary_url: "https://example.com/warren-tunnel".into(),
            binary_sha256: "AB".repeat(32).into(),
            token_command: "aws ssm get-parameter --name /warren/token --query Parameter.Value".into(),
        }),
        ..TunnelConfig::default()
    }
}

fn lines(variables: &super::model::Variables) -> String {
    let variables = variables.known().into_iter().flatten();
    variables.map(|(name, value)| format!("{name}={}\n", value.value().unwrap())).collect()
}

#[test]
fn variables() {
    let made = render(config()).unwrap();
    insta::assert_snapshot!(lines(&made.environment) + "\n" + &lines(&made.proxy_environment));
    let least = render(TunnelConfig { socks5: "off".into(), ..TunnelConfig::default() }).unwrap();
    insta::assert_snapshot!("least", lines(&least.environment) + "\n" + &lines(&least.proxy_environment));
    assert_eq!((least.wg_quick, least.kubernetes_sidecar, least.cloud_config), Default::default());
}

#[test]
fn a_wg_quick_file() {
    insta::assert_snapshot!(render(config()).unwrap().wg_quick.value().unwrap());
}

#[test]
fn a_sidecar_without_privileges() {
    let made = render(config()).unwrap();
    let text = made.kubernetes_sidecar.value().unwrap();
    let spec: serde_json::Value = serde_saphyr::from_str(text).unwrap();
    let agent = &spec["initContainers"][0];
    assert_eq!(agent["securityContext"]["capabilities"]["drop"][0], "ALL");
    assert_eq!(agent["securityContext"]["runAsNonRoot"], true);
    insta::assert_snapshot!(text);
}

#[test]
fn user_data_of_a_machine() {
    let made = render(config()).unwrap();
    let text = made.cloud_config.value().unwrap();
    let data: serde_json::Value = serde_saphyr::from_str(text).unwrap();
    assert_eq!(data["write_files"].as_array().map(Vec::len), Some(4));
    assert_eq!(data["runcmd"][2][3], "warren-tunnel.service");
    insta::assert_snapshot!(text);
}

#[test]
fn what_the_agent_would_not_read_is_told_with_its_place() {
    let told = |change: fn(&mut WireGuard)| {
        let mut wireguard = config().wireguard.into_known().unwrap();
        change(&mut wireguard);
        let refused = render(TunnelConfig { wireguard: wireguard.into(), ..config() }).unwrap_err();
        let path = refused.0[0].path.as_ref().map(ToString::to_string).unwrap_or_default();
        format!("{path}: {}\n", refused.0[0].detail)
    };
    let all = [
        told(|wireguard| wireguard.addresses = texts(&["10.100.0.7/33"])),
        told(|wireguard| wireguard.peers = Attr::Known(vec![Peer { public_key: "x".into(), ..peer() }])),
        told(|wireguard| wireguard.peers = Attr::Known(vec![Peer { endpoint: "gw".into(), ..peer() }])),
        told(|wireguard| wireguard.peers = Attr::Known(vec![Peer { tls_pin: "x".into(), ..peer() }])),
    ];
    insta::assert_snapshot!(all.concat());
}
