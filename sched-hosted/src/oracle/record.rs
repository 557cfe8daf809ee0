// SPDX-License-Identifier: GPL-2.0-only
//! The verb `ops record`: what the kernel's own code does with a file, as a golden file to compare with later.

use super::class::OracleClass;
use super::{Kernel, say};
use crate::error::{EXIT_DIFFERENCE, EXIT_FINE, Error, Result};
use crate::ops::Class;
use crate::ops::digest::Digester;
use crate::ops::text::parse_program;
use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Options of `ops record`.
#[derive(Debug, clap::Args)]
pub struct RecordArgs {
    /// The file of operations.
    file: String,
    /// Where the digests go: FILE with .expect for .ops if not given; - is standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<String>,
    /// Write the digest of each K-th operation only.
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    digest_every: u64,
    /// The kernel source tree; that of $LINUX_SRC, or the one built last, if not given.
    #[arg(long, value_name = "TREE")]
    linux: Option<PathBuf>,
}

/// Runs the file on the kernel's own code and writes the digests.
///
/// # Errors
/// There is no oracle, or the file cannot be read, is wrong, or cannot be written.
pub fn main(args: &RecordArgs, out: &mut dyn Write) -> Result<u8> {
    let kernel = Kernel::find(args.linux.as_deref())?;
    let bytes = std::fs::read(&args.file).map_err(|source| Error::read(&args.file, source))?;
    let program = parse_program(&args.file, &bytes)?;
    let mut class = OracleClass::new(kernel.load()?, &program.header, &program.names)?;
    let mut digester = Digester::new();
    let mut text = String::new();
    let mut done = 0_u64;
    for statement in &program.statements {
        if let Err(refusal) = class.check(&statement.op) {
            return Err(Error::bad_input(
                &args.file,
                statement.line,
                1,
                refusal.what,
                refusal.remedy,
            ));
        }
        class.run(&statement.op);
        if let Some(complaint) = class.gave_up() {
            say(
                out,
                &format!("{}:{}: the kernel gave up: {complaint}\n", args.file, statement.line),
            )?;
            return Ok(EXIT_DIFFERENCE);
        }
        done += u64::from(statement.op.is_operation());
        if statement.op.is_operation() && done.is_multiple_of(args.digest_every) {
            // Writing to a String does not fail.
            let _ = writeln!(text, "{done} {}", digester.digest(&class));
        }
    }
    let path = args
        .out
        .clone()
        .unwrap_or_else(|| Path::new(&args.file).with_extension("expect").display().to_string());
    if path == "-" {
        say(out, &text)?;
    } else {
        std::fs::write(&path, &text).map_err(|source| Error::write(&path, source))?;
        say(out, &format!("{path}: {done} operations of {}, {}\n", args.file, kernel.shown()))?;
    }
    if let Some(complaint) = class.oracle().complaint() {
        eprintln!("fairlab: the kernel warned {} times, first: {complaint}", complaint.count);
    }
    Ok(EXIT_FINE)
}
