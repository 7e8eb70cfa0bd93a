//! The kernel's WireGuard in the smallest machine that has it: `cargo xtask vm` tests more.

use std::process::Command;

#[test]
fn debians_kernel_meets_the_tunnel() {
    let output =
        Command::new(env!("CARGO_BIN_EXE_warren-vm")).args(["--ci", "--deadline", "500"]).output().unwrap();
    let told = [output.stdout, output.stderr].concat();
    let told = String::from_utf8_lossy(&told);
    assert!(output.status.success() && told.contains("1 passed, 0 failed"), "{told}");
    println!("{told}");
}
