//! Kill points: the provider is killed before or after one API call, and everything must converge all the same.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Context as _, Result, bail, ensure};
use warren_harness::{KillSwitch, Phase, Run, Terraform};

use crate::{Emulated, Stage};

/// What is interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// An apply onto nothing.
    Apply,
    /// A destroy of everything.
    Destroy,
}

/// How many kill points there are, were tried and survived.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KillReport {
    /// API calls of an undisturbed run, by what it does and in which cloud.
    pub calls: BTreeMap<(Moment, &'static str), usize>,
    /// Kill points at which the provider was really killed, and after which everything converged.
    pub survived: usize,
    /// Kill points that came to nothing, because the run made fewer calls this time.
    pub missed: usize,
}

impl fmt::Display for KillReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} kill points survived ({} not reached)", self.survived, self.missed)?;
        for (moment, run) in [(Moment::Apply, "apply"), (Moment::Destroy, "destroy")] {
            let calls = self.calls.iter().filter(|((of, _), _)| *of == moment);
            let calls: Vec<String> = calls.map(|((_, cloud), calls)| format!("{calls} of {cloud}")).collect();
            write!(f, "; API calls of an undisturbed {run}: {}", calls.join(", "))?;
        }
        Ok(())
    }
}

/// Which calls to kill at.
#[derive(Clone, Copy, Debug)]
pub struct KillCalls {
    /// Every n-th.
    pub every: usize,
    /// From this one on; 1 is the first.
    pub first: usize,
    /// Of this alone; `None` is both.
    pub only: Option<Moment>,
}

impl KillCalls {
    /// Every n-th call of both.
    pub fn every(every: usize) -> KillCalls {
        KillCalls { every, first: 1, only: None }
    }
}

/// Kills the provider before and after these API calls of an apply and of a destroy, in each of the clouds. After each
/// kill, apply must converge without duplicates and leave no change to plan, and destroy must leave nothing.
///
/// # Errors
/// The first kill point that was not survived, with Terraform's output.
pub fn kill_points<C: Emulated>(
    stage: &mut Stage<C>,
    at: KillCalls,
    told: &mut dyn FnMut(&str),
) -> Result<KillReport> {
    let mut report = KillReport { calls: undisturbed(stage)?, ..KillReport::default() };
    for ((moment, cloud), calls) in report.calls.clone() {
        if at.only.is_some_and(|only| only != moment) {
            continue;
        }
        for call in (at.first..=calls).step_by(at.every.max(1)) {
            for phase in [Phase::Before, Phase::After] {
                let point = KillPoint { moment, cloud, call, phase };
                let told_as = format!("{moment:?}, {phase:?} call {call} of {calls} in {cloud}");
                // The emulator lists what was deleted for ever, and gets slower by it.
                stage.cloud.reset()?;
                match point.survive(stage).with_context(|| told_as.clone())? {
                    Some(action) => {
                        report.survived += 1;
                        told(&format!("{told_as} ({action}): survived"));
                    }
                    None => {
                        report.missed += 1;
                        told(&format!("{told_as}: not reached"));
                    }
                }
            }
        }
    }
    Ok(report)
}

/// The API calls of an apply and of a destroy, by cloud.
fn undisturbed<C: Emulated>(stage: &Stage<C>) -> Result<BTreeMap<(Moment, &'static str), usize>> {
    let mut calls = BTreeMap::new();
    for moment in [Moment::Apply, Moment::Destroy] {
        for (_, front) in stage.cloud.fronts() {
            front.clear_calls();
        }
        moment.run(&stage.terraform)?.success()?;
        let made = stage.cloud.fronts().into_iter();
        calls.extend(made.map(|(cloud, front)| ((moment, cloud), front.calls().len())));
    }
    stage.nothing_left()?;
    Ok(calls)
}

impl Moment {
    fn run(self, terraform: &Terraform) -> Result<Run> {
        match self {
            Moment::Apply => terraform.apply(&[]),
            Moment::Destroy => terraform.destroy(&[]),
        }
    }
}

/// Where the provider is killed once.
struct KillPoint {
    moment: Moment,
    cloud: &'static str,
    call: usize,
    phase: Phase,
}

impl KillPoint {
    /// Kills there, and sees that all converges; the action at which the kill struck.
    fn survive<C: Emulated>(&self, stage: &Stage<C>) -> Result<Option<String>> {
        let (cloud, terraform) = (&stage.cloud, &stage.terraform);
        if self.moment == Moment::Destroy {
            terraform.apply(&[])?.success()?;
        }
        let front =
            cloud.fronts().into_iter().find_map(|(name, front)| (name == self.cloud).then_some(front));
        let front = front.with_context(|| format!("no cloud {}", self.cloud))?;
        front.arm(KillSwitch::caller(self.call, self.phase));
        let run = self.moment.run(terraform)?;
        let struck = front.disarm();
        if struck.is_some() {
            ensure!(
                run.code != 0,
                "the provider was killed and Terraform reports success:\n{}",
                run.output()
            );
        }
        if self.moment == Moment::Apply {
            terraform.apply(&[])?.success().context("the apply after the kill")?;
            let twice = cloud.made_twice()?;
            ensure!(twice.is_empty(), "objects made twice: {twice}");
            let plan = terraform.plan(&["-detailed-exitcode"])?;
            if plan.code != 0 {
                bail!("the plan after the apply is not empty:\n{}", plan.output());
            }
        }
        terraform.destroy(&[])?.success().context("the destroy after the kill")?;
        stage.nothing_left()?;
        Ok(struck.map(|call| call.action))
    }
}
