use super::*;

const NOW: u64 = 1_800_000_000;
/// Of the published vectors 4-S-1 to 4-S-3: <https://github.com/paseto-standard/test-vectors>.
const VECTOR_KEY: &str =
    "k4.secret.tMv7Q99M4hByfZU-SnEzB_oZu32fhQQUONnhG5QqN3Qeudu7vAR8A_1wYE4AcfCYfhayi3VyJcEfAEFdDiCxog";
const VECTOR_MESSAGE: &str = r#"{"data":"this is a signed message","exp":"2022-01-01T00:00:00+00:00"}"#;
const VECTOR_FOOTER: &str = r#"{"kid":"zVhMiPBP9fRf2snEcT7gFTioeA9COcNy9DfgL1W60haN"}"#;

pub(crate) fn key(seed: u8) -> SigningKey {
    SigningKey::from_random([seed; 32])
}

pub(crate) fn gateway(index: u8) -> Gateway {
    Gateway {
        name: format!("gw-{index}").parse().unwrap(),
        key: crate::PrivateKey::from_random([index; 32]).public(),
        udp: Some(format!("gw-{index}.tunnel.example.com:51820").parse().unwrap()),
        tls: format!("gw-{index}.tunnel.example.com:443").parse().unwrap(),
        pins: vec![crate::Pin::from_bytes([index; 32])].try_into().unwrap(),
    }
}

pub(crate) fn claims(gateways: u8) -> Claims {
    Claims {
        id: TokenId::from_random([7; 16]),
        validity: Validity::new(UnixTime::from_secs(NOW), UnixTime::from_secs(NOW + 3600)).unwrap(),
        fabric: "llm-training".parse().unwrap(),
        group: "gpu".parse().unwrap(),
        uses: NonZeroU32::new(5),
        max_lease: None,
        gateways: (1..=gateways).map(gateway).collect::<Vec<_>>().try_into().unwrap(),
    }
}

#[test]
fn published_vectors_of_v4_public() {
    let key = SigningKey::parse(VECTOR_KEY).unwrap();
    let cases = [
        (
            "",
            "",
            "v4.public.eyJkYXRhIjoidGhpcyBpcyBhIHNpZ25lZCBtZXNzYWdlIiwiZXhwIjoiMjAyMi0wMS0wMVQwMDowMDowMCswMDowMCJ9bg_XBBzds8lTZShVlwwKSgeKpLT3yukTw6JUz3W4h_ExsQV-P0V54zemZDcAxFaSeef1QlXEFtkqxT1ciiQEDA",
        ),
        (
            VECTOR_FOOTER,
            "",
            "v4.public.eyJkYXRhIjoidGhpcyBpcyBhIHNpZ25lZCBtZXNzYWdlIiwiZXhwIjoiMjAyMi0wMS0wMVQwMDowMDowMCswMDowMCJ9v3Jt8mx_TdM2ceTGoqwrh4yDFn0XsHvvV_D0DtwQxVrJEBMl0F2caAdgnpKlt4p7xBnx1HcO-SPo8FPp214HDw.eyJraWQiOiJ6VmhNaVBCUDlmUmYyc25FY1Q3Z0ZUaW9lQTlDT2NOeTlEZmdMMVc2MGhhTiJ9",
        ),
        (
            VECTOR_FOOTER,
            r#"{"test-vector":"4-S-3"}"#,
            "v4.public.eyJkYXRhIjoidGhpcyBpcyBhIHNpZ25lZCBtZXNzYWdlIiwiZXhwIjoiMjAyMi0wMS0wMVQwMDowMDowMCswMDowMCJ9NPWciuD3d0o5eXJXG5pJy-DiVEoyPYWs1YSTwWHNJq6DZD3je5gf-0M4JR9ipdUSJbIovzmBECeaWmaqcaP0DQ.eyJraWQiOiJ6VmhNaVBCUDlmUmYyc25FY1Q3Z0ZUaW9lQTlDT2NOeTlEZmdMMVc2MGhhTiJ9",
        ),
    ];
    for (footer, implicit, token) in cases {
        let made = paseto::sign(&key, VECTOR_MESSAGE.as_bytes(), footer.as_bytes(), implicit.as_bytes());
        assert_eq!(made, token);
        let parts = paseto::parse(token).unwrap();
        assert_eq!(parts.footer, footer.as_bytes());
        let verified = parts.verified(&key.verifying_key(), implicit.as_bytes()).unwrap();
        assert_eq!(verified, VECTOR_MESSAGE.as_bytes());
        assert_eq!(parts.verified(&key.verifying_key(), b"another"), Err(TokenError::Forged));
    }
}

