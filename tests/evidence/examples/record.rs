//! Prints entries of the corpus for the calls that a cloud refused: `terraform apply -json | tee run.jsonl`, then
//! `cargo run -p warren-evidence --example record < run.jsonl`.

#![expect(clippy::print_stdout, reason = "the entries are what it is for")]

use std::io::Read as _;

fn main() -> std::io::Result<()> {
    let mut output = String::new();
    std::io::stdin().read_to_string(&mut output)?;
    println!("{}", warren_evidence::record(&output));
    Ok(())
}
