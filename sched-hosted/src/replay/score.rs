// SPDX-License-Identifier: GPL-2.0-only
//! Adds decisions up: by kind, CPU and task, along the recording, and why the model differed.

use super::decode::At;
use super::follow::{Choice, Decision};
use super::hooks::{Candidate, TaskId};
use crate::trace::event::Asked;
use serde::Serialize;
use std::collections::BTreeMap;

/// Contested decisions at the beginning that are counted apart: the start is not known.
pub const WARM_UP: u64 = 100;

/// Intervals along the recording, at most.
const INTERVALS: usize = 200;

/// Agreement, of contested decisions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Tally {
    /// How many decisions.
    pub of: u64,
    /// In how many the model agrees with the kernel.
    pub agreed: u64,
    /// In how many a model that prefers whoever was woken last would.
    pub last_woken: u64,
    /// In how many a model that prefers whoever waited longest would.
    pub longest_waiting: u64,
}

impl Tally {
    fn add(&mut self, decision: &Decision) {
        self.of += 1;
        self.agreed += u64::from(decision.agrees());
        self.last_woken += u64::from(decision.nulls[0]);
        self.longest_waiting += u64::from(decision.nulls[1]);
    }

    /// The sum of two.
    pub fn plus(self, other: Tally) -> Tally {
        Tally {
            of: self.of + other.of,
            agreed: self.agreed + other.agreed,
            last_woken: self.last_woken + other.last_woken,
            longest_waiting: self.longest_waiting + other.longest_waiting,
        }
    }

    /// `count` of these decisions in percent; none if there are none.
    pub fn percent(&self, count: u64) -> Option<f64> {
        (self.of > 0).then(|| count as f64 * 100.0 / self.of as f64)
    }
}

/// One kind of decision.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct OfKind {
    /// Contested decisions after the first [`WARM_UP`].
    pub after: Tally,
    /// Those before.
    pub warm_up: Tally,
    /// Decisions without a choice.
    pub forced: u64,
    /// Those in which the model differed all the same.
    pub forced_wrong: u64,
    /// Agreements about a request to reschedule in which one asked lazily and the other did not.
    pub other_strength: u64,
}

/// Why the model differed, as far as its own state tells.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The start of one of the two was assumed, not known.
    Start,
    /// Its own pick and the kernel's were both eligible, and their deadlines close together.
    CloseDeadline,
    /// The kernel's pick missed being eligible by little, or its own was so by little.
    CloseLag,
    /// It kept the running task, which it took to be protected still.
    Protection,
    /// It did not keep the running task, which the kernel protected still.
    NoProtection,
    /// The deadlines are far apart.
    Deadline,
    /// The lags are far from 0.
    Lag,
    /// The kernel's task was not there to be picked, or the kernel idled though somebody was awake.
    Absent,
    /// The kernel asked for a reschedule, and it did not.
    NotAsked,
    /// It asked for one, and the kernel did not.
    Asked,
}

impl Cause {
    /// The words for it.
    pub const fn text(self) -> &'static str {
        match self {
            Cause::Start => "a lag or deadline rests on the assumed start",
            Cause::CloseDeadline => "both eligible, deadlines less than 10 us apart",
            Cause::CloseLag => "eligible or not by less than 10 us",
            Cause::Protection => "the model protects the running task, the kernel did not",
            Cause::NoProtection => "the kernel kept the running task, the model would not",
            Cause::Deadline => "both eligible, deadlines further apart",
            Cause::Lag => "eligible or not by more",
            Cause::Absent => "the kernel's task is not there in the model, or the kernel idled",
            Cause::NotAsked => "the kernel asked for a reschedule, the model did not",
            Cause::Asked => "the model asked for a reschedule, the kernel did not",
        }
    }
}

/// What is close: virtual ns.
const CLOSE_NS: i64 = 10_000;

/// A disagreement.
#[derive(Clone, Debug)]
pub struct Case {
    /// When and where.
    pub at: At,
    /// The number of the decision among the contested ones, from 1.
    pub number: u64,
    /// The decision, with the candidates.
    pub decision: Decision,
    /// Why.
    pub cause: Option<Cause>,
}

/// The decisions of a part of the recording.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Interval {
    /// When it begins, from the first event: ns.
    pub from_ns: u64,
    /// By kind, in the order of [`Kind::ALL`]: decisions and agreements.
    pub kinds: [(u64, u64); 3],
}

/// The sums.
#[derive(Clone, Debug)]
pub struct Score {
    /// By kind.
    pub kinds: [OfKind; 3],
    /// By CPU, then by kind: after the first [`WARM_UP`] decisions.
    pub cpus: Vec<[Tally; 3]>,
    /// By task, then by kind: the same.
    pub tasks: BTreeMap<TaskId, [Tally; 3]>,
    /// Along the recording.
    pub intervals: Vec<Interval>,
    /// The first disagreements after the warm-up, with their details.
    pub cases: Vec<Case>,
    /// Why, of all disagreements whose candidates were looked at.
    pub causes: BTreeMap<Cause, u64>,
    /// Contested decisions so far.
    pub contested: u64,
    cases_max: usize,
    width_ns: u64,
    first_ns: Option<u64>,
}

