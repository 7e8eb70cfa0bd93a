//! Everything that runs is supervised: a thread or task that ends unexpectedly is reported by name, and nothing pretends that it
//! still works.
//!
//! * A thread or task that can start again without harm does so, after a pause.
//! * The death of any other fails `/healthz` with its name, and ends the process, which its service manager starts again. A
//!   gateway without its lease task, for example, would serve evicted pods forever.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle as Runtime;

/// Pause before something starts again.
const PAUSE: Duration = Duration::from_millis(if cfg!(test) { 10 } else { 1000 });

/// Knows what runs, and what has died. Cheap to clone.
#[derive(Clone, Default)]
pub struct Supervisor(Arc<Shared>);

#[derive(Default)]
struct Shared {
    dead: Mutex<Vec<String>>,
    on_death: Mutex<Option<OnDeath>>,
    probes: Mutex<Vec<(&'static str, Probe)>>,
    /// Whether everything ends now, as it should.
    ending: AtomicBool,
    /// Whether not everything is up: if something fails now, the rest ends with it.
    starting: AtomicBool,
}

/// What happens when something has died.
type OnDeath = Box<dyn Fn(&str) + Send>;
/// Whether something that was started elsewhere has died.
type Probe = Box<dyn Fn() -> bool + Send>;

/// Goes with a thread or task. Dropping it is a death, unless the work was finished.
#[must_use]
pub struct Watched {
    supervisor: Supervisor,
    name: String,
    finished: bool,
}

impl Supervisor {
    /// Sets what happens when something has died. It is given the name, once for each death.
    pub fn on_death(&self, action: impl Fn(&str) + Send + 'static) {
        *self.0.on_death.lock() = Some(Box::new(action));
    }

    /// Until [`Supervisor::started`], deaths are kept, but not reported.
    pub fn starting(&self) {
        self.0.starting.store(true, Ordering::Relaxed);
    }

    /// Everything is up. Deaths until now are reported.
    pub fn started(&self) {
        self.0.starting.store(false, Ordering::Relaxed);
        let dead = std::mem::take(&mut *self.0.dead.lock());
        dead.iter().for_each(|name| self.died(name));
    }

    /// From now on, an end is not a death.
    pub fn end(&self) {
        self.0.ending.store(true, Ordering::Relaxed);
    }

    /// The names of what has died.
    #[must_use]
    pub fn dead(&self) -> Vec<String> {
        self.check();
        self.0.dead.lock().clone()
    }

    /// Watches work that is about to start.
    pub fn watch(&self, name: impl Into<String>) -> Watched {
        Watched { supervisor: self.clone(), name: name.into(), finished: false }
    }

    /// Watches what was started elsewhere: `dead` is called now and then.
    pub fn probe(&self, name: &'static str, dead: impl Fn() -> bool + Send + 'static) {
        self.0.probes.lock().push((name, Box::new(dead)));
    }

    /// Looks at what is not a thread or task of this supervisor.
    pub fn check(&self) {
        let mut dead = Vec::new();
        self.0.probes.lock().retain(|(name, probe)| {
            let died = probe();
            if died {
                dead.push(*name);
            }
            !died
        });
        dead.into_iter().for_each(|name| self.died(name));
    }

    /// Starts a thread whose panic is a death. Its return is not.
    ///
    /// # Errors
    /// The system has no thread to give.
    pub fn thread(
        &self,
        name: &str,
        stack: usize,
        body: impl FnOnce() + Send + 'static,
    ) -> io::Result<JoinHandle<()>> {
        let watched = self.watch(name);
        thread::Builder::new().name(name.into()).stack_size(stack).spawn(move || {
            body();
            watched.finish();
        })
    }

    /// Starts a thread that starts again after a panic, until it returns.
    ///
    /// # Errors
    /// The system has no thread to give.
    pub fn restarted_thread(
        &self,
        name: &'static str,
        stack: usize,
        body: impl Fn() + Send + 'static,
    ) -> io::Result<JoinHandle<()>> {
        thread::Builder::new().name(name.into()).stack_size(stack).spawn(move || {
            // Each run begins with a state of its own.
            while catch_unwind(AssertUnwindSafe(&body)).is_err() {
                restarting(name);
                thread::sleep(PAUSE);
            }
        })
    }

    /// Starts a task whose end, by a panic or not, is a death.
    pub fn task(&self, runtime: &Runtime, name: &str, task: impl Future<Output = ()> + Send + 'static) {
        let watched = self.watch(name);
        runtime.spawn(async move {
            let _watched = watched;
            task.await;
        });
    }

