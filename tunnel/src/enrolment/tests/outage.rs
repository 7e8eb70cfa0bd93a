//! A lease task without a store: its end is reported, and it answers nobody.

use std::sync::Arc;

use tokio::sync::mpsc;
use warren_lease::{Outcome, Settings, Transaction};
use warren_store::{Member as StoreMember, News, Presence, Store, StoreError};

use crate::enrolment::leases::LeaseService;
use crate::runtime::supervise::Supervisor;

/// A store that fails every request and reports no changes.
struct Gone;

type Pending<'a, T> = std::pin::Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

fn ended<'a, T>() -> Pending<'a, T> {
    Box::pin(async { Err(StoreError::File("gone".into())) })
}

impl Store for Gone {
    fn commit<'a, 'b, 'c>(&'a self, _: &'b Transaction) -> Pending<'c, Outcome>
    where
        'a: 'c,
        'b: 'c,
    {
        ended()
    }

    fn follow(&self) -> mpsc::Receiver<News> {
        mpsc::channel(1).1
    }

    fn announce<'a, 'c>(&'a self, _: StoreMember) -> Pending<'c, Presence>
    where
        'a: 'c,
    {
        ended()
    }

    fn members<'a, 'c>(&'a self) -> Pending<'c, Vec<StoreMember>>
    where
        'a: 'c,
    {
        ended()
    }
}

#[tokio::test]
async fn a_lease_task_that_ends_is_a_death_and_answers_nobody() {
    let config = super::config("10.100.0.0/24", "");
    let settings = Settings {
        prefixes: config.pool.prefixes.clone(),
        reserved: Vec::new(),
        ttl: config.lease.ttl.get(),
        quarantine: config.lease.quarantine.get(),
        max: config.lease.max.get(),
        per_source: None,
        shared: None,
    };
    let supervisor = Supervisor::default();
    let (sender, mut deaths) = mpsc::unbounded_channel();
    supervisor.on_death(move |name| _ = sender.send(name.to_owned()));
    let (sender, mut peers) = mpsc::unbounded_channel();
    let runtime = tokio::runtime::Handle::current();
    let leases = LeaseService::start(settings, Arc::new(Gone), sender, &runtime, &supervisor).unwrap();
    assert_eq!(deaths.recv().await.unwrap(), "lease task");
    assert!(leases.leases().await.is_none());
    assert!(peers.recv().await.is_none(), "the reconciler learns of it");
}
