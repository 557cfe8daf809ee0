// SPDX-License-Identifier: GPL-2.0-only
//! A failure in the terms of the class: after which operation, when, what does not hold, and the tasks concerned.

use crate::compare::guard::quietly;
use crate::compare::side::{Side, Watch};
use crate::ops::class::{Object, Part, TaskState, Value};
use crate::ops::digest::State;
use crate::ops::run::{Failure, FailureKind};
use crate::ops::{Class, GroupName, Names, Op, Program, START_NS, Statement, TaskName, text};
use std::collections::BTreeMap;

/// So many tasks are shown at most.
const ROWS: usize = 8;

/// A failure, told.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Explanation {
    /// One line: the operation, its number and time, the object and what is wrong with it, the invariant.
    pub sentence: String,
    /// The tasks concerned, a line each, in ms; empty if there is nothing to show.
    pub table: Vec<String>,
}

impl Explanation {
    /// Tells `failure`, which the last statement of `program` on `side` comes to. Runs what stands before it again.
    pub fn of(program: &Program, side: Side, failure: &Failure) -> Self {
        let after = failure.kind == FailureKind::Invariant || failure.kind == FailureKind::Warning;
        let shown =
            program.statements.len() - usize::from(!after && !program.statements.is_empty());
        let table = quietly(|| {
            side.with(&program.header, &program.names, Watch::default(), |class| {
                for statement in &program.statements[..shown] {
                    // What is not legal was stepped over before, too.
                    let _ = class.apply(&statement.op);
                }
                table(class, failure.object, !after)
            })
        });
        let table = table.ok().and_then(Result::ok).unwrap_or_default();
        let sentence = Place::of(&program.statements, &program.names).tell(failure);
        Explanation { sentence, table }
    }
}

/// Where something is wrong: the last of some statements.
pub struct Place {
    /// It, as text.
    statement: String,
    /// Its number among the operations, from 1.
    number: u64,
    /// The clock, ns.
    now_ns: u64,
}

impl Place {
    /// After the last of `statements`.
    pub fn of(statements: &[Statement], names: &Names) -> Self {
        let times = statements.iter().rev().find_map(|statement| match statement.op {
            Op::At { ns } => Some(ns),
            _ => None,
        });
        let last = statements.last();
        Place {
            statement: last.map_or_else(String::new, |s| text::shown(&s.op, names).to_string()),
            number: statements.iter().filter(|s| s.op.is_operation()).count() as u64,
            now_ns: times.unwrap_or(START_NS),
        }
    }

    /// `failure` in one line.
    pub fn tell(&self, failure: &Failure) -> String {
        let Place { statement, number, now_ns } = self;
        let at = format!("(operation {number}, t={} ms)", ms(i128::from(*now_ns)));
        let what = &failure.what;
        match failure.kind {
            FailureKind::Hang => format!("hung in `{statement}` {at}: {what}"),
            FailureKind::Panic => format!("in `{statement}` {at} the class panicked: {what}"),
            FailureKind::Warning => format!("after `{statement}` {at}: the kernel warns: {what}"),
            _ => format!("after `{statement}` {at}: {what} [{}]", failure.key),
        }
    }
}

/// ns as ms with three digits, or six where it is small.
fn ms(ns: i128) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let size = ns.unsigned_abs();
    match size {
        1..1_000_000 => format!("{sign}0.{size:06}"),
        _ => format!("{sign}{}.{:03}", size / 1_000_000, size / 1_000 % 1_000),
    }
}

/// The tasks that `object` has to do with, a line each under a head.
pub fn table(class: &dyn Class, object: Option<Object>, before: bool) -> Vec<String> {
    let fields = Fields::of(class);
    let tasks: Vec<TaskName> = class.tasks();
    let here = |task: TaskName| class.task(task).map(|info| info.cpu);
    let (cpu, first) = match object {
        Some(Object::Task(task)) => (here(task), Some(task)),
        Some(Object::Rq(cpu) | Object::Cfs(cpu, _) | Object::Gse(cpu, _)) => (Some(cpu), None),
        None => (None, None),
    };
    let others = tasks.iter().copied().filter(|&task| Some(task) != first);
    let others = others.filter(|&task| cpu.is_none() || here(task) == cpu);
    let rows: Vec<TaskName> = first.into_iter().chain(others).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let mut table = comfy_table::Table::new();
    table.load_preset(comfy_table::presets::NOTHING);
    let when = if before { "before it" } else { "after it" };
    table.set_header([when, "cpu", "state", "weight", "slice", "vruntime-V", "deadline-V", "lag"]);
    for &task in rows.iter().take(ROWS) {
        table.add_row(fields.row(class, task));
    }
    for column in [1, 3, 4, 5, 6, 7] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(comfy_table::CellAlignment::Right);
        }
    }
    let mut lines: Vec<String> =
        table.lines().map(|line| line.trim_end().trim_start().to_string()).collect();
    if let Some(head) = lines.first_mut() {
        head.push_str("   (times in ms)");
    }
    if rows.len() > ROWS {
        lines.push(format!("and {} more tasks", rows.len() - ROWS));
    }
    lines
}

