//! DNS: name servers that answer rightly, wrongly, late, too long or not at all.

use std::{
    net::{IpAddr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use hickory_proto::{
    op::{Message, MessageType, OpCode, Query, ResponseCode},
    rr::{Name, RData, Record, RecordType, rdata},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream, UdpSocket},
};
use warren_proxy::{
    Limits, Services,
    dns::{Names, Others, Suffixes, Zone as Served},
    net::System,
    outbound::{NameError, Resolve},
};

use crate::common::any;

/// A name server for `*.corp.test`; counts the questions that it was asked.
struct Zone {
    at: SocketAddr,
    asked: Arc<AtomicUsize>,
}

impl Zone {
    async fn start(address: &'static str) -> Self {
        let (udp, tcp) = loop {
            let udp = UdpSocket::bind(any()).await.unwrap();
            if let Ok(tcp) = TcpListener::bind(udp.local_addr().unwrap()).await {
                break (udp, tcp);
            }
        };
        let zone = Self { at: udp.local_addr().unwrap(), asked: Arc::default() };
        let asked = Arc::clone(&zone.asked);
        tokio::spawn(async move {
            let mut buffer = [0; 2048];
            while let Ok((length, from)) = udp.recv_from(&mut buffer).await {
                asked.fetch_add(1, SeqCst);
                for answer in answers(&buffer[..length], address, false) {
                    udp.send_to(&answer, from).await.unwrap();
                }
            }
        });
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = tcp.accept().await {
                let length = stream.read_u16().await.unwrap();
                let mut question = vec![0; length.into()];
                stream.read_exact(&mut question).await.unwrap();
                let answer = answers(&question, address, true).remove(0);
                stream.write_u16(answer.len() as u16).await.unwrap();
                stream.write_all(&answer).await.unwrap();
            }
        });
        zone
    }

    fn asked(&self) -> usize {
        self.asked.load(SeqCst)
    }
}

/// What the zone sends back for a question: most often one answer.
fn answers(question: &[u8], address: &str, tcp: bool) -> Vec<Vec<u8>> {
    let question = Message::from_vec(question).unwrap();
    let query = question.queries[0].clone();
    let name = query.name().to_ascii().to_lowercase();
    let address: IpAddr = address.parse().unwrap();
    let record = |name: &Name, ttl| {
        let data = match address {
            IpAddr::V4(v4) => RData::A(rdata::A(v4)),
            IpAddr::V6(v6) => RData::AAAA(rdata::AAAA(v6)),
        };
        Record::from_rdata(name.clone(), ttl, data)
    };
    let mut answer = Message::new(question.metadata.id, MessageType::Response, OpCode::Query);
    answer.add_query(query.clone());
    let mut before = Vec::new();
    match name.split('.').next().unwrap() {
        "silent" => return Vec::new(),
        "missing" => {
            answer.metadata.response_code = ResponseCode::NXDomain;
            let soa = rdata::SOA::new(query.name().clone(), query.name().clone(), 1, 1, 1, 1, 60);
            answer.add_authority(Record::from_rdata(query.name().clone(), 60, RData::SOA(soa)));
        }
        "failing" => answer.metadata.response_code = ResponseCode::ServFail,
        _ if query.query_type() != RecordType::A => {}
        "long" if !tcp => answer.metadata.truncation = true,
        "long" => (0..200).for_each(|_| _ = answer.add_answer(record(query.name(), 60))),
        "alias" => {
            let real = Name::from_ascii("real.corp.test.").unwrap();
            let alias = RData::CNAME(rdata::CNAME(real.clone()));
            answer.add_answer(record(&real, 60));
            answer.add_answer(Record::from_rdata(query.name().clone(), 60, alias));
            answer.add_answer(record(&Name::from_ascii("unrelated.corp.test.").unwrap(), 60));
        }
        "forged" => {
            // Another id, another question, a question in place of an answer, garbage: each before the true answer.
            let mut wrong = answer.clone();
            wrong.add_answer(Record::from_rdata(
                query.name().clone(),
                60,
                RData::A(rdata::A([6, 6, 6, 6].into())),
            ));
            for change in [
                |m: &mut Message| m.metadata.id ^= 1,
                |m: &mut Message| {
                    m.queries = vec![Query::query(Name::from_ascii("x.test.").unwrap(), RecordType::A)];
                },
                |m: &mut Message| m.metadata.message_type = MessageType::Query,
            ] {
                let mut wrong = wrong.clone();
                change(&mut wrong);
                before.push(wrong.to_vec().unwrap());
            }
            before.push(b"garbage".to_vec());
            answer.add_answer(record(query.name(), 60));
        }
        "brief" => _ = answer.add_answer(record(query.name(), 0)),
        _ => _ = answer.add_answer(record(query.name(), 60)),
    }
    before.push(answer.to_vec().unwrap());
    before
}

