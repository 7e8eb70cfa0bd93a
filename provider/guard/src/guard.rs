//! The guard of one provider process.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use ipnet::IpNet;
use tf_provider_rs::{Diagnostic, Diagnostics};
use tokio::sync::OnceCell;
use tokio::time::Instant;

use crate::claims::{self, Change, ClaimRole, Claims, Document, Store, StoreError, Wanted};
use crate::ledger::{Apart, Ledger, Record};
use crate::live::{Listing, Live};
use crate::run::Run;
use crate::{GuardConfig, Key, LiveSource, PlannedRange, PlannedResource, Role, check, report, suggest};

/// How long a plan waits for that of a network which may leave its range.
const MEETING: Duration = Duration::from_secs(if cfg!(test) { 2 } else { 10 });

/// Compares all ranges of a run. Clones share their state.
#[derive(Clone, Default)]
pub struct Guard(Arc<Mutex<Session>>);

/// The claims file, and the claims of others in it that can conflict.
type Claimed = (Document, Claims);

/// One run, which starts when the provider is configured.
#[derive(Default)]
struct Session {
    configured: bool,
    validated: bool,
    config: GuardConfig,
    run: Run,
    sources: Vec<Arc<dyn LiveSource>>,
    listing: Arc<OnceCell<Arc<Fetched<Listing>>>>,
    /// What other processes of the run have read.
    elsewhere: Vec<Listing>,
    /// Everything that is known: made from this listing and so many from elsewhere.
    live: Option<(Arc<Fetched<Listing>>, usize, Arc<Live>)>,
    /// Complaints that were reported.
    reported: BTreeSet<(String, String)>,
    store: Option<Result<Arc<Store>, StoreError>>,
    claims: Arc<OnceCell<Arc<Fetched<Claimed>>>>,
    /// Resources whose claims this process has settled, and whether plans can be claimed.
    settled: BTreeSet<Key>,
    unclaimable: bool,
    sharing: Sharing,
}

/// Whether the guard shares its ranges with the other processes of the run.
#[derive(Default)]
enum Sharing {
    /// It is the only one.
    #[default]
    Alone,
    Shared(Ledger),
    /// The processes cannot meet; the reason until it is reported.
    Apart(Option<Apart>),
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

    /// A guard that is not configured yet, and shares its ranges with the other provider processes that the same
    /// process has started.
    pub fn of_this_run() -> Guard {
        let sharing = Sharing::Shared(Ledger::of_this_run());
        Guard(Arc::new(Mutex::new(Session { sharing, ..Session::default() })))
    }

    /// Applies the provider configuration and starts a run, which discards the planned ranges, live sources and
    /// cached claims of an earlier run in this process. Call it before [`Guard::add_live`]. Sends no request.
    pub fn configure(&self, config: GuardConfig) {
        let store = config.claims.as_ref().map(|url| Store::open(url, &config).map(Arc::new));
        let mut session = self.lock();
        let mut sharing = std::mem::take(&mut session.sharing);
        if let Sharing::Shared(ledger) = &mut sharing {
            ledger.rewind();
        }
        *session = Session { config, store, sharing, configured: true, ..Session::default() };
    }

    /// Call it when Terraform validates a resource. While the provider is not configured, this shows that Terraform
    /// validates the configuration: a plan follows, so what an earlier plan of the run has shared no longer counts.
    pub fn validating(&self) {
        let mut session = self.lock();
        if !session.configured && !std::mem::replace(&mut session.validated, true) {
            session.end_earlier_plan();
        }
    }

    /// Adds a cloud whose live networks are compared.
    pub fn add_live(&self, source: Arc<dyn LiveSource>) {
        let mut session = self.lock();
        session.sources.push(source);
        session.listing = Arc::default();
    }