    /// Starts a task that starts again after a panic, until it returns.
    pub fn restarted_task<F>(
        &self,
        runtime: &Runtime,
        name: &'static str,
        task: impl Fn() -> F + Send + 'static,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        let inner = runtime.clone();
        runtime.spawn(async move {
            while inner.spawn(task()).await.is_err_and(|error| error.is_panic()) {
                restarting(name);
                tokio::time::sleep(PAUSE).await;
            }
        });
    }

    /// Something has died.
    pub fn died(&self, name: &str) {
        if self.0.ending.load(Ordering::Relaxed) {
            return;
        }
        self.0.dead.lock().push(name.to_owned());
        if self.0.starting.load(Ordering::Relaxed) {
            return;
        }
        tracing::error!(name, "a thread or task has ended unexpectedly");
        if let Some(action) = &*self.0.on_death.lock() {
            action(name);
        }
    }
}

fn restarting(name: &str) {
    tracing::error!(name, "a thread or task has failed, and starts again");
}

impl Watched {
    /// The work is done, and its end is no death.
    pub fn finish(mut self) {
        self.finished = true;
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if !self.finished {
            self.supervisor.died(&self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;
    use std::sync::mpsc;

    use super::*;

    fn watched() -> (Supervisor, mpsc::Receiver<String>) {
        let (supervisor, (sender, deaths)) = (Supervisor::default(), mpsc::channel());
        supervisor.on_death(move |name| _ = sender.send(name.to_owned()));
        (supervisor, deaths)
    }

    #[test]
    fn a_panic_of_a_thread_is_told_by_name_and_its_return_is_not() {
        let (supervisor, deaths) = watched();
        supervisor.thread("fine", 64 << 10, || {}).unwrap().join().unwrap();
        _ = supervisor.thread("broken", 64 << 10, || panic!("planted")).unwrap().join();
        assert_eq!(deaths.recv().unwrap(), "broken");
        assert_eq!(supervisor.dead(), ["broken"]);
    }

    #[test]
    fn the_end_of_a_task_is_a_death_unless_all_ends() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let (supervisor, deaths) = watched();
        supervisor.task(runtime.handle(), "returned", async {});
        assert_eq!(deaths.recv().unwrap(), "returned");
        supervisor.task(runtime.handle(), "panicked", async { panic!("planted") });
        assert_eq!(deaths.recv().unwrap(), "panicked");
        supervisor.task(runtime.handle(), "cancelled", std::future::pending());
        supervisor.end();
        drop(runtime);
        assert_eq!(supervisor.dead(), ["returned", "panicked"]);
    }

    #[test]
    fn a_death_during_the_start_is_told_when_all_is_up() {
        let (supervisor, deaths) = watched();
        supervisor.starting();
        drop(supervisor.watch("early"));
        assert!(deaths.try_recv().is_err());
        supervisor.started();
        assert_eq!(deaths.try_recv().unwrap(), "early");
        assert_eq!(supervisor.dead(), ["early"]);
    }

    #[test]
    fn what_may_start_again_does() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let (supervisor, _deaths) = watched();
        let (runs, (sender, done)) = (Arc::new(AtomicU32::new(0)), mpsc::channel());
        supervisor.restarted_task(runtime.handle(), "flaky", move || {
            let (run, sender) = (runs.fetch_add(1, Ordering::Relaxed), sender.clone());
            async move {
                assert!(run >= 2, "planted");
                _ = sender.send(run);
            }
        });
        let run = runtime.block_on(async {
            loop {
                tokio::time::sleep(PAUSE).await;
                if let Ok(run) = done.try_recv() {
                    return run;
                }
            }
        });
        assert_eq!(run, 2);
        assert!(supervisor.dead().is_empty());
    }

    #[test]
    fn what_was_started_elsewhere_is_looked_at() {
        let (supervisor, deaths) = watched();
        let dead = Arc::new(AtomicBool::new(false));
        supervisor.probe("elsewhere", {
            let dead = Arc::clone(&dead);
            move || dead.load(Ordering::Relaxed)
        });
        assert!(supervisor.dead().is_empty());
        dead.store(true, Ordering::Relaxed);
        assert_eq!(supervisor.dead(), ["elsewhere"]);
        assert_eq!(supervisor.dead(), ["elsewhere"]);
        assert_eq!(deaths.try_iter().count(), 1);
    }
}
