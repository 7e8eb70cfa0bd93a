//! Converts panics in a provider's code to diagnostics.

use std::any::Any;
use std::cell::RefCell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;

use futures::FutureExt;

use crate::diagnostic::Diagnostic;

thread_local! {
    /// Location of the last panic on this thread. A future is polled and unwound on the same thread, so this is the
    /// location of the panic that was caught.
    static LOCATION: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs `operation` and converts a panic to a diagnostic.
pub(crate) async fn caught<T>(what: &str, operation: impl Future<Output = T>) -> Result<T, Diagnostic> {
    install_hook();
    tracing::trace!(target: "sdk.framework", operation = what, "Calling provider");
    let called = AssertUnwindSafe(operation).catch_unwind().await;
    tracing::trace!(target: "sdk.framework", operation = what, "Called provider");
    called.map_err(|payload| {
        let location = LOCATION.take().unwrap_or_else(|| "an unknown location".to_owned());
        Diagnostic::error(
            format!("The provider panicked during {what}"),
            format!(
                "{} (at {location}). This is a bug in the provider. Objects that were saved before the panic are in \
                 the state. Report the bug with this message.",
                cause(payload.as_ref())
            ),
        )
    })
}

fn cause(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a message")
}

fn install_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|info: &PanicHookInfo<'_>| {
            let location = info.location().map(ToString::to_string);
            tracing::error!(location, "{}", cause(info.payload()));
            LOCATION.set(location);
        }));
    });
}
