//! The `dshkit` program: everything it does is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    dshkit::cli::run()
}
