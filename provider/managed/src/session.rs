//! The state that the resources of a cloud share: the configured account and the plan of the run.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tf_provider_rs::model::ToValue;
use tf_provider_rs::{Attr, CancellationToken, Diagnostic, Diagnostics};
use tokio::time::Instant;
use warren_guard::Guard;

use crate::cloud::{Cloud, Memory, Scope};
use crate::memory::Objects;
use crate::retry;

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
        }))
    }

    /// Applies the attribute of the cloud in the provider block, and starts a run.
    ///
    /// While a value in it is unknown (during a plan), plans continue without calls to the cloud.
    pub async fn configure(&self, config: &Attr<C::Config>, scope: Scope) -> Diagnostics {
        self.0.run.clear();
        self.0.objects.clear();
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

    /// The account with its place, if it is known. The first call for an account sends a request.
    pub async fn located(&self) -> Option<Arc<C>> {
        let cloud = self.known()?;
        cloud.locate().await;
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
