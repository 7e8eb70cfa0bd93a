use proptest::prelude::*;

use super::*;
use crate::Pin;

const PRIVATE: &str = "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=";
const PUBLIC: &str = "xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=";
const SHARED: &str = "FpCyhws9cxwWoV4xELtfJvjJN+zQVRPISllRWgeopVE=";

fn full() -> String {
    format!(
        "# a comment\n\
         [Interface]\n\
         PrivateKey = {PRIVATE}   # not shown\n\
         ListenPort=51820\n\
         FwMark = 0xca6c\n\
         Address = 10.0.0.1/24, fd00::1/64\n\
         Address = 192.0.2.7\n\
         DNS = 1.1.1.1, example.com, 2606:4700:4700::1111\n\
         MTU = 1420\n\
         Table = 1234\n\
         PreUp = echo one\n\
         PostUp = iptables -A FORWARD -i %i -j ACCEPT; iptables -t nat -A POSTROUTING -j MASQUERADE\n\
         PreDown = echo a = b\n\
         PostDown = echo two\n\
         SaveConfig = true\n\
         \n\
         [Peer]\n\
         PublicKey = {PUBLIC}\n\
         PresharedKey = {SHARED}\n\
         AllowedIPs = 10.0.0.5/24, fd00::/64\n\
         AllowedIPs = 0.0.0.0/0\n\
         Endpoint = [2001:db8::1]:51820\n\
         PersistentKeepalive = 25\n"
    )
}

#[test]
fn a_full_file() {
    let config = Config::parse(&full()).unwrap();
    insta::assert_snapshot!(format!("{config:#?}"));
    assert_eq!(Config::parse(&config.to_string()).unwrap(), config);
    insta::assert_snapshot!(config.to_string().replace(PRIVATE, "(private)").replace(SHARED, "(shared)"));
    assert!(!format!("{config:?}").contains(&PRIVATE[..10]));
    assert!(!format!("{config:?}").contains(&SHARED[..10]));
}

#[test]
fn liberties_that_wg_allows() {
    let text = format!(
        "\u{feff}[PEER]\r\n publickey={PUBLIC} \r\nALLOWEDIPS =\r\npersistentKeepalive = OFF\r\n\
         \t[interface]#end\r\nprivatekey = {PRIVATE}\r\nfwmark = off\r\nlistenport = 0\r\ntable = OFF"
    );
    let config = Config::parse(&text).unwrap();
    assert_eq!(config.peers.len(), 1);
    assert_eq!(config.peers[0].persistent_keepalive, None);
    assert!(config.peers[0].allowed_ips.is_empty());
    assert_eq!(config.interface.fwmark, None);
    assert_eq!(config.interface.listen_port, Some(0));
    assert_eq!(config.interface.table, Table::Off);
    assert_eq!(Config::parse("").unwrap(), Config::default());
}

#[test]
fn host_bits_are_cleared_in_allowed_ips_and_kept_in_addresses() {
    let text =
        format!("[Interface]\nAddress = 10.1.2.3/8\n[Peer]\nPublicKey = {PUBLIC}\nAllowedIPs = 10.1.2.3/8");
    let config = Config::parse(&text).unwrap();
    assert_eq!(config.interface.addresses[0].to_string(), "10.1.2.3/8");
    assert_eq!(config.peers[0].allowed_ips[0].to_string(), "10.0.0.0/8");
}

#[test]
fn endpoints() {
    let read = |text: &str| value::endpoint(text).map(|endpoint| endpoint.to_string()).map_err(|_| ());
    for good in
        ["192.0.2.1:1", "vpn.example.com:51820", "[2001:db8::1]:65535", "[fe80::1%eth0]:51820", "a_b:7"]
    {
        assert_eq!(read(good), Ok(good.to_owned()));
    }
    for bad in [
        "",
        ":",
        "host",
        "host:",
        ":1",
        "host:0",
        "host:65536",
        "host:+1",
        "1.2.3:4",
        "2001:db8::1:51820",
        "[::1]",
        "[::1:5",
        "[1.2.3.4]:5",
        "[::1%]:5",
        "ho st:5",
        "[]:1",
        "256.0.0.1:9",
    ] {
        assert_eq!(read(bad), Err(()), "{bad}");
    }
}

