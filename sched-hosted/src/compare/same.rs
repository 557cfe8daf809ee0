// SPDX-License-Identifier: GPL-2.0-only
//! Part 1: is the patched class the same as the base, and is it safe?
//!
//! Random legal operations come in episodes, each on fresh machines with a seed of its own; short ones find most
//! differences with little to shrink, and every tenth is long. Number of tasks, HZ and base slice vary. Then come the
//! operations of the workload. Episodes run on all CPUs, but the first difference is that of the lowest episode, so a
//! seed gives a result.

mod lockstep;
mod replay;

use super::guard::quietly;
use super::side::Watch;
use super::{Interrupt, Plan};
use crate::error::Result;
use crate::ops::class::Value;
use crate::ops::digest::FieldDifference;
use crate::ops::driver::Driver;
use crate::ops::generate::{Generator, Profile};
use crate::ops::{CgroupMode, Header, Names, Op, text};
use crate::sim::Drive;
use crate::sim::prng::{Purpose, Stream};
use crate::workload::pipe;
use lockstep::{Lockstep, Log, Stage, Wrong};
use rayon::prelude::*;
pub use replay::Replay;
use replay::Wanted;
use serde::Serialize;

/// Operations of a short episode, and of every tenth.
const EPISODE: u64 = 10_000;
const LONG_EPISODE: u64 = 100_000;
/// Episodes that are started together: the same number on every machine, since no more are started once one of
/// them found something wrong.
const BATCH: u64 = 16;

/// The answer of part 1.
#[derive(Debug, Default, Serialize)]
pub struct Same {
    /// Random operations.
    pub random: Trial,
    /// The workload's own operations, as its closed loop on the base does them.
    pub workload: Trial,
    /// The first difference, of the random ones if they have any.
    pub difference: Option<Difference>,
    /// The first thing that went wrong.
    pub violation: Option<Violation>,
}

impl Same {
    /// No difference was found.
    pub fn is_same(&self) -> bool {
        self.difference.is_none()
    }

    /// Nothing went wrong.
    pub fn is_safe(&self) -> bool {
        self.violation.is_none()
    }
}

/// How much was tried.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Trial {
    /// Operations carried out on the patch's side.
    pub ops: u64,
    /// Of those, operations after which both sides were in the same state.
    pub equal: u64,
    /// Episodes (or CPUs of the workload).
    pub episodes: u64,
    /// Episodes in which there was a difference.
    pub differing: u64,
    /// It was ended early (Ctrl-C).
    pub interrupted: bool,
}

/// A difference between base and patch.
#[derive(Clone, Debug, Serialize)]
pub struct Difference {
    /// `random` or `workload`.
    pub found_in: &'static str,
    /// The operation after which it showed, counted from 1 in its episode.
    pub op: u64,
    /// That operation as a statement.
    pub statement: String,
    /// When, ns of the episode's clock.
    pub at_ns: u64,
    /// The first object that differs.
    pub object: String,
    /// Its fields that differ.
    pub fields: Vec<Field>,
    /// How many other objects differ.
    pub other_objects: usize,
    /// What replays it.
    pub replay: Option<Replay>,
}

/// A field on both sides; `-` where a side does not have it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Its value on the base's side.
    pub base: String,
    /// Its value on the patch's side.
    pub patch: String,
}

/// What went wrong.
#[derive(Clone, Debug, Serialize)]
pub struct Violation {
    /// `random` or `workload`.
    pub found_in: &'static str,
    /// `invariant`, `warning` (a WARN_ON_ONCE) or `panic` (a BUG, or an endless loop).
    pub kind: &'static str,
    /// In words, with the object and the field.
    pub what: String,
    /// The operation after which it showed, counted from 1 in its episode.
    pub op: u64,
    /// That operation as a statement.
    pub statement: String,
    /// The base does the same, given the same operations.
    pub base_too: bool,
    /// What replays it.
    pub replay: Option<Replay>,
}

impl Violation {
    /// A panic in the simulations of parts 2 to 4, where no operations are kept.
    pub fn in_simulation(what: &str) -> Self {
        Violation {
            found_in: "simulation",
            kind: "panic",
            what: what.to_string(),
            op: 0,
            statement: "?".to_string(),
            base_too: false,
            replay: None,
        }
    }
}

/// A run of both sides, done.
struct Episode {
    header: Header,
    names: Names,
    log: Log,
}

