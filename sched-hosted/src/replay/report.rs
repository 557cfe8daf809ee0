// SPDX-License-Identifier: GPL-2.0-only
//! What a replay found, in a form that can be printed ([`screen`]), drawn ([`html`]) and written as JSON.

pub mod html;
pub mod screen;

use super::follow::{Choice, Kind, Repairs};
use super::hooks::Candidate;
use super::run::{Plan, Replayed};
use super::score::{Case, Interval, OfKind, Tally, WARM_UP};
use super::trial::{Changed, Waits};
use crate::trace::event::Asked;
use sched_core::trace::Counter;
use serde::Serialize;

/// The report.
#[derive(Debug, Serialize)]
pub struct Report {
    /// fairlab's own version and revision.
    pub fairlab: &'static str,
    /// The kernel release of the class.
    pub release: &'static str,
    /// Changes to the features that the recorded kernel has by default.
    pub features: Vec<String>,
    /// The seed: a replay has nothing random in it.
    pub seed: u64,
    /// The recording, as it was named.
    pub recording: String,
    /// HZ of the recorded kernel.
    pub hz: u32,
    /// Its base slice, ns.
    pub base_slice_ns: u64,
    /// CPUs that were followed.
    pub cpus: u32,
    /// Tasks that were seen.
    pub tasks: usize,
    /// Events.
    pub events: u64,
    /// Bytes, unpacked.
    pub bytes: u64,
    /// From the first event to the last, ns.
    pub span_ns: u64,
    /// Contested decisions that are counted apart, at the beginning.
    pub warm_up: u64,
    /// All kinds together, after the warm-up.
    pub total: Tally,
    /// By kind.
    pub kinds: Vec<Row>,
    /// By CPU, after the warm-up.
    pub by_cpu: Vec<Part>,
    /// By task, after the warm-up: those with the most disagreements first.
    pub by_task: Vec<Part>,
    /// Along the recording.
    pub intervals: Vec<Interval>,
    /// Why the model differed, most frequent first.
    pub causes: Vec<(String, u64)>,
    /// The first disagreements after the warm-up.
    pub disagreements: Vec<Disagreement>,
    /// What the recording lacked, and what was put right: one line each.
    pub notes: Vec<String>,
    /// What was wrong with the file, one line each.
    pub problems: Vec<String>,
    /// Counters of the model.
    pub counters: Vec<(String, u64)>,
    /// The side under trial.
    pub trial: Option<TrialReport>,
    /// It was ended before the end of the recording.
    pub interrupted: bool,
}

/// One kind of decision.
#[derive(Debug, Serialize)]
pub struct Row {
    /// Which.
    pub kind: Kind,
    /// The sums.
    #[serde(flatten)]
    pub sums: OfKind,
}

/// The decisions of a CPU or about a task.
#[derive(Debug, Serialize)]
pub struct Part {
    /// Which.
    pub what: String,
    /// By kind: pick, wakeup, tick.
    pub kinds: [Tally; 3],
}

/// A disagreement, with names.
#[derive(Debug, Serialize)]
pub struct Disagreement {
    /// Its number among the contested decisions.
    pub number: u64,
    /// The line of the recording.
    pub line: u64,
    /// From the first event: ns.
    pub at_ns: u64,
    /// The CPU.
    pub cpu: u32,
    /// What was decided.
    pub kind: Kind,
    /// About whom.
    pub task: String,
    /// What the kernel did.
    pub kernel: String,
    /// What the model would have done.
    pub model: String,
    /// Why.
    pub cause: String,
    /// V, absolute, wraps; virtual ns.
    pub avg_vruntime: Option<u64>,
    /// Who was there, those of interest first.
    pub candidates: Vec<Named>,
}

/// A candidate with its name.
#[derive(Debug, Serialize)]
pub struct Named {
    /// Comm and pid.
    pub name: String,
    /// How it stood.
    #[serde(flatten)]
    pub state: Candidate,
}

/// What would have been decided otherwise.
#[derive(Debug, Serialize)]
pub struct TrialReport {
    /// What is under trial.
    pub what: String,
    /// By kind: pick, wakeup, tick.
    pub kinds: [Changed; 3],
    /// Seconds that were covered.
    pub seconds: f64,
    /// The tasks that would have waited shorter or longer, those with the most changes first.
    pub waits: Vec<(String, Waits)>,
    /// The first changed decisions: line, kind, task, without and with the change.
    pub first: Vec<(u64, Kind, String, String, String)>,
    /// Counters without and with the change.
    pub counters: Vec<(String, u64, u64)>,
}

