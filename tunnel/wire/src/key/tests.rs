use super::*;

#[test]
fn random_bytes_are_clamped() {
    let key = PrivateKey::from_random([0xff; 32]);
    assert_eq!((key.as_bytes()[0], key.as_bytes()[31]), (248, 127));
    let key = PrivateKey::from_random([0; 32]);
    assert_eq!((key.as_bytes()[0], key.as_bytes()[31]), (0, 64));
}

#[test]
fn the_public_key_is_that_of_the_base_point() {
    // RFC 7748 section 5.2: the first iteration, whose scalar and point are both 9.
    let mut nine = [0; 32];
    nine[0] = 9;
    assert_eq!(
        PrivateKey::from_bytes(nine).public().to_hex(),
        "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079"
    );
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
