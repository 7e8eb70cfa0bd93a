//! What runs in a booted machine: the cases, each with a line of its result on standard output.
//!
//! `case NAME` begins a case, `ok SECONDS` or `failed SECONDS` ends it, `| TEXT` says more, `end` is the last line. The machine is
//! thrown away afterwards, so nothing is cleaned up that a case does not look at.

#![expect(clippy::print_stdout, reason = "the report is the output")]

mod end;
mod forwarding;
mod instance;
mod lifecycle;
mod metadata;
mod wireguard;

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use warren_tunnel_tests::{program, version};

/// Something that must work on this kernel.
struct Case {
    name: &'static str,
    run: fn() -> Result<()>,
    /// It mostly waits, so it runs beside the others.
    slow: bool,
}

const fn case(name: &'static str, run: fn() -> Result<()>) -> Case {
    Case { name, run, slow: false }
}

const fn slow(name: &'static str, run: fn() -> Result<()>) -> Case {
    Case { name, run, slow: true }
}

const CASES: &[&[Case]] = &[wireguard::CASES, lifecycle::CASES, forwarding::CASES];

fn main() -> Result<()> {
    let role = std::env::args().nth(1).unwrap_or_default();
    match role.as_str() {
        "metadata" => return metadata::serve(),
        "aws" => report(&[instance::AWS]),
        "google" => report(&[instance::GOOGLE]),
        "rebooted" => report(&[instance::REBOOTED]),
        "cut" => report(&[instance::CUT]),
        "kernel" | "ci" => {
            // A root that no installer has finished; `ip netns exec` mounts only over files that exist.
            if !std::fs::exists("/etc/hosts")? {
                std::fs::write("/etc/hosts", "127.0.0.1 localhost\n")?;
            }
            let few = [&wireguard::CASES[..1]];
            report(if role == "ci" { &few } else { CASES });
        }
        other => bail!("no role `{other}`"),
    }
    Ok(())
}

fn report(cases: &[&'static [Case]]) {
    let filter = std::env::args().nth(2).unwrap_or_default();
    println!("| {}", machine());
    let chosen: Vec<&'static Case> =
        cases.iter().copied().flatten().filter(|case| case.name.contains(&filter)).collect();
    let waiting: Vec<(&'static Case, JoinHandle<Outcome>)> = chosen
        .iter()
        .filter(|case| case.slow)
        .map(|case| (*case, std::thread::spawn(|| outcome(case.run))))
        .collect();
    for case in chosen.iter().filter(|case| !case.slow) {
        println!("case {}", case.name);
        tell(&outcome(case.run));
    }
    for (case, thread) in waiting {
        println!("case {}", case.name);
        match thread.join() {
            Ok(outcome) => tell(&outcome),
            Err(_) => tell(&(Duration::ZERO, Err(anyhow::anyhow!("it panicked")))),
        }
    }
    println!("end");
}

type Outcome = (Duration, Result<()>);

fn outcome(run: fn() -> Result<()>) -> Outcome {
    let begun = Instant::now();
    let result = run();
    (begun.elapsed(), result)
}

fn tell((time, result): &Outcome) {
    let seconds = time.as_secs_f64();
    match result {
        Ok(()) => println!("ok {seconds:.1}"),
        Err(error) => {
            println!("failed {seconds:.1}");
            for line in format!("{error:#}").lines() {
                println!("| {line}");
            }
        }
    }
}

/// What this machine is.
fn machine() -> String {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let uptime = std::fs::read_to_string("/proc/uptime").unwrap_or_default();
    let uptime = uptime.split(' ').next().unwrap_or_default();
    let tool = program("wg").and_then(|wg| version(&wg)).unwrap_or_default();
    format!("Linux {}, up {uptime} s after the start of the kernel, {tool}", kernel.trim())
}

/// Fails unless both are equal.
fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, expected: &T) -> Result<()> {
    if found != expected {
        bail!("{what}: {found:?}\nexpected: {expected:?}");
    }
    Ok(())
}
