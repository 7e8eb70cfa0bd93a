use super::*;
use crate::PrivateKey;
use crate::token::{Claims, SigningKey, TokenId, Validity};

fn pod() -> PrivateKey {
    PrivateKey::from_random([1; 32])
}

fn gateway() -> PrivateKey {
    PrivateKey::from_random([2; 32])
}

const BINDING: ChannelBinding = ChannelBinding([3; 32]);

fn enrol() -> Enrol {
    let gateways = r#"[{"name":"gw-a","key":"zhfKdDHZcX0PG5KWPqvLZyRj8kpBMsCjqvYhAXi7Ugg=","tls":"192.0.2.1:443",
        "pins":["AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM"]}]"#;
    let time = crate::UnixTime::from_secs;
    let claims = Claims {
        id: TokenId::from_random([4; 16]),
        validity: Validity::new(time(1_800_000_000), time(1_800_003_600)).unwrap(),
        fabric: "llm-training".parse().unwrap(),
        group: "gpu".parse().unwrap(),
        uses: None,
        max_lease: None,
        gateways: serde_json::from_str(gateways).unwrap(),
    };
    Enrol {
        version: Version,
        token: claims.sign(&SigningKey::from_random([5; 32])).unwrap(),
        public_key: pod().public(),
        proof: Proof::make(Purpose::Enrol, &pod(), &gateway().public(), &BINDING).unwrap(),
        host: HostInfo::new("pod-1".into(), BTreeMap::new()).unwrap(),
    }
}

#[test]
fn a_proof_is_good_for_its_key_gateway_connection_and_purpose_alone() {
    let proof = enrol().proof;
    let (peer, own) = (pod().public(), gateway());
    assert!(proof.verify(Purpose::Enrol, &own, &peer, &BINDING));
    assert!(!proof.verify(Purpose::Release, &own, &peer, &BINDING));
    assert!(!proof.verify(Purpose::Enrol, &own, &peer, &ChannelBinding([4; 32])));
    assert!(!proof.verify(Purpose::Enrol, &own, &own.public(), &BINDING));
    assert!(!proof.verify(Purpose::Enrol, &PrivateKey::from_random([6; 32]), &peer, &BINDING));
    // Points of small order: everybody knows what is agreed with them.
    for byte in [0, 1] {
        let mut point = [0; 32];
        point[0] = byte;
        let weak = crate::PublicKey::from_bytes(point);
        assert!(Proof::make(Purpose::Enrol, &pod(), &weak, &BINDING).is_none());
        assert!(!proof.verify(Purpose::Enrol, &own, &weak, &BINDING));
    }
}

#[test]
fn messages_round_trip_and_hide_what_is_secret() {
    let request = enrol();
    assert_eq!(Enrol::from_json(&request.to_json().unwrap()), Ok(request.clone()));
    let debug = format!("{request:?}");
    assert!(!debug.contains("v4.public") && debug.contains("Token(redacted)"), "{debug}");
    let release = Release { version: Version, public_key: request.public_key, proof: request.proof };
    assert_eq!(Release::from_json(&release.to_json().unwrap()), Ok(release));
}

#[test]
fn bad_requests_are_refused_with_a_reason() {
    let good = String::from_utf8(enrol().to_json().unwrap()).unwrap();
    let change = |from: &str, to: &str| {
        assert!(good.contains(from));
        good.replacen(from, to, 1)
    };
    let mut out = String::new();
    for (name, body) in [
        ("empty", String::new()),
        ("not JSON", "GET / HTTP/1.1".into()),
        ("cut off", good[..good.len() / 2].into()),
        ("version", change("\"version\":1", "\"version\":2")),
        ("unknown field", change("\"version\":1", "\"version\":1,\"admin\":true")),
        ("token", change("v4.public.", "v3.public.")),
        ("damaged token", change("v4.public.ey", "v4.public.e!")),
        ("key", change("\"public_key\":\"", "\"public_key\":\"A")),
        ("control characters", change("pod-1", "pod\\u001b[2J")),
        ("long name", change("pod-1", &"x".repeat(254))),
        ("deep", "[".repeat(5000)),
        ("large", " ".repeat(REQUEST_MAX + 1)),
    ] {
        out += &format!("{name}: {:?}\n", Enrol::from_json(body.as_bytes()).map(drop).unwrap_err());
    }
    insta::assert_snapshot!(out);
}

