//! Name servers on nodes, and lookups.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use hickory_proto::op::{Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::{Name, RData, Record, RecordType};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::{Lab, Node};

const PORT: u16 = 53;
/// How long a client waits for one server.
const TIMEOUT: Duration = Duration::from_secs(2);

/// What a client asks a name server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The name in lower case, without the final dot.
    pub name: String,
    /// The type of its records.
    pub record: RecordType,
    /// The client.
    pub from: IpAddr,
}

/// What a name server answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The response code.
    pub code: ResponseCode,
    /// The records, in the order of a chain of aliases.
    pub records: Vec<Record>,
}

/// What a name server knows.
#[async_trait::async_trait]
pub trait Names: Debug + Send + Sync + 'static {
    /// Answers a question; without an answer the client waits in vain.
    async fn answer(&self, question: Question) -> Option<Answer>;
}

/// What came of a lookup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// The response code; [`ResponseCode::ServFail`] also where no server answered.
    pub code: ResponseCode,
    /// The addresses, in their order.
    pub addresses: BTreeSet<IpAddr>,
}

impl Answer {
    /// An answer without records.
    pub fn code(code: ResponseCode) -> Answer {
        Answer { code, records: Vec::new() }
    }

    /// An answer of addresses; an empty one where there are none of the question's type.
    pub fn addresses(question: &Question, addresses: impl IntoIterator<Item = IpAddr>) -> Answer {
        let fitting = addresses.into_iter().filter_map(|address| match (address, question.record) {
            (IpAddr::V4(v4), RecordType::A) => Some(RData::A(v4.into())),
            (IpAddr::V6(v6), RecordType::AAAA) => Some(RData::AAAA(v6.into())),
            _ => None,
        });
        let name = Name::from_ascii(format!("{}.", question.name)).unwrap_or_default();
        let records = fitting.map(|data| Record::from_rdata(name.clone(), 60, data)).collect();
        Answer { code: ResponseCode::NoError, records }
    }
}

impl Lab {
    /// Serves names on port 53 of these addresses of a node, by UDP and TCP.
    ///
    /// # Errors
    /// An address is not the node's.
    pub fn serve_names(&self, node: &Node, addresses: &[IpAddr], names: &Arc<dyn Names>) -> Result<()> {
        let at: Vec<SocketAddr> = addresses.iter().map(|address| SocketAddr::new(*address, PORT)).collect();
        let (tcp, udp) = self.listen(node, &at)?;
        for listener in tcp {
            let names = Arc::clone(names);
            self.runtime().spawn(async move {
                while let Ok((stream, from)) = listener.accept().await {
                    tokio::spawn(stream_of_questions(stream, from.ip(), Arc::clone(&names)));
                }
            });
        }
        for socket in udp {
            self.runtime().spawn(datagrams(socket, Arc::clone(names)));
        }
        Ok(())
    }

    /// Looks names up as programs on these nodes do: the node's name servers one after another, IPv4 and IPv6. The results are in
    /// the order of the questions.
    pub fn lookups(&self, questions: &[(&Node, &str)]) -> Vec<Lookup> {
        self.wait(async {
            let mut tasks = JoinSet::new();
            for (index, (node, name)) in questions.iter().enumerate() {
                let (node, name) = ((*node).clone(), (*name).to_owned());
                tasks.spawn(async move { (index, lookup(&node, &name).await) });
            }
            let mut done = tasks.join_all().await;
            done.sort_by_key(|(index, _)| *index);
            done.into_iter().map(|(_, found)| found).collect()
        })
    }

    /// Looks one name up.
    pub fn lookup(&self, node: &Node, name: &str) -> Lookup {
        let mut found = self.lookups(&[(node, name)]);
        found.pop().unwrap_or(Lookup { code: ResponseCode::ServFail, addresses: BTreeSet::new() })
    }
}

