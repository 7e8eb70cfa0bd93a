//! The kernel's WireGuard and forwarding with nftables, in the smallest machine that has both: `cargo xtask vm` tests more.

use std::process::Command;

#[test]
fn debians_kernel_meets_the_tunnel() {
    let output =
        Command::new(env!("CARGO_BIN_EXE_warren-vm")).args(["--ci", "--deadline", "500"]).output().unwrap();
    let told = [output.stdout, output.stderr].concat();
    let told = String::from_utf8_lossy(&told);
    assert!(output.status.success() && told.contains("2 passed, 0 failed"), "{told}");
    println!("{told}");
}
