//! The state that the resources of a cloud share: the configured account and the plan of the run.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use tf_provider_rs::model::ToValue;
use tf_provider_rs::{Attr, CancellationToken, Diagnostic, Diagnostics, async_trait};
use tokio::time::Instant;
use warren_guard::{Guard, Listing, LiveSource};

use crate::cloud::{Cloud, Memory, Scope};
use crate::common::Common;
use crate::memory::Objects;
use crate::retry;

/// Time for listing the live networks.
const LIST: Duration = Duration::from_secs(120);

/// Time for the calls that check the configured account.
const CONNECT: Duration = Duration::from_secs(60);

/// Shared by all resources of a cloud; cheap to clone.
pub struct Session<C: Cloud>(Arc<Inner<C>>);

impl<C: Cloud> Clone for Session<C> {
    fn clone(&self) -> Session<C> {
        Session(Arc::clone(&self.0))
    }
}

struct Inner<C: Cloud> {
    account: RwLock<Account<C>>,
    guard: Guard,
    run: C::Memory,
    objects: Objects,
    /// The account at other sites than the configured one, created when the first object there is planned or read.
    elsewhere: Mutex<BTreeMap<String, Arc<C>>>,
    /// Whether the guard compares with live networks.
    watches: AtomicBool,
}

enum Account<C> {
    Absent,
    Unknown,
    Known(Arc<C>),
}

impl<C: Cloud> Session<C> {
    /// A session that is not configured yet; `guard` receives all planned ranges of the run.
    pub fn new(guard: Guard) -> Session<C> {
        Session(Arc::new(Inner {
            account: RwLock::new(Account::Absent),
            guard,
            run: C::Memory::default(),
            objects: Objects::default(),
            elsewhere: Mutex::default(),
            watches: AtomicBool::default(),
        }))
    }

    /// A session of an account that is connected already.
    pub fn connected(guard: Guard, cloud: C) -> Session<C> {
        let session = Session::new(guard);
        *session.0.account.write().unwrap_or_else(PoisonError::into_inner) = Account::Known(Arc::new(cloud));
        session
    }

    /// Applies the attribute of the cloud in the provider block, and starts a run.
    ///
    /// While a value in it is unknown (during a plan), plans continue without calls to the cloud.
    pub async fn configure(&self, config: &Attr<C::Config>, scope: Scope) -> Diagnostics {
        self.0.run.clear();
        self.0.objects.clear();
        self.0.elsewhere.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.0.watches.store(false, Ordering::Relaxed);
        let account = match config {
            Attr::Null => Ok(Account::Absent),
            Attr::Unknown => Ok(Account::Unknown),
            Attr::Known(config) if !config.to_value().is_wholly_known() => Ok(Account::Unknown),
            Attr::Known(config) => {
                let connect = C::connect(config, scope);
                let cloud = retry::until(Instant::now() + CONNECT, CancellationToken::new(), connect).await;
                cloud.map(|cloud| Account::Known(Arc::new(cloud)))
            }
        };
        match account {
            Ok(account) => {
                *self.0.account.write().unwrap_or_else(PoisonError::into_inner) = account;
                Diagnostics::default()
            }
            Err(diagnostics) => diagnostics,
        }
    }

    /// The account.
    ///
    /// # Errors
    /// The provider block has no account of this cloud, or one that is not known yet.
    pub fn get(&self) -> Result<Arc<C>, Diagnostics> {
        let (summary, detail) = match &*self.0.account.read().unwrap_or_else(PoisonError::into_inner) {
            Account::Known(cloud) => return Ok(Arc::clone(cloud)),
            Account::Absent => C::ABSENT,
            Account::Unknown => C::UNKNOWN,
        };
        Err(Diagnostic::error(summary, detail).into())
    }

    /// The account, if it is known; plans continue without it.
    pub fn known(&self) -> Option<Arc<C>> {
        self.get().ok()
    }

    /// The account where `object` is. An object without a site is, or will be, at the configured one.
    ///
    /// # Errors
    /// As [`Session::get`], or the site is not known yet.
    pub fn of<M: Common<Cloud = C>>(&self, object: &M) -> Result<Arc<C>, Diagnostics> {
        match object.site() {
            Some(Attr::Known(site)) => self.at(site),
            Some(Attr::Unknown) => Err(Diagnostic::error(C::UNKNOWN.0, C::UNKNOWN.1).into()),
            Some(Attr::Null) | None => self.get(),
        }
    }

    /// The account where `object` is, if that is known.
    pub fn known_of<M: Common<Cloud = C>>(&self, object: &M) -> Option<Arc<C>> {
        self.of(object).ok()
    }

    /// The account at a site.
    ///
    /// # Errors
    /// As [`Session::get`].
    pub fn at(&self, site: &str) -> Result<Arc<C>, Diagnostics> {
        let home = self.get()?;
        if C::SITE.and_then(|name| home.place().remove(name)).is_none_or(|ours| ours == site) {
            return Ok(home);
        }
        let mut elsewhere = self.0.elsewhere.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cloud) = elsewhere.get(site) {
            return Ok(Arc::clone(cloud));
        }
        let cloud = home.at(site);
        elsewhere.insert(site.to_owned(), Arc::clone(&cloud));
        if self.0.watches.load(Ordering::Relaxed) {
            self.watch(&cloud);
        }
        Ok(cloud)
    }

    /// Adds the live networks of the account to the comparisons of the guard: at once those where the provider is
    /// configured for and those of [`Cloud::live_sites`], and those of other sites as soon as an object there is
    /// planned. Call it after the guard is configured.
    pub fn watch_live(&self) {
        if let Some(cloud) = self.known() {
            self.0.watches.store(true, Ordering::Relaxed);
            self.watch(&cloud);
            for site in cloud.live_sites() {
                let _ = self.at(&site);
            }
        }
    }

    fn watch(&self, cloud: &Arc<C>) {
        if let Some(source) = cloud.live() {
            self.0.guard.add_live(Arc::new(Patient(source)));
        }
    }

    /// The account where `object` is, with its place, as far as they are known. The first call for an account sends a
    /// request. For plans of new objects: those of a state are compared with the place before.
    pub async fn located<M: Common<Cloud = C>>(&self, object: &M) -> Option<Arc<C>> {
        let cloud = self.known_of(object)?;
        if let Err(unknown) = cloud.locate().await {
            tracing::warn!(cloud = C::NAME, ?unknown, "planned without the configured place");
        }
        Some(cloud)
    }

    /// The guard, which receives all planned ranges of the run.
    pub fn guard(&self) -> &Guard {
        &self.0.guard
    }

    /// The plan of this run.
    pub fn run(&self) -> &C::Memory {
        &self.0.run
    }

    /// The objects in the states of this run, and those that it creates and deletes.
    pub fn objects(&self) -> &Objects {
        &self.0.objects
    }
}

/// A source whose calls are retried although no resource needs them.
struct Patient(Arc<dyn LiveSource>);

#[async_trait]
impl LiveSource for Patient {
    fn name(&self) -> String {
        self.0.name()
    }

    async fn list(&self) -> Listing {
        retry::until(Instant::now() + LIST, CancellationToken::new(), self.0.list()).await
    }
}
