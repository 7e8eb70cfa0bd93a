//! Tests whether the tunnel's name servers answer, when somebody looks at the status.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tokio::runtime::Handle;
use warren_proxy::{dns::Names, net::Dial};

use crate::runtime::status::DnsTest;

/// The least time between two tests.
const PAUSE: Duration = Duration::from_secs(10);

/// An older result says nothing about now.
const RECENT: Duration = Duration::from_secs(20);

/// The last test of one domain.
pub(super) struct Tester<D> {
    names: Names<D>,
    runtime: Handle,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    running: bool,
    last: Option<(Instant, DnsTest)>,
}

impl<D: Dial> Tester<D> {
    pub(super) fn new(names: Names<D>, runtime: Handle) -> Self {
        Self { names, runtime, state: Arc::default() }
    }

    /// A recent result; and a new test in the background if that is older than [`PAUSE`].
    pub(super) fn look(&self) -> Option<DnsTest> {
        let mut state = self.state.lock();
        let fresh = state.last.as_ref().is_some_and(|(at, _)| at.elapsed() < PAUSE);
        if !fresh && !state.running {
            state.running = true;
            let (names, kept) = (self.names.clone(), Arc::clone(&self.state));
            self.runtime.spawn(async move {
                let tested = test(&names).await;
                *kept.lock() = State { running: false, last: tested.map(|tested| (Instant::now(), tested)) };
            });
        }
        state.last.as_ref().filter(|(at, _)| at.elapsed() < RECENT).map(|(_, tested)| tested.clone())
    }
}

/// Queries a server for the first domain; nothing if there is none.
pub(crate) async fn test<D: Dial>(names: &Names<D>) -> Option<DnsTest> {
    let begun = Instant::now();
    let tested = names.test().await?;
    Some(DnsTest {
        domain: tested.name.to_string(),
        works: tested.works,
        answer: tested.answer,
        milliseconds: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
    })
}
