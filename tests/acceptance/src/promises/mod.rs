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
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
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

/// An answer, better ones first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It holds.
    Kept,
    /// Nothing exists that the assertion is about, which it allows.
    NotProbed,
    /// It does not; what was found instead.
    Broken(Vec<String>),
}

impl Verdict {
    fn from_findings(findings: Vec<String>) -> Verdict {
        if findings.is_empty() { Verdict::Kept } else { Verdict::Broken(findings) }
    }

    /// Whether something was found instead.
    pub fn is_broken(&self) -> bool {
        matches!(self, Verdict::Broken(_))
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Kept => "kept",
            Verdict::NotProbed => "not probed",
            Verdict::Broken(_) => "BROKEN",
        })
    }
}

/// The examples with a configuration, in order. Each has a `policy.yaml`.
///
/// # Errors
/// The folder cannot be read, or an example has no policy.
pub fn examples() -> Result<Vec<String>> {
    examples_in(&workspace_root().join("examples"))
}

fn examples_in(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let folder = entry?.path();
        if folder.join("main.tf").is_file() {
            ensure!(folder.join("policy.yaml").is_file(), "{} has no policy.yaml", folder.display());
            names.extend(folder.file_name().map(|name| name.to_string_lossy().into_owned()));
        }
    }
    ensure!(!names.is_empty(), "no examples in {}", folder.display());
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
    ensure!(!assertions.is_empty(), "{} asserts nothing", file.display());
    let readme = std::fs::read_to_string(file.with_file_name("README.md"))?;
    for promise in assertions.iter().filter_map(|assertion| assertion.promise.as_ref()) {
        ensure!(readme.contains(promise), "the README of {example} does not promise: {promise}");
    }
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
    let mut promises: Vec<(&str, &str, &Verdict, &Verdict)> = Vec::new();
    for row in rows {
        match promises
            .iter_mut()
            .find(|(example, promise, ..)| *example == row.example && *promise == row.promise)
        {
            Some((_, _, model, packets)) => {
                *model = (*model).max(&row.model);
                *packets = (*packets).max(&row.packets);
            }
            None => promises.push((&row.example, &row.promise, &row.model, &row.packets)),
        }
    }
    let width = promises.iter().map(|(example, ..)| example.len()).max().unwrap_or_default().max(7);
    let mut text = format!("| {:width$} | model  | packets    | promise\n", "example");
    for (example, promise, model, packets) in &promises {
        let (model, packets) = (model.to_string(), packets.to_string());
        let _ = writeln!(text, "| {example:width$} | {model:6} | {packets:10} | {promise}");
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
    let kept = |verdict: &Verdict| *verdict == Verdict::Kept;
    let confirmed = promises.iter().filter(|(_, _, model, packets)| kept(model) && kept(packets)).count();
    let skipped = promises.iter().filter(|(.., packets)| **packets == Verdict::NotProbed).count();
    let _ =
        write!(text, "\n{confirmed} of {} promises confirmed by the model and by packets", promises.len());
    if skipped > 0 {
        let _ = write!(text, "; {skipped} not probed, because nothing exists that it is about");
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(promise: &str, model: Verdict, packets: Verdict) -> Row {
        let [example, promise, assertion] = ["hub", promise, "one"].map(str::to_owned);
        Row { example, promise, assertion, model, packets }
    }

    #[test]
    fn what_was_not_probed_is_not_confirmed() {
        let broken = Verdict::Broken(vec!["a -> b TCP 443: reached".to_owned()]);
        let rows = [
            row("It is closed.", Verdict::Kept, Verdict::Kept),
            row("It is closed.", Verdict::Kept, broken),
            row("It is open.", Verdict::Kept, Verdict::Kept),
            row("It is absent.", Verdict::Kept, Verdict::NotProbed),
        ];
        let expected = "\
| example | model  | packets    | promise
| hub     | kept   | BROKEN     | It is closed.
| hub     | kept   | kept       | It is open.
| hub     | kept   | not probed | It is absent.

hub, \"one\", packets:
  a -> b TCP 443: reached

1 of 3 promises confirmed by the model and by packets; 1 not probed, because nothing exists that it is about
";
        assert_eq!(table(&rows), expected);
    }

    #[test]
    fn an_example_without_a_policy_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        assert!(examples_in(folder.path()).is_err());
        let example = folder.path().join("hub");
        std::fs::create_dir(&example).unwrap();
        std::fs::write(example.join("main.tf"), "").unwrap();
        assert!(examples_in(folder.path()).unwrap_err().to_string().ends_with("hub has no policy.yaml"));
        std::fs::write(example.join("policy.yaml"), "").unwrap();
        assert_eq!(examples_in(folder.path()).unwrap(), ["hub"]);
    }
}
