//! `--policy`: reads assertions and the plans to check them against.

use crate::text_of;
use std::io::Read;
use warren_model::policy::Assertion;
use warren_model::topology::Plan;
use warren_planfile::{Input, InputError, Source, read_policy, read_topology};

/// Assertions and plans.
#[derive(Default)]
pub(crate) struct Policy {
    pub(crate) assertions: Vec<Assertion>,
    pub(crate) plans: Vec<Plan>,
}

/// Reads policy files, and the Terraform files among the inputs as topologies.
pub(crate) fn load(
    policies: &[String],
    files: &[String],
    inputs: &[Input],
    stdin: &mut dyn Read,
    errors: &mut Vec<String>,
) -> Policy {
    let mut policy = Policy { assertions: assertions(policies, stdin, errors), plans: Vec::new() };
    // The errors of unreadable files are reported already.
    if !errors.is_empty() {
        return policy;
    }
    for (file, _) in files.iter().zip(inputs).filter(|(_, input)| matches!(input, Input::Terraform { .. })) {
        match text_of(file, stdin) {
            Ok(text) => match read_topology(&Source { name: file, text: &text, owner: None }) {
                Ok(plan) => policy.plans.push(plan),
                Err(error) => errors.push(error.to_string()),
            },
            Err(error) => errors.push(error),
        }
    }
    if policy.plans.is_empty() && errors.is_empty() {
        errors.push("--policy: no Terraform plan or state to check the policy against; name the output of `terraform show -json`".to_owned());
    }
    policy
}

/// Reads policy files.
pub(crate) fn assertions(
    policies: &[String],
    stdin: &mut dyn Read,
    errors: &mut Vec<String>,
) -> Vec<Assertion> {
    let mut assertions = Vec::new();
    for file in policies {
        match text_of(file, stdin) {
            Ok(text) => match read_policy(&Source { name: file, text: &text, owner: None }) {
                Ok(found) => assertions.extend(found),
                Err(found) => errors.extend(found.iter().map(InputError::to_string)),
            },
            Err(error) => errors.push(error),
        }
    }
    assertions
}