/// The fields of a state by object and name.
struct Fields(BTreeMap<String, Vec<(&'static str, Value)>>);

fn key(object: Object) -> String {
    format!("{object:?}")
}

impl Fields {
    fn of(class: &dyn Class) -> Self {
        let state = State::of_part(class, Part::Core);
        let objects = state.objects().iter();
        Fields(objects.map(|o| (key(o.object), o.fields.clone())).collect())
    }

    fn get(&self, object: Object, name: &str) -> Option<Value> {
        let fields = self.0.get(&key(object))?;
        fields.iter().find(|(known, _)| *known == name).map(|&(_, value)| value)
    }

    /// A number; virtual times are taken as signed.
    fn number(&self, object: Object, name: &str) -> i64 {
        match self.get(object, name) {
            Some(Value::U64(number)) => number as i64,
            Some(Value::I64(number)) => number,
            Some(Value::Bool(flag)) => i64::from(flag),
            _ => 0,
        }
    }

    /// V of a CPU: the weighted average of those that compete, the running task among them. Virtual ns, absolute.
    fn average(&self, cpu: u32) -> i64 {
        let root = Object::Cfs(cpu, GroupName::ROOT);
        let zero = self.number(root, "zero_vruntime");
        let mut sum = i128::from(self.number(root, "sum_w_vruntime"));
        let mut weight = i128::from(self.number(root, "sum_weight"));
        if let Some(Value::Task(Some(curr))) = self.get(root, "curr") {
            let curr = Object::Task(curr);
            if self.number(curr, "se.on_rq") == 1 {
                let shift = self.number(root, "sum_shift").clamp(0, 63);
                let own = self.number(curr, "h_load");
                let own = if shift == 0 { own } else { (own >> shift).max(2) };
                let vruntime = self.number(curr, "vruntime");
                sum += i128::from(vruntime.wrapping_sub(zero)) * i128::from(own);
                weight += i128::from(own);
            }
        }
        zero.wrapping_add(if weight > 0 { sum.div_euclid(weight) as i64 } else { 0 })
    }

    fn row(&self, class: &dyn Class, task: TaskName) -> Vec<String> {
        let object = Object::Task(task);
        let info = class.task(task);
        let state = match info.map(|info| (info.state, info.running, info.throttled)) {
            None => "dead",
            Some((_, _, true)) => "throttled",
            Some((_, true, _)) => "runs",
            Some((TaskState::New, ..)) => "new",
            Some((TaskState::Runnable, ..)) => "waits",
            Some((TaskState::Delayed, ..)) => "delayed",
            Some((TaskState::Blocked, ..)) => "sleeps",
        };
        let cpu = info.map_or(0, |info| info.cpu);
        let average = self.average(cpu);
        let queued = self.number(object, "se.on_rq") == 1;
        let from_v = |name: &str| match queued {
            true => ms(i128::from(self.number(object, name).wrapping_sub(average))),
            false => "-".to_string(),
        };
        // Someone who is queued has the lag that follows from V; someone who is not, the one that was kept.
        let lag = match queued {
            true => average.wrapping_sub(self.number(object, "vruntime")),
            false => self.number(object, "vlag"),
        };
        vec![
            class.names().task_text(task).to_string(),
            cpu.to_string(),
            state.to_string(),
            (self.number(object, "h_load")).to_string(),
            ms(i128::from(self.number(object, "slice"))),
            from_v("vruntime"),
            from_v("deadline"),
            ms(i128::from(lag)),
        ]
    }
}
