//! An example that real Terraform applied to emulated clouds, and the model's answer.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use warren_harness::{
    Emulator, Google, GoogleConfig, ProxyConfig, RunPod, RunPodConfig, Terraform, workspace_root,
};
use warren_model::policy::Assertion;

use super::Verdict;
use crate::{AllStage, AwsStage, GoogleStage, RunPodStage, build_folder};

/// An example with the clouds that it uses.
pub(super) enum Applied {
    Aws(Box<AwsStage>),
    Google(Box<GoogleStage>),
    RunPod(Box<RunPodStage>),
    All(Box<AllStage>),
}

impl Applied {
    /// Starts the clouds of an example; nothing is applied yet.
    pub(super) fn new(example: &str) -> Result<Applied> {
        let main = workspace_root().join("examples").join(example).join("main.tf");
        let text = std::fs::read_to_string(main)?;
        let block = text.split("provider \"warren\" {").nth(1).and_then(|rest| rest.split("\n}").next());
        let block = block.with_context(|| format!("{example} has no provider block"))?;
        let uses =
            |cloud: &str| block.lines().any(|line| line.trim_start().starts_with(&format!("{cloud} ")));
        Ok(match (uses("aws"), uses("gcp"), uses("runpod")) {
            (true, false, false) => {
                Applied::Aws(Box::new(AwsStage::example(example, ProxyConfig::default())?))
            }
            (false, true, false) => {
                Applied::Google(Box::new(GoogleStage::example(example, GoogleConfig::default())?))
            }
            (false, false, true) => {
                Applied::RunPod(Box::new(RunPodStage::example(example, RunPodConfig::default())?))
            }
            _ => {
                let habits = (ProxyConfig::default(), GoogleConfig::default(), RunPodConfig::default());
                Applied::All(Box::new(AllStage::example(example, habits)?))
            }
        })
    }

    pub(super) fn terraform(&self) -> &Terraform {
        match self {
            Applied::Aws(stage) => &stage.terraform,
            Applied::Google(stage) => &stage.terraform,
            Applied::RunPod(stage) => &stage.terraform,
            Applied::All(stage) => &stage.terraform,
        }
    }

    /// Whether the generated policy and roles allow every call so far.
    fn permitted(&self) -> Result<()> {
        match self {
            Applied::Aws(stage) => stage.permitted(),
            Applied::Google(stage) => stage.permitted(),
            Applied::RunPod(stage) => stage.permitted(),
            Applied::All(stage) => stage.permitted(),
        }
    }

    fn forget_calls(&self) {
        match self {
            Applied::Aws(stage) => stage.forget_calls(),
            Applied::Google(stage) => stage.forget_calls(),
            Applied::RunPod(stage) => stage.forget_calls(),
            Applied::All(stage) => stage.forget_calls(),
        }
    }

    pub(super) fn aws(&self) -> Option<&Emulator> {
        match self {
            Applied::Aws(stage) => Some(&stage.cloud),
            Applied::All(stage) => Some(&stage.cloud.aws),
            Applied::Google(_) | Applied::RunPod(_) => None,
        }
    }

    pub(super) fn google(&self) -> Option<&Google> {
        match self {
            Applied::Google(stage) => Some(&stage.cloud),
            Applied::All(stage) => Some(&stage.cloud.google),
            Applied::Aws(_) | Applied::RunPod(_) => None,
        }
    }

    pub(super) fn runpod(&self) -> Option<&RunPod> {
        match self {
            Applied::RunPod(stage) => Some(&stage.cloud),
            Applied::All(stage) => Some(&stage.cloud.runpod),
            Applied::Aws(_) | Applied::Google(_) => None,
        }
    }

    /// Plans, applies, and has `warren check` judge both: no error in the plan, where some values are unknown, and no finding at
    /// all in the state.
    pub(super) fn model(&mut self, policy: &str, assertions: &[Assertion]) -> Result<Vec<Verdict>> {
        let terraform = self.terraform();
        terraform.write("policy.yaml", policy)?;
        terraform.plan(&["-out=promises.tfplan"])?.success()?;
        terraform.write("plan.json", &terraform.show(Some("promises.tfplan"))?.to_string())?;
        terraform.apply(&["promises.tfplan"])?.success()?;
        self.permitted()?;
        terraform.write("state.json", &terraform.show(None)?.to_string())?;
        let mut findings = self.check("plan.json")?;
        findings.retain(|finding| finding["severity"] == "error");
        findings.extend(self.check("state.json")?);
        let is_about =
            |finding: &Value, assertion: &Assertion| finding["sides"][0]["name"] == assertion.name.as_str();
        for finding in &findings {
            let known = assertions.iter().any(|assertion| is_about(finding, assertion));
            ensure!(known, "a finding about no assertion: {finding}");
        }
        let about = |assertion: &Assertion| {
            findings.iter().filter(|finding| is_about(finding, assertion)).map(said).collect()
        };
        Ok(assertions.iter().map(|assertion| Verdict::from_findings(about(assertion))).collect())
    }

    /// The findings of policies in a file of the workspace.
    fn check(&self, file: &str) -> Result<Vec<Value>> {
        let folder: PathBuf = self.terraform().folder();
        let mut command = Command::new(build_folder()?.join("warren"));
        command.args(["check", file, "--policy", "policy.yaml", "--format", "json"]).current_dir(folder);
        let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
        let report: Value = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("{file}: {}", String::from_utf8_lossy(&output.stderr)))?;
        let findings = report["findings"].as_array().context("no findings")?;
        let (policy, others): (Vec<Value>, Vec<Value>) =
            findings.iter().cloned().partition(|finding| finding["rule"] == "policy");
        ensure!(others.iter().all(|finding| finding["severity"] != "error"), "{file}: {others:#?}");
        Ok(policy)
    }

    pub(super) fn destroy(self) -> Result<()> {
        // The data plane has read the emulated clouds, which takes other permissions.
        self.forget_calls();
        self.terraform().destroy(&[])?.success()?;
        self.permitted()
    }
}

fn said(finding: &Value) -> String {
    let text = |field: &str| finding[field].as_str().unwrap_or_default().replace('\n', "; ");
    format!("{}: {} ({})", text("severity"), text("message"), text("detail"))
}
