//! State that earlier versions of the provider wrote is read by this one, for each type of resource.
//!
//! `tests/acceptance/fixtures/state` holds the files; `WARREN_STORE_STATE=1 cargo test -p warren-acceptance --test
//! registry_examples` adds those of types that have none. A stored state stays as it is: it stands for the states of users.
//! Where a plan is meant to change, such as that of a gateway with a new boot script, delete its two files and store them again.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use warren_acceptance::emulated_clouds::{EmulatedClouds, spread};
use warren_acceptance::old_state;
use warren_acceptance::registry::{Clouds, Example, examples};

/// How many emulators of one cloud the states are spread over.
const SPREAD: usize = 2;

#[test]
fn every_type_of_resource_has_an_old_state() -> Result<()> {
    let stored: BTreeSet<String> =
        old_state::configurations()?.into_iter().map(|example| example.of).collect();
    let missing: Vec<String> = schema_versions()?.into_keys().filter(|of| !stored.contains(of)).collect();
    ensure!(
        missing.is_empty(),
        "no state is stored for {}.\nHint: write examples/resources/TYPE/complete.tf, and run `WARREN_STORE_STATE=1 \
         WARREN_EXAMPLE=TYPE/complete cargo test -p warren-acceptance --test registry_examples`",
        missing.join(", ")
    );
    Ok(())
}

#[test]
fn old_state_is_read_whole_and_plans_nothing() -> Result<()> {
    let versions = schema_versions()?;
    let done =
        spread(old_state::configurations()?, SPREAD, |example, clouds| prove(example, &versions, clouds))?;
    ensure!(!done.is_empty(), "no state is stored");
    let failures: Vec<String> = done
        .into_iter()
        .filter_map(|(example, outcome)| Some(format!("{}: {:#}", example.file.display(), outcome.err()?)))
        .collect();
    ensure!(failures.is_empty(), "{}", failures.join("\n"));
    Ok(())
}

/// Plans an old state: nothing is to change, no value is lost, and each object can be read.
fn prove(example: &Example, versions: &BTreeMap<String, u64>, clouds: &EmulatedClouds) -> Result<()> {
    let text = old_state::read(&example.of)?;
    let terraform = clouds.workspace(example)?;
    terraform.write("terraform.tfstate", &text)?;

    let plan = terraform.plan(&["-refresh=false", "-detailed-exitcode", "-out=old.tfplan"])?;
    ensure!(plan.code == 0, "the plan is not empty:\n{}", plan.output());
    nothing_lost(&serde_json::from_str(&text)?, &terraform.show(Some("old.tfplan"))?, versions)?;

    // The emulated clouds are empty. Finding that out takes the IDs and the private data of the old state.
    let read = terraform.plan(&["-refresh-only"])?.success()?;
    let in_a_cloud = example.clouds() != Clouds::default();
    ensure!(read.stdout.contains("has been deleted") == in_a_cloud, "what was read:\n{}", read.stdout);
    Ok(())
}

/// Compares each object of a state file with what the provider made of it, unless its schema has a new version since.
fn nothing_lost(state: &Value, plan: &Value, versions: &BTreeMap<String, u64>) -> Result<()> {
    let mut compared = 0;
    for resource in list(&state["resources"])?.iter().filter(|resource| resource["mode"] == "managed") {
        for instance in list(&resource["instances"])? {
            let read = list(&plan["resource_changes"])?.iter().find(|change| {
                change["type"] == resource["type"]
                    && change["name"] == resource["name"]
                    && change["index"] == instance["index_key"]
            });
            let (of, name) = (&resource["type"], &resource["name"]);
            let read = &read.with_context(|| format!("{of} {name} is not in the plan"))?["change"]["before"];
            let version = of.as_str().and_then(|of| versions.get(of));
            if version.copied() == instance["schema_version"].as_u64() {
                contains(read, &instance["attributes"], &format!("{of} {name}"))?;
            }
            compared += 1;
        }
    }
    ensure!(compared > 0, "the state has no objects");
    Ok(())
}

/// Requires that every value of `old` is in `new`. Attributes that were added since have no old value.
fn contains(new: &Value, old: &Value, path: &str) -> Result<()> {
    match (new, old) {
        (_, Value::Null) => Ok(()),
        (Value::Object(new), Value::Object(old)) => old.iter().try_for_each(|(key, old)| {
            contains(new.get(key).unwrap_or(&Value::Null), old, &format!("{path}.{key}"))
        }),
        (Value::Array(new), Value::Array(old)) if new.len() == old.len() => new
            .iter()
            .zip(old)
            .enumerate()
            .try_for_each(|(index, (new, old))| contains(new, old, &format!("{path}[{index}]"))),
        _ => {
            ensure!(new == old, "{path} was {old} and is read as {new}");
            Ok(())
        }
    }
}

fn list(value: &Value) -> Result<&Vec<Value>> {
    value.as_array().with_context(|| format!("not a list: {value}"))
}

/// The types of resources that the provider offers, with the versions of their schemas.
fn schema_versions() -> Result<BTreeMap<String, u64>> {
    let plain = examples()?.into_iter().find(|example| example.of == "warren_address_plan");
    let terraform =
        EmulatedClouds::default().workspace(&plain.context("warren_address_plan has an example")?)?;
    let schemas = terraform.run(&["providers", "schema", "-json"])?.success()?.json()?;
    let providers = schemas["provider_schemas"].as_object().context("there are no schemas")?;
    let types = providers.values().filter_map(|provider| provider["resource_schemas"].as_object()).flatten();
    types
        .map(|(of, schema)| Ok((of.clone(), schema["version"].as_u64().context("a schema has no version")?)))
        .collect()
}
