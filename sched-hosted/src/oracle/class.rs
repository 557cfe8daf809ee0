// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's own class behind the [`Class`] trait.

use crate::error::{Error, Result};
use crate::ops::class::{
    Class, Depth, Legality, Object, Part, Resched, TaskInfo, TaskState, Value, Violation, Visitor,
};
use crate::ops::legal;
use crate::ops::{GroupName, Header, Names, Op, Policy, TaskName};
use kernel_oracle::ffi::{self, Complaint, Config, Kind, Oracle};
use std::cell::RefCell;

/// The fields of `rq C` in the core half.
const RQ: [&str; 6] = ["clock", "clock_task", "nr_running", "nr_switches", "resched", "curr"];
/// Of every `cfs`.
const LEVEL: [&str; 6] =
    ["load", "nr_queued", "h_nr_queued", "h_nr_runnable", "h_nr_idle", "h_curr"];
/// What `cfs C /` adds.
const ROOT: [&str; 6] =
    ["sum_w_vruntime", "sum_weight", "sum_shift", "zero_vruntime", "curr", "next"];
/// What the others add.
const GROUP: [&str; 6] =
    ["se.load", "se.on_rq", "idle", "throttled", "throttle_count", "runtime_remaining"];
/// Of `task NAME`, and what is added while it is in the tree.
const TASK: [&str; 16] = [
    "cpu",
    "on_rq",
    "se.on_rq",
    "sched_delayed",
    "rel_deadline",
    "custom_slice",
    "load",
    "h_load",
    "vruntime",
    "deadline",
    "vlag",
    "slice",
    "vprot",
    "exec_start",
    "sum_exec_runtime",
    "prev_sum_exec_runtime",
];
const TREE: [&str; 3] = ["min_vruntime", "min_slice", "max_slice"];
const AVG: [&str; 9] = [
    "last_update_time",
    "load_sum",
    "runnable_sum",
    "util_sum",
    "period_contrib",
    "load_avg",
    "runnable_avg",
    "util_avg",
    "util_est",
];
const TG: [&str; 6] = [
    "tg_load_avg_contrib",
    "tg_runnable_avg_contrib",
    "propagate",
    "prop_runnable_sum",
    "tg.load_avg",
    "tg.runnable_avg",
];
const REMOVED: [&str; 4] =
    ["removed.nr", "removed.load_avg", "removed.util_avg", "removed.runnable_avg"];

/// A machine with the kernel's own class.
pub struct OracleClass {
    oracle: Oracle,
    names: Names,
    buffer: RefCell<Vec<u64>>,
    pelt_buffer: RefCell<Vec<u64>>,
    gave_up: Option<Complaint>,
}

impl OracleClass {
    /// A machine as `header` describes it, in `oracle`, which is one of its own.
    ///
    /// # Errors
    /// The header asks for what this kernel does not have.
    pub fn new(oracle: Oracle, header: &Header, names: &Names) -> Result<Self> {
        let mut class = OracleClass {
            oracle,
            names: names.clone(),
            buffer: RefCell::default(),
            pelt_buffer: RefCell::default(),
            gave_up: None,
        };
        class.reset(header, names)?;
        Ok(class)
    }

    /// Forgets the machine and makes another; microseconds.
    ///
    /// # Errors
    /// The header asks for what this kernel does not have.
    pub fn reset(&mut self, header: &Header, names: &Names) -> Result<()> {
        let config = config(&self.oracle, header, names)?;
        self.names.clone_from(names);
        self.gave_up = self.oracle.init(&config).err();
        Ok(())
    }

    /// Carries out `ops` (made by [`raw`]), which must be legal one after the other, at full speed with nothing in
    /// between: for timing.
    ///
    /// # Errors
    /// The kernel's own code gave up: the machine is gone.
    pub fn run_many(&mut self, ops: &[ffi::Op]) -> std::result::Result<(), Complaint> {
        self.oracle.run_many(ops)
    }

    /// The oracle itself.
    pub fn oracle(&self) -> &Oracle {
        &self.oracle
    }

    /// The oracle itself, for batches of the benches.
    pub(crate) fn oracle_mut(&mut self) -> &mut Oracle {
        &mut self.oracle
    }