/// One message for each mistake, with its place. The file is written with `|` for line breaks.
#[test]
fn messages() {
    let mistakes = [
        "Address = 10.0.0.1/24",
        "[Interfaces]",
        "[Interface]|PrivatKey = x",
        "[Interface]|  LisenPort = 1",
        "[Interface]|Colour = blue",
        "[Interface]|Endpoint = 192.0.2.1:5",
        "[Peer]|MTU = 1400",
        "[Interface]|nonsense",
        "[Interface]|yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=",
        "[Interface]|PrivateKey = yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBm=",
        "[Interface]|PrivateKey = yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBml=",
        "[Interface]|PrivateKey =",
        "[Interface]|Address = yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=",
        "[Interface]|ListenPort = 65536",
        "[Interface]|ListenPort = -1",
        "[Interface]|FwMark = 0x1ffffffff",
        "[Interface]|MTU = 100",
        "[Interface]|Table = main",
        "[Interface]|SaveConfig = yes",
        "[Interface]|Address = 10.0.0.1/24,  10.0.0.300/24",
        "[Interface]|Address = 10.0.0.1/33",
        "[Interface]|Address = fd00::1/129",
        "[Interface]|Address = 10.0.0.1/24,",
        "[Interface]|Address = 10.0.0.1/+24",
        "[Interface]|DNS = 1.1.1.1, bad domain",
        "[Interface]|MTU = 1400|MTU = 1420",
        "[Interface]|[Peer]|PublicKey = K|[Interface]",
        "[Peer]|AllowedIPs = 10.0.0.0/8|[Interface]",
        "[Peer]|PublicKey = short",
        "[Peer]|PublicKey = K|[Peer]|PublicKey = K",
        "[Peer]|PublicKey = K|AllowedIPs = 10.0.0.0/8, example.com",
        "[Peer]|PublicKey = K|Endpoint = vpn.example.com",
        "[Peer]|PublicKey = K|Endpoint = 2001:db8::1:51820",
        "[Peer]|PublicKey = K|Endpoint = [2001:db8::1:51820",
        "[Peer]|PublicKey = K|Endpoint = vpn.example.com:0",
        "[Peer]|PublicKey = K|Endpoint = 300.0.0.1:5",
        "[Peer]|PublicKey = K|PersistentKeepalive = 65536",
    ];
    let mut all = String::new();
    for mistake in mistakes {
        let text = mistake.replace('|', "\n").replace("= K", &format!("= {PUBLIC}"));
        let message = Config::parse(&text).unwrap_err().to_string();
        all.push_str(&format!("{mistake}\n  {message}\n\n"));
    }
    insta::assert_snapshot!(all);
}

#[test]
fn no_error_repeats_a_key() {
    let lines = [
        format!("[Interface]\n{PRIVATE}"),
        format!("[Interface]\nPrivateKey {PRIVATE}"),
        format!("[{PRIVATE}]"),
        format!("{PRIVATE} = 5"),
        format!("[Interface]\nMTU = {PRIVATE}"),
        format!("[Interface]\nAddress = 10.0.0.1/24, {PRIVATE}"),
        format!("[Interface]\nDNS = {PRIVATE} x"),
        format!("[Interface]\nTable = {PRIVATE}"),
        format!("[Peer]\nEndpoint = {PRIVATE}"),
        format!("[Peer]\nEndpoint = {PRIVATE}:5"),
        format!("[Peer]\nPublicKey = {PRIVATE}{PRIVATE}"),
    ];
    for line in lines {
        let message = Config::parse(&line).unwrap_err().to_string();
        assert!(!message.contains(&PRIVATE[..8]) && !message.contains(&PRIVATE[30..40]), "{message}");
    }
}

fn net() -> impl Strategy<Value = IpNet> {
    (any::<std::net::IpAddr>(), 0_u8..=128).prop_map(|(address, length)| {
        let width = if address.is_ipv4() { 33 } else { 129 };
        IpNet::new(address, length % width).unwrap()
    })
}

fn command() -> impl Strategy<Value = String> {
    "[a-zA-Z%;=\\[$][a-zA-Z %;=\"'é]{0,30}[a-z;\\]]"
}

