//! What the provider offers without calling any API: the address plan, and functions over ranges.

mod address_plan;
mod functions;

use tf_provider_rs::Registry;
use warren_guard::Guard;

use address_plan::AddressPlan;

/// Everything of this crate. The guard is that of the provider process; it may be configured later.
pub fn registry(guard: Guard) -> Registry {
    functions::register(Registry::new().resource(AddressPlan::new(guard)))
}
