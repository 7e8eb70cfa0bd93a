//! What the READMEs of the examples promise is confirmed by the reachability model and by packets.

use std::sync::Mutex;

use anyhow::{Result, ensure};
use warren_acceptance::promises::{Verdict, ask, examples, table};

/// How many examples are applied at a time.
const AT_A_TIME: usize = 2;

#[test]
fn every_promise_is_confirmed_by_the_model_and_by_packets() -> Result<()> {
    let only = std::env::var("WARREN_PROMISES_OF").unwrap_or_default();
    let waiting = Mutex::new(examples()?);
    if let Ok(mut names) = waiting.lock() {
        names.retain(|name| only.is_empty() || *name == only);
        ensure!(!names.is_empty(), "no example has a policy.yaml");
    }
    let next = || waiting.lock().ok().and_then(|mut names| names.pop());
    let rows = Mutex::new(Vec::new());
    std::thread::scope(|scope| -> Result<()> {
        let work = || -> Result<()> {
            while let Some(name) = next() {
                let found = ask(&name).map_err(|error| error.context(name))?;
                if let Ok(mut rows) = rows.lock() {
                    rows.extend(found);
                }
            }
            Ok(())
        };
        let workers: Vec<_> = (0..AT_A_TIME).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            worker.join().map_err(|_| anyhow::anyhow!("a worker panicked"))??;
        }
        Ok(())
    })?;
    let mut rows = rows.into_inner().unwrap_or_default();
    rows.sort_by(|one, other| one.example.cmp(&other.example));
    let text = table(&rows);
    println!("{text}");
    ensure!(rows.iter().all(|row| row.model == Verdict::Kept && row.packets == Verdict::Kept), "{text}");
    Ok(())
}
