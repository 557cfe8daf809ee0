// SPDX-License-Identifier: GPL-2.0-only
//! The verb `ops`: run a file of operations and print the digest of the state after each, make such
//! a file at random, shrink one that fails.

mod file;
mod generated;
mod judge;
mod shrunk;

pub use judge::{Failure, FailureKind, Finding, find, judge};
pub use shrunk::shrink_with;

use super::text::check_feature;
use crate::compare::parse_patches;
use crate::compare::side::Side;
use crate::error::{EXIT_FINE, Error, Result, quote};
use crate::soak::found::bug_by_id;
use sched_core::patches::Patches;
use std::fs;
use std::io::{self, Read, Write};

/// Run, make or shrink files of operations (.ops).
#[derive(Debug, clap::Args)]
pub struct OpsArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Run a file and print a digest of the state after each operation.
    ///
    /// Standard output has one line an operation (each statement but `at`), `N core=HASH
    /// pelt=HASH`: the 64-bit FNV-1a hashes of two texts that name every field of every runqueue,
    /// group and task. Revision, features and patches go to standard error.
    ///
    /// Exit codes: 0 fine; 1 the class warned (WARN_ON_ONCE), panicked or (with --check) violated
    /// an invariant or hung; 2 a bad statement, named by line and column (the digests of those before it
    /// are printed); 3 not possible here.
    Run(file::RunArgs),
    /// Make a file of random operations, all of them legal.
    ///
    /// The same seed makes the same file on any machine. Without --cpus and --groups the stream is for
    /// one CPU and the root group.
    ///
    /// Exit codes: 0 fine; 1 the class warned (WARN_ON_ONCE) or panicked while the file was made; 2 bad
    /// input.
    Gen(generated::GenArgs),
    /// Make a failing file as small as possible.
    ///
    /// A file fails if an invariant of the class does not hold, if a WARN_ON_ONCE() comes true, if
    /// the class panics or loops for ever, or (with --patch) if base and patch come to different
    /// states. The result fails in the same way; statements that are not legal are stepped over on
    /// the way to it.
    ///
    /// Exit codes: 0 the file does not fail; 1 it does, and the small one is printed; 2 bad input;
    /// 3 not possible here.
    Shrink(shrunk::ShrinkArgs),
    /// Run a file on the kernel's own code (`fairlab oracle`) and write its digests.
    ///
    /// Exit codes: 0 fine; 1 the kernel gave up; 2 a bad statement; 3 there is no oracle.
    Record(crate::oracle::record::RecordArgs),
}

/// Does what `args` ask for; results go to `out`, remarks to standard error. Returns the exit code.
///
/// A reader of `out` that goes away (`| head`) ends it quietly.
///
/// # Errors
/// The input cannot be read or is wrong, or the output cannot be written.
pub fn main(args: &OpsArgs, out: &mut dyn Write) -> Result<u8> {
    let done = match &args.verb {
        Verb::Run(args) => file::run(args, out),
        Verb::Gen(args) => generated::generate(args, out),
        Verb::Shrink(args) => shrunk::shrink(args, out),
        Verb::Record(args) => crate::oracle::record::main(args, out),
    };
    match done {
        Err(error) if error.is_closed_pipe() => Ok(EXIT_FINE),
        done => done,
    }
}

/// What is changed about the machine that a file describes.
#[derive(Debug, clap::Args)]
struct Changes {
    /// Change scheduler features, after the header's: NAME or NO_NAME, as in debugfs.
    #[arg(long, value_name = "NAME,NO_NAME,...", value_delimiter = ',')]
    features: Vec<String>,
    /// Switch patch ideas on, as for `fairlab compare`.
    #[arg(long, value_name = "PATCH,...")]
    patch: Option<String>,
    /// Put a bug of the museum back.
    #[arg(long, value_name = "ID", hide = !cfg!(feature = "museum"))]
    bug: Option<String>,
}

impl Changes {
    fn patches(&self) -> Result<Patches> {
        self.patch.as_deref().map_or(Ok(Patches::empty()), parse_patches)
    }

    /// The class with these changes; its laws are checked, too.
    fn side(&self) -> Result<Side> {
        let bug = self.bug.as_deref().map(bug_by_id).transpose()?;
        Ok(Side { patches: self.patches()?, bug, laws: true })
    }

    fn features(&self) -> Result<Vec<String>> {
        checked_features(&self.features)
    }
}

fn checked_features(words: &[String]) -> Result<Vec<String>> {
    let words = words.iter().flat_map(|word| word.split_whitespace());
    words
        .map(|word| match check_feature(word) {
            Ok(()) => Ok(word.to_string()),
            Err((what, remedy)) => Err(Error::bad_argument(format!("--features: {what}"), remedy)),
        })
        .collect()
}

/// The whole of a file; `-` is standard input.
fn read(path: &str) -> Result<Vec<u8>> {
    let bytes = match path {
        "-" => {
            let mut bytes = Vec::new();
            io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
        }
        path => fs::read(path),
    };
    bytes.map_err(|source| Error::read(path, source))
}

/// Writes to a file, or to `out` where none is named.
fn write(path: Option<&str>, out: &mut dyn Write, bytes: &[u8]) -> Result<()> {
    match path {
        Some(path) => fs::write(path, bytes).map_err(|source| Error::write(path, source)),
        None => print(out, bytes).and_then(|()| flush(out)),
    }
}

fn print(out: &mut dyn Write, bytes: &[u8]) -> Result<()> {
    out.write_all(bytes).map_err(|source| Error::write("standard output", source))
}

fn flush(out: &mut dyn Write) -> Result<()> {
    out.flush().map_err(|source| Error::write("standard output", source))
}

/// A line on standard error. That it cannot be written is no reason to stop.
fn remark(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// What a result depends on, in one line.
fn setting(features: &[String], patches: Option<&str>, seed: Option<u64>) -> String {
    let features = match features {
        [] => "defaults".to_string(),
        changed => changed.join(" "),
    };
    let seed = seed.map_or_else(|| "none".to_string(), |seed| seed.to_string());
    let patches = patches.unwrap_or("none");
    let version = crate::REVISION;
    format!(
        "# fairlab {version}, class v7.3, features: {features}, patches: {patches}, seed: {seed}"
    )
}

/// A path in messages.
fn shown(path: &str) -> String {
    if path == "-" { "standard input".to_string() } else { quote(path) }
}
