//! `warren_address_plan`: address space divided among networks at plan time.

mod model;
mod outcome;
mod request;
#[cfg(test)]
mod tests;

use ipnet::IpNet;
use tf_provider_rs::{Change, Context, Diagnostics, Model as _, Planned, Progress, Resource, async_trait};
use warren_cidr::{Bound, Family, Plan, SEPARATOR, solve};
use warren_guard::{ClaimRole, Guard, Key, PlannedResource, Role};

use model::State;

/// The resource `warren_address_plan`. It calls no API, but claims its reservations in the claims store, if there is
/// one.
#[derive(Clone, Debug)]
pub(crate) struct AddressPlan {
    guard: Guard,
}

impl AddressPlan {
    /// The resource, with the guard of the provider process.
    pub(crate) fn new(guard: Guard) -> AddressPlan {
        AddressPlan { guard }
    }

    async fn apply(&self, state: State, earlier: Option<&State>) -> Result<State, Diagnostics> {
        let mut state = state;
        let mut diagnostics = Diagnostics::default();
        // Values that were unknown during the plan are known now.
        let plan = compute(&mut state, earlier, &mut diagnostics);
        match plan {
            Some(plan) if !diagnostics.has_error() => {
                self.guard.claim(&key(&state), ClaimRole::Reserve, &networks(&plan)).await?;
                Ok(state)
            }
            _ => Err(diagnostics),
        }
    }
}

#[async_trait]
impl Resource for AddressPlan {
    type Model = State;

    async fn validate(&self, config: &State, diagnostics: &mut Diagnostics) {
        self.guard.validating();
        diagnostics.extend(request::parse(config).diagnostics);
    }

    async fn plan(&self, _ctx: &Context, change: &mut Change<State>, diagnostics: &mut Diagnostics) {
        let state = &mut change.planned;
        let parsed = request::parse(state);
        let plan = compute(state, change.prior.as_ref(), diagnostics);
        let mut resource = PlannedResource::new(key(state));
        for (net, path) in parsed.excluded {
            resource = resource.range(net, path, Role::Excluded);
        }
        match (&plan, &parsed.request) {
            (Some(plan), Some(request)) => {
                resource.pools = request.pools.values().cloned().collect();
                for (path, net) in plan.networks.iter().filter(|(path, _)| !path.contains(SEPARATOR)) {
                    resource = resource.range(*net, outcome::reservation(request, path), Role::Reserve);
                }
            }
            _ => {
                resource = resource.unknown(Family::V4).unknown(Family::V6);
                for (net, path) in parsed.pinned {
                    resource = resource.range(net, path, Role::Reserve);
                }
            }
        }
        diagnostics.extend(self.guard.plan(resource).await);
    }

    async fn plan_destroy(&self, _ctx: &Context, prior: &State, _diagnostics: &mut Diagnostics) {
        self.guard.forget(&key(prior), None);
    }

    async fn create(
        &self,
        _ctx: &Context,
        plan: Planned<State>,
        _progress: &Progress,
    ) -> Result<State, Diagnostics> {
        self.apply(plan.state, None).await
    }

    async fn read(&self, _ctx: &Context, state: State) -> Result<Option<State>, Diagnostics> {
        Ok(Some(state))
    }

    async fn update(
        &self,
        _ctx: &Context,
        prior: State,
        plan: Planned<State>,
        _progress: &Progress,
    ) -> Result<State, Diagnostics> {
        self.apply(plan.state, Some(&prior)).await
    }

    async fn delete(&self, _ctx: &Context, state: State) -> Result<(), Diagnostics> {
        self.guard.release(&key(&state)).await
    }
}

fn key(state: &State) -> Key {
    let name = state.name.known().map_or(model::DEFAULT_NAME, String::as_str);
    Key::new(State::TYPE_NAME, name)
}

/// The ranges of the networks, without subnets.
fn networks(plan: &Plan) -> Vec<IpNet> {
    plan.networks.iter().filter(|(path, _)| !path.contains(SEPARATOR)).map(|(_, net)| *net).collect()
}

/// Fills the computed attributes of `state`, or leaves them unknown if an input is unknown. Keeps the ranges of
/// `earlier`.
fn compute(state: &mut State, earlier: Option<&State>, diagnostics: &mut Diagnostics) -> Option<Plan> {
    let parsed = request::parse(state);
    diagnostics.extend(parsed.diagnostics);
    let Some(mut request) = parsed.request else {
        if parsed.unknown {
            outcome::leave_open(state);
        }
        return None;
    };
    request.previous = earlier.map(outcome::assignment).unwrap_or_default();
    match solve(&request, Bound::default()) {
        Ok(plan) => {
            diagnostics.extend(outcome::renumbering(&plan, &parsed.acknowledged));
            diagnostics.extend(outcome::unknown_acknowledgements(&plan, &parsed.acknowledged));
            diagnostics.extend(outcome::warnings(&request, &plan));
            outcome::fill(state, &plan);
            Some(plan)
        }
        Err(infeasible) => {
            diagnostics.extend(outcome::infeasible(&request, &infeasible));
            None
        }
    }
}
