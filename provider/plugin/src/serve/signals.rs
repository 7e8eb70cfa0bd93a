//! The signals that a plugin handles.
//!
//! Ctrl-C reaches every process of the terminal, including the plugin, which leaves the decision to Terraform: it
//! calls `StopProvider`.

use std::io;

#[cfg(unix)]
pub(crate) use unix::Signals;
#[cfg(windows)]
pub(crate) use windows::Signals;

#[cfg(unix)]
mod unix {
    use tokio::signal::unix::{Signal, SignalKind, signal};

    use super::io;

    pub(crate) struct Signals {
        interrupt: Signal,
        terminate: Signal,
    }

    impl Signals {
        pub(crate) fn register() -> io::Result<Signals> {
            Ok(Signals {
                interrupt: signal(SignalKind::interrupt())?,
                terminate: signal(SignalKind::terminate())?,
            })
        }

        /// Returns when a signal requests the process to end.
        pub(crate) async fn end(mut self, debug: bool) {
            loop {
                tokio::select! {
                    _ = self.terminate.recv() => return,
                    _ = self.interrupt.recv() => if debug { return },
                }
            }
        }
    }
}

#[cfg(windows)]
mod windows {
    use tokio::signal::windows::{CtrlBreak, CtrlC, CtrlClose, ctrl_break, ctrl_c, ctrl_close};

    use super::io;

    pub(crate) struct Signals {
        interrupt: CtrlC,
        stop: CtrlBreak,
        close: CtrlClose,
    }

    impl Signals {
        pub(crate) fn register() -> io::Result<Signals> {
            Ok(Signals { interrupt: ctrl_c()?, stop: ctrl_break()?, close: ctrl_close()? })
        }

        /// Returns when a signal requests the process to end.
        pub(crate) async fn end(mut self, debug: bool) {
            loop {
                tokio::select! {
                    _ = self.stop.recv() => return,
                    _ = self.close.recv() => return,
                    _ = self.interrupt.recv() => if debug { return },
                }
            }
        }
    }
}
