// SPDX-License-Identifier: GPL-2.0-only
//! What was found: made small, told, and written to a file that replays it.

use super::explain::Explanation;
use super::{Hit, Plan, remote};
use crate::compare::side::Side;
use crate::error::{Error, Result};
use crate::ops::class::Depth;
use crate::ops::run::{Failure, FailureKind, Finding, find};
use crate::ops::text::{parse_program, print};
use crate::ops::{Names, Op, Program, Statement, TaskName};
use crate::shrink::{Effort, Shrunk, reduce};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use super::remote::{bug_by_id, bug_id};

/// What a shrink may cost: some seconds.
const EFFORT: Effort = Effort { calls: 200_000, statements: 8_000_000 };
/// The same where each candidate is a process.
const REMOTE_EFFORT: Effort = Effort { calls: 3_000, statements: 3_000_000 };
/// A candidate that stands still for so long hangs.
const HUNG_AFTER: Duration = Duration::from_millis(150);
/// How often the shrinking thread is looked after.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// So many looks without progress: a hang. A candidate has more to do at a time than the other process.
const LOOKS: u32 = 200;

/// A failure, made small.
#[derive(Clone, Debug)]
pub struct Found {
    /// The run in which it was found.
    pub run: u64,
    /// The time from the start to the finding.
    pub after: Duration,
    /// What is left of it.
    pub program: Program,
    /// How that fails.
    pub failure: Failure,
    /// The same in words.
    pub explanation: Explanation,
    /// Statements up to the failure as it was found.
    pub shrunk_from: usize,
    /// Candidates that were tried.
    pub tries: u64,
    /// Nothing more could go.
    pub complete: bool,
}

impl Found {
    /// Makes `hit` small.
    pub fn of(plan: &Plan, hit: &Hit) -> Self {
        let shrunk_from = hit.program.statements.len();
        let side = plan.side;
        let (result, failure) = Shrinking::new(side, hit).run();
        let (program, failure) = tidy(result.program, side, failure);
        let explanation = Explanation::of(&program, side, &failure);
        let Hit { run, after, .. } = *hit;
        let (tries, complete) = (result.calls, result.complete);
        Found { run, after, program, failure, explanation, shrunk_from, tries, complete }
    }

    /// Statements beyond those that make groups and tasks: what is to be understood.
    pub fn beyond(&self) -> usize {
        let makes =
            |s: &&Statement| matches!(s.op, Op::Group { .. } | Op::Task { .. } | Op::New { .. });
        self.program.statements.len() - self.program.statements.iter().filter(makes).count()
    }

    /// Writes it to a file in `dir`; its path, as it is to be shown, and the command that replays it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, plan: &Plan, dir: &Path) -> Result<(String, String)> {
        let path = dir.join(self.file_name(plan));
        let path = path.strip_prefix(".").unwrap_or(&path);
        let file = path.display().to_string();
        let command = format!("fairlab ops run {file} --check --digest-every 0{}", options(plan));
        let text = self.text(plan, &command);
        std::fs::write(path, text).map_err(|source| Error::write(&file, source))?;
        Ok((file, command))
    }

    fn file_name(&self, plan: &Plan) -> String {
        let class = match plan.side.bug {
            Some(bug) => bug_id(bug).to_string(),
            None if plan.side.patches.is_empty() => "base".to_string(),
            None => plan.side.to_string().replace(',', "+"),
        };
        let label = self.failure.label().to_lowercase();
        format!("{class}-{label}-seed{}-run{}.ops", plan.mix.seed, self.run)
    }

    fn text(&self, plan: &Plan, command: &str) -> String {
        let program = print(&self.program);
        let (first, rest) = program.split_once('\n').unwrap_or((&program, ""));
        let mut text = format!("{first}\n# {}\n", self.explanation.sentence);
        for line in &self.explanation.table {
            text.push_str(&format!("#   {line}\n"));
        }
        let class = match options(plan) {
            none if none.is_empty() => String::new(),
            options => format!(", class with{options}"),
        };
        text.push_str(&format!(
            "# found by fairlab check {}: seed {}, run {}{class}; {} statements shrunk to {}\n\
             # replay: {command}\n",
            crate::REVISION,
            plan.mix.seed,
            self.run,
            self.shrunk_from,
            self.program.statements.len(),
        ));
        text + rest
    }
}

/// The options that make the class, each with a blank before it.
fn options(plan: &Plan) -> String {
    let mut options = String::new();
    if !plan.side.patches.is_empty() {
        options.push_str(&format!(" --patch {}", plan.side));
    }
    if let Some(bug) = plan.side.bug {
        options.push_str(&format!(" --bug {}", bug_id(bug)));
    }
    options
}

/// A shrink, in a thread of its own as long as nothing hangs.
struct Shrinking {
    side: Side,
    hit: Hit,
    shared: Arc<Progress>,
}