#[test]
fn published_vectors_of_paserk() {
    let zero = SigningKey::from_random([0; 32]);
    assert_eq!(
        &*zero.to_text(),
        "k4.secret.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA7aie8zrakLWKjqNAqbw1zZTIVdx3iQ6Y6wEihi1naKQ"
    );
    let public = "k4.public.cHFyc3R1dnd4eXp7fH1-f4CBgoOEhYaHiImKi4yNjo8".parse::<VerifyingKey>();
    if let Ok(public) = public {
        assert_eq!(public.id().to_string(), "k4.pid.9ShR3xc8-qVJ_di0tc9nx0IDIqbatdeM2mqLFBJsKRHs");
    }
    let halves = SigningKey::from_random(std::array::from_fn(|i| 0x70 + i as u8));
    assert_eq!(
        &*halves.to_text(),
        "k4.secret.cHFyc3R1dnd4eXp7fH1-f4CBgoOEhYaHiImKi4yNjo8c5WpIyC_5kWKhS8VEYSZ05dYfuTF-ZdQFV4D9vLTcNQ"
    );
}

#[test]
fn another_implementation_reads_and_writes_the_same() {
    use pasetors::keys::{AsymmetricPublicKey, AsymmetricSecretKey};
    use pasetors::paserk::{FormatAsPaserk, Id};
    use pasetors::version4::{PublicToken, V4};

    let own = key(9);
    let other = AsymmetricSecretKey::<V4>::try_from(own.to_text().as_str()).unwrap();
    let public = AsymmetricPublicKey::<V4>::try_from(own.verifying_key().to_string().as_str()).unwrap();
    let token = claims(3).sign(&own).unwrap();
    let untrusted =
        pasetors::token::UntrustedToken::<pasetors::token::Public, V4>::try_from(token.secret()).unwrap();
    let trusted = PublicToken::verify(&public, &untrusted, None, Some(IMPLICIT)).unwrap();
    assert_eq!(Claims::read(trusted.payload().as_bytes()), Ok(claims(3)));

    let mut id = String::new();
    Id::from(&public).fmt(&mut id).unwrap();
    assert_eq!(id, own.verifying_key().id().to_string());
    let footer = format!(r#"{{"kid":"{id}"}}"#);
    let theirs =
        PublicToken::sign(&other, trusted.payload().as_bytes(), Some(footer.as_bytes()), Some(IMPLICIT));
    let theirs = Token::parse(&theirs.unwrap()).unwrap();
    assert_eq!(KeyRing::new([own.verifying_key()]).verify(&theirs), Ok(claims(3)));
}

#[test]
fn a_token_is_read_as_it_was_signed_and_is_small() {
    let token = claims(3).sign(&key(1)).unwrap();
    assert_eq!(token.peek(), Ok(claims(3)));
    assert_eq!(Token::parse(&format!(" {}\n", token.secret())).as_ref(), Ok(&token));
    assert_eq!(KeyRing::new([key(1).verifying_key()]).verify(&token), Ok(claims(3)));
    // An environment variable has 128 KiB, but people paste tokens, too.
    assert!(token.secret().len() < 1400, "{} characters", token.secret().len());
    assert_eq!(format!("{token:?}"), "Token(redacted)");
    assert_eq!(format!("{:?}", key(1)), "SigningKey(redacted)");
    // The largest set fits, with the longest names that are usual.
    assert!(claims(16).sign(&key(1)).is_ok());
}

#[test]
fn keys_are_rotated_with_overlap() {
    let (old, new) = (key(1), key(2));
    let both = KeyRing::new([old.verifying_key(), new.verifying_key(), old.verifying_key()]);
    assert_eq!(both.ids().count(), 2);
    for signer in [&old, &new] {
        assert_eq!(both.verify(&claims(1).sign(signer).unwrap()), Ok(claims(1)));
    }
    let only_new = KeyRing::new([new.verifying_key()]);
    let refused = only_new.verify(&claims(1).sign(&old).unwrap());
    assert_eq!(refused, Err(TokenError::UnknownKey(old.verifying_key().id())));
}

#[test]
fn every_changed_character_is_refused() {
    let token = claims(1).sign(&key(1)).unwrap();
    let ring = KeyRing::new([key(1).verifying_key()]);
    let text = token.secret();
    for place in 0..text.len() {
        let mut changed = text.as_bytes().to_vec();
        changed[place] = if changed[place] == b'A' { b'B' } else { b'A' };
        let verdict = Token::new(String::from_utf8(changed).unwrap()).and_then(|token| ring.verify(&token));
        assert!(verdict.is_err(), "character {place}");
    }
}

#[test]
fn refusals_say_what_and_what_to_do() {
    let now = UnixTime::from_secs(NOW);
    let fabric = "llm-training".parse().unwrap();
    let signed = claims(1).sign(&key(1)).unwrap();
    let ring = KeyRing::new([key(1).verifying_key()]);
    let sign_text = |message: &str| {
        let footer = serde_json::to_vec(&Footer { kid: key(1).verifying_key().id() }).unwrap();
        Token::new(paseto::sign(&key(1), message.as_bytes(), &footer, IMPLICIT)).unwrap()
    };
    let mut out = String::new();
    let mut case = |name: &str, result: Result<(), TokenError>| {
        out += &format!("{name}: {}\n", result.unwrap_err());
    };
    case("empty", Token::parse("").map(drop));
    case("long", Token::parse(&format!("v4.public.{}", "A".repeat(7000))).map(drop));
    case("local", Token::parse("v4.local.AAAA").map(drop));
    case("cut", Token::parse(&signed.secret()[..60]).map(drop));
    case("not claims", Token::parse(sign_text("{}").secret()).map(drop));
    case("not JSON", Token::parse(sign_text("\u{7f}").secret()).map(drop));
    let unknown = serde_json::to_string(&serde_json::json!({ "jti": "x", "only_on_sundays": true })).unwrap();
    case("unknown claim", Token::parse(sign_text(&unknown).secret()).map(drop));
    case("unknown key", ring.verify(&claims(1).sign(&key(2)).unwrap()).map(drop));
    let other_purpose = paseto::sign(
        &key(1),
        paseto::parse(signed.secret()).unwrap().unverified(),
        &paseto::parse(signed.secret()).unwrap().footer,
        b"another purpose",
    );
    case("another purpose", ring.verify(&Token::new(other_purpose).unwrap()).map(drop));
    case("early", claims(1).check(UnixTime::from_secs(NOW - 61), &fabric));
    case("expired", claims(1).check(now.plus(Duration::from_secs(3600)), &fabric));
    case("fabric", claims(1).check(now, &"other".parse().unwrap()));
    insta::assert_snapshot!(out);
    assert_eq!(claims(1).check(UnixTime::from_secs(NOW - 60), &fabric), Ok(()));
    assert_eq!(claims(1).check(UnixTime::from_secs(NOW + 3599), &fabric), Ok(()));
    assert_eq!(Validity::new(now, now), Err(ValidityError));
    assert_eq!(Validity::new(now, now.plus(VALIDITY_MAX + Duration::from_secs(1))), Err(ValidityError));
}

#[test]
fn bad_keys_are_refused_without_being_repeated() {
    let good = key(1).to_text();
    let mut swapped = good.as_bytes().to_vec();
    let last = swapped.len() - 8;
    swapped[last] = if swapped[last] == b'A' { b'B' } else { b'A' };
    let swapped = String::from_utf8(swapped).unwrap();
    for (text, error) in [
        ("", SigningKeyError::Kind("k4.secret.")),
        ("k4.public.AAAA", SigningKeyError::Kind("k4.secret.")),
        ("k4.secret.AAAA", SigningKeyError::Body("k4.secret.")),
        (&good[..good.len() - 1], SigningKeyError::Body("k4.secret.")),
        (&swapped, SigningKeyError::Halves),
    ] {
        let refused = SigningKey::parse(text).unwrap_err();
        assert_eq!(refused, error);
        assert!(text.len() < 20 || !refused.to_string().contains(&text[12..20]));
    }
    assert_eq!(SigningKey::parse(&good).unwrap().to_text(), good);
    // The identity: every signature of R = identity would be valid under it.
    let weak = format!("k4.public.{}", URL_SAFE_NO_PAD.encode([&[1][..], &[0; 31]].concat()));
    assert_eq!(weak.parse::<VerifyingKey>(), Err(SigningKeyError::Point));
}

#[test]
fn sets_of_gateways_are_checked() {
    assert_eq!(GatewaySet::try_from(Vec::new()), Err(SetError::Gateways(0)));
    assert_eq!(GatewaySet::try_from(vec![gateway(1); 17]), Err(SetError::Gateways(17)));
    let twice = vec![gateway(1), Gateway { name: "gw-2".parse().unwrap(), ..gateway(1) }];
    assert_eq!(GatewaySet::try_from(twice), Err(SetError::Twice("gw-2".parse().unwrap())));
    assert_eq!(crate::Pins::try_from(Vec::new()), Err(crate::PinError::Count(0)));
}
