//! One example on one account: apply, an empty second plan, destroy, and nothing left.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context as _, Result, ensure};

use crate::example::Example;
use crate::fabric::Fabric;
use crate::price::Estimate;
use crate::sweep::{Account, Patience, Place, Wanted};
use crate::terraform::{Interrupts, Terraform};

/// How an example is run.
#[derive(Clone, Debug)]
pub struct Run {
    /// What to apply.
    pub example: Example,
    /// The account to apply it to.
    pub place: Place,
    /// The folder with the built provider.
    pub build_folder: PathBuf,
    /// The folder for the workspaces and recordings of runs.
    pub folder: PathBuf,
    /// How long the account may show objects that were deleted.
    pub patience: Patience,
}

impl Run {
    /// Runs it. Whatever fails or is interrupted after the apply has begun, everything is destroyed.
    ///
    /// # Errors
    /// A step failed, or something is left. The error says how to sweep.
    pub async fn run(
        &self,
        interrupts: &mut Interrupts,
        report: &mut (dyn FnMut(&str) + Send),
    ) -> Result<()> {
        for name in self.example.needs {
            let set = std::env::var_os(name).is_some_and(|value| !value.is_empty());
            ensure!(set, "{name} is not set, which {} needs", self.example.name);
        }
        let fabric = Fabric::new(SystemTime::now(), rand::random());
        let wanted = Wanted::Run(fabric.clone());
        let account = Account::open(&self.place).await?;
        // A run whose leftovers cannot be listed must not begin.
        ensure!(account.find(&wanted).await?.is_empty(), "the account has objects of {fabric} already");
        let workspace = self.folder.join(fabric.name());
        private(&workspace.join("work"))?;
        self.example.write(&fabric, &workspace.join("work"))?;
        let mut terraform = Terraform::new(&workspace, &self.build_folder)?;
        report(&format!("{}: fabric {fabric}, workspace {}", self.example.name, workspace.display()));
        let mut applied = false;
        let outcome = apply(&mut terraform, &mut applied, interrupts, report).await;
        let mut problems: Vec<String> = outcome.err().map(|error| format!("{error:#}")).into_iter().collect();
        if applied {
            report("destroying everything");
            // Someone who pressed Ctrl-C twice did not mean this.
            interrupts.forget().await;
            let destroy = terraform.run(&["destroy", "-json", "-auto-approve"], interrupts, report).await;
            let destroyed = destroy.and_then(|ran| ran.success("destroy").map(drop));
            problems.extend(destroyed.err().map(|error| format!("{error:#}")));
        }
        self.record(&terraform, report)?;
        report("listing what is left");
        match account.none_left(&wanted, self.patience).await {
            Ok(()) => {
                report("nothing is left");
                fs::remove_dir_all(&workspace)?;
            }
            Err(error) => problems.push(format!(
                "{error:#}\nThe state is in {}: run `terraform destroy` there, or sweep what this run left with \
                 `cargo xtask accounts sweep {} --run {fabric} --delete`",
                workspace.join("work").display(),
                self.place.cloud
            )),
        }
        ensure!(problems.is_empty(), "{}", problems.join("\n"));
        Ok(())
    }

    /// Writes the answers of refused calls as entries of the corpus.
    fn record(&self, terraform: &Terraform, report: &mut (dyn FnMut(&str) + Send)) -> Result<()> {
        // The log does not exist if the provider was never started.
        let log = fs::read_to_string(&terraform.log).unwrap_or_default();
        let entries = warren_evidence::record(&terraform.output, &log);
        if entries.is_empty() {
            return Ok(());
        }
        let name = terraform.log.parent().and_then(Path::file_name).context("the workspace has no name")?;
        let file = self.folder.join(format!("{}.toml", name.to_string_lossy()));
        fs::write(&file, &entries).with_context(|| format!("cannot write {}", file.display()))?;
        report(&format!(
            "answers of refused calls: {}\nTo add them to tests/evidence, follow docs/contributing/accounts.md",
            file.display()
        ));
        Ok(())
    }
}

/// Initialises, plans, applies, and plans again.
async fn apply(
    terraform: &mut Terraform,
    applied: &mut bool,
    interrupts: &mut Interrupts,
    report: &mut (dyn FnMut(&str) + Send),
) -> Result<()> {
    let init = terraform.run(&["init", "-no-color"], interrupts, report).await?;
    init.success("init")?;
    report("planning");
    let plan = terraform.run(&["plan", "-json", "-out=plan"], interrupts, report).await?;
    plan.success("plan")?;
    let shown = terraform.run(&["show", "-json", "plan"], interrupts, report).await?.success("show")?;
    report(&Estimate::of(&serde_json::from_str(&shown.stdout)?).to_string());
    report("applying");
    *applied = true;
    let ran = terraform.run(&["apply", "-json", "plan"], interrupts, report).await?;
    ran.success("apply")?;
    report("planning again");
    let again = terraform.run(&["plan", "-json", "-detailed-exitcode"], interrupts, report).await?;
    ensure!(!again.interrupted, "interrupted");
    ensure!(again.code != Some(2), "the second plan is not empty:\n{}", changes(&again.stdout));
    again.success("plan")?;
    report("the second plan is empty");
    Ok(())
}

/// The changes in the JSON output of a plan.
fn changes(output: &str) -> String {
    let events = output.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let changes = events.filter(|event| event["type"] == "planned_change");
    let lines: Vec<String> =
        changes.filter_map(|event| event["@message"].as_str().map(|text| format!("  {text}"))).collect();
    lines.join("\n")
}

/// Makes a folder, and those above it, that only the user can read.
fn private(folder: &Path) -> Result<()> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.with_context(|| format!("cannot create {}", folder.display()))
}
