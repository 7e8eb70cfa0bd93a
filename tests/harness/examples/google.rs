//! Serves the double of Google Cloud until standard input closes, and says where:
//!
//! ```sh
//! cargo run -p warren-harness --example google
//! ```

#![expect(clippy::print_stdout, reason = "the endpoint is this program's answer")]

use std::io::Read as _;

use warren_harness::{Google, GoogleConfig};

fn main() -> anyhow::Result<()> {
    let google = Google::start(GoogleConfig { polls: 1, ..GoogleConfig::default() })?;
    println!("{}", google.endpoint());
    std::io::stdin().read_to_end(&mut Vec::new())?;
    for violation in google.front().violations() {
        println!("{violation}");
    }
    google.left().iter().for_each(|name| println!("left: {name}"));
    Ok(())
}