/// What is known of that thread.
#[derive(Default)]
struct Progress {
    /// Grows with each statement.
    beats: AtomicU64,
    over: AtomicBool,
    /// The smallest program so far, and the failure that is looked for.
    best: Mutex<Option<(Program, Failure)>>,
    result: Mutex<Option<(Shrunk, Failure)>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shrinking {
    fn new(side: Side, hit: &Hit) -> Self {
        Shrinking { side, hit: hit.clone(), shared: Arc::default() }
    }

    fn run(self) -> (Shrunk, Failure) {
        let by_guard = self.hit.failure.what.starts_with("endless loop");
        if self.hit.failure.kind != FailureKind::Hang || by_guard {
            let (side, hit, shared) = (self.side, self.hit.clone(), Arc::clone(&self.shared));
            let spawned = std::thread::Builder::new().spawn(move || {
                let result = here(side, &hit, &shared);
                *lock(&shared.result) = Some(result);
                shared.over.store(true, Relaxed);
            });
            if spawned.is_ok() && self.finishes() {
                let result = lock(&self.shared.result).take();
                return result.unwrap_or_else(|| unshrunk(&self.hit));
            }
        }
        let (program, failure) = lock(&self.shared.best)
            .take()
            .unwrap_or_else(|| (self.hit.program.clone(), self.hit.failure.clone()));
        elsewhere(self.side, &program, failure)
    }

    /// Waits for the thread; false if a candidate hangs.
    fn finishes(&self) -> bool {
        let (mut last, mut still) = (0, 0);
        while !self.shared.over.load(Relaxed) {
            std::thread::sleep(LOOK_EVERY);
            let now = self.shared.beats.load(Relaxed);
            still = if now == last { still + 1 } else { 0 };
            last = now;
            if still > LOOKS {
                return false;
            }
        }
        true
    }
}

fn unshrunk(hit: &Hit) -> (Shrunk, Failure) {
    let program = hit.program.clone();
    (Shrunk { program, calls: 1, complete: false, failed: false }, hit.failure.clone())
}

/// Shrinks in this process.
fn here(side: Side, hit: &Hit, shared: &Progress) -> (Shrunk, Failure) {
    let mut beat = |_| {
        shared.beats.fetch_add(1, Relaxed);
    };
    let mut look =
        |program: &Program, depth| find(program, side, depth, &mut beat).unwrap_or_default();
    // By brute force after each operation it may show earlier; cheaply it may show just as well.
    let Some(first) = look(&hit.program, Depth::Full) else { return unshrunk(hit) };
    let cheap = look(&hit.program, Depth::Cheap);
    let as_well = |cheap: &Finding| {
        cheap.statements.len() <= first.statements.len() && cheap.failure.is_like(&first.failure)
    };
    let cheap = cheap.filter(as_well);
    let depth = if cheap.is_some() { Depth::Cheap } else { Depth::Full };
    let target = first.failure;
    let mut judge = |candidate: &Program| {
        let finding = look(candidate, depth)?;
        if !finding.failure.is_like(&target) {
            return None;
        }
        let Program { header, names, .. } = candidate.clone();
        let best = Program { header, names, statements: finding.statements.clone() };
        *lock(&shared.best) = Some((best, target.clone()));
        Some(finding.statements)
    };
    let shrunk = reduce(&hit.program, EFFORT, &mut judge, &mut |_| {});
    (shrunk, target)
}

/// Shrinks with each candidate in another process.
fn elsewhere(side: Side, program: &Program, target: Failure) -> (Shrunk, Failure) {
    let mut judge = |candidate: &Program| {
        let finding = remote::judge(candidate, side, Depth::Full, HUNG_AFTER)?;
        finding.failure.is_like(&target).then_some(finding.statements)
    };
    let shrunk = reduce(program, REMOTE_EFFORT, &mut judge, &mut |_| {});
    (shrunk, target)
}

/// The same with tasks called a, b, c; as it reads back from a file. Left as it is if it then fails no longer.
fn tidy(program: Program, side: Side, target: Failure) -> (Program, Failure) {
    let hangs = target.kind == FailureKind::Hang;
    let look = |program: &Program| match hangs {
        true => remote::judge(program, side, Depth::Full, HUNG_AFTER),
        false => find(program, side, Depth::Full, &mut |_| {}).unwrap_or_default(),
    };
    let whole = |candidate: &Program, found: &Finding| {
        found.failure.is_like(&target) && found.statements.len() == candidate.statements.len()
    };
    for candidate in [renamed(&program), program.clone()] {
        let Ok(read) = parse_program("-", print(&candidate).as_bytes()) else { continue };
        if let Some(finding) = look(&read).filter(|found| whole(&read, found)) {
            let failure = if hangs { target.clone() } else { finding.failure };
            return (read, failure);
        }
    }
    (program, target)
}

/// With short names for the tasks, in order of appearance.
fn renamed(program: &Program) -> Program {
    let mut order: Vec<TaskName> = Vec::new();
    for statement in &program.statements {
        if let Some(task) = crate::shrink::task_of(&statement.op)
            && !order.contains(&task)
        {
            order.push(task);
        }
    }
    let mut names = Names::default();
    for group in 0..program.names.nr_groups() as u32 {
        names.group(program.names.group_text(crate::ops::GroupName(group)));
    }
    for at in 0..order.len() {
        names.task(&short(at));
    }
    let place = |task: TaskName| {
        TaskName(order.iter().position(|&known| known == task).unwrap_or_default() as u32)
    };
    let statements = program.statements.iter().map(|&Statement { op, line }| Statement {
        op: crate::shrink::with_task(&op, &place),
        line,
    });
    Program { header: program.header.clone(), names, statements: statements.collect() }
}

/// a to z, then t26 and up.
fn short(at: usize) -> String {
    match u8::try_from(at) {
        Ok(at) if at < 26 => char::from(b'a' + at).to_string(),
        _ => format!("t{at}"),
    }
}
