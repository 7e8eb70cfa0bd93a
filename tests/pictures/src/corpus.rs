//! The plans whose pictures are compared: those in the shape of public modules, the fixtures of the diagrams, and
//! hostile names.

use std::fs;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use warren_check::{Fabrics, Screen};
use warren_diagram::{Detail, Options};
use warren_model::Model;
use warren_model::topology::Plan;
use warren_model::verdict::Verdict;
use warren_planfile::{Source, read_policy, read_topology};

/// Folders with plans as JSON, from the root of the workspace.
const FOLDERS: &[&str] = &["tests/plans/corpus", "tests/plans/states", "provider/diagram/tests/fixtures"];

/// Every plan forbids this, and many do it.
const POLICY: &str = "
assertions:
  - { name: nothing comes in, from: internet, to: '*', expect: unreachable, allow_empty: true }
  - { name: nothing leaves, from: '*', to: internet, expect: unreachable, allow_empty: true }
";

/// Plans with a policy of their own, about paths between networks and of peers.
const POLICIES: &[(&str, &str)] = &[
    ("example", include_str!("../../../provider/diagram/tests/fixtures/policy.yaml")),
    ("overlay", include_str!("../../../provider/diagram/tests/fixtures/overlay-policy.yaml")),
];

/// Every plan with its name and what a check finds in it, in order.
///
/// # Errors
/// A folder or plan cannot be read.
pub fn plans() -> Result<Vec<(String, Plan, Verdict)>> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for folder in FOLDERS {
        let folder = warren_programs::workspace_root().join(folder);
        for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            if path.extension().is_some_and(|ending| ending == "json") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    let mut plans = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let (plan, verdict) = (read(&name, &text)?, verdict(&name, &text)?);
        plans.push((name, plan, verdict));
    }
    Ok(plans)
}

/// What a check finds in a plan: overlaps, and paths to and from the internet, which a policy forbids.
///
/// # Errors
/// The text is not a plan, or a policy cannot be read.
pub fn verdict(name: &str, text: &str) -> Result<Verdict> {
    let input = warren_planfile::read(&Source { name: "plan.json", text, owner: None });
    let input = input.map_err(|errors| anyhow::anyhow!("{name}: {errors:?}"))?;
    let screen = Screen::default();
    let report = warren_check::check(
        &[input],
        Model::default(),
        NonZeroUsize::new(1000),
        &Fabrics::default(),
        &screen,
    );
    let own = POLICIES.iter().filter(|(plan, _)| *plan == name).map(|(_, policy)| *policy);
    let mut assertions = Vec::new();
    for policy in std::iter::once(POLICY).chain(own) {
        let read = read_policy(&Source { name: "policy.yaml", text: policy, owner: None });
        assertions.extend(read.map_err(|errors| anyhow::anyhow!("{name}: {errors:?}"))?);
    }
    Ok(warren_check::verdict(&report, &assertions, &read(name, text)?, &screen))
}

/// Reads one plan.
///
/// # Errors
/// The text is not a plan.
pub fn read(name: &str, text: &str) -> Result<Plan> {
    read_topology(&Source { name, text, owner: None }).map_err(|error| anyhow::anyhow!("{name}: {error}"))
}

/// Every picture of a plan, with its name: levels of detail, with and without changes, and the address space.
pub fn pictures(name: &str, plan: &Plan, verdict: &Verdict) -> Vec<(String, String)> {
    let mut pictures = Vec::new();
    for diff in [false, true] {
        for detail in [Detail::Full, Detail::Compact, Detail::Grouped] {
            let options = Options { diff, detail, verdict: verdict.clone(), ..Options::default() };
            pictures.push((format!("{name}, diff {diff}, {detail:?}"), warren_diagram::svg(plan, &options)));
        }
        let options = Options { diff, ..Options::default() };
        pictures.push((format!("{name}, diff {diff}, space"), warren_diagram::space_svg(plan, &options)));
    }
    pictures
}
