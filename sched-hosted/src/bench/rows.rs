// SPDX-License-Identifier: GPL-2.0-only
//! The rows: which path, with how many runnable tasks, how deep in groups, with which weights and slices.

use serde::Serialize;
use std::fmt;

/// A fast path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Path {
    /// enqueue_task() of a task that wakes up, with the clock.
    Enqueue,
    /// dequeue_task() of the running task that sleeps and is not delayed, with the clock.
    Dequeue,
    /// dequeue_task() of the running task where the class may delay it, with the clock.
    Delay,
    /// enqueue_task() of a delayed task that wakes up, with the clock.
    Requeue,
    /// pick_task(), put_prev and set_next where the pick first falls on a delayed task and completes its dequeue; per
    /// completed dequeue.
    Complete,
    /// pick_task(), put_prev and set_next: from one task to another, without the clock.
    Switch,
    /// update_curr() with 100 ns to charge, without the clock.
    UpdateCurr,
    /// task_tick(), with the clock.
    Tick,
    /// place_entity() alone.
    Place,
    /// pick_eevdf() alone, without slice protection.
    Pick,
    /// __enqueue_entity() alone: into tree and sums.
    Insert,
    /// __dequeue_entity() alone.
    Erase,
    /// The whole step: the running task wakes another and sleeps; clock, preemption check, pick, switch. No locks.
    HandOff,
}

impl Path {
    /// All, in the order in which they are shown.
    pub const ALL: [Path; 13] = [
        Path::Enqueue,
        Path::Dequeue,
        Path::Delay,
        Path::Requeue,
        Path::Complete,
        Path::Switch,
        Path::UpdateCurr,
        Path::Tick,
        Path::Place,
        Path::Pick,
        Path::Insert,
        Path::Erase,
        Path::HandOff,
    ];

    /// Its name in a row.
    pub const fn name(self) -> &'static str {
        match self {
            Path::Enqueue => "enqueue",
            Path::Dequeue => "dequeue",
            Path::Delay => "delay",
            Path::Requeue => "requeue",
            Path::Complete => "complete",
            Path::Switch => "switch",
            Path::UpdateCurr => "update_curr",
            Path::Tick => "tick",
            Path::Place => "place",
            Path::Pick => "pick",
            Path::Insert => "insert",
            Path::Erase => "erase",
            Path::HandOff => "handoff",
        }
    }
}

/// Weights and slices.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mix {
    /// Nice 0 and the default slice, all of them.
    Equal,
    /// Nice -10 to 10; one in four with a slice of its own, 0.5 to 8 ms.
    Mixed,
    /// The extremes side by side: nice -20, 19 and SCHED_IDLE, slices of 0.1 and 100 ms.
    Adversarial,
}

impl Mix {
    /// All.
    pub const ALL: [Mix; 3] = [Mix::Equal, Mix::Mixed, Mix::Adversarial];

    /// Its name in a row.
    pub const fn name(self) -> &'static str {
        match self {
            Mix::Equal => "equal",
            Mix::Mixed => "mixed",
            Mix::Adversarial => "adversarial",
        }
    }
}

/// What is prepared for a row: everything but the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Situation {
    /// Runnable tasks on each CPU.
    pub tasks: u32,
    /// Levels of groups between a task and the root.
    pub levels: u32,
    /// Weights and slices.
    pub mix: Mix,
}

/// The numbers of tasks.
pub const TASKS: [u32; 5] = [2, 15, 100, 1_000, 10_000];
/// The depths.
pub const LEVELS: [u32; 3] = [0, 1, 3];

impl Situation {
    /// All, flat ones first.
    pub fn all() -> Vec<Situation> {
        let mut all = Vec::new();
        for levels in LEVELS {
            for mix in Mix::ALL {
                all.extend(TASKS.map(|tasks| Situation { tasks, levels, mix }));
            }
        }
        all
    }
}

/// A row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Row {
    /// The path.
    pub path: Path,
    /// What it is timed in.
    #[serde(flatten)]
    pub situation: Situation,
}

/// `PATH/TASKS/LEVELS/MIX`, as in `enqueue/15/0/equal`.
impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Situation { tasks, levels, mix } = self.situation;
        write!(f, "{}/{tasks}/{levels}/{}", self.path.name(), mix.name())
    }
}

/// The rows that a filter lets through: words with commas between them, each a row's name or parts of it, where `*` or
/// nothing stands for any: `enqueue`, `enqueue/15`, `*/*/0/equal`, `handoff,*/2/0`.
///
/// # Errors
/// A word that lets nothing through, as the word itself.
pub fn select(filter: &str) -> Result<Vec<Row>, String> {
    let every: Vec<Row> = Situation::all()
        .into_iter()
        .flat_map(|situation| Path::ALL.map(|path| Row { path, situation }))
        .collect();
    let mut wanted = vec![false; every.len()];
    for word in filter.split(',').map(str::trim) {
        let mut any = false;
        for (row, wanted) in every.iter().zip(&mut wanted) {
            let hit = matches(&row.to_string(), word);
            *wanted |= hit;
            any |= hit;
        }
        if !any {
            return Err(word.to_string());
        }
    }
    Ok(every.into_iter().zip(wanted).filter_map(|(row, wanted)| wanted.then_some(row)).collect())
}

fn matches(row: &str, word: &str) -> bool {
    let mut parts = row.split('/');
    word.split('/').all(|wanted| {
        let part = parts.next();
        part.is_some_and(|part| wanted.is_empty() || wanted == "*" || wanted == part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_names_rows() {
        let names = |filter: &str| -> Vec<String> {
            select(filter).unwrap().iter().map(Row::to_string).collect()
        };
        assert_eq!(names("enqueue/15/0/equal"), ["enqueue/15/0/equal"]);
        assert_eq!(names("*/2/3/mixed").len(), Path::ALL.len());
        assert_eq!(names("").len(), 13 * 45);
        assert_eq!(names("tick//1, pick/2").len(), 15 + 9);
        assert_eq!(select("tick,tock"), Err("tock".to_string()));
        assert_eq!(select("tick/3"), Err("tick/3".to_string()));
        assert_eq!(select("tick/2/0/equal/x"), Err("tick/2/0/equal/x".to_string()));
    }
}