    /// The BUG that ended this machine, if one did: its state means nothing since.
    pub fn gave_up(&self) -> Option<&Complaint> {
        self.gave_up.as_ref()
    }

    /// Shows the present state to `f` as numbers: the core half and the load tracking half, the fields in the order of
    /// the texts.
    pub fn with_numbers<R>(&self, f: impl FnOnce(&[u64], &[u64]) -> R) -> R {
        let (mut core, mut pelt) = (self.buffer.borrow_mut(), self.pelt_buffer.borrow_mut());
        self.oracle.core(&mut core);
        self.oracle.pelt(&mut pelt);
        f(&core, &pelt)
    }
}

fn config(oracle: &Oracle, header: &Header, names: &Names) -> Result<Config> {
    let mut features = oracle.default_features();
    for word in
        ["NO_HRTICK", "NO_HRTICK_DL"].into_iter().chain(header.features.iter().map(String::as_str))
    {
        let (name, on) = match word.strip_prefix("NO_") {
            Some(name) => (name, false),
            None => (word, true),
        };
        let Some(bit) = oracle.features().iter().position(|known| *known == name) else {
            return Err(Error::bad_argument(
                format!("this kernel has no scheduler feature '{name}'"),
                "use a name of /sys/kernel/debug/sched/features, or NO_ and that name",
            ));
        };
        features = if on { features | 1 << bit } else { features & !(1 << bit) };
    }
    if header.cpus > oracle.max_cpus() {
        return Err(Error::not_possible(
            format!(
                "the oracle has at most {} CPUs, and {} are asked for",
                oracle.max_cpus(),
                header.cpus
            ),
            "use fewer",
        ));
    }
    Ok(Config {
        cpus: header.cpus,
        hz: header.hz,
        tasks: names.nr_tasks() as u32,
        groups: names.nr_groups() as u32,
        cgroup_mode: header.cgroup_mode as u32,
        features,
        base_slice_ns: header.base_slice_ns.unwrap_or(0),
    })
}

fn policy(policy: Policy) -> u32 {
    match policy {
        Policy::Normal => 0,
        Policy::Batch => 1,
        Policy::Idle => 2,
    }
}

/// `op` in the oracle's form. `parent` tells the number of the group above one.
pub fn raw(op: &Op, parent: impl Fn(GroupName) -> u32) -> ffi::Op {
    let new = ffi::Op::new;
    match *op {
        Op::At { ns } => ffi::Op { x: ns, ..new(Kind::At) },
        Op::Group { group, shares } => {
            ffi::Op { c: group.0, a: parent(group), x: shares.unwrap_or(0), ..new(Kind::GroupNew) }
        }
        Op::Task { task, cpu, nice, policy: p, slice_ns, group } => ffi::Op {
            a: task.0,
            b: cpu,
            c: group.0,
            d: policy(p),
            n: nice,
            x: slice_ns,
            ..new(Kind::Task)
        },
        Op::New { task } => ffi::Op { a: task.0, ..new(Kind::New) },
        Op::Wake { task, sync, cpu } => {
            ffi::Op { a: task.0, b: cpu.unwrap_or(u32::MAX), c: u32::from(sync), ..new(Kind::Wake) }
        }
        Op::Schedule { cpu } => ffi::Op { b: cpu, ..new(Kind::Schedule) },
        Op::Block { cpu } => ffi::Op { b: cpu, ..new(Kind::Block) },
        Op::Exit { cpu } => ffi::Op { b: cpu, ..new(Kind::Exit) },
        Op::Tick { cpu } => ffi::Op { b: cpu, ..new(Kind::Tick) },
        Op::Yield { cpu } => ffi::Op { b: cpu, ..new(Kind::Yield) },
        Op::YieldTo { cpu, task } => ffi::Op { a: task.0, b: cpu, ..new(Kind::YieldTo) },
        Op::Nice { task, nice } => ffi::Op { a: task.0, n: nice, ..new(Kind::Nice) },
        Op::Param { task, policy: p, nice, slice_ns } => {
            ffi::Op { a: task.0, d: policy(p), n: nice, x: slice_ns, ..new(Kind::Param) }
        }
        Op::Move { task, group } => ffi::Op { a: task.0, c: group.0, ..new(Kind::Move) },
        Op::Shares { group, shares } => ffi::Op { c: group.0, x: shares, ..new(Kind::Shares) },
        Op::GroupIdle { group, idle } => {
            ffi::Op { c: group.0, a: u32::from(idle), ..new(Kind::GroupIdle) }
        }
        Op::Quota { group, period_us, quota_us } => ffi::Op {
            c: group.0,
            x: period_us,
            y: quota_us.unwrap_or(u64::MAX),
            ..new(Kind::Quota)
        },
        Op::Timers => new(Kind::Timers),
        Op::UserReturn { cpu } => ffi::Op { b: cpu, ..new(Kind::UserReturn) },
        Op::Migrate { task, cpu } => ffi::Op { a: task.0, b: cpu, ..new(Kind::Migrate) },
        Op::UpdateCurr { cpu } => ffi::Op { b: cpu, ..new(Kind::UpdateCurr) },
        Op::UpdateBlocked { cpu } => ffi::Op { b: cpu, ..new(Kind::UpdateBlocked) },
        Op::FinishDelayed { task } => ffi::Op { a: task.0, ..new(Kind::FinishDelayed) },
    }
}

