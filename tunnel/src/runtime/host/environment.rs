//! Secrets in the environment. What a program was started with stays readable in `/proc/PID/environ` for its life, for every
//! process of the same user, such as the program that `exec` starts. So they are taken out at the start.

use std::ffi::CString;
use std::slice;
use std::sync::OnceLock;

use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use zeroize::{Zeroize as _, Zeroizing};

/// Variables with secrets that programs that are started must not get.
const NAMES: [&str; 2] = ["WARREN_TOKEN", "WARREN_PRIVATE_KEY"];

type Taken = Vec<(&'static str, Zeroizing<String>)>;
static TAKEN: OnceLock<Taken> = OnceLock::new();

/// Takes the secrets out of the environment, and overwrites them there. To be called first of all.
///
/// # Panics
/// Never: no name contains a zero byte.
pub fn take() {
    let get = |name: &'static str| Some((name, Zeroizing::new(std::env::var(name).ok()?)));
    _ = TAKEN.set(NAMES.into_iter().filter_map(get).collect());
    for name in NAMES {
        let Ok(text) = CString::new(name) else { continue };
        #[expect(unsafe_code, reason = "the standard library cannot overwrite a variable where it is")]
        // SAFETY: this is the only thread, so nothing else uses the environment. The pointer is null or that of a string that ends
        // with a zero byte, in memory of this process that can be written: its initial stack.
        unsafe {
            let value = libc::getenv(text.as_ptr());
            if !value.is_null() {
                slice::from_raw_parts_mut(value.cast::<u8>(), libc::strlen(value)).zeroize();
            }
            std::env::remove_var(name);
        }
    }
}

/// A secret that was in the environment.
pub fn get(name: &str) -> Option<Zeroizing<String>> {
    match TAKEN.get() {
        Some(taken) => taken.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone()),
        None => std::env::var(name).ok().map(Zeroizing::new),
    }
}

/// All secrets that were in the environment: for a copy of this process.
pub fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    TAKEN.get().into_iter().flatten().map(|(name, value)| (*name, value.as_str()))
}

/// Keeps other processes of the user from reading this one's memory: no debugger attaches, and there are no core dumps.
pub fn protect() {
    if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        tracing::debug!(%error, "this process stays readable for the user's other processes");
    }
}
