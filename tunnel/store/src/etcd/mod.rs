//! Several gateways: etcd's v3 API.
//!
//! A record is a key under the prefix, its version the key's `mod_revision`. A transaction compares versions; one that
//! loses reads what it lost against in the same step. A transaction whose answer was lost is sent again: if it has
//! happened, the second one loses against the first, and who reads what it lost against sees that.

mod cluster;
mod presence;
mod watch;

/// The wire contract, from `proto/etcd.proto`.
pub(crate) mod pb {
    #![expect(
        unreachable_pub,
        clippy::allow_attributes_without_reason,
        reason = "generated from proto/etcd.proto"
    )]
    tonic::include_proto!("etcdserverpb");
}

use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::mpsc;
use warren_lease::{Change, Key, Outcome, Transaction};

use crate::{Member, NEWS, News, Presence, Store, StoreError};
use cluster::Cluster;
use pb::compare::{CompareResult, CompareTarget};
use pb::request_op::Request;
use pb::response_op::Response;

/// How long a transaction may take, other members tried included.
const COMMIT: Duration = Duration::from_secs(10);
/// Records read at once.
const PAGE: i64 = 5000;

/// How a cluster is reached.
#[derive(Debug, Clone, Default)]
pub struct EtcdSettings {
    /// `http://host:2379` or `https://…`, one for each member.
    pub endpoints: Vec<String>,
    /// What all keys begin with, `/` at its end included.
    pub prefix: String,
    /// For `https`.
    pub tls: Option<Tls>,
}

/// Certificates in PEM.
#[derive(Clone, Default)]
pub struct Tls {
    /// Who signed the members' certificates.
    pub ca: Vec<u8>,
    /// Our certificate and its key, if the members want one.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").field("identity", &self.identity.is_some()).finish_non_exhaustive()
    }
}

/// A store in etcd.
#[derive(Debug, Clone)]
pub struct Etcd {
    cluster: Cluster,
    prefix: String,
}

impl Etcd {
    /// A store in this cluster. Connections are made when they are needed.
    ///
    /// # Errors
    /// An endpoint is not a URL, or a certificate cannot be read.
    pub fn new(settings: &EtcdSettings) -> Result<Self, StoreError> {
        Ok(Self { cluster: Cluster::new(settings)?, prefix: settings.prefix.clone() })
    }

    fn records(&self) -> String {
        format!("{}record/", self.prefix)
    }

    fn gateways(&self) -> String {
        format!("{}gateway/", self.prefix)
    }

    fn key(&self, key: &Key) -> Vec<u8> {
        format!("{}{key}", self.records()).into_bytes()
    }

    /// A key of ours; `None` if it is not one that this program knows.
    fn parse(&self, key: &[u8]) -> Option<Key> {
        std::str::from_utf8(key).ok()?.strip_prefix(&self.records())?.parse().ok()
    }

    fn request(&self, transaction: &Transaction) -> pb::TxnRequest {
        let op = |request| pb::RequestOp { request: Some(request) };
        let compare = transaction.expect.iter().map(|(key, version)| pb::Compare {
            result: CompareResult::Equal.into(),
            target: CompareTarget::Mod.into(),
            key: self.key(key),
            mod_revision: Some(i64::try_from(*version).unwrap_or(i64::MAX)),
        });
        let put = transaction.put.iter().map(|(key, value)| {
            op(Request::Put(pb::PutRequest { key: self.key(key), value: value.clone(), lease: 0 }))
        });
        let delete = transaction
            .delete
            .iter()
            .map(|key| op(Request::DeleteRange(pb::DeleteRangeRequest { key: self.key(key) })));
        let read = transaction.expect.iter().map(|(key, _)| {
            op(Request::Range(pb::RangeRequest { key: self.key(key), ..Default::default() }))
        });
        pb::TxnRequest {
            compare: compare.collect(),
            success: put.chain(delete).collect(),
            failure: read.collect(),
        }
    }

    /// All keys under a prefix, as of one revision.
    async fn list(&self, prefix: &str) -> Result<(i64, Vec<pb::KeyValue>), StoreError> {
        let mut all = Vec::new();
        let mut request = pb::RangeRequest {
            key: prefix.as_bytes().to_vec(),
            range_end: after(prefix),
            limit: PAGE,
            revision: 0,
        };
        loop {
            let page = self
                .cluster
                .call(COMMIT, |channel| {
                    let request = request.clone();
                    async move { cluster::kv(channel).range(request).await }
                })
                .await?;
            if request.revision == 0 {
                request.revision = page.header.map_or(0, |header| header.revision);
            }
            if let Some(last) = page.kvs.last() {
                request.key = [&last.key[..], &[0]].concat();
            }
            all.extend(page.kvs);
            if !page.more {
                return Ok((request.revision, all));
            }
        }
    }

    async fn load(&self) -> Result<News, StoreError> {
        let (revision, found) = self.list(&self.records()).await?;
        let records = found.into_iter().filter_map(|found| self.change(found)).collect();
        Ok(News::Contents { revision: unsigned(revision), records })
    }

    fn change(&self, found: pb::KeyValue) -> Option<Change> {
        let key = self.parse(&found.key)?;
        Some(Change { key, value: Some(found.value), version: unsigned(found.mod_revision) })
    }
}

#[async_trait]
impl Store for Etcd {
    async fn commit(&self, transaction: &Transaction) -> Result<Outcome, StoreError> {
        let request = self.request(transaction);
        let response = self
            .cluster
            .call(COMMIT, |channel| {
                let request = request.clone();
                async move { cluster::kv(channel).txn(request).await }
            })
            .await?;
        let revision = unsigned(response.header.map_or(0, |header| header.revision));
        if response.succeeded {
            return Ok(Outcome::Committed(revision));
        }
        let found = response.responses.into_iter().zip(&transaction.expect).map(|(response, (key, _))| {
            let found = match response.response {
                Some(Response::Range(range)) => range.kvs.into_iter().next(),
                _ => None,
            };
            match found {
                Some(found) => {
                    Change { key: *key, value: Some(found.value), version: unsigned(found.mod_revision) }
                }
                None => Change { key: *key, value: None, version: revision },
            }
        });
        Ok(Outcome::Conflict(found.collect()))
    }

    fn follow(&self) -> mpsc::Receiver<News> {
        let (sender, receiver) = mpsc::channel(NEWS);
        tokio::spawn(watch::run(self.clone(), sender));
        receiver
    }

    async fn announce(&self, member: Member) -> Result<Presence, StoreError> {
        presence::announce(self.clone(), member).await
    }

    async fn members(&self) -> Result<Vec<Member>, StoreError> {
        let prefix = self.gateways();
        let (_, found) = self.list(&prefix).await?;
        let member = |found: pb::KeyValue| {
            let name = std::str::from_utf8(&found.key).ok()?.strip_prefix(&prefix)?.parse().ok()?;
            Some(Member { name, value: found.value })
        };
        Ok(found.into_iter().filter_map(member).collect())
    }
}

/// The first key after all that begin with a prefix.
fn after(prefix: &str) -> Vec<u8> {
    let mut end = prefix.as_bytes().to_vec();
    while let Some(last) = end.pop() {
        if let Some(next) = last.checked_add(1) {
            end.push(next);
            return end;
        }
    }
    // Of an empty prefix: to the end of all keys.
    vec![0]
}

/// etcd's revisions begin at 1.
fn unsigned(revision: i64) -> u64 {
    u64::try_from(revision).unwrap_or(0)
}