async fn lookup(node: &Node, name: &str) -> Lookup {
    let mut addresses = BTreeSet::new();
    let mut code = ResponseCode::ServFail;
    for record in [RecordType::A, RecordType::AAAA] {
        for server in node.resolvers() {
            let Ok(answer) = ask_from(node, server, name, record).await else { continue };
            if code != ResponseCode::NoError {
                code = answer.code;
            }
            addresses.extend(answer.records.iter().filter_map(|record| match &record.data {
                RData::A(v4) => Some(IpAddr::V4(v4.0)),
                RData::AAAA(v6) => Some(IpAddr::V6(v6.0)),
                _ => None,
            }));
            break;
        }
    }
    Lookup { code, addresses }
}

/// Asks one name server by UDP, from a node; the answer must come from where the question went.
///
/// # Errors
/// Nothing answers in time, or what does is no answer.
pub async fn ask_from(node: &Node, server: IpAddr, name: &str, record: RecordType) -> Result<Answer> {
    let any: IpAddr = if server.is_ipv4() { [0; 4].into() } else { std::net::Ipv6Addr::UNSPECIFIED.into() };
    let socket = node.inside(|| {
        let socket = UdpSocket::bind(SocketAddr::new(any, 0))?;
        socket.set_nonblocking(true)?;
        Ok(socket)
    })?;
    ask(&tokio::net::UdpSocket::from_std(socket)?, SocketAddr::new(server, PORT), name, record).await
}

/// Asks one name server by UDP, over a socket that is used for nothing else.
///
/// # Errors
/// Nothing answers in time, or what does is no answer.
pub async fn ask(
    socket: &tokio::net::UdpSocket,
    server: SocketAddr,
    name: &str,
    record: RecordType,
) -> Result<Answer> {
    let id = server.port() ^ u16::try_from(name.len()).unwrap_or_default() ^ 0x5a5a;
    let mut message = Message::new(id, MessageType::Query, OpCode::Query);
    message.metadata.recursion_desired = true;
    message.add_query(Query::query(Name::from_ascii(format!("{}.", name.trim_end_matches('.')))?, record));
    socket.connect(server).await?;
    socket.send(&message.to_vec()?).await?;
    let mut buffer = vec![0; 4096];
    let length = timeout(TIMEOUT, socket.recv(&mut buffer)).await.context("no answer")??;
    let answer = Message::from_vec(&buffer[..length])?;
    ensure!(answer.metadata.id == id, "an answer to another question");
    Ok(Answer { code: answer.metadata.response_code, records: answer.answers })
}

async fn datagrams(socket: tokio::net::UdpSocket, names: Arc<dyn Names>) {
    let socket = Arc::new(socket);
    let mut buffer = vec![0; 4096];
    loop {
        // An error reports that an earlier answer could not be delivered.
        let Ok((length, from)) = socket.recv_from(&mut buffer).await else { continue };
        let (socket, names, bytes) = (Arc::clone(&socket), Arc::clone(&names), buffer[..length].to_vec());
        tokio::spawn(async move {
            if let Some(answer) = answered(&bytes, from.ip(), &*names).await {
                let _ = socket.send_to(&answer, from).await;
            }
        });
    }
}

async fn stream_of_questions(mut stream: TcpStream, from: IpAddr, names: Arc<dyn Names>) -> Option<()> {
    loop {
        let length = stream.read_u16().await.ok()?;
        let mut bytes = vec![0; length.into()];
        stream.read_exact(&mut bytes).await.ok()?;
        let answer = answered(&bytes, from, &*names).await?;
        stream.write_u16(answer.len().try_into().ok()?).await.ok()?;
        stream.write_all(&answer).await.ok()?;
    }
}

async fn answered(bytes: &[u8], from: IpAddr, names: &dyn Names) -> Option<Vec<u8>> {
    let message = Message::from_vec(bytes).ok()?;
    let query = message.queries.first()?.clone();
    let name = query.name().to_ascii().trim_end_matches('.').to_lowercase();
    let answer = names.answer(Question { name, record: query.query_type(), from }).await?;
    let mut reply = Message::new(message.metadata.id, MessageType::Response, message.metadata.op_code);
    reply.metadata.recursion_desired = message.metadata.recursion_desired;
    reply.metadata.recursion_available = true;
    reply.metadata.response_code = answer.code;
    reply.add_query(query);
    reply.add_answers(answer.records);
    reply.to_vec().ok()
}
