// SPDX-License-Identifier: GPL-2.0-only
//! The events of a recording, typed. Names are bytes, as the kernel has them: a comm need not be UTF-8.

/// In what context an event was recorded: the latency-flags column.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Context {
    /// In a hard interrupt, a soft interrupt or an NMI: what happens there is not the running task's doing.
    pub interrupt: bool,
    /// In a hard interrupt or an NMI.
    pub hard_interrupt: bool,
    /// The running task was told to reschedule, lazily or not.
    pub need_resched: bool,
    /// The same, apart; none where the column was not recorded.
    pub asked: Option<Asked>,
}

/// What the running task was told, as TIF_NEED_RESCHED and TIF_NEED_RESCHED_LAZY say it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Asked {
    /// Neither.
    #[default]
    No,
    /// To schedule on the way back to user mode, or at the next tick.
    Lazy,
    /// To schedule at once.
    Now,
}

impl Context {
    /// From the letters of the column, like `dl.4.`; a missing column says nothing.
    pub fn from_flags(flags: &[u8]) -> Self {
        let asked = flags.get(1).and_then(|flag| match flag {
            b'n' | b'N' | b'b' | b'B' => Some(Asked::Now),
            b'l' | b'L' => Some(Asked::Lazy),
            b'.' | b'p' => Some(Asked::No),
            _ => None,
        });
        let level = flags.get(2);
        Context {
            need_resched: asked.is_some_and(|asked| asked != Asked::No),
            interrupt: level.is_some_and(|flag| b"hHszZ".contains(flag)),
            hard_interrupt: level.is_some_and(|flag| b"hHzZ".contains(flag)),
            asked,
        }
    }
}

/// In what state a task left the CPU: sched_switch's prev_state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PrevState {
    /// `R` or `R+`: preempted, or it yielded; it stays queued.
    Runnable,
    /// `X` or `Z`: it is dead.
    Dead,
    /// Anything else (`S`, `D`, `I`, `T`, ...): it sleeps until it is woken.
    Asleep,
}

impl PrevState {
    /// From the text of the field, like `R+`, `S` or `D|K`.
    pub fn from_text(text: &[u8]) -> Option<Self> {
        match text.first()? {
            b'R' => Some(PrevState::Runnable),
            b'X' | b'Z' => Some(PrevState::Dead),
            b'A'..=b'z' => Some(PrevState::Asleep),
            _ => None,
        }
    }
}

/// A task that an event is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Subject<'a> {
    /// Its comm.
    pub comm: &'a [u8],
    /// Its pid in the initial namespace; 0 is the idle task of a CPU.
    pub pid: u32,
    /// The kernel's prio: 120 + nice for the fair class, below 100 for the others; `None` where not recorded.
    pub prio: Option<i32>,
}

/// What an event says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind<'a> {
    /// sched_switch.
    Switch {
        /// Who leaves the CPU.
        prev: Subject<'a>,
        /// In what state.
        prev_state: PrevState,
        /// Who gets it.
        next: Subject<'a>,
    },
    /// sched_waking: somebody wakes the task; recorded in the waker's context, before anything is done.
    Waking {
        /// Who is woken.
        task: Subject<'a>,
        /// On which CPU it last was.
        target_cpu: u32,
    },
    /// sched_wakeup: the task is runnable again; recorded where it was enqueued.
    Wakeup {
        /// Who was woken.
        task: Subject<'a>,
        /// On which CPU it was enqueued.
        target_cpu: u32,
    },
    /// sched_wakeup_new: a new task is runnable.
    WakeupNew {
        /// The new task.
        task: Subject<'a>,
        /// On which CPU it was enqueued.
        target_cpu: u32,
    },
    /// sched_process_fork.
    Fork {
        /// The new task.
        child: Subject<'a>,
    },
    /// sched_process_exit: the task is dying; it runs on until it leaves the CPU as dead.
    Exit {
        /// Who dies.
        task: Subject<'a>,
    },
    /// sched_stat_runtime: update_curr() charged the task.
    StatRuntime {
        /// Who is charged; the current task of some CPU, not always of this one.
        task: Subject<'a>,
        /// With how much, relative, ns.
        runtime_ns: u64,
    },
    /// sched_migrate_task.
    Migrate {
        /// Who moves.
        task: Subject<'a>,
        /// From where.
        orig_cpu: u32,
        /// To where.
        dest_cpu: u32,
    },
}

/// One event of a recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event<'a> {
    /// The line in the file, counted from 1.
    pub line: u64,
    /// When, on the recording's clock: absolute, ns. Never goes back within a CPU.
    pub ts_ns: u64,
    /// On which CPU it was recorded.
    pub cpu: u32,
    /// The task that ran there.
    pub current: Subject<'a>,
    /// In what context.
    pub context: Context,
    /// What it says.
    pub kind: Kind<'a>,
}
