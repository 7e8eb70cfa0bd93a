//! `cargo xtask vm`: Debian's kernels in QEMU, with this build's tunnel inside. `cargo xtask vm --help` lists the options.
//!
//! - [`gateway`] writes what an instance with a gateway is given, and [`payload`] the disk with it.
//! - [`image`] makes the root of a release with its kernel, and keeps it; [`small`] needs no root.
//! - [`machine`] boots it, and reads what the guest reports; [`instance`] cuts its power.
//! - `bin/warren-vm-guest` is what runs in there: the cases.

#![expect(clippy::print_stdout, reason = "a command prints its progress")]

mod gateway;
mod image;
mod instance;
mod machine;
mod payload;
mod report;
mod small;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use clap::{Parser, ValueEnum};
use gateway::Cloud;
use image::{Image, Release};
use instance::Place;
use machine::{Boot, Disks, Root};
use payload::{System, payload};
use report::Report;

#[derive(Parser)]
#[command(
    name = "cargo xtask vm",
    bin_name = "cargo xtask vm",
    about = "Boots Debian's kernels in QEMU, and tests the kernel's WireGuard, forwarding, and gateways of clouds there"
)]
struct Arguments {
    /// Run only cases whose name contains this text
    filter: Option<String>,
    /// Releases of Debian to boot; all for `kernel`, and the newest for others, if none is given
    #[arg(long, value_enum)]
    release: Vec<Release>,
    /// What to boot; `kernel` if not given
    #[arg(long, value_enum, conflicts_with_all = ["all", "ci"])]
    machine: Vec<What>,
    /// Boot the smallest machine alone, which needs no image: the kernel of this distribution with one case
    #[arg(long, conflicts_with_all = ["all", "filter", "release"])]
    ci: bool,
    /// Boot everything
    #[arg(long)]
    all: bool,
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

/// What boots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// The kernel with the cases of the tunnel
    Kernel,
    /// An instance of AWS with a gateway, and its reboot
    Aws,
    /// An instance of Google Cloud with a gateway, and its reboot
    Google,
    /// First boots of an instance of AWS, during which the power is cut
    AwsCuts,
    /// First boots of an instance of Google Cloud, during which the power is cut
    GoogleCuts,
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
    let mut all = Report::default();
    if arguments.ci {
        all.add(&ci(arguments, products, &folder)?);
    }
    for what in chosen(arguments) {
        let releases = match (what, &arguments.release[..]) {
            (What::Kernel, []) => Release::ALL,
            (_, []) => &[Release::Trixie],
            (_, given) => given,
        };
        for release in releases {
            let report = boot(arguments, *what, *release, products, &folder);
            all.add(&report.with_context(|| format!("Debian {release}"))?);
        }
    }
    println!("{} passed, {} failed", all.passed, all.failed);
    ensure!(all.failed == 0, "{} of {} cases failed", all.failed, all.passed + all.failed);
    ensure!(all.passed > 0, "no case has such a name");
    Ok(())
}

fn chosen(arguments: &Arguments) -> &[What] {
    if arguments.all {
        return What::value_variants();
    }
    if arguments.ci {
        return &[];
    }
    if arguments.machine.is_empty() { &[What::Kernel] } else { &arguments.machine }
}

/// Boots one release, and prints a line for each case.
fn boot(
    arguments: &Arguments,
    what: What,
    release: Release,
    products: &Path,
    folder: &Path,
) -> Result<Report> {
    let begun = Instant::now();
    let print = |line: &str| println!("{release}: {line}");
    let image = Image::of(release, folder, arguments.refresh)?;
    if begun.elapsed() > Duration::from_secs(2) {
        print(&format!("root built in {:.0} s", begun.elapsed().as_secs_f64()));
    }
    let place = Place {
        image: &image,
        products,
        filter: arguments.filter.as_deref(),
        limit: Duration::from_secs(arguments.deadline),
    };
    let begun = Instant::now();
    let report = match what {
        What::Kernel => kernel(&place, &print)?,
        What::Aws => instance::whole(&place, Cloud::Aws, &print)?,
        What::Google => instance::whole(&place, Cloud::Google, &print)?,
        What::AwsCuts => instance::cuts(&place, Cloud::Aws, &print)?,
        What::GoogleCuts => instance::cuts(&place, Cloud::Google, &print)?,
    };
    print(&format!("{what:?} in {:.0} s", begun.elapsed().as_secs_f64()));
    Ok(report)
}

/// Boots the machine without a root.
fn ci(arguments: &Arguments, products: &Path, folder: &Path) -> Result<Report> {
    let begun = Instant::now();
    let folder = folder.join("small");
    std::fs::create_dir_all(&folder)?;
    small::build(&folder, products)?;
    let disks = Disks::new(&folder)?;
    println!("initial file system made in {:.0} s", begun.elapsed().as_secs_f64());
    instance::follow(
        &Boot {
            folder: &folder,
            disks: &disks,
            root: Root::Memory,
            arguments: String::new(),
            cloud: None,
            snapshot: None,
            limit: Duration::from_secs(arguments.deadline),
        },
        &|line| println!("{line}"),
    )
}

/// Boots the kernel with the cases of the tunnel.
fn kernel(place: &Place<'_>, print: &dyn Fn(&str)) -> Result<Report> {
    let disks = Disks::new(&place.image.folder)?;
    payload(disks.path(), System::Bare, place.products, place.filter)?;
    instance::follow(
        &Boot {
            folder: &place.image.folder,
            disks: &disks,
            root: Root::Discarded,
            arguments: "root=/dev/vda rw init=/sbin/warren-vm-init".to_owned(),
            cloud: None,
            snapshot: None,
            limit: place.limit,
        },
        print,
    )
}
