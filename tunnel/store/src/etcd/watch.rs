//! Contents first, then changes. A broken connection goes on where it ended; if the history since then has been
//! compacted away, the contents are read again.

use std::time::Duration;

use tokio::sync::mpsc::Sender;
use tokio::time::sleep;
use tonic::Request;
use tonic::metadata::MetadataValue;
use warren_lease::Change;

use super::pb::event::EventType;
use super::pb::watch_client::WatchClient;
use super::pb::watch_request::RequestUnion;
use super::{Etcd, after, pb, unsigned};
use crate::News;

const PAUSE_LEAST: Duration = Duration::from_millis(100);
const PAUSE_MOST: Duration = Duration::from_secs(2);

/// Why a watch ended.
enum End {
    /// Nobody listens any more.
    Dropped,
    /// Go on from where it ended.
    Broken(String),
    /// The history is gone.
    Compacted,
}

pub(super) async fn run(store: Etcd, news: Sender<News>) {
    let mut next = None;
    let mut pause = PAUSE_LEAST;
    while !news.is_closed() {
        let end = match next {
            None => load(&store, &news, &mut next).await,
            Some(_) => watch(&store, &news, &mut next, &mut pause).await,
        };
        match end {
            End::Dropped => return,
            End::Compacted => next = None,
            End::Broken(reason) if reason.is_empty() => {}
            End::Broken(reason) => {
                tracing::warn!(%reason, "etcd watch interrupted");
                if news.send(News::Interrupted(reason)).await.is_err() {
                    return;
                }
                sleep(pause).await;
                pause = (pause * 2).min(PAUSE_MOST);
            }
        }
    }
}

async fn load(store: &Etcd, news: &Sender<News>, next: &mut Option<i64>) -> End {
    match store.load().await {
        Ok(contents) => {
            if let News::Contents { revision, .. } = &contents {
                *next = i64::try_from(*revision).ok().map(|revision| revision + 1);
            }
            if news.send(contents).await.is_err() { End::Dropped } else { End::Broken(String::new()) }
        }
        Err(error) => End::Broken(error.to_string()),
    }
}

async fn watch(store: &Etcd, news: &Sender<News>, next: &mut Option<i64>, pause: &mut Duration) -> End {
    let (number, channel) = store.cluster.current();
    let broken = |reason: String| {
        store.cluster.avoid(number);
        End::Broken(reason)
    };
    let prefix = store.records();
    let create = pb::WatchCreateRequest {
        range_end: after(&prefix),
        key: prefix.into_bytes(),
        start_revision: next.unwrap_or_default(),
        progress_notify: true,
    };
    let create = pb::WatchRequest { request_union: Some(RequestUnion::CreateRequest(create)) };
    // The stream of requests stays open: etcd ends the watch with it.
    let (keep, requests) = tokio::sync::mpsc::channel(1);
    if keep.send(create).await.is_err() {
        return broken("the stream of requests has ended".into());
    }
    let mut request = Request::new(tokio_stream::wrappers::ReceiverStream::new(requests));
    // A member that has lost its leader says so, instead of being silent.
    request.metadata_mut().insert("hasleader", MetadataValue::from_static("true"));
    let mut responses = match WatchClient::new(channel).watch(request).await {
        Ok(responses) => responses.into_inner(),
        Err(status) => return broken(status.message().to_owned()),
    };
    loop {
        let response = tokio::select! {
            response = responses.message() => response,
            () = news.closed() => return End::Dropped,
        };
        let response = match response {
            Ok(Some(response)) => response,
            Ok(None) => return broken("the member ended the watch".into()),
            Err(status) => return broken(status.message().to_owned()),
        };
        if response.compact_revision > 0 {
            return End::Compacted;
        }
        if response.canceled {
            return broken(response.cancel_reason);
        }
        *pause = PAUSE_LEAST;
        if response.created {
            continue;
        }
        // Progress without events: nothing has happened up to its revision.
        let revision =
            response.events.iter().filter_map(|event| event.kv.as_ref()).map(|kv| kv.mod_revision).max();
        let Some(revision) = revision.or(response.header.map(|header| header.revision)) else { continue };
        *next = Some(revision + 1);
        let changes = response.events.into_iter().filter_map(|event| change(store, event)).collect();
        if news.send(News::Changes { revision: unsigned(revision), changes }).await.is_err() {
            return End::Dropped;
        }
    }
}

fn change(store: &Etcd, event: pb::Event) -> Option<Change> {
    let gone = event.r#type() == EventType::Delete;
    let change = store.change(event.kv?)?;
    Some(if gone { Change { value: None, ..change } } else { change })
}
