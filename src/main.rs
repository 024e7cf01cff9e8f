//! The `tandem` program; everything is in [`tandem::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    tandem::cli::main()
}
