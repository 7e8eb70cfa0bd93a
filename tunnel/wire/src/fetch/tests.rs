use super::*;

const FILE: &str = r#"
folder = "/run/warren"

[[files]]
name = "gateway.key"
from = "aws-ssm:/warren/gw-a/wireguard"
holds = "wireguard-key"

[[files]]
name = "note"
from = "gcp-secret:projects/acme-ml/secrets/note"
"#;

#[test]
fn a_file_is_read_and_written_again() {
    let config = FetchConfig::parse(FILE).unwrap();
    assert_eq!(config.files[0].holds, Content::WireguardKey);
    assert_eq!(config.files[1].holds, Content::Text);
    let text = config.to_toml().unwrap();
    assert_eq!(FetchConfig::parse(&text), Ok(config));
    assert_eq!(text, FILE.trim_start());
}

#[test]
fn mistakes_are_told() {
    let told = |from: &str, to: &str| {
        let error = FetchConfig::parse(&FILE.replace(from, to)).unwrap_err();
        format!("{to}: {error}")
    };
    let all = [
        told("aws-ssm:/warren", "vault:/warren"),
        told("secrets/note", "versions/note"),
        told("\"note\"", "\"../note\""),
        told("\"note\"", "\"gateway.key\""),
        told("holds", "contains"),
        told("wireguard-key", "wireguard"),
    ];
    insta::assert_snapshot!(all.join("\n"));
    assert!(FetchConfig::parse("folder = \"/x\"\nfiles = []").is_err());
}

#[test]
fn a_value_of_another_kind_is_refused_without_being_told() {
    let key = PrivateKey::from_random([7; 32]).to_base64();
    assert_eq!(Content::WireguardKey.refuses(&format!("{}\n", *key)), None);
    assert_eq!(Content::SigningKey.refuses(&SigningKey::from_random([7; 32]).to_text()), None);
    let told: Vec<String> = [Content::SigningKey, Content::TlsKey, Content::GatewayConfig]
        .into_iter()
        .filter_map(|content| content.refuses(&key))
        .chain(Content::WireguardKey.refuses("k4.secret.none"))
        .chain(Content::Text.refuses(""))
        .collect();
    assert_eq!(told.len(), 5);
    assert!(told.iter().all(|text| !text.contains(&*key) && !text.contains("k4.secret.none")), "{told:?}");
}
