//! The provider: size, start, memory, and the time and CPU of plans and applies.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde_json::json;
use warren_acceptance::AwsStage;
use warren_harness::driver::Plugin;
use warren_harness::{Call, ProxyConfig};

use crate::build;

use super::Measurement;
use super::record::{Machine, Results};

/// Measures the released provider.
pub(super) fn measure() -> Result<Measurement> {
    let folder = build::release()?;
    let machine = Machine::this()?;
    let binary = folder.join("terraform-provider-warren");
    let size = megabytes(std::fs::metadata(&binary)?.len());
    println!("size: {size:.1} MB, stripped release build");
    let (handshake, idle) = start(&binary)?;
    let mut figures = json!({
        "binary, MB": [size], "start to handshake, ms": [handshake], "memory when idle, MB": [idle],
    });
    let mut stage = AwsStage::built_in(&folder, ProxyConfig::default())?;
    stage.terraform.time_limit(Duration::from_secs(3600));
    let time = |run: warren_harness::Run| run.success().map(|run| run.time.as_secs_f64());
    println!("seconds; `bare` is a plan of as many built-in resources in the same run");
    println!("{:>9} {:>7} {:>7} {:>9}", "resources", "bare", "plan", "peak MB");
    for vpcs in SIZES {
        let resources = vpcs * 2;
        let watch = Watch::begin("terraform-provider-warren");
        stage.configure(&(0..resources).map(bare).collect::<String>())?;
        let alone = time(stage.terraform.plan(&[])?)?;
        stage.configure(&(0..vpcs).map(pair).collect::<String>())?;
        let plan = time(stage.terraform.plan(&[])?)?;
        println!("{resources:>9} {alone:>7.2} {plan:>7.2} {:>9.1}", megabytes(watch.end().memory));
        figures[format!("plan of {resources} built-in resources, s")] = json!([alone]);
        figures[format!("plan of {resources} resources, s")] = json!([plan]);
    }
    println!(
        "apply, plan again, and destroy; then CPU seconds of Terraform, the provider, and the emulated cloud:"
    );
    println!(
        "{:>9} {:>7} {:>7} {:>7} {:>9} {:>8} {:>8} {:>9}",
        "resources", "apply", "replan", "destroy", "Terraform", "provider", "emulator", "peak MB"
    );
    for vpcs in SIZES {
        let watch = Watch::begin("terraform-provider-warren");
        let before = CpuTimes::now(stage.cloud.pid())?;
        let counted = || {
            let calls = stage.cloud.proxy().calls();
            stage.cloud.proxy().clear_calls();
            actions(calls)
        };
        counted();
        stage.configure(&(0..vpcs).map(pair).collect::<String>())?;
        let apply = time(stage.terraform.apply(&[])?)?;
        let applied = counted();
        let replan = time(stage.terraform.plan(&[])?)?;
        let planned = counted();
        let destroy = time(stage.terraform.destroy(&[])?)?;
        let destroyed = counted();
        let after = CpuTimes::now(stage.cloud.pid())?;
        let (all, emulator) = (after.children - before.children, after.emulator - before.emulator);
        let Used { memory, cpu } = watch.end();
        println!(
            "{:>9} {apply:>7.2} {replan:>7.2} {destroy:>7.2} {:>9.2} {cpu:>8.2} {emulator:>8.2} {:>9.1}",
            vpcs * 2,
            all - cpu,
            megabytes(memory)
        );
        let resources = vpcs * 2;
        let runs =
            [("apply", apply, applied), ("plan again", replan, planned), ("destroy", destroy, destroyed)];
        for (run, seconds, calls) in runs {
            let sum = calls.values().sum::<usize>();
            figures[format!("{run} of {resources} resources, s")] = json!([seconds]);
            figures[format!("{run} of {resources} resources, API calls")] = json!([sum]);
            let each: Vec<String> = calls.iter().map(|(action, count)| format!("{action} {count}")).collect();
            println!("{:>9} {run}: {sum} calls: {}", "", each.join(", "));
        }
        for (program, seconds) in [("Terraform", all - cpu), ("provider", cpu), ("emulated AWS", emulator)] {
            figures[format!("{program}, CPU s for {resources} resources")] = json!([seconds]);
        }
        figures[format!("peak memory with {resources} resources, MB")] = json!([megabytes(memory)]);
    }
    let figures = [("provider".to_owned(), serde_json::from_value(figures)?)].into();
    let versions = warren_programs::version(stage.terraform.program())?;
    let conditions = [("versions".to_owned(), versions)].into();
    let results = Results { conditions, figures, not_measured: Vec::new() };
    Ok(Measurement { machine, results, complete: Ok(()) })
}

/// How often each action was called.
fn actions(calls: Vec<Call>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for call in calls {
        *counts.entry(call.action).or_default() += 1;
    }
    counts
}