fn interface() -> impl Strategy<Value = Interface> {
    let numbers = (
        any::<Option<[u8; 32]>>(),
        any::<Option<u16>>(),
        proptest::option::of(1_u32..),
        proptest::option::of(576_u16..),
        prop_oneof![Just(Table::Auto), Just(Table::Off), (1_u32..).prop_map(Table::Number)],
        any::<bool>(),
    );
    let lists = (
        prop::collection::vec(net(), 0..4),
        prop::collection::vec(any::<IpAddr>(), 0..3),
        prop::collection::vec("[a-z]{1,9}\\.example", 0..3),
        prop::collection::vec(command(), 0..3),
        prop::collection::vec(command(), 0..3),
    );
    (numbers, lists).prop_map(|(numbers, lists)| Interface {
        private_key: numbers.0.map(PrivateKey::from_bytes),
        listen_port: numbers.1,
        fwmark: numbers.2,
        mtu: numbers.3,
        table: numbers.4,
        save_config: numbers.5,
        listen_tls: numbers.1.map(|port| ([0, 0, 0, 0], port).into()),
        addresses: lists.0,
        dns: lists.1,
        dns_search: lists.2,
        dns_zones: Vec::new(),
        stamp_floor: None,
        pre_up: lists.3.clone(),
        post_up: lists.4.clone(),
        pre_down: lists.4,
        post_down: lists.3,
    })
}

fn peer() -> impl Strategy<Value = Peer> {
    let host =
        prop_oneof![any::<IpAddr>().prop_map(Host::Ip), "[a-z][a-z-]{0,9}\\.example".prop_map(Host::Name)];
    let endpoint = (host, 1_u16..).prop_map(|(host, port)| Endpoint { host, port });
    (
        any::<[u8; 32]>(),
        any::<Option<[u8; 32]>>(),
        prop::collection::vec(net(), 0..5),
        proptest::option::of(endpoint),
        proptest::option::of(1_u16..),
    )
        .prop_map(|(public, shared, nets, endpoint, persistent_keepalive)| Peer {
            tls: endpoint.clone().filter(|_| public[0] > 99).map(|endpoint| TlsEndpoint {
                endpoint,
                pins: shared.map(|hash| Pin::from_bytes(hash).into()),
                name: persistent_keepalive.map(|n| format!("n{n}.example")),
            }),
            public_key: PublicKey::from_bytes(public),
            preshared_key: shared.map(PresharedKey::from_bytes),
            allowed_ips: nets.iter().map(IpNet::trunc).collect(),
            endpoint,
            persistent_keepalive,
        })
}

#[test]
fn settings_of_ours_stand_in_comments() {
    let text = "[Interface]\n# warren: ListenTLS = [::]:443\n[Peer]\nPublicKey = xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=\n\
                #warren:TLSEndpoint=gw.example.net:443\n  # Warren: tlsname = www.example.net\n# warren is not\n";
    let config = Config::parse(text).unwrap();
    assert_eq!(config.interface.listen_tls, Some("[::]:443".parse().unwrap()));
    let tls = config.peers[0].tls.clone().unwrap();
    assert_eq!(
        (tls.endpoint.to_string().as_str(), tls.name.as_deref()),
        ("gw.example.net:443", Some("www.example.net"))
    );
    let wrong = |line: &str| {
        let error = Config::parse(&text.replace("# warren is not", line)).unwrap_err();
        format!("{}:{}: {} ({})", error.line, error.column, error.what, error.hint)
    };
    let lines = [
        "# warren: TLSPinn = x",
        "# warren: TLSPin = sha256//x",
        "# warren: ListenTLS = 1",
        "# warren: Endpoint = a:1",
        "# warren: TLSEndpoint = a",
        "# warren: [Peer]",
    ];
    insta::assert_snapshot!(lines.map(wrong).join("\n"));
}

proptest! {
    #[test]
    fn what_is_printed_is_read_again(interface in interface(), mut peers in prop::collection::vec(peer(), 0..4)) {
        peers.dedup_by_key(|peer| peer.public_key);
        let config = Config { interface, peers };
        prop_assert_eq!(Config::parse(&config.to_string()), Ok(config));
    }

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        let _ = Config::parse(&text);
    }

    #[test]
    fn text_like_a_file_is_read_or_refused(
        lines in prop::collection::vec("(\\[?(Interface|Peer|é)\\]?|(Private|Public|Preshared)Key|AllowedIPs|Endpoint|DNS|Address|Table|FwMark|MTU)[ =\\[\\]:,/.%#0-9a-fx+é-]{0,20}", 0..12),
    ) {
        if let Err(error) = Config::parse(&lines.join("\n")) {
            prop_assert!(error.line >= 1 && error.line <= lines.len() && error.column >= 1);
        }
    }
}
