//! `warren`: checks address plans and Terraform plans without credentials.

use std::process::ExitCode;

fn main() -> ExitCode {
    warren_cli::main()
}
