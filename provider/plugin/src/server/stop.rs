//! Cancellation of running operations.

use std::sync::{Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

/// The tokens of the operations of one server.
///
/// A stop cancels the operations that run, and no later one, as in terraform-plugin-go
/// (`tfprotov6/tf6server/server.go`, `stop`): a server under `--debug` outlives the run that was stopped, and within one
/// run, ephemeral resources are closed after a stop.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    /// Cancelled when the process ends.
    end: CancellationToken,
    /// Cancelled by the next stop; a child of `end`.
    current: Mutex<Option<CancellationToken>>,
}

impl Stop {
    /// The token of an operation that begins now.
    pub(crate) fn token(&self) -> CancellationToken {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.get_or_insert_with(|| self.end.child_token()).child_token()
    }

    /// Cancels the operations that run.
    pub(crate) fn stop(&self) {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(current) = current {
            current.cancel();
        }
    }

    /// Cancels the operations that run, and all that begin later.
    pub(crate) fn end(&self) {
        self.end.cancel();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_cancels_what_runs_and_an_end_everything() {
        let stop = Stop::default();
        let running = stop.token();
        stop.stop();
        assert!(running.is_cancelled());
        let later = stop.token();
        assert!(!later.is_cancelled());
        stop.end();
        assert!(later.is_cancelled() && stop.token().is_cancelled());
    }
}
