//! Measurements. None of them is a test, because results depend on the machine.

pub(crate) mod page;
mod provider;
pub(crate) mod record;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use clap::ValueEnum;
use serde_json::Value;
use warren_harness::workspace_root;

use crate::build;
use crate::docs::output::Output;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum What {
    /// The tunnel, against other implementations of WireGuard. Needs root for network namespaces
    Tunnel,
    /// The tunnel without privileges, against other user-space clients. Needs root for network namespaces
    Pod,
    /// Gateways that forward in the kernel and through sockets. Needs root for network namespaces
    Forward,
    /// Enrolment of many pods, and failover when gateways die. Needs root for network namespaces
    Gateway,
    /// The address solver, against other crates and Python's netaddr
    Cidr,
    /// The provider: size, start, memory, and plan and apply of 1,000 resources
    Provider,
}

impl What {
    /// Its name on the command line.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

/// Runs a measurement. With `keep`, stores its figures and draws `docs/benchmarks.md` again.
pub(crate) fn run(what: What, keep: bool, rest: &[String]) -> Result<()> {
    ensure!(
        rest.is_empty() || !matches!(what, What::Cidr | What::Provider),
        "`bench cidr` and `bench provider` accept no further arguments"
    );
    let figures = match what {
        What::Cidr => cidr(),
        What::Provider => provider::measure(),
        What::Tunnel => tunnel(what, &[], rest),
        What::Pod => tunnel(what, &["--pod"], rest),
        What::Forward => tunnel(what, &["--forward"], rest),
        What::Gateway => tunnel(what, &["--gateway"], rest),
    }?;
    if keep {
        record::keep(what, rest, figures)?;
        let mut output = Output::default();
        page::pages(&mut output)?;
        output.finish(false, true)?;
    }
    Ok(())
}

/// Builds the measured programs and the measuring ones with the profile of a release, and measures.
fn tunnel(what: What, part: &[&str], rest: &[String]) -> Result<Value> {
    let arguments = ["build", "--profile", "tunnel", "--bins", "--locked"];
    let packages = ["--package", "warren-tunnel", "--package", "warren-tunnel-tests"];
    build::success(build::cargo().args(arguments).args(packages), "building the tunnel")?;
    let program = build::target_folder().join("tunnel/tunnel-bench");
    let figures = figures_of(what);
    build::success(
        Command::new(program).args(part).args(rest).arg("--json").arg(&figures),
        "the measurement",
    )?;
    read(&figures)
}

fn cidr() -> Result<Value> {
    build::success(build::cargo().args(["bench", "--package", "warren-cidr"]), "the benches of the solver")?;
    let script = workspace_root().join("tests/benches/cidr/compare.py");
    let figures = figures_of(What::Cidr);
    build::success(Command::new("python3").arg(script).arg(&figures), "the comparison with netaddr")?;
    read(&figures)
}

fn figures_of(what: What) -> PathBuf {
    build::target_folder().join(format!("bench-{}.json", what.name()))
}

fn read(path: &Path) -> Result<Value> {
    let text = std::fs::read_to_string(path).with_context(|| format!("no figures in {}", path.display()))?;
    Ok(serde_json::from_str(&text)?)
}
