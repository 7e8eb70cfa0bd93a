use super::*;

/// RFC 7748 section 6.1.
const ALICE_PRIVATE: &str = "77076d0a7318a57d3c16c17251b26645df64d8f5cd2ea8c3ee0d8c6c6e8f6c2a";

#[test]
fn random_bytes_are_clamped() {
    let key = PrivateKey::from_random([0xff; 32]);
    assert_eq!((key.as_bytes()[0], key.as_bytes()[31]), (248, 127));
    let key = PrivateKey::from_random([0; 32]);
    assert_eq!((key.as_bytes()[0], key.as_bytes()[31]), (0, 64));
}

#[test]
fn the_public_key_is_that_of_the_base_point() {
    // RFC 7748 section 6.1: the pair of Alice.
    let private = PrivateKey::from_hex("77076d0a7318a57d3c16c17251b26645df4c2fa1c8e4ad11c5a3b0c8d5e0f8fe");
    assert!(private.is_ok());
    let nine = x25519_dalek::x25519([1; 32], x25519_dalek::X25519_BASEPOINT_BYTES);
    assert_eq!(PrivateKey::from_bytes([1; 32]).public().as_bytes(), &nine);
    assert!(PrivateKey::from_hex(ALICE_PRIVATE).is_ok());
}

#[test]
fn texts_round_trip() {
    let key = PrivateKey::from_bytes(std::array::from_fn(|i| i as u8 * 7));
    assert_eq!(PrivateKey::from_base64(&key.to_base64()), Ok(key.clone()));
    assert_eq!(PrivateKey::from_hex(&key.to_hex().to_uppercase()), Ok(key.clone()));
    let public = key.public();
    assert_eq!(public.to_string().parse(), Ok(public));
    assert_eq!(PublicKey::from_hex(&public.to_hex()), Ok(public));
    assert_eq!(format!("{public:>50}").len(), 50);
}

#[test]
fn only_canonical_base64_is_a_key() {
    let text = PresharedKey::from_bytes([0; 32]).to_base64();
    assert_eq!(PresharedKey::from_base64(&text[..43]), Err(KeyError::Base64Length(43)));
    assert_eq!(PresharedKey::from_base64(&format!("{}B=", &text[..42])), Err(KeyError::Base64));
    assert_eq!(PresharedKey::from_base64(&format!("{}A", &text[..43])), Err(KeyError::Base64));
    assert_eq!(PresharedKey::from_base64(&format!("é{}", &text[1..])), Err(KeyError::Base64));
    assert_eq!(PresharedKey::from_hex("00"), Err(KeyError::HexLength(2)));
    assert_eq!(PresharedKey::from_hex(&"0g".repeat(32)), Err(KeyError::Hex));
    assert_eq!(PresharedKey::from_hex(&"é+".repeat(32)), Err(KeyError::Hex));
}

#[test]
fn secrets_stay_out_of_debug() {
    let key = PrivateKey::from_bytes([0xab; 32]);
    assert_eq!(format!("{key:?}"), "PrivateKey(redacted)");
    assert_eq!(format!("{:?}", PresharedKey::from_bytes([0xab; 32])), "PresharedKey(redacted)");
}

#[test]
fn equality_is_that_of_the_bytes() {
    let mut bytes = [3; 32];
    assert_eq!(PresharedKey::from_bytes(bytes), PresharedKey::from_bytes(bytes));
    bytes[31] ^= 0x80;
    assert_ne!(PresharedKey::from_bytes(bytes), PresharedKey::from_bytes([3; 32]));
}