/// Candidates that are shown.
const CANDIDATES: usize = 12;
/// Tasks that are shown.
const TASKS: usize = 20;

/// The report of a replay.
pub fn report(plan: &Plan, replayed: &Replayed) -> Report {
    let name = |task: Option<u32>| name(replayed, task);
    let score = &replayed.score;
    let summary = &replayed.summary;
    let cpus = replayed.scan.nr_cpus.max(1);
    let first_ns = summary.first_ns;
    let mut by_task: Vec<Part> = score
        .tasks
        .iter()
        .map(|(task, kinds)| Part { what: name(Some(*task)), kinds: *kinds })
        .collect();
    let wrong = |part: &Part| part.kinds.iter().map(|kind| kind.of - kind.agreed).sum::<u64>();
    by_task.sort_by_key(|part| (std::cmp::Reverse(wrong(part)), part.what.clone()));
    by_task.truncate(TASKS);
    let mut causes: Vec<(String, u64)> =
        score.causes.iter().map(|(cause, count)| (cause.text().to_string(), *count)).collect();
    causes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    Report {
        fairlab: crate::REVISION,
        release: "7.3",
        features: plan.machine.features.clone(),
        seed: 0,
        recording: plan.path.clone(),
        hz: plan.machine.hz,
        base_slice_ns: replayed.base_slice_ns,
        cpus,
        tasks: replayed.tasks.len(),
        events: summary.events,
        bytes: summary.bytes,
        span_ns: summary.last_ns.saturating_sub(first_ns),
        warm_up: WARM_UP,
        total: score.total(),
        kinds: Kind::ALL
            .into_iter()
            .zip(score.kinds)
            .map(|(kind, sums)| Row { kind, sums })
            .collect(),
        by_cpu: score
            .cpus
            .iter()
            .enumerate()
            .map(|(cpu, kinds)| Part { what: format!("CPU {cpu}"), kinds: *kinds })
            .collect(),
        by_task,
        intervals: score.intervals.clone(),
        causes,
        disagreements: score.cases.iter().map(|case| disagreement(case, first_ns, &name)).collect(),
        notes: notes(replayed),
        problems: summary.problems.report(&plan.path),
        counters: counters(&replayed.counts),
        trial: plan.trial.as_ref().and_then(|(patches, features)| {
            let mut what: Vec<String> = sched_core::patches::TABLE
                .iter()
                .filter(|row| patches.contains(row.bit))
                .map(|row| row.name.to_string())
                .collect();
            what.extend(features.iter().cloned());
            trial(&what.join(","), replayed)
        }),
        interrupted: replayed.interrupted,
    }
}

fn counters(counts: &[(Counter, u64)]) -> Vec<(String, u64)> {
    counts.iter().map(|(counter, count)| (word(*counter).to_string(), *count)).collect()
}

fn word(counter: Counter) -> &'static str {
    match counter {
        Counter::EnqueueTaskFair => "full enqueues",
        Counter::RequeueDelayedEntity => "delayed requeues",
        Counter::SetDelayed => "sleepers delayed",
        Counter::DelayedPick => "delayed dequeues completed by a pick",
        Counter::WakeupPreempt => "wakeups that ask for a reschedule",
        _ => "requests done",
    }
}

/// A task's comm and pid.
fn name(replayed: &Replayed, task: Option<u32>) -> String {
    match task.and_then(|task| replayed.tasks.get(task as usize)) {
        Some((pid, comm)) => {
            let comm = String::from_utf8_lossy(comm);
            let comm: String = comm.chars().filter(|c| !c.is_control()).take(16).collect();
            format!("{comm}-{pid}")
        }
        None => "idle".to_string(),
    }
}

fn choice(choice: Choice, name: &dyn Fn(Option<u32>) -> String) -> String {
    match choice {
        Choice::Run(task) => format!("runs {}", name(task)),
        Choice::Ask(Asked::No) => "asks for nothing".to_string(),
        Choice::Ask(Asked::Lazy) => "asks for a lazy reschedule".to_string(),
        Choice::Ask(Asked::Now) => "asks for a reschedule".to_string(),
    }
}

