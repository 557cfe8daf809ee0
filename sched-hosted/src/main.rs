// SPDX-License-Identifier: GPL-2.0-only
//! The program `fairlab`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(sched_hosted::cli::main())
}
