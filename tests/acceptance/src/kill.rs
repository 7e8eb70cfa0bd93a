//! Kill points: the provider is killed before or after one API call, and everything must converge all the same.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Context as _, Result, bail, ensure};
use warren_harness::{KillSwitch, Phase};

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
    /// API calls of an undisturbed run, by what it does.
    pub calls: BTreeMap<Moment, usize>,
    /// Kill points at which the provider was really killed, and after which everything converged.
    pub survived: usize,
    /// Kill points that came to nothing, because the run made fewer calls this time.
    pub missed: usize,
}

impl fmt::Display for KillReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let calls = |moment| self.calls.get(&moment).copied().unwrap_or_default();
        write!(
            f,
            "{} kill points survived ({} not reached); an undisturbed apply makes {} API calls, a destroy {}",
            self.survived,
            self.missed,
            calls(Moment::Apply),
            calls(Moment::Destroy)
        )
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

/// Kills the provider before and after these API calls of an apply and of a destroy. After each kill, apply
/// must converge without duplicates and leave no change to plan, and destroy must leave nothing.
///
/// # Errors
/// The first kill point that was not survived, with Terraform's output.
pub fn kill_points<C: Emulated>(
    stage: &mut Stage<C>,
    at: KillCalls,
    told: &mut dyn FnMut(&str),
) -> Result<KillReport> {
    let mut report = KillReport::default();

    stage.cloud.front().clear_calls();
    stage.terraform.apply(&[])?.success()?;
    report.calls.insert(Moment::Apply, stage.cloud.front().calls().len());
    stage.cloud.front().clear_calls();
    stage.terraform.destroy(&[])?.success()?;
    report.calls.insert(Moment::Destroy, stage.cloud.front().calls().len());
    stage.nothing_left()?;

    for (moment, calls) in report.calls.clone() {
        if at.only.is_some_and(|only| only != moment) {
            continue;
        }
        for call in (at.first..=calls).step_by(at.every.max(1)) {
            for phase in [Phase::Before, Phase::After] {
                let told_as = format!("{moment:?}, {phase:?} call {call} of {calls}");
                // The emulator lists what was deleted for ever, and gets slower by it.
                stage.cloud.reset()?;
                let killed = survive(stage, moment, call, phase).with_context(|| told_as.clone())?;
                match killed {
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

/// One kill point; the action at which the kill struck.
fn survive<C: Emulated>(
    stage: &Stage<C>,
    moment: Moment,
    call: usize,
    phase: Phase,
) -> Result<Option<String>> {
    let (cloud, terraform) = (&stage.cloud, &stage.terraform);
    if moment == Moment::Destroy {
        terraform.apply(&[])?.success()?;
    }
    cloud.front().arm(KillSwitch::caller(call, phase));
    let run = match moment {
        Moment::Apply => terraform.apply(&[])?,
        Moment::Destroy => terraform.destroy(&[])?,
    };
    let struck = cloud.front().disarm();
    if struck.is_some() {
        ensure!(run.code != 0, "the provider was killed and Terraform reports success:\n{}", run.output());
    }
    if moment == Moment::Apply {
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
