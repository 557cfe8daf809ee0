// SPDX-License-Identifier: GPL-2.0-only
//! What is legal in a state: each operation is refused, with the reason and what to do, where it makes no sense.

use super::Driver;
use crate::ops::class::{Class, Legality, Refusal, TaskState};
use crate::ops::{GroupName, Op, TaskName};
use sched_core::sched::{self, TaskGroup, TaskStruct};
use sched_core::trace::Hooks;

impl<'a, H: Hooks + 'a> Driver<'a, H> {
    fn need_task(&self, name: TaskName) -> Result<&'a TaskStruct<'a, H>, Refusal> {
        self.task_struct(name).ok_or_else(|| {
            Refusal::new(
                format!("there is no task '{}'", self.names.task_text(name)),
                format!("make it first: task {}", self.names.task_text(name)),
            )
        })
    }

    fn need_cpu(&self, cpu: u32) -> Legality {
        let cpus = self.nr_cpus();
        if cpu < cpus {
            return Ok(());
        }
        Err(Refusal::new(
            format!("there is no CPU {cpu}"),
            format!(
                "CPUs are numbered 0 to {}; the header's 'cpus' says how many there are",
                cpus - 1
            ),
        ))
    }

    fn need_busy(&self, cpu: u32, verb: &str) -> Legality {
        self.need_cpu(cpu)?;
        if self.current(cpu).is_some() {
            return self.need_not_parked(cpu);
        }
        Err(Refusal::new(
            format!("CPU {cpu} idles: it has no task that could {verb}"),
            format!("wake a task there and 'schedule {cpu}' first"),
        ))
    }

    fn need_group(&self, group: GroupName) -> Result<&'a TaskGroup<'a, H>, Refusal> {
        self.groups.get(group.0 as usize).copied().flatten().ok_or_else(|| {
            let path = self.names.group_text(group);
            Refusal::new(
                format!("there is no group '{path}'"),
                format!("make it first: group {path}"),
            )
        })
    }

    fn need_group_below_root(&self, group: GroupName) -> Legality {
        self.need_group(group)?;
        if group != GroupName::ROOT {
            return Ok(());
        }
        Err(Refusal::new("the root group / cannot be changed", "name a group below it"))
    }

    /// The group right above `group`, by their paths.
    pub(super) fn parent_of(&self, group: GroupName) -> Option<GroupName> {
        let path = self.names.group_text(group);
        let (above, _) = path.rsplit_once('/')?;
        if above.is_empty() {
            return Some(GroupName::ROOT);
        }
        let known = |&(name, _): &(GroupName, _)| self.names.group_text(name) == above;
        self.group_order.iter().find(|group| known(group)).map(|&(name, _)| name)
    }

    fn check_group(&self, group: GroupName) -> Legality {
        let path = self.names.group_text(group);
        if self.need_group(group).is_ok() {
            return Err(Refusal::new(
                format!("there is a group '{path}' already"),
                "a group is made once and stays",
            ));
        }
        match self.parent_of(group) {
            Some(_) => Ok(()),
            None => {
                let above = path.rsplit_once('/').map_or("/", |(above, _)| above);
                Err(Refusal::new(
                    format!("group '{path}': there is no group '{above}' above it"),
                    format!("make it first: group {above}"),
                ))
            }
        }
    }

    /// A task that parked itself only waits for the schedule.
    fn need_not_parked(&self, cpu: u32) -> Legality {
        if !self.rq(cpu).curr().throttled.get() {
            return Ok(());
        }
        Err(Refusal::new(
            format!("the task on CPU {cpu} has just parked itself: its group's quota is used up"),
            format!("the next statement for CPU {cpu} is: schedule {cpu}"),
        ))
    }

    fn check_wake(&self, task: TaskName, cpu: Option<u32>) -> Legality {
        let p = self.need_task(task)?;
        if let Some(cpu) = cpu {
            self.need_cpu(cpu)?;
        }
        let name = self.names.task_text(task);
        match Self::state_of(p) {
            TaskState::Delayed | TaskState::Blocked => Ok(()),
            TaskState::New => Err(Refusal::new(
                format!("task '{name}' is new: it never slept"),
                format!("use: new {name}"),
            )),
            TaskState::Runnable => Err(Refusal::new(
                format!("task '{name}' is awake already"),
                "only a task that sleeps (after block) can be woken",
            )),
        }
    }

    fn check_yield_to(&self, cpu: u32, task: TaskName) -> Legality {
        self.need_busy(cpu, "yield")?;
        let p = self.need_task(task)?;
        let name = self.names.task_text(task);
        let refuse = |what: String| {
            Err(Refusal::new(what, format!("yield to a task that waits on CPU {cpu}")))
        };
        if sched::task_cpu(p) != cpu {
            return refuse(format!("task '{name}' is on CPU {}", sched::task_cpu(p)));
        }
        match Self::state_of(p) {
            TaskState::Runnable if self.current(cpu) == Some(task) => {
                refuse(format!("task '{name}' is the one that runs"))
            }
            TaskState::Runnable if p.throttled.get() => {
                refuse(format!("task '{name}' is throttled"))
            }
            TaskState::Runnable => Ok(()),
            _ => refuse(format!("task '{name}' is not runnable")),
        }
    }

    fn check_migrate(&self, task: TaskName, cpu: u32) -> Legality {
        self.need_cpu(cpu)?;
        let p = self.need_task(task)?;
        let name = self.names.task_text(task);
        let refuse = |what: String| {
            Err(Refusal::new(what, "migrate a task that waits in a queue of another CPU"))
        };
        match Self::state_of(p) {
            TaskState::New | TaskState::Blocked => refuse(format!("task '{name}' is in no queue")),
            _ if p.throttled.get() => refuse(format!("task '{name}' is throttled")),
            _ if sched::task_on_cpu(p) => refuse(format!("task '{name}' is running")),
            _ if sched::task_cpu(p) == cpu => {
                refuse(format!("task '{name}' is on CPU {cpu} already"))
            }
            _ => Ok(()),
        }
    }

    /// Class::check().
    pub(super) fn legal(&self, op: &Op) -> Legality {
        match *op {
            Op::At { ns } if ns < self.now() => Err(Refusal::new(
                format!("time goes back: it is {} ns already", self.now()),
                "times never go back; they start at 1000000",
            )),
            Op::At { .. } | Op::Timers => Ok(()),
            Op::Task { task, cpu, group, .. } => {
                self.need_cpu(cpu)?;
                self.need_group(group)?;
                if self.task_struct(task).is_none() {
                    return Ok(());
                }
                Err(Refusal::new(
                    format!("there is a task '{}' already", self.names.task_text(task)),
                    "a name is free again after its task's exit",
                ))
            }
            Op::New { task } => {
                let p = self.need_task(task)?;
                if Self::state_of(p) == TaskState::New {
                    return Ok(());
                }
                Err(Refusal::new(
                    format!("task '{}' is not new", self.names.task_text(task)),
                    "a sleeping task is woken with wake",
                ))
            }
            Op::Wake { task, cpu, .. } => self.check_wake(task, cpu),
            Op::Block { cpu } => self.need_busy(cpu, "block"),
            Op::Exit { cpu } => self.need_busy(cpu, "exit"),
            Op::Yield { cpu } => self.need_busy(cpu, "yield"),
            Op::YieldTo { cpu, task } => self.check_yield_to(cpu, task),
            Op::Schedule { cpu } => self.need_cpu(cpu),
            Op::Tick { cpu }
            | Op::UserReturn { cpu }
            | Op::UpdateCurr { cpu }
            | Op::UpdateBlocked { cpu } => {
                self.need_cpu(cpu)?;
                self.need_not_parked(cpu)
            }
            Op::Nice { task, .. } | Op::Param { task, .. } => self.need_task(task).map(|_| ()),
            Op::Migrate { task, cpu } => self.check_migrate(task, cpu),
            Op::FinishDelayed { task } => {
                let p = self.need_task(task)?;
                if p.se.sched_delayed.get() {
                    return Ok(());
                }
                Err(Refusal::new(
                    format!("task '{}' is not delayed", self.names.task_text(task)),
                    "only a sleeper whose dequeue was delayed can be finished",
                ))
            }
            Op::Move { task, group } => {
                self.need_task(task)?;
                self.need_group(group).map(|_| ())
            }
            Op::Group { group, .. } => self.check_group(group),
            Op::Shares { group, .. } | Op::GroupIdle { group, .. } | Op::Quota { group, .. } => {
                self.need_group_below_root(group)
            }
        }
    }
}
