// SPDX-License-Identifier: GPL-2.0-only
//! `fairlab ops shrink`.

use super::judge::{Failure, FailureKind, judge};
use super::{Changes, read, remark, setting, shown, write};
use crate::error::{EXIT_DIFFERENCE, EXIT_FINE, Result};
use crate::ops::Program;
use crate::ops::text::{parse_program, print};
use crate::shrink::{self, Shrunk};
use indicatif::ProgressBar;
use std::io::Write;

#[derive(Debug, clap::Args)]
pub struct ShrinkArgs {
    /// The file; - is standard input.
    file: String,
    /// The failure to look for; any that comes first if none is named. A difference needs --patch.
    #[arg(long, value_name = "KIND")]
    fails_with: Option<FailureKind>,
    /// How many candidates are tried at most.
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    budget: u64,
    /// The file to write; standard output if none is named.
    #[arg(long, value_name = "FILE")]
    out: Option<String>,
    #[command(flatten)]
    changes: Changes,
}

pub(super) fn shrink(args: &ShrinkArgs, out: &mut dyn Write) -> Result<u8> {
    let side = args.changes.side()?;
    let features = args.changes.features()?;
    let mut program = parse_program(&args.file, &read(&args.file)?)?;
    program.header.features.extend(features);
    remark(&setting(&program.header.features, args.changes.patch.as_deref(), None));
    let wanted = match args.fails_with {
        Some(kind) => vec![kind],
        None => FailureKind::ALL.to_vec(),
    };
    let Some(failure) = judge(&program, side, &wanted)? else {
        remark(&format!("{} does not fail: there is nothing to shrink", shown(&args.file)));
        return Ok(EXIT_FINE);
    };
    let result = shrink_with(&program, args.budget, &failure, &mut |candidate| {
        // The header stays as it is, and it was accepted above.
        judge(candidate, side, &[failure.kind]).unwrap_or(None)
    });
    // The failure as the small program shows it: other numbers, perhaps other tasks.
    let failure = judge(&result.program, side, &[failure.kind])?.unwrap_or(failure);
    remark(&summary(&program, &result, &failure));
    write(args.out.as_deref(), out, text(args, &program, &result, &failure).as_bytes())?;
    Ok(EXIT_DIFFERENCE)
}

/// Shrinks `program` while `judge` finds a failure that is like `failure`, with at most `budget`
/// calls of it. Progress is shown on standard error if that is a terminal.
pub fn shrink_with(
    program: &Program,
    budget: u64,
    failure: &Failure,
    judge: &mut dyn FnMut(&Program) -> Option<Failure>,
) -> Shrunk {
    let bar = ProgressBar::new_spinner();
    let mut fails =
        |candidate: &Program| judge(candidate).is_some_and(|found| found.is_like(failure));
    let result = shrink::shrink(program, budget, &mut fails, &mut |progress| {
        bar.set_message(format!("{} statements, {} tries", progress.statements, progress.calls));
        bar.tick();
    });
    bar.finish_and_clear();
    result
}

fn summary(program: &Program, result: &Shrunk, failure: &Failure) -> String {
    let (from, to) = (program.statements.len(), result.program.statements.len());
    let calls = result.calls;
    let end = if result.complete { "" } else { " (the budget is used up: more may go)" };
    format!("# {failure}\n# {from} statements shrunk to {to} in {calls} tries{end}")
}

/// The small program, with a comment on what it shows and how.
fn text(args: &ShrinkArgs, program: &Program, result: &Shrunk, failure: &Failure) -> String {
    let text = print(&result.program);
    let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
    let patch = args.changes.patch.as_ref().map_or_else(String::new, |p| format!(" with {p}"));
    let from = program.statements.len();
    let version = crate::REVISION;
    let made = format!("# fairlab {version}: shrunk from {from} statements");
    format!("{first}\n{made}; fails{patch}: {failure}\n{rest}")
}
