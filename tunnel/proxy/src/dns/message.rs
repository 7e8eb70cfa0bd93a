//! DNS messages as a forwarder sees them (RFC 1035, RFC 6891): questions to pass on, answers to believe. No I/O.

use std::{collections::HashSet, net::IpAddr, time::Duration};

use hickory_proto::{
    op::{Edns, Message, MessageType, OpCode, Query, ResponseCode},
    rr::{DNSClass, Name as DnsName, RData, Record, RecordType},
    serialize::binary::{BinDecodable as _, BinDecoder, BinEncodable as _, BinEncoder},
};

use crate::target::Name;

/// Bytes of a UDP message that pass every network unfragmented (DNS flag day 2020).
pub(crate) const UDP_PAYLOAD: u16 = 1232;
const HEADER: usize = 12;
/// Name, type, class.
const LEAST_QUESTION: usize = 5;
/// Name, type, class, TTL, length.
const LEAST_RECORD: usize = 11;

/// The question, and everything else that affects the answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Question {
    pub(crate) name: DnsName,
    pub(crate) kind: RecordType,
    pub(crate) recursion: bool,
    pub(crate) checking_disabled: bool,
    pub(crate) dnssec: bool,
}

impl Question {
    /// Addresses of a name.
    pub(crate) fn addresses(name: &Name, ipv6: bool) -> Option<Self> {
        let name = super::zones::dns_name(name)?;
        let kind = if ipv6 { RecordType::AAAA } else { RecordType::A };
        Some(Self { name, kind, recursion: true, checking_disabled: false, dnssec: false })
    }

    /// The name that it is about, in lower case and without the last dot.
    pub(crate) fn name(&self) -> String {
        self.name.to_lowercase().to_ascii().trim_end_matches('.').to_owned()
    }

    /// The message that asks it.
    pub(crate) fn message(&self, id: u16) -> Option<Vec<u8>> {
        let mut message = Message::new(id, MessageType::Query, OpCode::Query);
        message.metadata.recursion_desired = self.recursion;
        message.metadata.checking_disabled = self.checking_disabled;
        message.add_query(self.query());
        let mut edns = Edns::new();
        edns.set_max_payload(UDP_PAYLOAD);
        edns.set_dnssec_ok(self.dnssec);
        message.set_edns(edns);
        message.to_vec().ok()
    }

    fn query(&self) -> Query {
        let mut query = Query::query(self.name.clone(), self.kind);
        query.set_query_class(DNSClass::IN);
        query
    }
}

/// A client's question, and the required form of its answer.
#[derive(Debug, Clone)]
pub struct Asked {
    id: u16,
    pub(crate) question: Question,
    /// Bytes that the client takes in one datagram.
    payload: usize,
    edns: bool,
}

/// The reason why a message is not a question to forward.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unasked {
    /// Nothing is answered: it is no question at all.
    Silence,
    /// This is answered.
    Answer(Vec<u8>),
}

/// Reads a client's question.
///
/// # Errors
/// The answer, if the question is not forwarded.
pub fn question(bytes: &[u8]) -> Result<Asked, Unasked> {
    let Some(header) = bytes.first_chunk::<HEADER>() else { return Err(Unasked::Silence) };
    // An answer is never answered: two forwarders would go on for ever.
    if header[2] & 0x80 != 0 {
        return Err(Unasked::Silence);
    }
    let id = u16::from_be_bytes([header[0], header[1]]);
    let refuse = |code| Err(Unasked::Answer(bare(id, header, code)));
    let Some(message) = decode(bytes) else { return refuse(ResponseCode::FormErr) };
    if message.metadata.op_code != OpCode::Query {
        return refuse(ResponseCode::NotImp);
    }
    let [query] = message.queries.as_slice() else { return refuse(ResponseCode::FormErr) };
    if message.version() != 0 {
        return refuse(ResponseCode::BADVERS);
    }
    if query.query_class() != DNSClass::IN
        || matches!(query.query_type(), RecordType::AXFR | RecordType::IXFR)
    {
        return refuse(ResponseCode::Refused);
    }
    let question = Question {
        name: query.name().clone(),
        kind: query.query_type(),
        recursion: message.metadata.recursion_desired,
        checking_disabled: message.metadata.checking_disabled,
        dnssec: message.edns.as_ref().is_some_and(|edns| edns.flags().dnssec_ok),
    };
    // RFC 6891 section 6.2.3: less than 512 means 512.
    let payload = usize::from(message.max_payload().clamp(512, UDP_PAYLOAD));
    Ok(Asked { id, question, payload, edns: message.edns.is_some() })
}

/// An answer without records, to a question that was not understood.
fn bare(id: u16, header: &[u8; HEADER], code: ResponseCode) -> Vec<u8> {
    let [high, low] = id.to_be_bytes();
    let flags = 0x80 | header[2] & 0x79;
    // BADVERS needs an OPT record for its upper bits; without one its lower bits say "no error".
    let code = if code == ResponseCode::BADVERS { ResponseCode::FormErr } else { code };
    vec![high, low, flags, 0x80 | (code.low() & 0x0f), 0, 0, 0, 0, 0, 0, 0, 0]
}

/// Decodes a message whose header promises no more than its bytes can hold.
fn decode(bytes: &[u8]) -> Option<Message> {
    let count = |at: usize| Some(usize::from(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?])));
    let records = count(6)? + count(8)? + count(10)?;
    let least = HEADER + count(4)? * LEAST_QUESTION + records * LEAST_RECORD;
    if bytes.len() < least {
        return None;
    }
    Message::read(&mut BinDecoder::new(bytes)).ok()
}

