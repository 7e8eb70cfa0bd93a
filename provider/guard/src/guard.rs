//! The guard of one provider process.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::join_all;
use ipnet::IpNet;
use tf_provider_rs::Diagnostics;
use tokio::sync::OnceCell;

use crate::claims::{Change, ClaimRole, Claims, Store, StoreError};
use crate::live::Live;
use crate::run::Run;
use crate::{GuardConfig, Key, LiveSource, PlannedResource, check, report, suggest};

/// Compares all ranges of a run. Clones share their state.
#[derive(Clone, Default)]
pub struct Guard(Arc<Mutex<Session>>);

/// One run, which starts when the provider is configured.
#[derive(Default)]
struct Session {
    config: GuardConfig,
    run: Run,
    sources: Vec<Arc<dyn LiveSource>>,
    live: Arc<OnceCell<Arc<Fetched<Live>>>>,
    store: Option<Result<Arc<Store>, StoreError>>,
    claims: Arc<OnceCell<Arc<Fetched<Claims>>>>,
}

/// A value that is fetched once per run, with diagnostics that are reported once.
#[derive(Debug, Default)]
struct Fetched<T> {
    value: T,
    complaints: Mutex<Diagnostics>,
}

impl<T> Fetched<T> {
    fn new(value: T, complaints: Diagnostics) -> Self {
        Fetched { value, complaints: Mutex::new(complaints) }
    }

    fn take_complaints(&self) -> Diagnostics {
        std::mem::take(&mut *self.complaints.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Guard {
    /// A configured guard. [`Guard::default`] creates one that has no fabric, owner or claims yet.
    pub fn new(config: GuardConfig) -> Guard {
        let guard = Guard::default();
        guard.configure(config);
        guard
    }

    /// Applies the provider configuration and starts a run, which discards the planned ranges, live sources and
    /// cached claims of an earlier run in this process. Call it before [`Guard::add_live`]. Sends no request.
    pub fn configure(&self, config: GuardConfig) {
        let store = config.claims.as_ref().map(|url| Store::open(url, &config).map(Arc::new));
        *self.lock() = Session { config, store, ..Session::default() };
    }

    /// Adds a cloud whose live networks are compared.
    pub fn add_live(&self, source: Arc<dyn LiveSource>) {
        let mut session = self.lock();
        session.sources.push(source);
        session.live = Arc::default();
    }

    /// Registers the ranges of a resource, replacing earlier ones of the same key, and reports their conflicts: one
    /// error that lists every pair, and one warning for suspicious overlaps.
    pub async fn plan(&self, resource: PlannedResource) -> Diagnostics {
        let mut diagnostics = Diagnostics::default();
        if let Some(earlier) = self.lock().run.register(resource.clone()) {
            diagnostics.push(report::name_used_twice(&earlier, &resource));
        }
        let live = self.live().await;
        let claims = self.claims().await;
        diagnostics.extend(live.take_complaints());
        diagnostics.extend(claims.take_complaints());

        let session = self.lock();
        let (run, config) = (&session.run, &session.config);
        let (live, claims) = (&live.value, &claims.value);
        let mut findings = check::in_run(run, &resource);
        findings.extend(check::outside(run, live, &resource));
        findings.extend(check::with_live(run, live, config, &resource));
        findings.extend(check::with_claims(run, live, claims, config, &resource));
        findings.sort_by_key(|finding| finding.range);
        let (warnings, errors): (Vec<_>, Vec<_>) = findings.into_iter().partition(|finding| finding.warning);
        let free = |position: usize| match resource.ranges.get(position) {
            Some(range) => suggest::free(run, live, claims, &resource, range),
            None => report::Free::NoSpace,
        };
        diagnostics.0.extend(report::conflicts(&resource, config, &errors, &free));
        diagnostics.0.extend(report::suspicions(&resource, config, &warnings));
        diagnostics
    }

    /// Removes the ranges of a resource whose destruction is planned. `id` is the ID of the object to be destroyed.
    pub fn forget(&self, key: &Key, id: Option<&str>) {
        self.lock().run.forget(key, id);
    }

    /// Claims ranges for a resource, replacing earlier claims of the same key. Call it during the apply, before the
    /// call that creates or grows the object. Does nothing without a claims store. If two owners claim overlapping
    /// ranges at the same time, one of them is rejected.
    ///
    /// # Errors
    /// Diagnostics for the user: the ranges belong to another owner, or the store cannot be read or written.
    pub async fn claim(&self, key: &Key, role: ClaimRole, nets: &[IpNet]) -> Result<(), Diagnostics> {
        let (store, owner) = {
            let mut session = self.lock();
            session.run.applied(key);
            (session.store.clone(), session.config.owner.clone())
        };
        let change = Change::Claim { key: key.clone(), role, nets: nets.to_vec() };
        let taken = change_claims(store, change).await?;
        if taken.is_empty() { Ok(()) } else { Err(report::claim_refused(key, &taken, nets, &owner).into()) }
    }

    /// Releases the claims of a resource, if it has any. Call it after the object has been deleted.
    ///
    /// # Errors
    /// Diagnostics for the user: the store cannot be read or written.
    pub async fn release(&self, key: &Key) -> Result<(), Diagnostics> {
        let store = self.lock().store.clone();
        change_claims(store, Change::Release { key: key.clone() }).await.map(|_| ())
    }

    async fn live(&self) -> Arc<Fetched<Live>> {
        let (cell, sources) = {
            let session = self.lock();
            (Arc::clone(&session.live), session.sources.clone())
        };
        let fetch = async {
            let mut ranges = Vec::new();
            let mut complaints = Diagnostics::default();
            for listed in join_all(sources.iter().map(|source| source.ranges())).await {
                match listed {
                    Ok(listed) => ranges.extend(listed),
                    Err(error) => complaints.extend(error),
                }
            }
            Arc::new(Fetched::new(Live::new(ranges), complaints))
        };
        Arc::clone(cell.get_or_init(|| fetch).await)
    }

    async fn claims(&self) -> Arc<Fetched<Claims>> {
        let (cell, store) = {
            let session = self.lock();
            (Arc::clone(&session.claims), session.store.clone())
        };
        let fetch = async {
            let document = match store {
                None => return Arc::default(),
                Some(Ok(store)) => store.read().await,
                Some(Err(error)) => Err(error),
            };
            Arc::new(match document {
                Ok(document) => Fetched::new(Claims::new(document.claims), Diagnostics::default()),
                Err(error) => Fetched::new(Claims::default(), report::store_failed(&error).into()),
            })
        };
        Arc::clone(cell.get_or_init(|| fetch).await)
    }

    fn lock(&self) -> MutexGuard<'_, Session> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Guard")
    }
}

/// Applies a change to the store, if there is one, and returns conflicting claims of other owners.
async fn change_claims(
    store: Option<Result<Arc<Store>, StoreError>>,
    change: Change,
) -> Result<Vec<crate::claims::Claim>, Diagnostics> {
    let outcome = match store {
        None => return Ok(Vec::new()),
        Some(Ok(store)) => store.change(change).await,
        Some(Err(error)) => Err(error),
    };
    outcome.map_err(|error| report::store_failed(&error).into())
}