/// Hands out the numbers of a state one by one.
struct Reader<'a> {
    numbers: std::slice::Iter<'a, u64>,
    visitor: &'a mut dyn Visitor,
}

impl Reader<'_> {
    fn next(&mut self) -> u64 {
        *self.numbers.next().expect("the oracle shows every field")
    }

    fn fields(&mut self, names: &[&'static str]) {
        for name in names {
            let number = self.next();
            self.visitor.field(name, value(name, number));
        }
    }
}

/// The value of field `name` that the oracle shows as `number`.
fn value(name: &str, number: u64) -> Value {
    let task = || (number != ffi::NOBODY).then_some(TaskName(number as u32));
    match name {
        "resched" => Value::Word(["none", "lazy", "now"][number.min(2) as usize]),
        "h_curr" if number & ffi::GROUP != 0 && number != ffi::NOBODY => {
            Value::Group(GroupName(number as u32))
        }
        "h_curr" | "next" => Value::Task(task()),
        "se.on_rq" | "sched_delayed" | "rel_deadline" | "custom_slice" | "throttled"
        | "on_list" => Value::Bool(number != 0),
        "on_rq" | "idle" | "throttle_count" => Value::I64(i64::from(number as i32)),
        "vlag" | "sum_w_vruntime" | "runtime_remaining" | "propagate" | "prop_runnable_sum"
        | "tg.load_avg" | "tg.runnable_avg" => Value::I64(number as i64),
        _ => Value::U64(number),
    }
}

impl OracleClass {
    fn visit_core(&self, reader: &mut Reader<'_>) {
        for cpu in 0..self.nr_cpus() {
            reader.visitor.object(Object::Rq(cpu));
            reader.fields(&RQ[..5]);
            let curr = reader.next();
            let curr = (curr != ffi::NOBODY).then_some(TaskName(curr as u32));
            reader.visitor.field(RQ[5], Value::Current(curr));
            reader.visitor.end();
            for &group in self.oracle.groups() {
                reader.visitor.object(Object::Cfs(cpu, GroupName(group)));
                reader.fields(&LEVEL);
                if group != 0 {
                    reader.fields(&GROUP);
                } else {
                    reader.fields(&ROOT[..4]);
                    let curr = reader.next();
                    let curr = (curr != ffi::NOBODY).then_some(TaskName(curr as u32));
                    reader.visitor.field(ROOT[4], Value::Task(curr));
                    reader.fields(&ROOT[5..]);
                }
                reader.visitor.end();
            }
        }
        for &task in self.oracle.tasks() {
            reader.visitor.object(Object::Task(TaskName(task)));
            let on_rq = reader.numbers.as_slice().get(2).is_some_and(|&on_rq| on_rq != 0);
            let cpu = reader.numbers.as_slice().first().map_or(0, |&cpu| cpu as u32);
            reader.fields(&TASK);
            if on_rq && self.cfs_curr(cpu) != u64::from(task) {
                reader.fields(&TREE);
            }
            reader.visitor.end();
        }
    }