fn disagreement(case: &Case, first_ns: u64, name: &dyn Fn(Option<u32>) -> String) -> Disagreement {
    let decision = &case.decision;
    let of_interest = |candidate: &Candidate| {
        let one = Some(candidate.task);
        let chosen = [decision.recorded, decision.model].contains(&Choice::Run(one));
        (!(chosen || candidate.current || decision.task == one), candidate.deadline_ns)
    };
    let mut who: Vec<Candidate> =
        decision.details.as_ref().map(|(_, who)| who.clone()).unwrap_or_default();
    who.sort_by_key(of_interest);
    who.truncate(CANDIDATES);
    Disagreement {
        number: case.number,
        line: case.at.line,
        at_ns: case.at.ts_ns.saturating_sub(first_ns),
        cpu: case.at.cpu,
        kind: decision.kind,
        task: name(decision.task),
        kernel: choice(decision.recorded, name),
        model: choice(decision.model, name),
        cause: case.cause.map_or("not looked at", |cause| cause.text()).to_string(),
        avg_vruntime: decision.details.as_ref().map(|(v, _)| *v),
        candidates: who
            .into_iter()
            .map(|state| Named { name: name(Some(state.task)), state })
            .collect(),
    }
}

/// What was not as it should be, one line each.
fn notes(replayed: &Replayed) -> Vec<String> {
    let Repairs {
        unseen_wakeups,
        needless_wakeups,
        resyncs,
        unseen_migrations,
        refused,
        not_forced,
    } = replayed.repairs;
    let lacks = replayed.lacks;
    let (warnings, first_warning) = replayed.warnings;
    let all = [
        (
            lacks.missing_charges,
            "switches without a charge before them: their time is that of the event",
        ),
        (lacks.stray_charges, "charges of tasks that were not known to run"),
        (lacks.unknown_cpu, "events of CPUs that the first 8 MiB do not have, left out"),
        (lacks.broken_chains, "CPUs that ran another task than their last switch said"),
        (unseen_wakeups, "tasks that ran without a recorded wakeup: woken at that moment"),
        (needless_wakeups, "wakeups of tasks that were awake"),
        (resyncs, "switches before which the model had to be put on another task"),
        (unseen_migrations, "tasks that ran elsewhere than they waited: moved at that moment"),
        (refused, "statements that made no sense in the state, left out"),
        (not_forced, "switches to a task that the model could not run"),
        (
            replayed.moved,
            "times that a lag or deadline, assumed for the start, was moved after a disagreement",
        ),
        (warnings, "warnings of the class (WARN_ON_ONCE)"),
    ];
    let mut notes: Vec<String> = all
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    notes.extend(first_warning.map(|warn| format!("the first warning: {warn}")));
    notes
}

fn trial(what: &str, replayed: &Replayed) -> Option<TrialReport> {
    let trial = replayed.trial.as_ref()?;
    let name = |task: Option<u32>| name(replayed, task);
    let mut waits: Vec<(String, Waits)> = trial
        .waits
        .iter()
        .filter(|(_, waits)| waits.shorter + waits.longer > 0)
        .map(|(task, waits)| (name(Some(*task)), *waits))
        .collect();
    waits.sort_by_key(|(name, waits)| {
        (std::cmp::Reverse(waits.shorter + waits.longer), name.clone())
    });
    waits.truncate(TASKS);
    let counters = replayed.counts.iter().zip(&trial.counts);
    Some(TrialReport {
        what: what.to_string(),
        kinds: trial.kinds,
        seconds: trial.span_ns as f64 / 1e9,
        waits,
        first: trial
            .first
            .iter()
            .map(|(at, kind, task, base, with)| {
                (at.line, *kind, name(*task), choice(*base, &name), choice(*with, &name))
            })
            .collect(),
        counters: counters
            .map(|((counter, base), (_, with))| (word(*counter).to_string(), *base, *with))
            .collect(),
    })
}

/// The report as JSON, with a newline at its end.
pub fn json(report: &Report) -> String {
    // All keys are strings and all values numbers, strings, lists and maps of them: nothing of this can fail.
    let mut text = serde_json::to_string_pretty(report).unwrap_or_default();
    text.push('\n');
    text
}
