//! The offline command `warren`.

fn main() -> std::process::ExitCode {
    warren_cli::main()
}
