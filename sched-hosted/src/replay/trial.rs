// SPDX-License-Identifier: GPL-2.0-only
//! A patch, or other features, on a recording: which decisions would have been others.
//!
//! Both sides follow the recorded kernel, so both start each decision from where it was; what is compared is the
//! decision of the side under trial with that of the base, not with the recorded one.

use super::decode::{At, Stimulus};
use super::follow::{Choice, Decision, Kind};
use super::hooks::{Recorded, TaskId};
use super::run::COUNTED;
use crate::trace::event::Asked;
use sched_core::trace::Counter;
use serde::Serialize;
use std::collections::BTreeMap;

/// Decisions of one kind that would have been others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Changed {
    /// Contested decisions.
    pub of: u64,
    /// Decided otherwise.
    pub changed: u64,
    /// Reschedules asked for by the trial side only.
    pub more: u64,
    /// Those asked for by the base only.
    pub fewer: u64,
    /// Decisions in which the trial side agrees with the recorded kernel.
    pub agreed: u64,
    /// Reschedules that the base asked for.
    pub base_asks: u64,
    /// Reschedules that the trial side asked for.
    pub trial_asks: u64,
}

/// What a task would have seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Waits {
    /// Its wakeups that were decided upon.
    pub wakeups: u64,
    /// Wakeups after which it would have run at once where it waited.
    pub shorter: u64,
    /// Wakeups after which it would have waited where it ran at once.
    pub longer: u64,
    /// How long those wait in the recording which would have been shorter, ns, added up.
    pub shorter_ns: u64,
}

/// The sums.
#[derive(Clone, Debug, Default)]
pub struct Trial {
    /// By kind.
    pub kinds: [Changed; 3],
    /// By task that was woken.
    pub waits: BTreeMap<TaskId, Waits>,
    /// The first changed decisions: where, and the two choices.
    pub first: Vec<(At, Kind, Option<TaskId>, Choice, Choice)>,
    /// The time between the first and the last decision: ns.
    pub span_ns: u64,
    /// Counters of the trial side.
    pub counts: Vec<(Counter, u64)>,
    /// Wakeups that were changed and whose task has not run since: when they were.
    open: BTreeMap<TaskId, u64>,
    first_ns: Option<u64>,
}

/// Changed decisions that are named.
const NAMED: usize = 20;

impl Trial {
    /// Takes the decisions of the base and of the side under trial about one stimulus.
    pub fn add(
        &mut self,
        at: &At,
        what: &Stimulus,
        base: Option<&Decision>,
        trial: Option<&Decision>,
    ) {
        let first_ns = *self.first_ns.get_or_insert(at.ts_ns);
        self.span_ns = at.ts_ns.saturating_sub(first_ns);
        if let Stimulus::Switch { next: Some(next), .. } = what
            && let Some(since_ns) = self.open.remove(next)
        {
            let waits = self.waits.entry(*next).or_default();
            waits.shorter_ns = waits.shorter_ns.saturating_add(at.ts_ns.saturating_sub(since_ns));
        }
        let (Some(base), Some(trial)) = (base, trial) else { return };
        if !base.contested || !trial.contested {
            return;
        }
        let sums = &mut self.kinds[base.kind as usize];
        sums.of += 1;
        sums.agreed += u64::from(trial.agrees());
        let asks = |choice: Choice| matches!(choice, Choice::Ask(asked) if asked != Asked::No);
        sums.base_asks += u64::from(asks(base.model));
        sums.trial_asks += u64::from(asks(trial.model));
        let changed = !base.model.same(trial.model);
        if base.kind == Kind::Wakeup
            && let Some(task) = base.task
        {
            self.waits.entry(task).or_default().wakeups += 1;
        }
        if !changed {
            return;
        }
        sums.changed += 1;
        sums.more += u64::from(asks(trial.model));
        sums.fewer += u64::from(asks(base.model));
        if self.first.len() < NAMED {
            self.first.push((*at, base.kind, base.task, base.model, trial.model));
        }
        if base.kind == Kind::Wakeup
            && let Some(task) = base.task
        {
            let waits = self.waits.entry(task).or_default();
            if asks(trial.model) {
                waits.shorter += 1;
                self.open.insert(task, at.ts_ns);
            } else {
                waits.longer += 1;
            }
        }
    }

    /// At the end: what the side under trial counted.
    pub fn finish(mut self, hooks: &Recorded) -> Trial {
        self.counts = COUNTED.iter().map(|&counter| (counter, hooks.count_of(counter))).collect();
        self
    }
}
