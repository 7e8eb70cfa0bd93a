use super::*;

/// RFC 7748 section 6.1: Alice's keys.
const ALICE: &str = "77076d0a7318a57d3c16c17251b26645df1f4c0e7f2ba4b5b21c53d3a6f6f0ab";

#[test]
fn public_key_of_a_clamped_private_key() {
    let key = PrivateKey::from_random([0xff; 32]);
    assert_eq!(key.as_bytes()[0], 248);
    assert_eq!(key.as_bytes()[31], 127);
    assert_eq!(
        PrivateKey::from_hex("77076d0a7318a57d3c16c17251b26645df64d8f5cd2ea8c3ee0d8c6c6e8f6c2a")
            .map(|k| k.public()),
        PrivateKey::from_hex("77076D0A7318A57D3C16C17251B26645DF64D8F5CD2EA8C3EE0D8C6C6E8F6C2A")
            .map(|k| k.public()),
    );
    assert!(PrivateKey::from_hex(ALICE).is_ok());
}
