use std::time::{Duration, UNIX_EPOCH};

use defguard_wireguard_rs::host::Host;
use warren_wire::key::{PresharedKey, PrivateKey, PublicKey};

use super::*;

fn config() -> KernelConfig {
    KernelConfig {
        private_key: PrivateKey::from_random([7; 32]),
        listen_port: 51820,
        fwmark: Some(51820),
        peers: vec![
            KernelPeer {
                public_key: PublicKey::from_bytes([1; 32]),
                preshared_key: Some(PresharedKey::from_bytes([9; 32])),
                endpoint: Some("[2001:db8::1]:51820".parse().unwrap()),
                persistent_keepalive: Some(25),
                allowed_ips: vec!["10.0.0.0/24".parse().unwrap(), "fd00::/64".parse().unwrap()],
            },
            KernelPeer {
                public_key: PublicKey::from_bytes([2; 32]),
                preshared_key: None,
                endpoint: None,
                persistent_keepalive: None,
                allowed_ips: vec!["0.0.0.0/0".parse().unwrap()],
            },
        ],
    }
}

#[test]
fn what_is_set_is_what_is_read() {
    let config = config();
    let host = Host::try_from(&translate::interface("wg0", &config)).unwrap();
    let status = translate::status(&host);
    assert_eq!(status.public_key, Some(config.private_key.public()));
    assert_eq!((status.listen_port, status.fwmark), (51820, Some(51820)));
    for (read, set) in status.peers.iter().zip(&config.peers) {
        assert_eq!(read.public_key, set.public_key);
        assert_eq!(read.preshared_key_set, set.preshared_key.is_some());
        assert_eq!(read.endpoint, set.endpoint);
        assert_eq!(read.persistent_keepalive, set.persistent_keepalive);
        assert_eq!(read.allowed_ips, set.allowed_ips);
        assert_eq!(read.last_handshake, None);
    }
}

#[test]
fn what_is_to_be_none_is_said() {
    let mut config = config();
    config.fwmark = None;
    let interface = translate::interface("wg0", &config);
    assert_eq!(interface.fwmark, Some(0));
    assert!(interface.addresses.is_empty() && interface.mtu.is_none());
    assert_eq!(interface.peers[1].persistent_keepalive_interval, Some(0));
    assert_eq!(interface.peers[1].preshared_key.as_ref().unwrap().as_array(), [0; 32]);
    assert_eq!(interface.peers[1].endpoint, None);
}

#[test]
fn never_is_no_time() {
    let mut host = Host::try_from(&translate::interface("wg0", &config())).unwrap();
    for peer in host.peers.values_mut() {
        peer.last_handshake = Some(UNIX_EPOCH);
    }
    assert!(translate::status(&host).peers.iter().all(|peer| peer.last_handshake.is_none()));
    for peer in host.peers.values_mut() {
        peer.last_handshake = Some(UNIX_EPOCH + Duration::from_secs(5));
    }
    assert_eq!(translate::status(&host).peers[0].last_handshake, Some(Duration::from_secs(5)));
}
