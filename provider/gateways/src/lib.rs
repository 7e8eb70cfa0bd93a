//! Code that the gateways of all clouds share.
//!
//! * [`key`]: keys that are generated in the provider process and stored only in a secret store.
//! * [`signing`]: the private key of such a key, for the run that signs with it.
//! * [`config`]: the configuration file of a gateway, validated at plan time.
//! * [`grants`]: objects for which the pods of a group get credentials.
//! * [`store`]: the lifecycle of both in the secret store of a cloud.
//! * [`architecture`]: the CPU architectures of images, machine types and binaries, compared at plan time.
//! * [`boot`]: the script that sets up a gateway at every boot.

pub mod architecture;
pub mod boot;
pub mod config;
pub mod grants;
pub mod key;
pub mod signing;
pub mod store;
