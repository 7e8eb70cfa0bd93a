//! What the command knows about the terminal, and its report of progress.

use std::io::{IsTerminal as _, Write as _};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Standard output and standard error as the user sees them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Terminal {
    /// Columns of standard output. `None` if it is not a terminal, so that lines are not wrapped.
    pub width: Option<usize>,
    /// Columns of standard error, likewise.
    pub error_width: Option<usize>,
    /// Whether standard error shows progress, and how.
    pub progress: Option<Progress>,
}

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// One line that is overwritten.
    Line,
    /// A new line from time to time, for logs.
    Lines,
}

impl Terminal {
    /// The terminal of the process. `COLUMNS` overrides the width of the terminal.
    pub fn of_process() -> Self {
        let columns =
            || std::env::var("COLUMNS").ok()?.trim().parse::<usize>().ok().filter(|width| *width > 0);
        let size = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        let width = |is_terminal: bool| is_terminal.then(|| columns().or_else(size)).flatten();
        let line = std::io::stderr().is_terminal();
        let (width, error_width) = (width(std::io::stdout().is_terminal()), width(line));
        Self { width, error_width, progress: Some(if line { Progress::Line } else { Progress::Lines }) }
    }
}

/// Time without output before progress is shown.
const PATIENCE: Duration = Duration::from_secs(2);
/// Time between two lines of a log.
const BETWEEN_LINES: Duration = Duration::from_secs(10);
/// Time between two states of a line that is overwritten.
const BETWEEN_STATES: Duration = Duration::from_millis(500);

/// Shows what the command does on standard error if it takes long. Dropping it ends the display.
pub(crate) struct Display {
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    now: Mutex<Now>,
    changed: Condvar,
}

#[derive(Default)]
struct Now {
    step: String,
    ended: bool,
}

impl Display {
    pub(crate) fn new(progress: Option<Progress>) -> Self {
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        // Without a thread, the command works without a display.
        let thread = progress
            .and_then(|progress| std::thread::Builder::new().spawn(move || shared.show(progress)).ok());
        Self { state, thread }
    }

    /// Sets the current step.
    pub(crate) fn step(&self, step: impl Into<String>) {
        self.state.lock().step = step.into();
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        self.state.lock().ended = true;
        self.state.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // The thread only prints, so its end does not matter.
            let _ = thread.join();
        }
    }
}

impl State {
    fn lock(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn show(&self, progress: Progress) {
        let start = Instant::now();
        let (mut wait, mut shown) = (PATIENCE, false);
        loop {
            let now = self.lock();
            let (now, _) = self
                .changed
                .wait_timeout_while(now, wait, |now| !now.ended)
                .unwrap_or_else(PoisonError::into_inner);
            let (step, ended) = (now.step.clone(), now.ended);
            drop(now);
            let mut out = std::io::stderr().lock();
            // If the progress cannot be written, the command continues without it.
            let _ = match (progress, ended) {
                (Progress::Line, true) if shown => write!(out, "\r\x1b[K").and_then(|()| out.flush()),
                (_, true) => Ok(()),
                (Progress::Line, false) => {
                    write!(out, "\r\x1b[K{step} ({} s)", start.elapsed().as_secs()).and_then(|()| out.flush())
                }
                (Progress::Lines, false) => writeln!(out, "{step} ({} s)", start.elapsed().as_secs()),
            };
            if ended {
                return;
            }
            shown = true;
            wait = if progress == Progress::Line { BETWEEN_STATES } else { BETWEEN_LINES };
        }
    }
}
