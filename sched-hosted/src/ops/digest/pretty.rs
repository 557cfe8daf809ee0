// SPDX-License-Identifier: GPL-2.0-only
//! A state for people: CPU by CPU, the tree of groups with the tasks in it, under the field names of
//! the kernel's sched_debug.
//!
//! What matters when one asks who runs and why is shown, not every field: those are in the texts
//! that are hashed. Times and virtual times are in ms with six digits, and signed, as in the kernel.

mod facts;
mod table;

use crate::ops::class::{Object, Part, TaskState, Value};
use crate::ops::{Class, GroupName, TaskName};
use facts::Facts;
use std::fmt::Write;
use table::{Table, pairs};

/// The columns of the tasks: `S` is the state, `E` whether it is eligible (E or N), `c` whether its slice was
/// asked for (S), `load` its share of its level, `h_load` its flat weight.
const COLUMNS: [&str; 11] = [
    "S", "load", "h_load", "vruntime", "E", "deadline", "lag", "slice", "c", "sum-exec", "load_avg",
];
/// The columns of words rather than numbers.
const WORDS: [&str; 3] = ["S", "E", "c"];
/// Deeper levels are indented no further.
const DEEPEST: usize = 16;

/// The present state of `class` as trees, one a CPU, at most 110 columns wide.
pub fn pretty(class: &dyn Class) -> String {
    let facts = Facts::of(class);
    let mut out = String::new();
    for cpu in 0..class.nr_cpus() {
        if cpu != 0 {
            out.push('\n');
        }
        Page { facts: &facts, cpu }.write(&mut out);
    }
    out
}

/// What is shown of one CPU.
struct Page<'f> {
    facts: &'f Facts<'f>,
    cpu: u32,
}