impl Score {
    /// Nothing yet; keeps the first `cases_max` disagreements.
    pub fn new(cases_max: usize) -> Self {
        Score {
            kinds: [OfKind::default(); 3],
            cpus: Vec::new(),
            tasks: BTreeMap::new(),
            intervals: Vec::new(),
            cases: Vec::new(),
            causes: BTreeMap::new(),
            contested: 0,
            cases_max,
            width_ns: 1_000_000,
            first_ns: None,
        }
    }

    /// Takes a decision; says whether the model differed where it counts.
    pub fn add(&mut self, at: &At, decision: Decision) -> bool {
        let kind = decision.kind as usize;
        let agrees = decision.agrees();
        let of_kind = &mut self.kinds[kind];
        if agrees && decision.model != decision.recorded {
            of_kind.other_strength += 1;
        }
        if !decision.contested {
            of_kind.forced += 1;
            of_kind.forced_wrong += u64::from(!agrees);
            return false;
        }
        self.contested += 1;
        self.interval(at, kind, agrees);
        let of_kind = &mut self.kinds[kind];
        if self.contested <= WARM_UP {
            of_kind.warm_up.add(&decision);
            return false;
        }
        of_kind.after.add(&decision);
        let cpu = at.cpu as usize;
        if cpu >= self.cpus.len() {
            self.cpus.resize(cpu + 1, Default::default());
        }
        self.cpus[cpu][kind].add(&decision);
        if let Some(task) = decision.task {
            self.tasks.entry(task).or_default()[kind].add(&decision);
        }
        if agrees {
            return false;
        }
        let cause = cause(&decision);
        if let Some(cause) = cause {
            *self.causes.entry(cause).or_default() += 1;
        }
        if self.cases.len() < self.cases_max {
            self.cases.push(Case { at: *at, number: self.contested, decision, cause });
        }
        true
    }

    /// All kinds together, after the warm-up.
    pub fn total(&self) -> Tally {
        self.kinds.iter().fold(Tally::default(), |sum, kind| sum.plus(kind.after))
    }

    fn interval(&mut self, at: &At, kind: usize, agrees: bool) {
        let first_ns = *self.first_ns.get_or_insert(at.ts_ns);
        let since_ns = at.ts_ns.saturating_sub(first_ns);
        while since_ns / self.width_ns >= INTERVALS as u64 {
            self.width_ns = self.width_ns.saturating_mul(2);
            let old = std::mem::take(&mut self.intervals);
            for pair in old.chunks(2) {
                let mut sum = pair[0];
                for (to, from) in
                    sum.kinds.iter_mut().zip(pair.get(1).map_or([(0, 0); 3], |one| one.kinds))
                {
                    *to = (to.0 + from.0, to.1 + from.1);
                }
                self.intervals.push(sum);
            }
        }
        let slot = (since_ns / self.width_ns) as usize;
        while self.intervals.len() <= slot {
            let from_ns = self.intervals.len() as u64 * self.width_ns;
            self.intervals.push(Interval { from_ns, ..Interval::default() });
        }
        let (of, agreed) = &mut self.intervals[slot].kinds[kind];
        *of += 1;
        *agreed += u64::from(agrees);
    }
}

/// Why the model differed.
fn cause(decision: &Decision) -> Option<Cause> {
    let (wanted, own) = match (decision.recorded, decision.model) {
        (Choice::Run(wanted), Choice::Run(own)) => (wanted, own),
        (Choice::Ask(Asked::No), _) => return Some(Cause::Asked),
        _ => return Some(Cause::NotAsked),
    };
    let (_, who) = decision.details.as_ref()?;
    let find = |task: Option<TaskId>| who.iter().find(|one| Some(one.task) == task);
    let (Some(wanted), Some(own)) = (find(wanted), find(own)) else { return Some(Cause::Absent) };
    Some(between(wanted, own))
}

fn between(wanted: &Candidate, own: &Candidate) -> Cause {
    let apart_ns = wanted.deadline_ns.saturating_sub(own.deadline_ns).saturating_abs();
    if wanted.unsettled || own.unsettled {
        Cause::Start
    } else if own.protected_ns.is_some() && wanted.deadline_ns < own.deadline_ns {
        Cause::Protection
    } else if wanted.current && own.deadline_ns < wanted.deadline_ns {
        Cause::NoProtection
    } else if !wanted.eligible {
        if wanted.lag_ns > -CLOSE_NS { Cause::CloseLag } else { Cause::Lag }
    } else if wanted.deadline_ns < own.deadline_ns {
        // The model holds its own pick by something else than the deadline.
        Cause::Lag
    } else if apart_ns < CLOSE_NS {
        Cause::CloseDeadline
    } else if own.lag_ns < CLOSE_NS {
        Cause::CloseLag
    } else {
        Cause::Deadline
    }
}