/// CPU seconds so far. The proxy runs in this process and counts for the emulated cloud.
struct CpuTimes {
    /// Of ended children and theirs: Terraform and the providers that it started.
    children: f64,
    /// Of this process and of the emulator.
    emulator: f64,
}

impl CpuTimes {
    fn now(emulator: u32) -> Result<CpuTimes> {
        let emulator = ticks(&emulator.to_string(), 14)? + ticks("self", 14)?;
        Ok(CpuTimes { children: ticks("self", 16)?, emulator })
    }
}

/// CPU seconds of a process: the field `from` of `/proc/PID/stat`, counted from 1, and the next one.
fn ticks(process: &str, from: usize) -> Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The second field, the program's name, may contain spaces. The third follows its closing bracket.
    let (_, rest) = stat.rsplit_once(')').context("/proc/PID/stat has no name")?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let field = |n: usize| fields.get(n - 3).and_then(|ticks| ticks.parse::<f64>().ok());
    let both = field(from).zip(field(from + 1));
    Ok(both.map(|(user, system)| user + system).context("/proc/PID/stat is too short")? / TICKS_PER_SECOND)
}

/// `USER_HZ`, which is 100 on every Linux (proc(5)).
const TICKS_PER_SECOND: f64 = 100.0;

/// Numbers of VPCs, each with one subnet.
const SIZES: [usize; 4] = [50, 125, 250, 500];

/// A built-in resource, the n-th.
fn bare(n: usize) -> String {
    format!("resource \"terraform_data\" \"n{n}\" {{\n  input = \"10.0.0.0/20\"\n}}\n")
}

/// Watches the processes of one program.
struct Watch {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<BTreeMap<u32, Used>>,
}

/// What one process has used so far.
#[derive(Clone, Copy, Default)]
struct Used {
    /// Its largest memory, in bytes (`VmHWM`).
    memory: u64,
    /// Its CPU seconds.
    cpu: f64,
}

impl Watch {
    fn begin(program: &'static str) -> Watch {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut seen = BTreeMap::new();
            while !stopped.load(Ordering::Relaxed) {
                seen.extend(running(program));
                std::thread::sleep(Duration::from_millis(20));
            }
            seen
        });
        Watch { stop, thread }
    }

    /// The peak memory of one process, and the CPU time of all of them without their last 20 ms.
    fn end(self) -> Used {
        self.stop.store(true, Ordering::Relaxed);
        let seen = self.thread.join().unwrap_or_default();
        let memory = seen.values().map(|used| used.memory).max().unwrap_or_default();
        Used { memory, cpu: seen.values().map(|used| used.cpu).sum() }
    }
}

/// The running processes of `program`.
fn running(program: &str) -> Vec<(u32, Used)> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let used = processes.filter_map(|process| {
        let pid: u32 = process.file_name().to_str()?.parse().ok()?;
        let executable = std::fs::read_link(process.path().join("exe")).ok()?;
        if executable.file_name()? != program {
            return None;
        }
        let status = std::fs::read_to_string(process.path().join("status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let memory = line.split_whitespace().next()?.parse::<u64>().ok()? * 1024;
        Some((pid, Used { memory, cpu: ticks(&pid.to_string(), 14).ok()? }))
    });
    used.collect()
}

/// A VPC and a subnet in it, the n-th of up to 4,096.
fn pair(n: usize) -> String {
    let (high, low) = (n / 16, n % 16 * 16);
    format!(
        "resource \"warren_aws_vpc\" \"n{n}\" {{\n  name       = \"n{n}\"\n  cidr_block = \"10.{high}.{low}.0/20\"\n}}\n\
         resource \"warren_aws_subnet\" \"n{n}\" {{\n  name       = \"n{n}\"\n  vpc_id     = warren_aws_vpc.n{n}.id\n  \
         cidr_block = \"10.{high}.{low}.0/24\"\n}}\n"
    )
}

/// Milliseconds from start to handshake, and megabytes of an idle provider.
fn start(binary: &Path) -> Result<(f64, f64)> {
    let mut times = Vec::new();
    let mut memory = 0;
    for _ in 0..15 {
        let begun = Instant::now();
        let plugin = Plugin::launch(binary, &[])?;
        times.push(begun.elapsed());
        std::thread::sleep(Duration::from_millis(100));
        memory = memory.max(plugin.memory()?.peak);
    }
    times.sort();
    let median = times.get(times.len() / 2).context("no start was measured")?;
    let handshake = median.as_secs_f64() * 1e3;
    println!("start to handshake: {handshake:.1} ms (median of {})", times.len());
    println!("memory when idle: {:.1} MB (peak of {} starts)", megabytes(memory), times.len());
    Ok((handshake, megabytes(memory)))
}

#[expect(clippy::cast_precision_loss, reason = "sizes of files and processes are far below 2^52")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
