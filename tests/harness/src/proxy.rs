//! The loopback proxy between a client and the emulator: it validates, refuses, delays and forgets.
//!
//! A call passes these stations in this order, each in a file of its own:
//!
//! ```text
//! [ front ] -> model check -> stale reads -> client token -> normalise -> rules -> dry run
//!        -> [ emulator, or tables of transit gateways ] -> lifecycle states -> stale lists -> filters -> paging
//!        -> model check of the answer -> [ front ]
//! ```

use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use bytes::Bytes;

use crate::emulator::SharedModels;
use crate::front::reply::Reply;
use crate::front::{Call, Cloud, Effect, Front};
use crate::moto::MotoApi;

mod attributes;
mod config;
mod consistency;
mod endpoint_options;
mod filters;
mod idempotency;
mod instances;
mod lifecycle;
mod normalise;
mod paging;
mod pipeline;
mod request;
mod resolver;
mod route53;
mod rules;
mod transit;

pub use config::{Consistency, ProxyConfig};

use request::Request;

/// The proxy of a running emulator: its [`Front`] and the habits of the cloud behind it.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

/// What all connections share.
#[derive(Debug)]
struct Shared {
    front: Front,
    emulator: MotoApi,
    models: SharedModels,
    state: Mutex<State>,
    /// Held from the check of a rule until the emulator has answered, so that two writes cannot both pass a check
    /// that only one of them may pass.
    writes: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    config: ProxyConfig,
    lifecycle: lifecycle::Lifecycle,
    instances: instances::Instances,
    transit: transit::Tables,
    stale: consistency::Stale,
    tokens: idempotency::Tokens,
    pages: paging::Pages,
    endpoint_options: endpoint_options::Options,
    attributes: attributes::Attributes,
    changes: route53::Changes,
    resolver: resolver::Resolver,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Proxy {
    pub(crate) async fn start(config: ProxyConfig, emulator: MotoApi, models: SharedModels) -> Result<Self> {
        let front = Front::default();
        let shared = Arc::new(Shared {
            front: front.clone(),
            emulator,
            models,
            state: Mutex::new(State { config, ..State::default() }),
            writes: tokio::sync::Mutex::new(()),
        });
        let port = front.serve(Arc::clone(&shared)).await?;
        Ok(Self { port, shared })
    }

    /// The loopback port it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Changes the configuration for the calls to come.
    pub fn configure(&self, change: impl FnOnce(&mut ProxyConfig)) {
        change(&mut self.shared.state().config);
    }

    /// Forgets calls, violations, faults and states in progress, as after a reset of the emulator.
    pub(crate) fn forget(&self) {
        self.shared.front.forget();
        let mut state = self.shared.state();
        *state = State { config: state.config.clone(), ..State::default() };
    }
}

/// What a test asks of any emulated cloud, it asks of the proxy.
impl Deref for Proxy {
    type Target = Front;

    fn deref(&self) -> &Front {
        &self.shared.front
    }
}

impl Cloud for Shared {
    type Request = Request;

    fn read(&self, raw: http::Request<Bytes>) -> (Call, Request) {
        let request = Request::parse(raw, &self.models);
        (request.call(), request)
    }

    async fn answer(&self, sequence: u64, mut request: Request, _effect: Option<Effect>) -> Reply {
        request.sequence = sequence;
        let reply = pipeline::answer(self, &mut request).await;
        for problem in self.models.check_answer(request.service, &request.action, &reply) {
            let problem = format!("the emulator's answer ({}): {problem}", reply.status());
            self.front.violate(sequence, &request.action, problem);
        }
        reply
    }
}