    /// Registers the ranges of a resource, replacing earlier ones of the same key, and reports their conflicts: one
    /// error that lists every pair, and one warning for suspicious overlaps.
    pub async fn plan(&self, resource: PlannedResource) -> Diagnostics {
        let mut diagnostics = Diagnostics::default();
        diagnostics.extend(self.register(&resource).await);
        let listed = self.listing().await;
        let claims = self.claims().await;
        diagnostics.extend(self.news(listed.take_complaints()));
        diagnostics.extend(claims.take_complaints());

        self.meet(&resource, &listed, &claims).await;
        let (store, wanted, owner) = {
            let mut session = self.lock();
            let live = session.live(&listed);
            let (live, session) = (&*live, &*session);
            let (run, config) = (&session.run, &session.config);
            let (document, claims) = (&claims.value.0, &claims.value.1);
            let mut findings = check::in_run(run, &resource);
            findings.extend(check::outside(run, live, &resource));
            findings.extend(check::with_live(run, live, config, &resource));
            let apart = matches!(session.sharing, Sharing::Apart(_));
            let wanted = wanted(&resource, apart);
            let kept = (apart, document.has(&config.owner, &wanted));
            findings.extend(check::with_claims(run, live, claims, config, &resource, kept));
            findings.sort_by_key(|finding| finding.range);
            let (warnings, errors): (Vec<_>, Vec<_>) =
                findings.into_iter().partition(|finding| finding.warning);
            let free = |position: usize| match resource.ranges.get(position) {
                Some(range) => suggest::free(run, live, claims, &resource, range),
                None => report::Free::NoSpace,
            };
            diagnostics.0.extend(report::conflicts(&resource, config, &errors, &free));
            diagnostics.0.extend(report::suspicions(&resource, config, &warnings));
            let owner = config.owner.clone();
            let claim = errors.is_empty()
                && !session.unclaimable
                && !session.settled.contains(&resource.key)
                && !wanted.nets.is_empty()
                && !document.holds(&owner, &wanted, claims::now());
            (session.store.clone().filter(|_| claim), wanted, owner)
        };
        diagnostics.extend(self.claim_plan(store, wanted, &owner).await);
        diagnostics
    }

    /// Waits until the run has planned, or planned to destroy, the resources of this owner whose claims elsewhere conflict
    /// with `resource`. Terraform plans in any order: a network that leaves its range may come after the one that gets it.
    async fn meet(
        &self,
        resource: &PlannedResource,
        listed: &Arc<Fetched<Listing>>,
        claims: &Arc<Fetched<Claimed>>,
    ) {
        let deadline = Instant::now() + MEETING;
        loop {
            let (guard, resource) = (self.clone(), resource.clone());
            let (listed, claims) = (Arc::clone(listed), Arc::clone(claims));
            // The other processes of the run may have to be waited for.
            let strangers = tokio::task::spawn_blocking(move || {
                let mut session = guard.lock();
                let strange = session.has_strangers(&resource, &listed, &claims);
                if strange {
                    session.exchange(&[]);
                }
                strange
            });
            if !strangers.await.unwrap_or_default() || Instant::now() >= deadline {
                return;
            }
            tokio::time::sleep(MEETING / 100).await;
        }
    }

    /// Claims what is planned, until the plan is applied or too old. A plan needs no permission to write: without it,
    /// only the apply claims.
    async fn claim_plan(
        &self,
        store: Option<Result<Arc<Store>, StoreError>>,
        wanted: Wanted,
        owner: &str,
    ) -> Diagnostics {
        match change_claims(store, Change::Plan(wanted.clone())).await {
            Ok(taken) if taken.is_empty() => Diagnostics::default(),
            Ok(taken) => report::claim_refused(&wanted.key, &taken, &wanted.nets, owner).into(),
            Err(error) => {
                let told = std::mem::replace(&mut self.lock().unclaimable, true);
                if told { Diagnostics::default() } else { report::plan_not_claimed(&error).into() }
            }
        }
    }

    /// Removes the ranges of a resource whose destruction is planned. `id` is the ID of the object to be destroyed.
    pub fn forget(&self, key: &Key, id: Option<&str>) {
        let mut session = self.lock();
        let (fabric, owner) = (session.config.fabric.clone(), session.config.owner.clone());
        session.exchange(&[Record::Gone { fabric, owner, key: key.clone(), id: id.map(str::to_owned) }]);
        session.run.forget(key, id);
    }

    /// Claims ranges for a resource, replacing earlier claims of the same key. Call it during the apply, before the
    /// call that creates or grows the object. Does nothing without a claims store. If two owners claim overlapping
    /// ranges at the same time, one of them is rejected.
    ///
    /// # Errors
    /// Diagnostics for the user: the ranges belong to another owner, or the store cannot be read or written.
    pub async fn claim(&self, key: &Key, role: ClaimRole, nets: &[IpNet]) -> Result<(), Diagnostics> {
        let (store, owner, own_elsewhere) = {
            let mut session = self.lock();
            session.run.applied(key);
            session.settled.insert(key.clone());
            let apart = matches!(session.sharing, Sharing::Apart(_));
            (session.store.clone(), session.config.owner.clone(), apart)
        };
        let wanted = Wanted { key: key.clone(), role, nets: nets.to_vec(), own_elsewhere };
        let taken = change_claims(store, Change::Claim(wanted))
            .await
            .map_err(|error| report::store_failed(&error))?;
        if taken.is_empty() { Ok(()) } else { Err(report::claim_refused(key, &taken, nets, &owner).into()) }
    }

