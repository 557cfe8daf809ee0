// SPDX-License-Identifier: GPL-2.0-only
//! One replay from the file to the sums, streaming, in bounded memory.

use super::decode::{At, Decoder, Lacks, Sink, Stimulus};
use super::follow::{Follower, Repairs};
use super::hooks::TaskId;
use super::scan::Scan;
use super::score::Score;
use super::setup::Setup;
use super::state::State;
use super::trial::Trial;
use crate::compare::Interrupt;
use crate::compare::guard::quietly;
use crate::error::{Error, Result};
use crate::ops::arena::Arena;
use crate::ops::driver::Options;
use crate::ops::{Header, START_NS};
use crate::trace::event::Subject;
use crate::trace::input;
use crate::trace::reader::{Summary, read};
use crate::trace::script::Start;
use sched_core::bug::Warn;
use sched_core::features::SchedFeat;
use sched_core::patches::Patches;
use sched_core::trace::Counter;
use std::io::{self, Cursor, Read};

/// So much of the beginning is looked at before the replay, in bytes.
const BEGINNING: u64 = 8 << 20;

/// What to replay, and how.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The recording; `-` is standard input.
    pub path: String,
    /// The machine: HZ, base slice, and the features that the recorded kernel had changed.
    pub machine: Header,
    /// Groups, slices and policies.
    pub setup: Setup,
    /// Where tasks were at the start, if that is known.
    pub state: Option<State>,
    /// The side under trial, if there is one: patches, and features on top of the recorded kernel's.
    pub trial: Option<(Patches, Vec<String>)>,
    /// The disagreements that are shown.
    pub cases: usize,
}

/// The features that the kernels of the recordings have by default: those of the class, with the precise timer.
pub fn recorded_features() -> SchedFeat {
    SchedFeat::DEFAULT | SchedFeat::HRTICK | SchedFeat::HRTICK_DL
}

/// What came of it.
#[derive(Debug)]
pub struct Replayed {
    /// What was read.
    pub summary: Summary,
    /// What the beginning has.
    pub scan: Scan,
    /// The agreement.
    pub score: Score,
    /// What the recording lacked.
    pub lacks: Lacks,
    /// What was put right.
    pub repairs: Repairs,
    /// Tasks by number: pid and comm.
    pub tasks: Vec<(u32, Vec<u8>)>,
    /// How often an assumed start was moved.
    pub moved: u64,
    /// Counters of the model.
    pub counts: Vec<(Counter, u64)>,
    /// Warnings of the class, and the first.
    pub warnings: (u64, Option<Warn>),
    /// The side under trial.
    pub trial: Option<Trial>,
    /// The base slice of the machine, ns.
    pub base_slice_ns: u64,
    /// Somebody asked for the end before it was reached.
    pub interrupted: bool,
}

/// The counters that are reported.
pub const COUNTED: [Counter; 6] = [
    Counter::EnqueueTaskFair,
    Counter::RequeueDelayedEntity,
    Counter::SetDelayed,
    Counter::DelayedPick,
    Counter::WakeupPreempt,
    Counter::DeadlineReached,
];

/// Replays the recording of `plan`; `progress` is told how many bytes, unpacked, were read.
///
/// # Errors
/// The recording cannot be read or has no scheduler event, a feature is unknown, or the class met a BUG.
pub fn run(plan: &Plan, interrupt: &Interrupt, progress: &dyn Fn(u64)) -> Result<Replayed> {
    let mut rest = input::open(&plan.path)?;
    let mut beginning = Vec::new();
    // What goes wrong here goes wrong again below, where it is reported.
    let _ = (&mut rest).take(BEGINNING).read_to_end(&mut beginning);
    let scan = scan(&plan.path, &beginning);
    let mut line = 0;
    let chained = Cursor::new(beginning).chain(rest);
    let watched = Watched { inner: chained, read: 0, interrupt, progress };
    match quietly(|| follow(plan, scan, watched, &mut line)) {
        Ok(replayed) => replayed.map(|mut replayed: Replayed| {
            replayed.interrupted = interrupt.is_set();
            replayed
        }),
        Err(what) => Err(Error::not_possible(
            format!("the class ran into '{what}' at line {line} of the recording"),
            "report it, with the recording up to that line",
        )),
    }
}