/// Reads what came back for `question` under `id`. `None`: it is something else, and the true answer may still come.
pub fn answer(bytes: &[u8], id: u16, question: &Question) -> Option<Message> {
    let message = decode(bytes)?;
    let same = message.metadata.id == id
        && message.metadata.message_type == MessageType::Response
        && message.metadata.op_code == OpCode::Query
        && message.queries.as_slice() == [question.query()];
    same.then_some(message)
}

impl Asked {
    /// The answer as the client shall see it. `room` is unlimited over TCP. An answer that is too long is cut down to a
    /// mark that says so (TC), and the client asks again over TCP.
    pub(crate) fn answer(&self, answer: &Message, tcp: bool) -> Vec<u8> {
        let room = if tcp { usize::from(u16::MAX) } else { self.payload };
        let mut message = answer.clone();
        self.dress(&mut message);
        match encode(&message, room) {
            Some(bytes) => bytes,
            None => encode(&message.truncate(), room).unwrap_or_else(|| self.failure()),
        }
    }

    /// No server answered.
    pub(crate) fn failure(&self) -> Vec<u8> {
        self.without_records(ResponseCode::ServFail)
    }

    /// The client may not ask that here.
    pub(crate) fn refusal(&self) -> Vec<u8> {
        self.without_records(ResponseCode::Refused)
    }

    fn without_records(&self, code: ResponseCode) -> Vec<u8> {
        let mut message = Message::new(self.id, MessageType::Response, OpCode::Query);
        message.metadata.response_code = code;
        message.add_query(self.question.query());
        self.dress(&mut message);
        encode(&message, usize::from(u16::MAX)).unwrap_or_default()
    }

    fn dress(&self, message: &mut Message) {
        message.metadata.id = self.id;
        message.metadata.message_type = MessageType::Response;
        message.metadata.recursion_desired = self.question.recursion;
        message.metadata.recursion_available = true;
        // The client's own spelling of the name (RFC 1035 section 2.3.3).
        message.queries = vec![self.question.query()];
        message.edns = self.edns.then(|| {
            let mut edns = Edns::new();
            edns.set_max_payload(UDP_PAYLOAD);
            edns.set_dnssec_ok(self.question.dnssec);
            edns
        });
    }
}

fn encode(message: &Message, room: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(512);
    let mut encoder = BinEncoder::new(&mut bytes);
    message.emit(&mut encoder).ok()?;
    (bytes.len() <= room).then_some(bytes)
}

/// Seconds for which clients may keep an answer of our own: what it says can change at any time.
const OWN_TTL: u32 = 5;

/// An answer of our own: these addresses, as far as they are of the family that was asked for. Without any there is no such name.
pub(crate) fn own(question: &Question, addresses: &[IpAddr]) -> Message {
    let mut message = Message::new(0, MessageType::Response, OpCode::Query);
    message.metadata.authoritative = true;
    if addresses.is_empty() {
        message.metadata.response_code = ResponseCode::NXDomain;
    }
    for address in addresses {
        let data = match address {
            IpAddr::V4(v4) if question.kind == RecordType::A => RData::A((*v4).into()),
            IpAddr::V6(v6) if question.kind == RecordType::AAAA => RData::AAAA((*v6).into()),
            _ => continue,
        };
        message.add_answer(Record::from_rdata(question.name.clone(), OWN_TTL, data));
    }
    message
}

/// Addresses in an answer: those of the name that was asked for, or of the names that it stands for (CNAME).
pub(crate) fn addresses(message: &Message, question: &Question) -> Vec<IpAddr> {
    let mut names = HashSet::from([question.name.clone()]);
    // Servers put a chain in its order; where one does not, its length bounds the rounds.
    for _ in 0..=message.answers.len().min(16) {
        let before = names.len();
        for record in &message.answers {
            if let RData::CNAME(alias) = &record.data
                && names.contains(&record.name)
            {
                names.insert(alias.0.clone());
            }
        }
        if names.len() == before {
            break;
        }
    }
    let found = message.answers.iter().filter(|record| names.contains(&record.name));
    found.filter_map(|record| record.data.ip_addr()).collect()
}

/// How long an answer may be kept: its shortest TTL; for one that says "nothing", what the zone says (RFC 2308 section 5).
pub(crate) fn lifetime(message: &Message) -> Option<Duration> {
    /// Longest, whatever a server says: what moved is found again.
    const MOST: u32 = 3_600;
    /// Longest for names that do not exist: they may begin to (RFC 2308 section 5 advises one to three hours at most).
    const MOST_NOTHING: u32 = 300;
    let code = message.metadata.response_code;
    if message.metadata.truncation || !matches!(code, ResponseCode::NoError | ResponseCode::NXDomain) {
        return None;
    }
    let shortest = |records: &[Record]| records.iter().map(|record| record.ttl).min().unwrap_or(MOST);
    let negative = message.authorities.iter().find_map(|record| match &record.data {
        RData::SOA(soa) => Some(record.ttl.min(soa.minimum).min(MOST_NOTHING)),
        _ => None,
    });
    let positive = shortest(&message.answers).min(shortest(&message.authorities)).min(MOST);
    let seconds = if code == ResponseCode::NoError && !message.answers.is_empty() {
        // An alias of a name without such records is as negative as that name (RFC 2308 section 2.2).
        negative.unwrap_or(MOST).min(positive)
    } else {
        negative?.min(positive)
    };
    (seconds > 0).then(|| Duration::from_secs(u64::from(seconds)))
}

/// Takes the time that an answer has been kept off its TTLs.
pub(crate) fn age(message: &mut Message, by: Duration) {
    let by = u32::try_from(by.as_secs()).unwrap_or(u32::MAX);
    let sections = [&mut message.answers, &mut message.authorities, &mut message.additionals];
    for record in sections.into_iter().flatten() {
        record.ttl = record.ttl.saturating_sub(by);
    }
}
