//! The `tailorbird` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    tailorbird::cli::main()
}