/// Compares the states of base and patch.
///
/// Errors: those of the drivers, and of writing the file that replays a finding.
pub fn run(plan: &Plan, interrupt: &Interrupt, progress: &dyn Fn(u64)) -> Result<Same> {
    let mut same = Same::default();
    let random = random(plan, interrupt, progress, &mut same.random)?;
    let workload = workload(plan, &mut same.workload)?;
    for (found_in, finding) in [("random", random), ("workload", workload)] {
        if same.difference.is_none()
            && let Some(episode) = &finding.difference
        {
            same.difference = difference(plan, episode, found_in)?;
        }
        if same.violation.is_none()
            && let Some(episode) = &finding.wrong
        {
            same.violation = violation(plan, episode, found_in)?;
        }
    }
    Ok(same)
}

/// The first episode with a difference and the first in which something went wrong.
#[derive(Default)]
struct Finding {
    difference: Option<Episode>,
    wrong: Option<Episode>,
}

impl Finding {
    fn note(&mut self, trial: &mut Trial, episode: Episode) {
        let log = &episode.log;
        trial.episodes += 1;
        trial.ops += log.count;
        let before_difference =
            log.difference.as_ref().map(|&(_, _, count)| count.saturating_sub(1));
        trial.equal += before_difference.unwrap_or(log.count);
        trial.differing += u64::from(before_difference.is_some());
        if log.wrong.is_some() && self.wrong.is_none() {
            self.wrong = Some(Episode {
                header: episode.header.clone(),
                names: episode.names.clone(),
                log: Log { ops: log.ops.clone(), wrong: log.wrong.clone(), ..Log::default() },
            });
        }
        if before_difference.is_some() && self.difference.is_none() {
            self.difference = Some(episode);
        }
    }
}

fn random(
    plan: &Plan,
    interrupt: &Interrupt,
    progress: &dyn Fn(u64),
    trial: &mut Trial,
) -> Result<Finding> {
    let mut finding = Finding::default();
    let mut next = 0;
    let mut planned = 0;
    while planned < plan.ops && finding.wrong.is_none() {
        if interrupt.is_set() {
            trial.interrupted = true;
            break;
        }
        let mut batch = Vec::new();
        while planned < plan.ops && (batch.len() as u64) < BATCH {
            let full = if next % 10 == 9 { LONG_EPISODE } else { EPISODE };
            let len = full.min(plan.ops - planned);
            batch.push((next, len));
            next += 1;
            planned += len;
        }
        let done: Vec<Result<Episode>> =
            batch.into_par_iter().map(|(index, len)| random_episode(plan, index, len)).collect();
        for episode in done {
            finding.note(trial, episode?);
        }
        progress(planned);
    }
    Ok(finding)
}

fn random_episode(plan: &Plan, index: u64, len: u64) -> Result<Episode> {
    let seed = Stream::new(plan.source.seed, Purpose::Episodes, index).next_u64();
    let mut machine = Stream::new(plan.source.seed, Purpose::Machines, index);
    let mut profile = Profile::flat(2 + machine.below(30) as u32);
    let mut cpus = 1;
    let mut cgroup_mode = CgroupMode::default();
    // Every third machine has groups, quotas and up to four CPUs.
    if index % 3 == 2 {
        cpus = 1 + machine.below(4) as u32;
        cgroup_mode = CgroupMode::ALL[machine.below(CgroupMode::ALL.len() as u64) as usize];
        let groups = 1 + machine.below(12) as u32;
        profile = profile.with_groups(groups).with_group_tree(seed).with_quota().with_migration();
    }
    let profile = profile.swarm(seed);
    let header = Header {
        cpus,
        cgroup_mode,
        hz: text::HZ[machine.below(text::HZ.len() as u64) as usize],
        base_slice_ns: Some(pipe::base_slice_ns(1 + machine.below(8) as u32)),
        features: plan.source.machine.features.clone(),
    };
    let names = profile.names();
    let mut generator = Generator::new(seed, profile);
    both(plan, header, names, |lockstep| {
        while lockstep.count() < len {
            let op = generator.next(lockstep.class());
            if lockstep.run(&op).is_break() {
                break;
            }
        }
    })
}

fn workload(plan: &Plan, trial: &mut Trial) -> Result<Finding> {
    let cpus: Vec<u64> = (0..plan.source.cpus().min(BATCH)).collect();
    let done: Vec<Result<Episode>> = cpus
        .into_par_iter()
        .map(|cpu| {
            let script = plan.source.script(cpu, 0);
            let (header, names) = (script.header(), script.names());
            both(plan, header, names, |lockstep| {
                script.play(lockstep, plan.lockstep_limits());
            })
        })
        .collect();
    let mut finding = Finding::default();
    for episode in done {
        finding.note(trial, episode?);
    }
    Ok(finding)
}