    /// The number of `cfs.curr` of `cpu`.
    fn cfs_curr(&self, cpu: u32) -> u64 {
        let groups = self.oracle.groups().len() - 1;
        let stride = RQ.len() + LEVEL.len() + ROOT.len() + groups * (LEVEL.len() + GROUP.len());
        self.buffer.borrow()[cpu as usize * stride + RQ.len() + LEVEL.len() + 4]
    }

    fn visit_pelt(&self, reader: &mut Reader<'_>) {
        for cpu in 0..self.nr_cpus() {
            reader.visitor.object(Object::Rq(cpu));
            reader.fields(&["clock_pelt", "lost_idle_time"]);
            reader.visitor.end();
            for &group in self.oracle.groups() {
                reader.visitor.object(Object::Cfs(cpu, GroupName(group)));
                reader.fields(&AVG);
                reader.fields(&["on_list"]);
                if group != 0 {
                    reader.fields(&TG);
                }
                reader.fields(&REMOVED);
                reader.visitor.end();
                if group != 0 {
                    reader.visitor.object(Object::Gse(cpu, GroupName(group)));
                    reader.fields(&AVG);
                    reader.fields(&["runnable_weight"]);
                    reader.visitor.end();
                }
            }
        }
        for &task in self.oracle.tasks() {
            reader.visitor.object(Object::Task(TaskName(task)));
            reader.fields(&AVG);
            reader.visitor.end();
        }
    }
}

impl Class for OracleClass {
    fn release(&self) -> &'static str {
        "7.3"
    }

    fn names(&self) -> &Names {
        &self.names
    }

    fn check(&self, op: &Op) -> Legality {
        legal::check(self, op)
    }

    fn run(&mut self, op: &Op) {
        if self.gave_up.is_some() {
            return;
        }
        let raw = raw(op, |group| legal::parent_of(self, group).map_or(0, |parent| parent.0));
        self.gave_up = self.oracle.run(&raw).err();
    }

    fn now(&self) -> u64 {
        self.oracle.now()
    }

    fn nr_cpus(&self) -> u32 {
        self.oracle.config().cpus
    }

    fn current(&self, cpu: u32) -> Option<TaskName> {
        self.oracle.current(cpu).0.map(TaskName)
    }

    fn resched(&self, cpu: u32) -> Resched {
        match self.oracle.current(cpu).1 {
            0 => Resched::None,
            1 => Resched::Lazy,
            _ => Resched::Now,
        }
    }

    fn task(&self, name: TaskName) -> Option<TaskInfo> {
        let info = self.oracle.task(name.0)?;
        Some(TaskInfo {
            state: match info.state {
                0 => TaskState::New,
                1 => TaskState::Runnable,
                2 => TaskState::Delayed,
                _ => TaskState::Blocked,
            },
            cpu: info.cpu,
            running: info.running(),
            throttled: info.throttled(),
            group: GroupName(info.group),
        })
    }

    fn tasks(&self) -> Vec<TaskName> {
        self.oracle.tasks().iter().map(|&task| TaskName(task)).collect()
    }

    fn groups(&self) -> Vec<GroupName> {
        self.oracle.groups().iter().map(|&group| GroupName(group)).collect()
    }

    fn visit(&self, part: Part, visitor: &mut dyn Visitor) {
        match part {
            Part::Core => self.oracle.core(&mut self.buffer.borrow_mut()),
            Part::Pelt => self.oracle.pelt(&mut self.buffer.borrow_mut()),
        }
        let numbers = self.buffer.borrow();
        let mut reader = Reader { numbers: numbers.iter(), visitor };
        match part {
            Part::Core => self.visit_core(&mut reader),
            Part::Pelt => self.visit_pelt(&mut reader),
        }
    }

    fn fingerprint(&self) -> u64 {
        let mut numbers = self.buffer.borrow_mut();
        let mut hash = 0_u64;
        for part in [Part::Core, Part::Pelt] {
            match part {
                Part::Core => self.oracle.core(&mut numbers),
                Part::Pelt => self.oracle.pelt(&mut numbers),
            }
            for &number in numbers.iter() {
                hash = (hash ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23);
            }
        }
        hash
    }

    fn violations(&self, _: Depth) -> Vec<Violation> {
        Vec::new()
    }

    fn has_pelt(&self) -> bool {
        true
    }
}
