//! `cargo xtask accounts`: acceptance on real accounts. `cargo xtask accounts --help` lists the commands.

#![expect(clippy::print_stdout, reason = "a command prints its progress")]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use clap::{Args, Parser, Subcommand};
use warren_accounts::Interrupts;
use warren_accounts::example::{EXAMPLES, Example};
use warren_accounts::fabric::Fabric;
use warren_accounts::price::Estimate;
use warren_accounts::run::Run;
use warren_accounts::sweep::{Account, Cloud, Patience, Place, Wanted};

/// The variable that allows changes of real accounts.
const ALLOWED: &str = "WARREN_ACC";

const ABOUT: &str = "Acceptance on real accounts: runs examples, and sweeps what they left

Costs money. Use an account or project without anything of value. docs/contributing/accounts.md describes what it needs.";

#[derive(Parser)]
#[command(name = "cargo xtask accounts", bin_name = "cargo xtask accounts", about = ABOUT)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print what the examples create and cost, from a plan on emulated clouds
    Show {
        /// Examples; all if none is given
        examples: Vec<String>,
    },
    /// Apply examples, plan again, destroy them, and prove that nothing is left; only with WARREN_ACC=1
    Run {
        /// Examples
        #[arg(required = true)]
        examples: Vec<String>,
        /// Where to keep workspaces and recordings
        #[arg(long, default_value = "target/accounts")]
        folder: PathBuf,
        #[command(flatten)]
        patience: Waiting,
    },
    /// List what runs left in an account; delete it with --delete and WARREN_ACC=1
    Sweep(Sweep),
}

#[derive(Args)]
struct Sweep {
    /// The cloud of the account
    #[arg(value_enum)]
    cloud: Cloud,
    /// Delete what is listed
    #[arg(long)]
    delete: bool,
    /// Only objects of runs that began at least this many hours ago
    #[arg(long, value_name = "HOURS", default_value_t = 3)]
    older_than: u64,
    /// Only objects of this run, of any age
    #[arg(long, value_name = "FABRIC")]
    run: Option<String>,
    /// Region to look in, instead of that of the examples
    #[arg(long)]
    region: Option<String>,
    #[command(flatten)]
    patience: Waiting,
}

#[derive(Args)]
struct Waiting {
    /// Seconds after which what is left is an error
    #[arg(long, value_name = "SECONDS", default_value_t = 1800)]
    deadline: u64,
    /// Seconds between two looks at the account
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pause: u64,
}

impl From<Waiting> for Patience {
    fn from(waiting: Waiting) -> Patience {
        Patience {
            deadline: Duration::from_secs(waiting.deadline),
            pause: Duration::from_secs(waiting.pause),
        }
    }
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Show { examples } => show(&examples),
        Command::Run { examples, folder, patience } => run(&examples, folder, patience.into()),
        Command::Sweep(arguments) => sweep(arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn show(names: &[String]) -> Result<()> {
    let examples = match names {
        [] => EXAMPLES.to_vec(),
        names => names.iter().map(|name| Example::named(name)).collect::<Result<_>>()?,
    };
    for example in examples {
        let estimate = Estimate::of(&example.plan_on_emulator()?);
        println!("{}\n{estimate}", example.name);
        let needs =
            if example.needs.is_empty() { "credentials".to_owned() } else { example.needs.join(", ") };
        println!("It needs {needs}.\n");
    }
    Ok(())
}

fn run(names: &[String], folder: PathBuf, patience: Patience) -> Result<()> {
    let examples = names.iter().map(|name| Example::named(name)).collect::<Result<Vec<_>>>()?;
    if !allowed() {
        show(names)?;
    }
    ensure!(allowed(), "nothing was created: set {ALLOWED}=1 to run this on your account");
    let folder = std::path::absolute(folder)?;
    let build_folder = warren_acceptance::build_folder()?;
    runtime()?.block_on(async {
        let mut interrupts = Interrupts::new()?;
        for example in examples {
            let (folder, build_folder) = (folder.clone(), build_folder.clone());
            let run = Run { example, place: place(example.cloud, None), build_folder, folder, patience };
            run.run(&mut interrupts, &mut |line| println!("{line}"))
                .await
                .with_context(|| format!("{} failed", example.name))?;
        }
        Ok(())
    })
}

fn sweep(arguments: Sweep) -> Result<()> {
    let wanted = match &arguments.run {
        Some(name) => {
            Wanted::Run(Fabric::parse(name).with_context(|| format!("{name} is not the fabric of a run"))?)
        }
        None => Wanted::OlderThan(Duration::from_secs(arguments.older_than * 3600)),
    };
    let place = place(arguments.cloud, arguments.region);
    runtime()?.block_on(async {
        let account = Account::open(&place).await?;
        let found = account.find(&wanted).await?;
        for object in &found {
            println!("{object}");
        }
        println!("{} objects of runs", found.len());
        if !arguments.delete {
            println!("Nothing was deleted. Add --delete and set {ALLOWED}=1 to delete them.");
            return Ok(());
        }
        ensure!(allowed(), "nothing was deleted: set {ALLOWED}=1 to delete objects of your account");
        account.sweep(&wanted, arguments.patience.into(), &mut |line| println!("{line}")).await?;
        println!("Nothing is left.");
        Ok(())
    })
}

/// The account that the environment leads to, with the endpoint that the examples use.
fn place(cloud: Cloud, region: Option<String>) -> Place {
    let example = EXAMPLES.iter().find(|example| example.cloud == cloud);
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    Place {
        cloud,
        region: region.or_else(|| Some(example?.region.to_owned())).unwrap_or_default(),
        project: variable("TF_VAR_project"),
        endpoint: variable("TF_VAR_endpoint_url"),
    }
}

fn allowed() -> bool {
    std::env::var(ALLOWED).is_ok_and(|value| value == "1")
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?)
}