    /// Releases the claims of a resource, if it has any. Call it after the object has been deleted.
    ///
    /// # Errors
    /// Diagnostics for the user: the store cannot be read or written.
    pub async fn release(&self, key: &Key) -> Result<(), Diagnostics> {
        let store = self.lock().store.clone();
        let released = change_claims(store, Change::Release { key: key.clone() }).await;
        released.map(|_| ()).map_err(|error| report::store_failed(&error).into())
    }

    /// Registers a resource in this process and in the ledger.
    async fn register(&self, resource: &PlannedResource) -> Diagnostics {
        let (guard, planned) = (self.clone(), resource.clone());
        // The other processes of the run may have to be waited for.
        let registered = tokio::task::spawn_blocking(move || {
            let mut session = guard.lock();
            let (fabric, owner) = (session.config.fabric.clone(), session.config.owner.clone());
            session.exchange(&[Record::Planned { fabric, owner, resource: (&planned).into() }]);
            (session.run.register(planned), session.take_apart())
        });
        let mut diagnostics = Diagnostics::default();
        match registered.await {
            Ok((earlier, apart)) => {
                diagnostics.0.extend(apart);
                diagnostics.0.extend(earlier.map(|earlier| report::name_used_twice(&earlier, resource)));
            }
            // Only if the runtime is shut down, which ends the plan.
            Err(error) => tracing::debug!(%error, "planned ranges not registered"),
        }
        diagnostics
    }

    /// What this process reads, which it shares with the others.
    async fn listing(&self) -> Arc<Fetched<Listing>> {
        let (cell, sources) = {
            let session = self.lock();
            (Arc::clone(&session.listing), session.sources.clone())
        };
        let fetch = async {
            let mut all = Listing::default();
            for listed in join_all(sources.iter().map(|source| source.list())).await {
                all.extend(listed);
            }
            all.unread.sort();
            all.unread.dedup_by(|one, other| (one.what, &one.scope) == (other.what, &other.scope));
            let mut complaints = Diagnostics::default();
            complaints.0.extend(all.unread.iter().map(report::unread));
            let (guard, listing) = (self.clone(), Arc::new(all.clone()));
            let shared = tokio::task::spawn_blocking(move || guard.lock().share(&listing)).await;
            complaints.0.extend(shared.unwrap_or_default());
            Arc::new(Fetched::new(all, complaints))
        };
        Arc::clone(cell.get_or_init(|| fetch).await)
    }

    /// Those that were not reported yet. The live ranges are read again when the run reaches another region.
    fn news(&self, mut complaints: Diagnostics) -> Diagnostics {
        let mut session = self.lock();
        complaints.0.retain(|one| session.reported.insert((one.summary.clone(), one.detail.clone())));
        complaints
    }

