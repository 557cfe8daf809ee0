// SPDX-License-Identifier: GPL-2.0-only
//! Programs that may hang, judged in a process of their own: a thread that hangs cannot be ended, a process can.

use super::watchdog::Watchdog;
use crate::compare::parse_patches;
use crate::compare::side::Side;
use crate::error::{EXIT_FINE, Error, Result, quote};
use crate::ops::Program;
use crate::ops::class::Depth;
use crate::ops::run::{Failure, FailureKind, Finding, find};
use crate::ops::text::{parse_program, print};
use sched_core::museum::{Bug, TRIAL, exhibits};
use sched_core::patches::Patches;
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How a class is told on the command line of another process.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct JudgeArgs {
    /// The patches.
    #[arg(long)]
    patch: Option<String>,
    /// The bug of the museum.
    #[arg(long)]
    bug: Option<String>,
    /// Cheap checks only.
    #[arg(long)]
    cheap: bool,
    /// An operation that takes longer hangs.
    #[arg(long, default_value_t = 300)]
    hung_after_ms: u64,
}

/// What is found, on its way from one process to the other.
#[derive(Debug, Serialize, Deserialize)]
struct Answer {
    /// None if the program does not fail.
    kind: Option<FailureKind>,
    what: String,
    key: String,
    /// The indices of the statements that were carried out.
    kept: Vec<usize>,
}

/// The bug whose name is, or begins with, `id`.
///
/// # Errors
/// There is none; or this program was built without the museum.
pub fn bug_by_id(id: &str) -> Result<Bug> {
    let found = exhibits().chain(TRIAL).find(|exhibit| {
        exhibit.id.eq_ignore_ascii_case(id)
            || exhibit.id.split('-').next().is_some_and(|short| short.eq_ignore_ascii_case(id))
    });
    if !cfg!(feature = "museum") {
        return Err(Error::not_possible(
            "this program was built without the museum",
            "build it with: cargo run --release --features museum -- museum",
        ));
    }
    found.map(|exhibit| exhibit.bug).ok_or_else(|| {
        let remedy = "'fairlab museum' lists them, like A01 or A01-avg-floor";
        Error::bad_argument(format!("there is no bug {} in the museum", quote(id)), remedy)
    })
}

/// The name of a bug.
pub fn bug_id(bug: Bug) -> &'static str {
    exhibits().chain(TRIAL).find(|exhibit| exhibit.bug == bug).map_or("?", |exhibit| exhibit.id)
}

impl JudgeArgs {
    fn side(&self) -> Result<Side> {
        let patches = self.patch.as_deref().map_or(Ok(Patches::empty()), parse_patches)?;
        let bug = self.bug.as_deref().map(bug_by_id).transpose()?;
        Ok(Side { patches, bug, laws: true })
    }
}

/// The other process: reads a program from standard input and writes the answer.
///
/// # Errors
/// The program or an argument is wrong.
pub fn serve(args: &JudgeArgs, out: &mut dyn Write) -> Result<u8> {
    let side = args.side()?;
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().read_to_end(&mut bytes);
    read.map_err(|source| Error::read("-", source))?;
    let program = parse_program("-", &bytes)?;
    let kept = Arc::new(Mutex::new(Vec::new()));
    let (kept_so_far, after) = (Arc::clone(&kept), Duration::from_millis(args.hung_after_ms));
    let watchdog = Watchdog::new(after, move |_| answer_hung(&kept_so_far, after));
    let depth = if args.cheap { Depth::Cheap } else { Depth::Full };
    let found = find(&program, side, depth, &mut |at| {
        watchdog.begin(at);
        kept.lock().unwrap_or_else(PoisonError::into_inner).push(at);
    })?;
    let kept = kept.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let answer = match found.map(|finding| finding.failure) {
        None => Answer { kind: None, what: String::new(), key: String::new(), kept },
        Some(Failure { kind, what, key, .. }) => Answer { kind: Some(kind), what, key, kept },
    };
    let wrote = serde_json::to_writer(out, &answer).map_err(std::io::Error::from);
    wrote.map_err(|source| Error::write("standard output", source))?;
    Ok(EXIT_FINE)
}

/// The process has stood still: it ends, with an answer.
fn answer_hung(kept: &Mutex<Vec<usize>>, after: Duration) -> ! {
    let kept = kept.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let failure = hung(after);
    let answer = Answer { kind: Some(failure.kind), what: failure.what, key: failure.key, kept };
    // The main thread holds the lock of standard output.
    let text = serde_json::to_string(&answer).unwrap_or_default();
    let _ = std::io::stderr().write_all(text.as_bytes());
    std::process::exit(i32::from(HUNG));
}

/// The exit code of the other process when it hung; its answer is on standard error then.
const HUNG: u8 = 101;

/// A hang after so long.
pub(super) fn hung(after: Duration) -> Failure {
    Failure::hang(format!("it has not ended after {:.1} s", after.as_secs_f32()))
}

/// How `program` fails on `side`, found out in another process; none if it does not, or if that process cannot be
/// had.
pub(super) fn judge(
    program: &Program,
    side: Side,
    depth: Depth,
    hung_after: Duration,
) -> Option<Finding> {
    let answer = ask(program, side, depth, hung_after)?;
    let mut failure = Failure::panic(answer.what);
    failure.kind = answer.kind?;
    failure.key = answer.key;
    let statements = answer.kept.iter().filter_map(|&at| program.statements.get(at)).copied();
    Some(Finding { failure, statements: statements.collect() })
}

fn ask(program: &Program, side: Side, depth: Depth, hung_after: Duration) -> Option<Answer> {
    let mut command = Command::new(std::env::current_exe().ok()?);
    command.arg("judge").args(["--hung-after-ms", &hung_after.as_millis().to_string()]);
    if !side.patches.is_empty() {
        command.args(["--patch", &side.to_string()]);
    }
    if let Some(bug) = side.bug {
        command.args(["--bug", bug_id(bug)]);
    }
    if depth == Depth::Cheap {
        command.arg("--cheap");
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().ok()?;
    if let Some(mut stdin) = child.stdin.take() {
        // One that does not want to read it says why with its exit code.
        let _ = stdin.write_all(print(program).as_bytes());
    }
    let output = child.wait_with_output().ok()?;
    let text = match output.status.code() {
        Some(code) if code == i32::from(HUNG) => output.stderr,
        _ => output.stdout,
    };
    serde_json::from_slice(&text).ok()
}