struct Setup {
    services: Services,
    names: Names<System>,
    inside: Zone,
    outside: Zone,
    at: SocketAddr,
}

async fn setup() -> Setup {
    let services = Services::new(Limits::default());
    let (inside, outside) = (Zone::start("10.1.2.3").await, Zone::start("192.0.2.7").await);
    let zone =
        Served { suffixes: Suffixes::These(vec!["corp.test".parse().unwrap()]), servers: vec![inside.at] };
    let names = Names::new(&services, System, &[zone], Others::System(vec![outside.at]));
    let at = services.dns(any(), names.clone()).await.unwrap();
    Setup { services, names, inside, outside, at }
}

fn query(id: u16, name: &str, kind: RecordType) -> Vec<u8> {
    let mut message = Message::new(id, MessageType::Query, OpCode::Query);
    message.metadata.recursion_desired = true;
    message.add_query(Query::query(Name::from_ascii(name).unwrap(), kind));
    message.to_vec().unwrap()
}

async fn ask(server: SocketAddr, bytes: &[u8]) -> Option<Vec<u8>> {
    let socket = UdpSocket::bind(any()).await.unwrap();
    socket.send_to(bytes, server).await.unwrap();
    let mut buffer = vec![0; 4096];
    let length = tokio::time::timeout(Duration::from_secs(15), socket.recv(&mut buffer)).await.ok()?.unwrap();
    buffer.truncate(length);
    Some(buffer)
}

async fn addresses(server: SocketAddr, id: u16, name: &str) -> (Message, Vec<IpAddr>) {
    let answer = Message::from_vec(&ask(server, &query(id, name, RecordType::A)).await.unwrap()).unwrap();
    assert_eq!((answer.metadata.id, answer.metadata.message_type), (id, MessageType::Response));
    let found = answer.answers.iter().filter_map(|record| record.data.ip_addr()).collect();
    (answer, found)
}

#[tokio::test]
async fn suffixes_decide_who_is_asked_and_answers_are_kept() {
    let s = setup().await;
    let inside: IpAddr = "10.1.2.3".parse().unwrap();
    assert_eq!(addresses(s.at, 7, "Db.Corp.Test.").await.1, [inside]);
    assert_eq!((s.inside.asked(), s.outside.asked()), (1, 0));
    let (again, found) = addresses(s.at, 8, "db.corp.test.").await;
    assert_eq!((found, s.inside.asked()), (vec![inside], 1), "from the cache, whatever the case");
    assert_eq!(again.queries[0].name().to_ascii(), "db.corp.test.");
    let outside: IpAddr = "192.0.2.7".parse().unwrap();
    assert_eq!(addresses(s.at, 9, "www.notcorp.test.").await.1, [outside]);
    assert_eq!((s.inside.asked(), s.outside.asked()), (1, 1));
    assert_eq!(addresses(s.at, 10, "brief.corp.test.").await.1, [inside]);
    assert_eq!(addresses(s.at, 10, "brief.corp.test.").await.1, [inside]);
    assert_eq!(s.inside.asked(), 3, "a TTL of zero is not kept");
    let (missing, _) = addresses(s.at, 11, "missing.corp.test.").await;
    assert_eq!(missing.metadata.response_code, ResponseCode::NXDomain);
    addresses(s.at, 12, "missing.corp.test.").await;
    assert_eq!(s.inside.asked(), 4, "nothing is kept too");
    assert_eq!(s.services.counters().snapshot().dns_cached, 2);
}

