//! Emulated clouds for following the guides without an account.

use std::path::PathBuf;

use anyhow::Result;
use warren_acceptance::sandbox::Sandbox;

use crate::build;

const HELP: &str = "\
Example, from the root of the clone:

  cargo xtask sandbox                      # in one terminal; it runs until Ctrl-C
  source target/sandbox/env                # in another
  terraform -chdir=examples/aws-hub-spoke init
  terraform -chdir=examples/aws-hub-spoke apply

For the gcp-* examples, set TF_VAR_endpoint_url=$SANDBOX_GOOGLE; for gpu-pods, set it to $SANDBOX_RUNPOD.

Nothing leaves this machine, and everything in the emulated clouds is gone when the sandbox stops.";

#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Arguments {
    /// Where to write the settings: `env` to source, and Terraform's CLI configuration [default: target/sandbox]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
}

/// Builds the programs, starts the clouds, and waits for Ctrl-C.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    println!(
        "Building the provider and the tunnel (a first build takes about ten minutes: the AWS SDK is large)."
    );
    let built = build::products()?;
    println!("Starting emulated clouds on loopback.");
    let folder = arguments.folder.clone().unwrap_or_else(|| build::target_folder().join("sandbox"));
    let sandbox = Sandbox::start(&folder, &built)?;
    for (cloud, url) in sandbox.endpoints() {
        println!("  {cloud:<13} {url}");
    }
    println!("\nReady. In another terminal:\n\n  source {}\n", sandbox.env().display());
    println!(
        "Then run Terraform, for example in examples/aws-hub-spoke, or follow docs/guides/first-fabric.md."
    );
    println!("Press Ctrl-C to stop.");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut terminated = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
        tokio::select! {
            interrupted = tokio::signal::ctrl_c() => interrupted,
            _ = terminated.recv() => Ok(()),
        }
    })?;
    drop(sandbox);
    println!("\nStopped. Everything in the emulated clouds is gone.");
    Ok(())
}