#[test]
fn problems_round_trip_and_their_names_are_stable() {
    let mut out = String::new();
    for kind in Kind::ALL {
        let problem = Problem::new(*kind, "because").retry_after(std::time::Duration::from_secs(3));
        assert_eq!(Problem::from_json(&problem.to_json()), Some(problem));
        out += &format!("{} {kind}: {}\n", kind.status(), kind.title());
    }
    insta::assert_snapshot!(out);
    insta::assert_snapshot!(
        String::from_utf8(Problem::new(Kind::Proof, "a \"quoted\" detail").to_json()).unwrap()
    );
    let strange = br#"{"type":"urn:warren:problem:new","title":"t","status":418,"detail":"d\u001b[2J"}"#;
    assert_eq!(Problem::from_json(strange), Some(Problem::new(Kind::Unknown, "d[2J")));
    assert_eq!(Problem::from_json(br#"{"type":"about:blank","title":"","status":1,"detail":""}"#), None);
}

#[test]
fn an_answer_has_one_address_of_a_family() {
    let answer = |addresses: &str| {
        let text = format!(
            r#"{{"version":1,"group":"gpu","addresses":{addresses},"routes":["10.0.0.0/8"],"dns":{{}},"future":1,
            "gateways":{},"lease_seconds":600,"mtu":1420,"keepalive_seconds":25}}"#,
            serde_json::to_string(&enrol().token.peek().unwrap().gateways).unwrap()
        );
        Answer::from_json(text.as_bytes())
    };
    assert_eq!(answer(r#"["10.0.0.2","fd00::2"]"#).unwrap().addresses.len(), 2);
    for bad in ["[]", r#"["10.0.0.2","10.0.0.3"]"#, r#"["fd00::2","fd00::3"]"#] {
        assert_eq!(answer(bad).unwrap_err().kind, Kind::Malformed, "{bad}");
    }
}

/// Agents without zones ignore them, and gateways without zones do not send them.
#[test]
fn zones_are_optional_in_an_answer() {
    let gateways = serde_json::to_value(&enrol().token.peek().unwrap().gateways).unwrap();
    let mut answer = serde_json::json!({"version": 1, "group": "gpu", "addresses": ["10.0.0.2"], "routes": [],
        "dns": {}, "gateways": gateways, "lease_seconds": 600, "mtu": 1420, "keepalive_seconds": 25});
    let old = Answer::from_json(answer.to_string().as_bytes()).unwrap();
    assert!(old.zones.is_empty());
    assert!(!serde_json::to_string(&old).unwrap().contains("zones"));
    answer["zones"] =
        serde_json::json!([{"domains": ["GoogleAPIs.com."], "servers": ["10.0.0.1"], "future": 1}]);
    let new = Answer::from_json(answer.to_string().as_bytes()).unwrap();
    assert_eq!(new.zones[0].domains[0].as_str(), "googleapis.com");
    assert_eq!(Answer::from_json(&serde_json::to_vec(&new).unwrap()), Ok(new));
}

/// Every type is listed, so that a new one is classified on purpose.
#[test]
fn whether_a_refusal_is_retried_follows_from_its_type() {
    let mut out = String::new();
    for kind in Kind::ALL {
        out += &format!("{kind}: {:?}\n", kind.retry());
        let timed = Problem::new(*kind, "").retry_after(std::time::Duration::from_secs(3));
        let expected = if *kind == Kind::Unknown { Retry::Later } else { kind.retry() };
        assert_eq!(timed.retry(), expected, "{kind}");
        assert_eq!(Problem::new(*kind, "").retry(), kind.retry(), "{kind}");
        // Temporary by the meaning of the status (RFC 9110 section 15.6.4, RFC 6585 section 4).
        let temporary = matches!(kind.status(), 408 | 429 | 503);
        assert!(!temporary || kind.retry() == Retry::Later, "{kind}");
    }
    insta::assert_snapshot!(out);
}

#[test]
fn a_message_of_another_version_is_recognised_whatever_its_fields_are() {
    for body in [r#"{"version":2}"#, r#"{"admin":true,"version":7,"token":5}"#] {
        assert_eq!(Enrol::from_json(body.as_bytes()).unwrap_err().kind, Kind::Version, "{body}");
        assert_eq!(Release::from_json(body.as_bytes()).unwrap_err().kind, Kind::Version, "{body}");
        assert_eq!(Answer::from_json(body.as_bytes()).unwrap_err().kind, Kind::Version, "{body}");
    }
}
