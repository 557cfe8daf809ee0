// SPDX-License-Identifier: GPL-2.0-only
//! What goes to a loaded oracle and comes back: the structures of `c/oracle.h`.

/// What an operation does; which fields of [`Op`] it reads stands in `c/oracle.h`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
#[allow(missing_docs)] // each is the statement of its name
pub enum Kind {
    At,
    Task,
    New,
    Wake,
    Schedule,
    Block,
    Exit,
    Tick,
    Yield,
    YieldTo,
    Nice,
    Param,
    Move,
    GroupNew,
    Shares,
    GroupIdle,
    Quota,
    Timers,
    UserReturn,
    Migrate,
    UpdateCurr,
    UpdateBlocked,
    FinishDelayed,
}

/// An operation: a kind, and what its kind reads of the rest (`c/oracle.h`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
#[allow(missing_docs)]
pub struct Op {
    pub kind: Kind,
    pub a: u32,
    pub b: u32,
    pub c: u32,
    pub d: u32,
    pub n: i32,
    pub x: u64,
    pub y: u64,
}

impl Op {
    /// An operation that reads nothing yet.
    pub fn new(kind: Kind) -> Self {
        Op { kind, a: 0, b: 0, c: 0, d: 0, n: 0, x: 0, y: 0 }
    }
}

/// What a batch does with each of its items: enum oracle_bench in `c/oracle.h` says more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
#[allow(missing_docs)] // each is the path of its name
pub enum Bench {
    Nothing,
    Clock,
    Enqueue,
    Requeue,
    Dequeue,
    Delay,
    Switch,
    UpdateCurr,
    Tick,
    Place,
    Pick,
    Erase,
    Insert,
    Peek,
    HandOff,
}

/// An item of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct BenchItem {
    /// The task, by its number.
    pub task: u32,
    /// The CPU that it is on.
    pub cpu: u32,
    /// How far the clock goes on before each operation that reads it, ns.
    pub step_ns: u64,
}

/// The machine to make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Config {
    /// How many CPUs.
    pub cpus: u32,
    /// Ticks per second.
    pub hz: u32,
    /// Task numbers are below this.
    pub tasks: u32,
    /// Group numbers are below this; 0 is the root group, so it is 1 at least.
    pub groups: u32,
    /// 0 up, 1 smp, 2 concur, 3 max, 4 tasks.
    pub cgroup_mode: u32,
    /// One bit for each of [`Oracle::features`](super::Oracle::features).
    pub features: u32,
    /// The base slice, ns; 0 for the default of so many CPUs.
    pub base_slice_ns: u32,
}

/// What is known of a live task from the outside.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct TaskInfo {
    pub(super) live: u8,
    /// 0 new, 1 runnable, 2 delayed, 3 blocked.
    pub state: u8,
    running: u8,
    throttled: u8,
    /// The CPU that it is on, or was on last.
    pub cpu: u32,
    /// Its group's number.
    pub group: u32,
}

impl TaskInfo {
    /// It is the current task of its CPU.
    pub fn running(&self) -> bool {
        self.running != 0
    }

    /// It is parked because its group's quota is used up.
    pub fn throttled(&self) -> bool {
        self.throttled != 0
    }
}

/// A complaint as the shared object writes it.
#[repr(C)]
pub(super) struct RawComplaint {
    pub(super) count: u32,
    pub(super) fatal: u32,
    pub(super) line: u32,
    pub(super) file: [u8; 128],
}

/// What the kernel's own code complained of: a WARN, or a BUG.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Complaint {
    /// How many there were since the machine was made; the first is described, or the one that was fatal.
    pub count: u32,
    /// A BUG, or a call of something that the oracle does not have: the machine cannot go on.
    pub fatal: bool,
    /// The source file, or the name of what is missing (then `line` is 0).
    pub file: String,
    /// The line in it.
    pub line: u32,
}

impl std::fmt::Display for Complaint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.fatal, self.line) {
            (true, 0) => {
                write!(f, "the kernel's code called {}, which the oracle does not have", self.file)
            }
            (true, 1) if self.file == "a bad address" => {
                write!(f, "the kernel's code touched a bad address (an oops)")
            }
            (true, line) => write!(f, "BUG at {}:{line}", self.file),
            (false, line) => write!(f, "WARN at {}:{line}", self.file),
        }
    }
}

impl Complaint {
    pub(super) fn unknown() -> Self {
        Complaint { count: 1, fatal: true, file: "something unknown".to_string(), line: 0 }
    }
}
