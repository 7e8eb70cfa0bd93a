use std::collections::BTreeSet;

use tf_provider_rs::Attr;
use warren_wire::Token;
use warren_wire::token::KeyRing;

use super::*;

const NOW: u64 = 1_800_000_000;

fn key() -> SigningKey {
    SigningKey::from_random([7; 32])
}

fn config() -> EnrolmentToken {
    EnrolmentToken {
        fabric: "llm-training".into(),
        group: "gpu".into(),
        gateways: Attr::Known(vec![model::Gateway {
            name: "gw-a".into(),
            public_key: "zhfKdDHZcX0PG5KWPqvLZyRj8kpBMsCjqvYhAXi7Ugg=".into(),
            udp: "gw-a.example.com:51820".into(),
            tls: "gw-a.example.com:443".into(),
            pins: Attr::Known(BTreeSet::from(["AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM".into()])),
        }]),
        ttl: "10m".into(),
        uses: 2.into(),
        ..EnrolmentToken::default()
    }
}

fn signed(config: EnrolmentToken) -> Result<EnrolmentToken, Diagnostics> {
    sign(config, &key(), UnixTime::from_secs(NOW), [1; 16])
}

fn told(diagnostics: &Diagnostics) -> String {
    diagnostics
        .0
        .iter()
        .map(|d| {
            let path = d.path.as_ref().map(ToString::to_string).unwrap_or_default();
            format!("{path}: {}: {}\n", d.summary, d.detail)
        })
        .collect()
}

#[test]
fn a_gateway_accepts_the_token() {
    let made = signed(config()).unwrap();
    let token = Token::parse(&made.token.known().unwrap().0).unwrap();
    let claims = KeyRing::new([key().verifying_key()]).verify(&token).unwrap();
    assert_eq!(claims.check(UnixTime::from_secs(NOW + 599), &"llm-training".parse().unwrap()), Ok(()));
    assert!(claims.check(UnixTime::from_secs(NOW + 600), &"llm-training".parse().unwrap()).is_err());
    assert_eq!((claims.group.as_str(), claims.uses.map(NonZeroU32::get)), ("gpu", Some(2)));
    assert_eq!(claims.gateways.as_slice()[0].tls.to_string(), "gw-a.example.com:443");
    assert_eq!(made.expires_at.value().unwrap(), "2027-01-15T08:10:00Z");
    assert_eq!(*made.key_id.value().unwrap(), key().verifying_key().id().to_string());
}

#[test]
fn a_token_is_for_one_peer_and_one_hour_unless_said_otherwise() {
    let claims = |config: EnrolmentToken| {
        let made = signed(config).unwrap();
        Token::parse(&made.token.known().unwrap().0).unwrap().peek().unwrap()
    };
    let short = claims(EnrolmentToken { ttl: Attr::default(), uses: Attr::default(), ..config() });
    assert_eq!(short.uses, NonZeroU32::new(1));
    assert_eq!(short.validity.expires(), UnixTime::from_secs(NOW + 3600));
    assert_eq!(short.max_lease, None);
    let long = claims(EnrolmentToken { max_lease: "14d".into(), ..config() });
    assert_eq!(long.max_lease, Some(std::time::Duration::from_secs(14 * 86_400)));
}

#[test]
fn what_is_secret_is_in_no_debug_output() {
    let given = EnrolmentToken {
        signing_key: Attr::Known(Secret(key().to_text().to_string())),
        ..signed(config()).unwrap()
    };
    let shown = format!("{given:?}");
    assert!(!shown.contains("v4.public") && !shown.contains("k4.secret"), "{shown}");
}

#[test]
fn mistakes_are_told_with_their_place_and_without_the_key() {
    let gateway = |change: fn(&mut model::Gateway)| {
        let mut all = config().gateways.into_known().unwrap();
        change(&mut all[0]);
        told(&signed(EnrolmentToken { gateways: all.into(), ..config() }).unwrap_err())
    };
    let from = |given: EnrolmentToken| told(&signing_key(&given).unwrap_err());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    std::fs::write(&file, "k4.secret.hunter2").unwrap();
    let all = [
        gateway(|gateway| gateway.public_key = "x".into()),
        gateway(|gateway| gateway.tls = "gw-a".into()),
        gateway(|gateway| gateway.pins = Attr::Known(BTreeSet::new())),
        told(&signed(EnrolmentToken { gateways: Attr::Known(Vec::new()), ..config() }).unwrap_err()),
        from(EnrolmentToken { signing_key: Attr::Known(Secret("hunter2".to_owned())), ..config() }),
        from(EnrolmentToken { signing_key_env: "WARREN_NO_SUCH_VARIABLE".into(), ..config() }),
        from(EnrolmentToken { signing_key_file: "/no/such/file".into(), ..config() }),
        from(EnrolmentToken { signing_key_file: file.to_str().unwrap().into(), ..config() }),
    ];
    let all = all.concat();
    assert!(!all.contains("hunter2"), "{all}");
    insta::assert_snapshot!(all);
}

#[test]
fn the_key_is_read_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    std::fs::write(&file, format!("{}\n", &*key().to_text())).unwrap();
    let given = EnrolmentToken { signing_key_file: file.to_str().unwrap().into(), ..config() };
    assert_eq!(signing_key(&given).unwrap().verifying_key(), key().verifying_key());
}

#[tokio::test]
async fn exactly_one_key_is_given() {
    let check = |given: EnrolmentToken| async move {
        let mut diagnostics = Diagnostics::default();
        Tokens.validate(&given, &mut diagnostics).await;
        diagnostics.0.len()
    };
    assert_eq!(check(config()).await, 1);
    let env = EnrolmentToken { signing_key_env: "KEY".into(), ..config() };
    assert_eq!(check(env.clone()).await, 0);
    assert_eq!(check(EnrolmentToken { signing_key_file: "/key".into(), ..env.clone() }).await, 1);
    assert_eq!(check(EnrolmentToken { signing_key: Attr::Unknown, ..env }).await, 0, "it may become null");
}
