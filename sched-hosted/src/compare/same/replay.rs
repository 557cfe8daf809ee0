// SPDX-License-Identifier: GPL-2.0-only
//! A finding as a file that replays it: shrunk first, within a small budget.

use super::lockstep::{Lockstep, Log};
use super::{Episode, Wrong};
use crate::compare::Plan;
use crate::compare::guard::quietly;
use crate::compare::side::{Side, Watch};
use crate::error::{Error, Result};
use crate::ops::{Class, Op, Program, text};
use crate::shrink::shrink;
use crate::sim::Drive;
use crate::workload::kind::program;
use serde::Serialize;
use std::path::PathBuf;

/// A file that replays a finding.
#[derive(Clone, Debug, Serialize)]
pub struct Replay {
    /// Where it is.
    pub file: String,
    /// Its statements.
    pub statements: usize,
    /// Statements of the run in which it was found, up to the finding.
    pub shrunk_from: u64,
    /// The command that shows the state after its last operation.
    pub command: String,
}

/// What a replay is to show.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// A difference.
    Difference,
    /// Something that goes wrong in this way.
    Wrong(&'static str),
}

impl Wanted {
    fn shows(self, log: &Log) -> bool {
        match self {
            Wanted::Difference => log.difference.is_some(),
            Wanted::Wrong(kind) => log.wrong.as_ref().is_some_and(|wrong| wrong.kind == kind),
        }
    }

    /// The word for it in the name of the file.
    fn word(self) -> &'static str {
        match self {
            Wanted::Difference => "difference",
            Wanted::Wrong(_) => "violation",
        }
    }
}

/// Operations that a shrink may carry out, on each side; what is long gets fewer tries.
const BUDGET_OPS: u64 = 2_000_000;
/// Tries that even the longest gets, and that the shortest does not exceed.
const TRIES: (u64, u64) = (60, 5_000);

/// Whether `side` alone goes wrong in that way, given the episode's operations; those that are not legal there are
/// left out.
///
/// Errors: those of the driver.
pub(super) fn goes_wrong(side: Side, episode: &Episode, kind: &'static str) -> Result<bool> {
    Ok(Wanted::Wrong(kind).shows(&outcome(side, side, &as_program(episode))?))
}

fn as_program(episode: &Episode) -> Program {
    program(episode.header.clone(), episode.names.clone(), &episode.log.ops)
}

/// What becomes of `program` on the two sides, in lockstep; statements that are not legal are left out.
fn outcome(base: Side, patch: Side, program: &Program) -> Result<Log> {
    let mut log = Log::default();
    let run = quietly(|| {
        base.with(&program.header, &program.names, Watch::default(), |base| {
            patch.with(&program.header, &program.names, Watch::default(), |patch| {
                play(&mut Lockstep::new(base, patch, &mut log), program);
            })
        })
    });
    match run {
        Ok(result) => result??,
        Err(what) => log.wrong = Some(Wrong { kind: "panic", what }),
    }
    Ok(log)
}

fn play<D: Drive>(drive: &mut D, program: &Program) {
    for statement in &program.statements {
        let legal = drive.class().check(&statement.op).is_ok();
        if legal && drive.run(&statement.op).is_break() {
            break;
        }
    }
}

/// Shrinks what was found in `found` and writes it to a file; none if it does not show again when it is replayed.
/// What becomes of the small program is returned with it.
///
/// Errors: the file cannot be written.
pub(super) fn save(
    plan: &Plan,
    found: &Episode,
    wanted: Wanted,
) -> Result<Option<(Episode, Replay)>> {
    let whole = as_program(found);
    let outcome = |program: &Program| outcome(plan.base, plan.patch, program).unwrap_or_default();
    let tries = (BUDGET_OPS / (whole.statements.len() as u64).max(1)).clamp(TRIES.0, TRIES.1);
    let mut shows = |candidate: &Program| wanted.shows(&outcome(candidate));
    let shrunk = shrink(&whole, tries, &mut shows, &mut |_| {});
    if !shrunk.failed {
        return Ok(None);
    }
    let log = outcome(&shrunk.program);
    let header = whole.header.clone();
    let small = Episode { header, names: whole.names.clone(), log };
    let replay = write(plan, &small, wanted, whole.statements.len() as u64)?;
    Ok(Some((small, replay)))
}

fn write(plan: &Plan, small: &Episode, wanted: Wanted, shrunk_from: u64) -> Result<Replay> {
    // What the log has is what was legal, up to the finding.
    let program = as_program(small);
    let path = path(plan, wanted);
    let shown = path.strip_prefix(".").unwrap_or(&path);
    let file = shown.display().to_string();
    std::fs::write(&path, text::print(&program)).map_err(|source| Error::write(&file, source))?;
    let operations = program.statements.iter().filter(|at| Op::is_operation(&at.op)).count();
    let command = format!("fairlab ops run {file} --patch {} --dump {operations}", plan.patch);
    Ok(Replay { file, statements: program.statements.len(), shrunk_from, command })
}

fn path(plan: &Plan, wanted: Wanted) -> PathBuf {
    let names = plan.patch.to_string().replace(',', "+");
    plan.out_dir.join(format!("fairlab-{names}-{}.ops", wanted.word()))
}
