//! The number of requests follows the store, in virtual time.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use object_store::ObjectStoreExt as _;
use object_store::path::Path;
use tokio::time::Instant;
use warren_sync::{Engine, Progress};

use crate::store::{Recorder, Service};
use crate::{End, Lab};

/// Copies many small objects between two stores of this kind: the time, and the most requests at the source.
async fn copy(objects: usize, connections: usize, service: fn() -> Service) -> (Duration, usize) {
    let store = || {
        let mut store = Arc::into_inner(Recorder::new(true)).unwrap();
        store.service = Some(service());
        Arc::new(store)
    };
    let (source, dest) = (store(), store());
    for n in 0..objects {
        source.inner.put(&Path::from(format!("top/data/{n}")), vec![1, 2, 3].into()).await.unwrap();
    }
    let state = tempfile::tempdir().unwrap();
    let lab =
        Lab { source: End::Store(Arc::clone(&source)), dest: End::Store(dest), state, told: Arc::default() };
    let mut options = lab.options();
    options.connections = connections;
    let told = Arc::clone(&lab.told) as Arc<dyn Progress>;
    let engine = Engine::new(lab.source.place("a"), lab.dest.place("b"), options, told).await.unwrap();
    let begun = Instant::now();
    assert_eq!(engine.run().await.unwrap().copied, objects as u64);
    (begun.elapsed(), source.service.as_ref().unwrap().most.load(Ordering::Relaxed))
}

/// 5,000 objects at 80 ms, of which each takes two requests: not in less than 25 s with 32 of them at a time, 3.1 s with 256.
#[tokio::test(start_paused = true)]
async fn small_objects_are_not_bound_by_the_distance() {
    let distant = || Service::new(Duration::from_millis(80), 1_000, Duration::ZERO);
    let (took, _) = copy(5_000, 256, distant).await;
    assert!(took < Duration::from_secs(5), "{took:?}");
    let (took, _) = copy(5_000, 32, distant).await;
    assert!(took > Duration::from_secs(24), "{took:?}");
}

/// A store with four workers carries no more with more requests, and gets no more than one try of 64.
#[tokio::test(start_paused = true)]
async fn a_slow_store_is_not_crowded() {
    let slow = || Service::new(Duration::from_millis(5), 4, Duration::from_millis(20));
    let (took, most) = copy(2_000, 256, slow).await;
    assert!(most <= 64, "{most}");
    let best = Duration::from_millis(20) * 2_000 / 4;
    assert!(took < best * 12 / 10, "{took:?}");
}