/// Looks at the whole recording at `path` without replaying it.
///
/// # Errors
/// It cannot be read or has no scheduler event.
pub fn lint(path: &str, interrupt: &Interrupt, progress: &dyn Fn(u64)) -> Result<(Scan, Summary)> {
    let mut scan = Scan::default();
    let inner = input::open(path)?;
    let watched = Watched { inner, read: 0, interrupt, progress };
    let summary = read(path, watched, |event| scan.event(event))?;
    Ok((scan, summary))
}

/// A look at `text`, the beginning of a recording.
fn scan(name: &str, text: &[u8]) -> Scan {
    let mut scan = Scan::default();
    // An error is one of the whole recording's, and comes up again.
    let _ = read(name, text, |event| scan.event(event));
    scan
}

fn follow(plan: &Plan, scan: Scan, input: impl Read, line: &mut u64) -> Result<Replayed> {
    let header = Header { cpus: scan.nr_cpus.clamp(1, 512), ..plan.machine.clone() };
    let (arena, other_arena) = (Arena::new(), Arena::new());
    let options = Options { features: recorded_features(), ..Options::default() };
    let mut base = Follower::new(&arena, &header, &options, &plan.setup)?;
    base.begin_with(plan.state.as_ref());
    let trial = match &plan.trial {
        None => None,
        Some((patches, features)) => {
            let mut header = header.clone();
            header.features.extend(features.iter().cloned());
            let options = Options { patches: *patches, ..options };
            let mut follower = Follower::new(&other_arena, &header, &options, &plan.setup)?;
            follower.begin_with(plan.state.as_ref());
            Some((follower, Trial::default()))
        }
    };
    let charges = scan.kinds.stat_runtime > 0;
    let sides = Sides { base, trial, score: Score::new(plan.cases), tasks: Vec::new() };
    let mut decoder = Decoder::new(sides, header.cpus, START_NS, charges);
    for sight in &scan.tasks {
        if matches!(sight.start, Start::Running | Start::Queued) {
            let subject = Subject { comm: &sight.comm, pid: sight.pid, prio: sight.prio };
            decoder.introduce(subject, sight.cpu, sight.start);
        }
    }
    let summary = read(&plan.path, input, |event| {
        *line = event.line;
        decoder.event(event);
    })?;
    decoder.finish();
    let Sides { base, trial, score, tasks } = decoder.sink;
    let hooks = base.hooks();
    Ok(Replayed {
        summary,
        scan,
        score,
        lacks: decoder.lacks,
        repairs: base.repairs,
        tasks,
        moved: hooks.moved(),
        counts: COUNTED.iter().map(|&counter| (counter, hooks.count_of(counter))).collect(),
        warnings: hooks.warnings(),
        base_slice_ns: base.base_slice_ns(),
        trial: trial.map(|(follower, trial)| trial.finish(follower.hooks())),
        interrupted: false,
    })
}

/// The model, and beside it the side under trial: both follow the recording.
struct Sides<'a> {
    base: Follower<'a>,
    trial: Option<(Follower<'a>, Trial)>,
    score: Score,
    tasks: Vec<(u32, Vec<u8>)>,
}

impl Sink for Sides<'_> {
    fn take(&mut self, at: &At, what: Stimulus) {
        let decision = self.base.take(at, what, true);
        if let Some((follower, trial)) = &mut self.trial {
            let other = follower.take(at, what, false);
            trial.add(at, &what, decision.as_ref(), other.as_ref());
        }
        if let Some(decision) = decision {
            self.score.add(at, decision);
        }
    }

    fn name(&mut self, task: TaskId, pid: u32, comm: &[u8]) {
        let at = task as usize;
        if at >= self.tasks.len() {
            self.tasks.resize(at + 1, (0, Vec::new()));
        }
        self.tasks[at] = (pid, comm.to_vec());
        self.base.name(task, pid, comm);
        if let Some((follower, _)) = &mut self.trial {
            follower.name(task, pid, comm);
        }
    }
}

/// An input that says how far it was read, and ends when somebody asks for that.
struct Watched<'a, R> {
    inner: R,
    read: u64,
    interrupt: &'a Interrupt,
    progress: &'a dyn Fn(u64),
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.interrupt.is_set() {
            return Ok(0);
        }
        let got = self.inner.read(buffer)?;
        self.read += got as u64;
        (self.progress)(self.read);
        Ok(got)
    }
}
