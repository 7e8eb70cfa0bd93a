//! A gateway is alive as long as its key is: the key hangs on a lease of etcd that the gateway renews. When etcd has
//! forgotten the lease, say after it was away for long, the gateway makes another.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use super::pb::lease_client::LeaseClient;
use super::pb::request_op::Request;
use super::{COMMIT, Etcd, cluster, pb};
use crate::{Member, Presence, StoreError};

/// Seconds after which a gateway that says nothing counts as dead.
const TTL: i64 = 10;
const RENEWAL: Duration = Duration::from_secs(3);

pub(super) async fn announce(store: Etcd, member: Member) -> Result<Presence, StoreError> {
    let mut lease = begin(&store, &member).await?;
    let (end, mut ended) = oneshot::channel();
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = &mut ended => break,
                () = sleep(RENEWAL) => {}
            }
            if renew(&store, lease).await {
                continue;
            }
            match begin(&store, &member).await {
                Ok(another) => lease = another,
                Err(error) => tracing::warn!(%error, "cannot announce this gateway to the others"),
            }
        }
        // If it fails, the lease ends by itself.
        _ = store
            .cluster
            .call(RENEWAL, |channel| async move {
                LeaseClient::new(channel).lease_revoke(pb::LeaseRevokeRequest { id: lease }).await
            })
            .await;
    });
    Ok(Presence { _end: end })
}

/// A new lease with the gateway's key on it.
async fn begin(store: &Etcd, member: &Member) -> Result<i64, StoreError> {
    let lease = store
        .cluster
        .call(COMMIT, |channel| async move {
            LeaseClient::new(channel).lease_grant(pb::LeaseGrantRequest { ttl: TTL }).await
        })
        .await?
        .id;
    let key = format!("{}{}", store.gateways(), member.name).into_bytes();
    let put = pb::PutRequest { key, value: member.value.clone(), lease };
    let request = pb::TxnRequest {
        success: vec![pb::RequestOp { request: Some(Request::Put(put)) }],
        ..Default::default()
    };
    store
        .cluster
        .call(COMMIT, |channel| {
            let request = request.clone();
            async move { cluster::kv(channel).txn(request).await }
        })
        .await?;
    Ok(lease)
}

/// Whether etcd still knows the lease; an etcd that does not answer may.
async fn renew(store: &Etcd, lease: i64) -> bool {
    let (number, channel) = store.cluster.current();
    let requests = tokio_stream::iter([pb::LeaseKeepAliveRequest { id: lease }]);
    let answer = timeout(RENEWAL, async {
        LeaseClient::new(channel).lease_keep_alive(requests).await?.into_inner().message().await
    });
    match answer.await {
        Ok(Ok(Some(answer))) => answer.ttl > 0,
        _ => {
            store.cluster.avoid(number);
            true
        }
    }
}
