//! The parts of the provider that call no API: the address plan, the capacity plan, functions for ranges, enrolment
//! tokens, and the agent's configuration.

mod address_plan;
mod capacity_plan;
mod enrolment_token;
mod functions;
mod tunnel_config;

use tf_provider_rs::Registry;
use warren_guard::Guard;

use address_plan::AddressPlan;

/// Registers all types and functions of this crate. `guard` is the guard of the provider process; it may be
/// configured later.
pub fn registry(guard: Guard) -> Registry {
    let registry = Registry::new()
        .resource(AddressPlan::new(guard))
        .ephemeral(enrolment_token::Tokens)
        .data_source(capacity_plan::CapacityPlans)
        .data_source(tunnel_config::TunnelConfigs);
    functions::register(registry)
}
