//! What the READMEs of the examples promise is confirmed by the reachability model and by packets.

use std::sync::Mutex;

use anyhow::{Context as _, Result, anyhow, ensure};
use warren_acceptance::promises::{Row, Verdict, ask, examples, table};

/// How many examples are applied at a time.
const AT_A_TIME: usize = 2;

/// The example that has nothing to probe: it creates no network.
const WITHOUT_NETWORK: &str = "gpu-pods";

#[test]
fn every_promise_is_confirmed_by_the_model_and_by_packets() -> Result<()> {
    let only = std::env::var("WARREN_PROMISES_OF").unwrap_or_default();
    let names = examples()?.into_iter().filter(|name| only.is_empty() || *name == only).collect();
    let mut rows = asked(names)?;
    ensure!(!rows.is_empty(), "no example {only}");
    rows.sort_by(|one, other| one.example.cmp(&other.example));
    let text = table(&rows);
    println!("{text}");
    for row in &rows {
        let expected = if row.example == WITHOUT_NETWORK { Verdict::NotProbed } else { Verdict::Kept };
        ensure!(row.model == Verdict::Kept && row.packets == expected, "{text}");
    }
    Ok(())
}

/// The answers about these examples, several at a time.
fn asked(names: Vec<String>) -> Result<Vec<Row>> {
    let waiting = Mutex::new(names);
    let next = || waiting.lock().ok().and_then(|mut names| names.pop());
    let work = || -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        while let Some(name) = next() {
            let found = ask(&name).with_context(|| name.clone())?;
            ensure!(!found.is_empty(), "{name} promises nothing");
            rows.extend(found);
        }
        Ok(rows)
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_A_TIME).map(|_| scope.spawn(work)).collect();
        let rows =
            workers.into_iter().map(|worker| worker.join().map_err(|_| anyhow!("a worker panicked"))?);
        Ok(rows.collect::<Result<Vec<_>>>()?.concat())
    })
}