    async fn claims(&self) -> Arc<Fetched<Claimed>> {
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
                Ok(document) => {
                    let claims = Claims::new(document.claims.clone());
                    Fetched::new((document, claims), Diagnostics::default())
                }
                Err(error) => {
                    self.lock().unclaimable = true;
                    Fetched::new(Default::default(), report::store_failed(&error).into())
                }
            })
        };
        Arc::clone(cell.get_or_init(|| fetch).await)
    }

    fn lock(&self) -> MutexGuard<'_, Session> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    /// Whether the owner's claims elsewhere, of resources that the run has not planned so far, refuse the resource.
    fn has_strangers(
        &mut self,
        resource: &PlannedResource,
        listed: &Arc<Fetched<Listing>>,
        claims: &Arc<Fetched<Claimed>>,
    ) -> bool {
        if !matches!(self.sharing, Sharing::Shared(_) | Sharing::Alone) || claims.value.0.claims.is_empty() {
            return false;
        }
        let live = self.live(listed);
        let (document, claims) = (&claims.value.0, &claims.value.1);
        let kept = (false, document.has(&self.config.owner, &wanted(resource, false)));
        let found = check::with_claims(&self.run, &live, claims, &self.config, resource, kept);
        found.iter().any(|finding| finding.why == check::Why::ClaimedElsewhere && !finding.warning)
    }

    /// Shares `own` with the other processes of the run, and registers what they have planned.
    fn exchange(&mut self, own: &[Record]) {
        let Sharing::Shared(ledger) = &mut self.sharing else { return };
        match ledger.exchange(own) {
            Ok(records) => records.into_iter().for_each(|record| self.learn(record)),
            Err(apart) => self.give_up(apart),
        }
    }

    /// Shares what this process has read. Returns the conflicts with what the others had planned until then: they see what
    /// they plan from now on themselves.
    fn share(&mut self, listing: &Listing) -> Vec<Diagnostic> {
        if listing.ranges.is_empty() || !matches!(self.sharing, Sharing::Shared(_)) {
            return Vec::new();
        }
        let Listing { ranges, networks, .. } = listing.for_others(&self.config);
        let mut mine = Listing { ranges: ranges.clone(), networks: networks.clone(), ..Listing::default() };
        self.exchange(&[Record::Live { fabric: self.config.fabric.clone(), ranges, networks }]);
        // What another process has read too, it compares itself.
        mine.ranges.retain(|range| !self.elsewhere.iter().any(|other| other.ranges.contains(range)));
        let mine = Live::new(mine);
        let foreign = self.run.foreign();
        foreign
            .filter_map(|resource| {
                let owner = resource.key.owner.clone().unwrap_or_else(|| self.config.owner.clone());
                let config =
                    GuardConfig { fabric: self.config.fabric.clone(), owner, ..GuardConfig::default() };
                let mut found = check::with_live(&self.run, &mine, &config, resource);
                found.retain(|finding| !finding.warning);
                report::conflicts_elsewhere(resource, &config, &found)
            })
            .collect()
    }

    /// All live ranges that are known: those that this process has read, and those that others have.
    fn live(&mut self, listing: &Arc<Fetched<Listing>>) -> Arc<Live> {
        let known = self.elsewhere.len();
        if let Some((of, count, live)) = &self.live
            && Arc::ptr_eq(of, listing)
            && *count == known
        {
            return Arc::clone(live);
        }
        let mut all = Listing { unread: Vec::new(), ..listing.value.clone() };
        self.elsewhere.iter().for_each(|other| all.learn(other.clone(), &self.config));
        let live = Arc::new(Live::new(all));
        self.live = Some((Arc::clone(listing), known, Arc::clone(&live)));
        live
    }

    fn end_earlier_plan(&mut self) {
        if let Sharing::Shared(ledger) = &mut self.sharing
            && let Err(apart) = ledger.append_if_used(&[Record::Validated {}])
        {
            self.give_up(apart);
        }
    }

    fn learn(&mut self, record: Record) {
        let Session { config, run, elsewhere, live, .. } = self;
        let of = |owner: String| (owner != config.owner).then_some(owner);
        match record {
            Record::Planned { fabric, owner, resource } if fabric == config.fabric => {
                let mut resource = PlannedResource::from(resource);
                resource.key.owner = of(owner);
                run.register_foreign(resource);
            }
            Record::Gone { fabric, owner, key, id } if fabric == config.fabric => {
                let key = Key { owner: of(owner), ..key };
                run.forget_foreign(&key, id.as_deref());
            }
            Record::Live { fabric, ranges, networks } if fabric == config.fabric => {
                elsewhere.push(Listing { ranges, networks, unread: Vec::new() });
            }
            Record::Validated {} => {
                run.clear_foreign();
                elsewhere.clear();
                *live = None;
            }
            Record::Planned { .. } | Record::Gone { .. } | Record::Live { .. } => {}
        }
    }

    fn give_up(&mut self, apart: Apart) {
        tracing::warn!(why = %apart, "planned ranges are not shared with other processes of the run");
        self.sharing = Sharing::Apart(Some(apart));
    }

    /// The warning that the processes cannot meet, once.
    fn take_apart(&mut self) -> Option<Diagnostic> {
        match &mut self.sharing {
            Sharing::Apart(why) => why.take().map(|why| report::apart(&why, &self.config)),
            Sharing::Alone | Sharing::Shared(_) => None,
        }
    }
}

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Guard")
    }
}

/// Applies a change to the store, if there is one, and returns conflicting claims.
async fn change_claims(
    store: Option<Result<Arc<Store>, StoreError>>,
    change: Change,
) -> Result<Vec<claims::Claim>, StoreError> {
    match store {
        None => Ok(Vec::new()),
        Some(store) => store?.change(change).await,
    }
}

/// The ranges of a resource that are claimed. Clouds assign IPv6 ranges of networks, so those are unique.
fn wanted(resource: &PlannedResource, own_elsewhere: bool) -> Wanted {
    let reserves = |range: &&PlannedRange| range.role == Role::Reserve;
    let role = match resource.ranges.iter().any(|range| reserves(&range)) {
        true => ClaimRole::Reserve,
        false => ClaimRole::Occupy,
    };
    let occupies = |range: &&PlannedRange| range.role == Role::Occupy && matches!(range.net, IpNet::V4(_));
    let counts = |range: &&PlannedRange| reserves(range) || occupies(range);
    let nets = resource.ranges.iter().filter(counts).map(|range| range.net).collect();
    Wanted { key: resource.key.clone(), role, nets, own_elsewhere }
}