#[tokio::test]
async fn the_proxies_resolve_by_the_same_rules() {
    let s = setup().await;
    let resolve = |name: &'static str| {
        let names = s.names.clone();
        async move { names.resolve(&name.parse().unwrap()).await }
    };
    let inside: IpAddr = "10.1.2.3".parse().unwrap();
    assert_eq!(resolve("db.corp.test").await, Ok(vec![inside]));
    assert_eq!(resolve("alias.corp.test").await, Ok(vec![inside]), "of the alias alone");
    assert_eq!(resolve("long.corp.test").await.unwrap().len(), 200, "over TCP");
    assert_eq!(resolve("missing.corp.test").await, Err(NameError::Unknown));
    assert_eq!(resolve("failing.corp.test").await, Err(NameError::Failed));
    let local = resolve("localhost").await.unwrap();
    assert!(local.contains(&IpAddr::from([127, 0, 0, 1])), "{local:?}");
}

#[tokio::test]
async fn only_the_answer_to_the_question_is_believed() {
    let s = setup().await;
    assert_eq!(addresses(s.at, 7, "forged.corp.test.").await.1, [IpAddr::from([10, 1, 2, 3])]);
    assert_eq!(s.services.counters().snapshot().dns_strange, 4);
}

#[tokio::test]
async fn long_answers_are_cut_for_udp_and_whole_over_tcp() {
    let s = setup().await;
    let (cut, found) = addresses(s.at, 7, "long.corp.test.").await;
    assert!(cut.metadata.truncation && found.is_empty());
    let mut stream = TcpStream::connect(s.at).await.unwrap();
    for id in [8, 9] {
        let question = query(id, "long.corp.test.", RecordType::A);
        stream.write_u16(question.len() as u16).await.unwrap();
        stream.write_all(&question).await.unwrap();
        let length = stream.read_u16().await.unwrap();
        let mut answer = vec![0; length.into()];
        stream.read_exact(&mut answer).await.unwrap();
        let answer = Message::from_vec(&answer).unwrap();
        assert_eq!((answer.metadata.id, answer.answers.len()), (id, 200));
    }
}

#[tokio::test]
async fn equal_questions_are_asked_once_and_each_gets_its_id() {
    let s = setup().await;
    let many: Vec<_> = (0..40)
        .map(|id| tokio::spawn(async move { addresses(s.at, id, "busy.corp.test.").await.1 }))
        .collect();
    for one in many {
        assert_eq!(one.await.unwrap(), [IpAddr::from([10, 1, 2, 3])]);
    }
    assert_eq!(s.inside.asked(), 1);
}

#[tokio::test]
async fn silence_ends_as_a_failure() {
    let s = setup().await;
    let (answer, _) = addresses(s.at, 7, "silent.corp.test.").await;
    assert_eq!(answer.metadata.response_code, ResponseCode::ServFail);
    assert_eq!(s.inside.asked(), 2, "each server twice");
    assert_eq!(s.services.counters().snapshot().dns_failed, 1);
}

#[tokio::test]
async fn what_is_no_question_is_refused() {
    let s = setup().await;
    let good = query(0x1234, "db.corp.test.", RecordType::A);
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        bytes
    };
    for (name, bytes, code) in [
        ("two questions promised", with(5, 2), ResponseCode::FormErr),
        ("65,280 records promised", with(6, 255), ResponseCode::FormErr),
        ("cut off", good[..good.len() - 1].to_vec(), ResponseCode::FormErr),
        ("NOTIFY", with(2, 4 << 3), ResponseCode::NotImp),
        ("a zone transfer", query(0x1234, "db.corp.test.", RecordType::AXFR), ResponseCode::Refused),
        ("class CHAOS", with(good.len() - 1, 3), ResponseCode::Refused),
    ] {
        let answer = ask(s.at, &bytes).await.unwrap_or_else(|| panic!("{name}: no answer"));
        assert_eq!((&answer[..2], answer[3] & 0x0f), (&[0x12, 0x34][..], code.low()), "{name}");
        assert_eq!(answer[2] & 0x80, 0x80, "{name}");
    }
    for (name, bytes) in [("short", good[..11].to_vec()), ("an answer", with(2, 0x81))] {
        let socket = UdpSocket::bind(any()).await.unwrap();
        socket.send_to(&bytes, s.at).await.unwrap();
        let waited = tokio::time::timeout(Duration::from_millis(200), socket.recv(&mut [0; 512])).await;
        assert!(waited.is_err(), "{name}: answered");
    }
    assert_eq!(s.inside.asked(), 0);
}