/// Runs `play` on fresh machines of both sides in lockstep. A panic is a finding.
fn both(
    plan: &Plan,
    header: Header,
    names: Names,
    play: impl FnOnce(&mut Lockstep<'_, Driver<'_, Watch>, Driver<'_, Watch>>),
) -> Result<Episode> {
    let mut log = Log::default();
    let run = quietly(|| {
        plan.base.with(&header, &names, Watch::default(), |base| {
            plan.patch.with(&header, &names, Watch::default(), |patch| {
                play(&mut Lockstep::new(base, patch, &mut log));
            })
        })
    });
    match run {
        Ok(result) => result??,
        Err(what) => log.wrong = Some(Wrong { kind: "panic", what }),
    }
    if log.stage == Stage::Base {
        // The base itself broke down: a finding about the kernel, not about the patch.
        log.wrong =
            log.wrong.map(|wrong| Wrong { what: format!("in the base: {}", wrong.what), ..wrong });
    }
    Ok(Episode { header, names, log })
}

fn statement(episode: &Episode, op: &Op) -> String {
    text::shown(op, &episode.names).to_string()
}

/// The difference as it shows in the shrunk program if there is one, so that it is what the file replays.
fn difference(
    plan: &Plan,
    episode: &Episode,
    found_in: &'static str,
) -> Result<Option<Difference>> {
    let Some((_, len, count)) = &episode.log.difference else { return Ok(None) };
    let found = Episode {
        header: episode.header.clone(),
        names: episode.names.clone(),
        log: Log { ops: episode.log.ops[..*len].to_vec(), ..Log::default() },
    };
    let small = replay::save(plan, &found, Wanted::Difference)?;
    let (shown_episode, replay) = match small {
        Some((small, replay)) => (small, Some(replay)),
        None => (found, None),
    };
    let log = if replay.is_some() { &shown_episode.log } else { &episode.log };
    let Some((found, len, _)) = &log.difference else { return Ok(None) };
    let ops = &log.ops[..*len];
    let field = |field: &FieldDifference| Field {
        name: field.name,
        base: shown(field.a, &episode.names),
        patch: shown(field.b, &episode.names),
    };
    let at_ns = ops.iter().rev().find_map(|op| match op {
        Op::At { ns } => Some(*ns),
        _ => None,
    });
    Ok(Some(Difference {
        found_in,
        op: *count,
        statement: ops.last().map(|op| statement(episode, op)).unwrap_or_default(),
        at_ns: at_ns.unwrap_or(crate::sim::START_NS),
        object: found.object_text(&episode.names),
        fields: found.fields.iter().map(field).collect(),
        other_objects: found.others,
        replay,
    }))
}

/// A value as the texts of a state show it; `-` for none.
fn shown(value: Option<Value>, names: &Names) -> String {
    match value {
        None | Some(Value::Task(None)) => "-".to_string(),
        Some(Value::U64(number)) => number.to_string(),
        Some(Value::I64(number)) => number.to_string(),
        Some(Value::Bool(flag)) => u8::from(flag).to_string(),
        Some(Value::Current(None)) => "idle".to_string(),
        Some(Value::Task(Some(task)) | Value::Current(Some(task))) => {
            names.task_text(task).to_string()
        }
        Some(Value::Group(group)) => names.group_text(group).to_string(),
        Some(Value::Word(word)) => word.to_string(),
    }
}

fn violation(plan: &Plan, episode: &Episode, found_in: &'static str) -> Result<Option<Violation>> {
    let Some(wrong) = &episode.log.wrong else { return Ok(None) };
    let base_too = replay::goes_wrong(plan.base, episode, wrong.kind)?;
    let small = replay::save(plan, episode, Wanted::Wrong(wrong.kind))?;
    let count = episode.log.ops.iter().filter(|op| op.is_operation()).count() as u64;
    let (log, replay) = match &small {
        Some((small, replay)) => (&small.log, Some(replay.clone())),
        None => (&episode.log, None),
    };
    Ok(Some(Violation {
        found_in,
        kind: wrong.kind,
        what: log.wrong.as_ref().unwrap_or(wrong).what.clone(),
        op: count,
        statement: log.ops.last().map(|op| statement(episode, op)).unwrap_or_default(),
        base_too,
        replay,
    }))
}
