//! Debian's kernels in QEMU.

use anyhow::Result;

use crate::build;

/// Builds the tunnel and what runs it in a machine, and starts the command: a program of its own, so that this one needs no
/// part of the tunnel.
pub(crate) fn run(rest: &[String]) -> Result<()> {
    let mut command = build::cargo();
    command.args([
        "build",
        "--locked",
        "--bin",
        "warren-tunnel",
        "--bin",
        "warren-vm-guest",
        "--bin",
        "warren-vm",
    ]);
    build::success(&mut command, "building the binaries")?;
    let program = build::target_folder().join("debug/warren-vm");
    build::success(std::process::Command::new(program).args(rest), "the command")
}
