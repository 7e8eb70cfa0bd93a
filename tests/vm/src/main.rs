//! `cargo xtask vm`: Debian's kernels in QEMU, with this build's tunnel inside. `cargo xtask vm --help` lists the options.
//!
//! - [`gateway`] writes what an instance with a gateway is given.
//! - [`image`] makes the root of a release with its kernel, and keeps it.
//! - [`machine`] boots it, and reads what the guest reports.
//! - `bin/warren-vm-guest` is what runs in there: the cases.

#![expect(clippy::print_stdout, reason = "a command prints its progress")]

mod gateway;
mod image;
mod machine;
mod report;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use clap::Parser;
use image::{Image, Release, System};
use machine::Machine;
use report::Report;

#[derive(Parser)]
#[command(
    name = "cargo xtask vm",
    bin_name = "cargo xtask vm",
    about = "Boots Debian's kernels in QEMU, and tests the kernel's WireGuard and forwarding there"
)]
struct Arguments {
    /// Run only cases whose name contains this text
    filter: Option<String>,
    /// Releases of Debian to boot; all if none is given
    #[arg(long, value_enum)]
    release: Vec<Release>,
    /// Boot an instance of AWS with a gateway instead: systemd, cloud-init, and the user data of a gateway
    #[arg(long)]
    instance: bool,
    /// Build the images again, with the packages of today
    #[arg(long)]
    refresh: bool,
    /// Where images and consoles are kept; `vm` in the target folder if not given
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Seconds after which a machine is ended, and its remaining cases have failed
    #[arg(long, value_name = "SECONDS", default_value_t = 1800)]
    deadline: u64,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    let executable = std::env::current_exe()?;
    let products = executable.parent().context("this program is in no folder")?;
    let folder = match &arguments.folder {
        Some(folder) => folder.clone(),
        None => products.parent().unwrap_or(products).join("vm"),
    };
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let folder = folder.canonicalize()?;
    let releases = if arguments.release.is_empty() { Release::ALL } else { &arguments.release[..] };
    let mut all = Report::default();
    for release in releases {
        let report = boot(arguments, *release, products, &folder);
        all.add(&report.with_context(|| format!("Debian {release}"))?);
    }
    println!("{} passed, {} failed", all.passed, all.failed);
    ensure!(all.failed == 0, "{} of {} cases failed", all.failed, all.passed + all.failed);
    ensure!(all.passed > 0, "no case has such a name");
    Ok(())
}

/// Boots one release, and prints a line for each case.
fn boot(arguments: &Arguments, release: Release, products: &Path, folder: &Path) -> Result<Report> {
    let begun = Instant::now();
    let system = if arguments.instance { System::Instance } else { System::Bare };
    let image = Image::of(release, system, folder, arguments.refresh)?;
    if begun.elapsed() > Duration::from_secs(2) {
        println!("{release}: root built in {:.0} s", begun.elapsed().as_secs_f64());
    }
    let deadline = Duration::from_secs(arguments.deadline);
    let mut machine = Machine::boot(&image, products, arguments.filter.as_deref(), deadline)?;
    let mut report = Report::default();
    machine.follow(|line| {
        if let Some(told) = report.take(line) {
            println!("{release}: {told}");
        }
    })?;
    if let Some(missing) = report.end() {
        println!("{release}: {missing}\n{}", machine.console());
    }
    println!("{release}: console in {}", machine.console_file().display());
    Ok(report)
}