impl Page<'_> {
    fn write(&self, out: &mut String) {
        // Writing to a String does not fail.
        let _ = writeln!(out, "cpu#{}", self.cpu);
        pairs(out, 2, &self.rq());
        pairs(out, 2, &self.load_tracking_of_rq());
        let mut table = Table::new(&COLUMNS, &WORDS);
        let left_out = self.group(&mut table, GroupName::ROOT, 0);
        table.write(out);
        if left_out != 0 {
            let groups = if left_out == 1 { "group has" } else { "groups have" };
            let _ = writeln!(out, "({left_out} other {groups} nothing on this CPU)");
        }
    }

    fn rq(&self) -> Vec<(String, String)> {
        let rq = Object::Rq(self.cpu);
        let mut shown = Vec::new();
        for name in ["clock", "clock_task"] {
            self.time(&mut shown, Part::Core, rq, name);
        }
        for name in ["nr_running", "nr_switches", "curr", "resched"] {
            self.plain(&mut shown, Part::Core, rq, name);
        }
        shown
    }

    fn load_tracking_of_rq(&self) -> Vec<(String, String)> {
        let mut shown = Vec::new();
        for name in ["clock_pelt", "lost_idle_time"] {
            self.time(&mut shown, Part::Pelt, Object::Rq(self.cpu), name);
        }
        shown
    }

    /// A group's line, its tasks on this CPU, and the groups below. Returns how many were left out.
    fn group(&self, table: &mut Table, group: GroupName, depth: usize) -> u32 {
        let indent = 2 * depth.min(DEEPEST);
        let label = match group {
            GroupName::ROOT => format!("cfs_rq[{}]:/", self.cpu),
            _ => self.last_name(group),
        };
        table.heading(indent, label, self.level(group));
        table.more(indent + 4, self.timeline(group));
        table.more(indent + 4, self.load_tracking(group));
        for &task in self.facts.tasks_of(self.cpu, group) {
            table.row(indent + 2, self.facts.names.task_text(task), self.task(task));
        }
        let mut left_out = 0;
        for &below in self.facts.children_of(group) {
            if self.facts.is_used(self.cpu, below) {
                left_out += self.group(table, below, depth + 1);
            } else {
                left_out += self.facts.nr_below(below);
            }
        }
        left_out
    }

    /// The end of a group's path: where it stands in the tree says the rest.
    fn last_name(&self, group: GroupName) -> String {
        let path = self.facts.names.group_text(group);
        path.rsplit_once('/').map_or_else(|| path.to_string(), |(_, last)| format!("/{last}"))
    }

    /// Share, weight and counts of a level; throttling where there is any.
    fn level(&self, group: GroupName) -> Vec<(String, String)> {
        let cfs = Object::Cfs(self.cpu, group);
        let mut shown = Vec::new();
        if let Some(share) = self.facts.get(Part::Core, cfs, "se.load") {
            shown.push(("se->load.weight".to_string(), self.facts.text(share)));
        }
        for name in ["load", "nr_queued", "h_nr_runnable", "h_nr_queued"] {
            self.plain(&mut shown, Part::Core, cfs, name);
        }
        match self.facts.get(Part::Core, cfs, "h_curr") {
            Some(Value::Group(below)) => shown.push(("h_curr".to_string(), self.last_name(below))),
            _ => self.plain(&mut shown, Part::Core, cfs, "h_curr"),
        }
        for name in ["h_nr_idle", "idle", "throttled", "throttle_count"] {
            self.unless_zero(&mut shown, Part::Core, cfs, name);
        }
        if self.facts.number(Part::Core, cfs, "runtime_remaining").is_some_and(|left| left != 0) {
            self.time(&mut shown, Part::Core, cfs, "runtime_remaining");
        }
        shown
    }

    /// The flat tree, which is the root's.
    fn timeline(&self, group: GroupName) -> Vec<(String, String)> {
        let cfs = Object::Cfs(self.cpu, group);
        let mut shown = Vec::new();
        self.time(&mut shown, Part::Core, cfs, "zero_vruntime");
        if let Some(average) = self.facts.average(self.cpu)
            && group == GroupName::ROOT
        {
            shown.push(("avg_vruntime".to_string(), ms(average.vruntime())));
        }
        for name in ["sum_w_vruntime", "sum_weight", "sum_shift", "curr", "next"] {
            self.plain(&mut shown, Part::Core, cfs, name);
        }
        shown
    }

    fn load_tracking(&self, group: GroupName) -> Vec<(String, String)> {
        let cfs = Object::Cfs(self.cpu, group);
        let mut shown = Vec::new();
        let own = ["load_avg", "runnable_avg", "util_avg", "util_est"];
        let left = ["removed.load_avg", "removed.util_avg", "removed.runnable_avg"];
        for name in own.into_iter().chain(left).chain(["tg_load_avg_contrib"]) {
            self.unless_zero(&mut shown, Part::Pelt, cfs, name);
        }
        if let Some(sum) = self.facts.get(Part::Pelt, cfs, "tg.load_avg").filter(|&v| !is_zero(v)) {
            shown.push(("tg_load_avg".to_string(), self.facts.text(sum)));
        }
        for name in ["load_avg", "runnable_avg", "util_avg"] {
            let value = self.facts.get(Part::Pelt, Object::Gse(self.cpu, group), name);
            if let Some(value) = value.filter(|&value| !is_zero(value)) {
                shown.push((format!("se->avg.{name}"), self.facts.text(value)));
            }
        }
        shown
    }

    /// A task's cells, by [`COLUMNS`].
    fn task(&self, name: TaskName) -> Vec<String> {
        let task = Object::Task(name);
        let time = |field: &str| self.facts.number(Part::Core, task, field).map_or(dash(), ms);
        let number = |part: Part, field: &str| {
            self.facts.get(part, task, field).map_or(dash(), |value| self.facts.text(value))
        };
        let is_set = |field: &str| self.facts.number(Part::Core, task, field) == Some(1);
        let average = self.facts.average(self.cpu).filter(|_| is_set("se.on_rq"));
        let vruntime = self.facts.number(Part::Core, task, "vruntime");
        let (eligible, lag) = match average.zip(vruntime) {
            Some((average, vruntime)) => {
                let eligible = if average.is_eligible(vruntime) { "E" } else { "N" };
                (eligible, ms(average.vruntime().wrapping_sub(vruntime)))
            }
            None => ("", time("vlag")),
        };
        // A distance from vruntime, not a point.
        let relative = if is_set("rel_deadline") { "+" } else { "" };
        vec![
            self.state(name).to_string(),
            number(Part::Core, "load"),
            number(Part::Core, "h_load"),
            time("vruntime"),
            eligible.to_string(),
            format!("{relative}{}", time("deadline")),
            lag,
            time("slice"),
            if is_set("custom_slice") { "S" } else { "" }.to_string(),
            time("sum_exec_runtime"),
            number(Part::Pelt, "load_avg"),
        ]
    }

    fn state(&self, name: TaskName) -> &'static str {
        match self.facts.task(name) {
            None => "dead",
            Some(task) if task.running && task.throttled => "parked",
            Some(task) if task.running => "running",
            Some(task) if task.throttled => "throttled",
            Some(task) => match task.state {
                TaskState::New => "new",
                TaskState::Runnable => "queued",
                TaskState::Delayed => "delayed",
                TaskState::Blocked => "blocked",
            },
        }
    }

    fn plain(&self, shown: &mut Vec<(String, String)>, part: Part, object: Object, name: &str) {
        if let Some(value) = self.facts.get(part, object, name) {
            shown.push((name.to_string(), self.facts.text(value)));
        }
    }

    fn unless_zero(
        &self,
        shown: &mut Vec<(String, String)>,
        part: Part,
        object: Object,
        name: &str,
    ) {
        if self.facts.get(part, object, name).is_some_and(|value| !is_zero(value)) {
            self.plain(shown, part, object, name);
        }
    }

    fn time(&self, shown: &mut Vec<(String, String)>, part: Part, object: Object, name: &str) {
        if let Some(ns) = self.facts.number(part, object, name) {
            shown.push((name.to_string(), ms(ns)));
        }
    }
}

fn is_zero(value: Value) -> bool {
    matches!(value, Value::U64(0) | Value::I64(0) | Value::Bool(false))
}

fn dash() -> String {
    "-".to_string()
}

/// ns as ms with six digits.
fn ms(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let ns = ns.unsigned_abs();
    format!("{sign}{}.{:06}", ns / 1_000_000, ns % 1_000_000)
}

#[cfg(test)]
mod tests;
