// SPDX-License-Identifier: GPL-2.0-only
//! The command line: its verbs, their options and what they say about themselves.

mod bench;
mod check;
mod compare;
mod museum;

pub(crate) use compare::duration_ns;

use crate::error::{EXIT_BAD_INPUT, EXIT_FINE, Error, Result};
use crate::ops;
use clap::{CommandFactory, Parser, Subcommand};
use std::io::Write;

const ABOUT: &str =
    "Is a patch to the kernel's fair class safe, does it change anything, what does it cost?";

const LONG_ABOUT: &str = "\
Is a patch to the kernel's fair class safe, does it change anything, what does it cost?

fairlab has the fair class (EEVDF) of Linux v7.3 in Rust, function by function as fair.c has it, and drives base and \
patch side by side in one process: no kernel to build, no machine to boot, the same answer for the same seed.";

const AFTER: &str = "\
Exit codes:
  0  fine (compare: the patch is safe and changes no state)
  1  a difference or a violation
  2  bad input: a file, a statement or an argument is wrong
  3  not possible here

Not modelled: the choice of a CPU and balancing (a task is where the input says), other classes, NUMA, \
core scheduling, uclamp, PSI, energy, HRTICK. The CFS of 6.1, SD and O(1) are not there yet.

Try:
  fairlab compare skip-dequeue-charge
  fairlab compare --help";

#[derive(Parser)]
#[command(name = "fairlab", version = crate::REVISION, about = ABOUT, long_about = LONG_ABOUT, after_help = AFTER)]
#[command(max_term_width = 100, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Subcommand)]
enum Verb {
    /// Compares the class with and without a patch: safe, same, how often, cost, time, verdict
    Compare(compare::CompareArgs),
    /// Looks for faults: random legal operations against every invariant, shrunk to a few lines if one breaks
    Check(check::CheckArgs),
    /// Puts real bugs of the past back, and tells whether `check` finds them
    Museum(museum::MuseumArgs),
    /// What single fast paths cost, beside the kernel's own code or with a patch
    Bench(bench::BenchArgs),
    /// Runs, makes and shrinks .ops files: the class operation by operation, with the state after each
    Ops(ops::run::OpsArgs),
    /// Compares the class here with the kernel's own code, operation by operation
    Diff(crate::oracle::diff::DiffArgs),
    /// Builds, fetches and describes the kernel oracle: the kernel's own fair.c
    Oracle(crate::oracle::OracleArgs),
    /// Each function here beside the kernel's in a tree: missing, moved, changed
    Map(crate::map::MapArgs),
    /// A program on standard input, judged for another process
    #[command(hide = true)]
    Judge(crate::soak::JudgeArgs),
}

/// Runs the program on the process's arguments; its exit code.
pub fn main() -> u8 {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() => {
            eprintln!("fairlab: {}", one_line(&error.render().to_string()));
            return EXIT_BAD_INPUT;
        }
        Err(help) => {
            // Help and version come this way too. A closed pipe is no error.
            let _ = help.print();
            return EXIT_FINE;
        }
    };
    let mut out = std::io::stdout().lock();
    match run(cli, &mut out) {
        Ok(code) => code,
        Err(error) if error.is_closed_pipe() => EXIT_FINE,
        Err(error) => {
            eprintln!("fairlab: {error}");
            error.exit_code()
        }
    }
}

fn run(cli: Cli, out: &mut dyn Write) -> Result<u8> {
    match cli.verb {
        Some(Verb::Compare(args)) => compare::main(&args, out),
        Some(Verb::Bench(args)) => bench::main(&args, out),
        Some(Verb::Check(args)) => check::main(&args, out),
        Some(Verb::Museum(args)) => museum::main(&args, out),
        Some(Verb::Judge(args)) => crate::soak::serve(&args, out),
        Some(Verb::Ops(args)) => ops::run::main(&args, out),
        Some(Verb::Diff(args)) => crate::oracle::diff::main(&args, out),
        Some(Verb::Oracle(args)) => crate::oracle::main(&args, out),
        Some(Verb::Map(args)) => crate::map::main(&args, out),
        None => {
            let help = Cli::command().render_help();
            print(out, &help.to_string())?;
            Ok(EXIT_FINE)
        }
    }
}

/// What clap has to say about a wrong command line, on one line.
fn one_line(message: &str) -> String {
    let mut text = String::new();
    for line in message.lines().map(str::trim) {
        if line.is_empty() || line.starts_with("For more information") {
            continue;
        }
        if !text.is_empty() {
            text.push_str(if text.ends_with(':') { " " } else { "; " });
        }
        text.extend(line.trim_start_matches("error: ").chars().filter(|c| !c.is_control()));
    }
    text.push_str("; see --help");
    text
}

/// Writes `text` to standard output.
fn print(out: &mut dyn Write, text: &str) -> Result<()> {
    let wrote = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    wrote.map_err(|source| Error::write("standard output", source))
}

#[cfg(test)]
mod tests {
    use super::Cli;
    use clap::CommandFactory;

    #[test]
    fn the_definition_of_the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}
