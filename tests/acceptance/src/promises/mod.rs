//! What the READMEs of the examples promise, asked of the reachability model and of packets.
//!
//! ```text
//! examples/E/policy.yaml ─┬─> terraform plan, apply ─> warren check --policy ────> the model's answer
//!                         └─> the emulated clouds ─> data plane ─> probes ───────> the packets' answer
//! ```
//!
//! An example is applied by real Terraform. The data planes are built from what the emulated clouds hold, with one internet
//! between them; neither Terraform's state nor the model has a part in them.

mod applied;
mod ask;
mod ground;
mod pods;

use std::fmt::{self, Write as _};

use anyhow::{Context as _, Result};
use warren_harness::workspace_root;
use warren_model::policy::Assertion;
use warren_planfile::{Source, read_policy};

use applied::Applied;
use ground::Ground;

/// One assertion of a policy and the two answers to it.
#[derive(Clone, Debug)]
pub struct Row {
    /// The example.
    pub example: String,
    /// The sentence of the README; the assertion's name where it has none.
    pub promise: String,
    /// The assertion.
    pub assertion: String,
    /// `warren check --policy`.
    pub model: Verdict,
    /// The data plane.
    pub packets: Verdict,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It holds.
    Kept,
    /// It does not; what was found instead.
    Broken(Vec<String>),
}

impl Verdict {
    fn from_findings(findings: Vec<String>) -> Verdict {
        if findings.is_empty() { Verdict::Kept } else { Verdict::Broken(findings) }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Kept => "kept",
            Verdict::Broken(_) => "BROKEN",
        })
    }
}

/// The examples with a `policy.yaml` beside their configuration, in order.
///
/// # Errors
/// The folder cannot be read.
pub fn examples() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(workspace_root().join("examples"))? {
        let folder = entry?.path();
        if folder.join("policy.yaml").is_file() && folder.join("main.tf").is_file() {
            names.extend(folder.file_name().map(|name| name.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    Ok(names)
}

/// Applies an example to emulated clouds, asks both, and destroys it.
///
/// # Errors
/// The example is not applied, or its data plane cannot be built. Broken promises are rows.
pub fn ask(example: &str) -> Result<Vec<Row>> {
    let file = workspace_root().join("examples").join(example).join("policy.yaml");
    let text = std::fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    let source = Source { name: "policy.yaml", text: &text, owner: None };
    let assertions: Vec<Assertion> = read_policy(&source).map_err(|errors| {
        anyhow::anyhow!("{}", errors.iter().map(ToString::to_string).collect::<String>())
    })?;
    let mut applied = Applied::new(example)?;
    let model = applied.model(&text, &assertions)?;
    let packets = {
        let ground = Ground::build(&applied, &assertions)?;
        assertions.iter().map(|assertion| ground.ask(assertion)).collect::<Result<Vec<Verdict>>>()?
    };
    applied.destroy()?;
    let rows = assertions.iter().zip(model).zip(packets).map(|((assertion, model), packets)| Row {
        example: example.to_owned(),
        promise: assertion.promise.clone().unwrap_or_else(|| assertion.name.clone()),
        assertion: assertion.name.clone(),
        model,
        packets,
    });
    Ok(rows.collect())
}

/// The rows as a table of promises, and below it what contradicts one.
pub fn table(rows: &[Row]) -> String {
    let mut promises: Vec<(&str, &str, bool, bool)> = Vec::new();
    for row in rows {
        let (model, packets) = (row.model == Verdict::Kept, row.packets == Verdict::Kept);
        match promises
            .iter_mut()
            .find(|(example, promise, ..)| *example == row.example && *promise == row.promise)
        {
            Some((_, _, by_model, by_packets)) => {
                *by_model &= model;
                *by_packets &= packets;
            }
            None => promises.push((&row.example, &row.promise, model, packets)),
        }
    }
    let word = |kept: bool| if kept { "kept" } else { "BROKEN" };
    let width = promises.iter().map(|(example, ..)| example.len()).max().unwrap_or_default().max(7);
    let mut text = format!("| {:width$} | model  | packets | promise\n", "example");
    for (example, promise, model, packets) in &promises {
        let _ = writeln!(text, "| {example:width$} | {:6} | {:7} | {promise}", word(*model), word(*packets));
    }
    for row in rows {
        for (whose, verdict) in [("model", &row.model), ("packets", &row.packets)] {
            if let Verdict::Broken(findings) = verdict {
                let _ = writeln!(text, "\n{}, {:?}, {whose}:", row.example, row.assertion);
                for finding in findings {
                    let _ = writeln!(text, "  {finding}");
                }
            }
        }
    }
    let kept = promises.iter().filter(|(_, _, model, packets)| *model && *packets).count();
    let _ = writeln!(text, "\n{kept} of {} promises confirmed by the model and by packets", promises.len());
    text
}
