// SPDX-License-Identifier: GPL-2.0-only
//! What is legal in a state that is only seen from the outside: the rules of the operation language over any
//! [`Class`].

use crate::ops::class::{Class, Legality, Refusal, TaskInfo, TaskState};
use crate::ops::{GroupName, Op, TaskName};

/// Says whether `op` is legal in the present state of `class`.
///
/// # Errors
/// It is not; the refusal says why, and what to do.
pub fn check(class: &dyn Class, op: &Op) -> Legality {
    match *op {
        Op::At { ns } => need(ns >= class.now(), || {
            (
                format!("time goes back: it is {} ns already", class.now()),
                "times never go back; they start at 1000000".to_string(),
            )
        }),
        Op::Timers => Ok(()),
        Op::Task { task, cpu, group, .. } => {
            need_cpu(class, cpu)?;
            need_group(class, group)?;
            need(class.task(task).is_none(), || {
                (
                    format!("there is a task '{}' already", class.names().task_text(task)),
                    "a name is free again after its task's exit".to_string(),
                )
            })
        }
        Op::New { task } => check_new(class, task),
        Op::Wake { task, cpu, .. } => check_wake(class, task, cpu),
        Op::Block { cpu } => need_busy(class, cpu, "block"),
        Op::Exit { cpu } => need_busy(class, cpu, "exit"),
        Op::Yield { cpu } => need_busy(class, cpu, "yield"),
        Op::YieldTo { cpu, task } => check_yield_to(class, cpu, task),
        Op::Schedule { cpu } => need_cpu(class, cpu),
        Op::Tick { cpu }
        | Op::UserReturn { cpu }
        | Op::UpdateCurr { cpu }
        | Op::UpdateBlocked { cpu } => {
            need_cpu(class, cpu)?;
            need_not_parked(class, cpu)
        }
        Op::Nice { task, .. } | Op::Param { task, .. } => need_task(class, task).map(|_| ()),
        Op::Migrate { task, cpu } => check_migrate(class, task, cpu),
        Op::FinishDelayed { task } => {
            let info = need_task(class, task)?;
            need(info.state == TaskState::Delayed, || {
                (
                    format!("task '{}' is not delayed", class.names().task_text(task)),
                    "only a sleeper whose dequeue was delayed can be finished".to_string(),
                )
            })
        }
        Op::Move { task, group } => {
            need_task(class, task)?;
            need_group(class, group)
        }
        Op::Group { group, .. } => check_group(class, group),
        Op::Shares { group, .. } | Op::GroupIdle { group, .. } | Op::Quota { group, .. } => {
            need_group(class, group)?;
            need(group != GroupName::ROOT, || {
                (
                    "the root group / cannot be changed".to_string(),
                    "name a group below it".to_string(),
                )
            })
        }
    }
}

/// The group right above `group`, by their paths, if it has been made.
pub fn parent_of(class: &dyn Class, group: GroupName) -> Option<GroupName> {
    let names = class.names();
    let (above, _) = names.group_text(group).rsplit_once('/')?;
    if above.is_empty() {
        return Some(GroupName::ROOT);
    }
    class.groups().into_iter().find(|&known| names.group_text(known) == above)
}

fn need(holds: bool, why: impl FnOnce() -> (String, String)) -> Legality {
    if holds {
        return Ok(());
    }
    let (what, remedy) = why();
    Err(Refusal { what, remedy })
}

fn need_cpu(class: &dyn Class, cpu: u32) -> Legality {
    let cpus = class.nr_cpus();
    need(cpu < cpus, || {
        (
            format!("there is no CPU {cpu}"),
            format!(
                "CPUs are numbered 0 to {}; the header's 'cpus' says how many there are",
                cpus - 1
            ),
        )
    })
}

fn need_task(class: &dyn Class, task: TaskName) -> Result<TaskInfo, Refusal> {
    class.task(task).ok_or_else(|| {
        let name = class.names().task_text(task);
        Refusal::new(format!("there is no task '{name}'"), format!("make it first: task {name}"))
    })
}

fn need_group(class: &dyn Class, group: GroupName) -> Legality {
    need(class.has_group(group), || {
        let path = class.names().group_text(group);
        (format!("there is no group '{path}'"), format!("make it first: group {path}"))
    })
}

fn need_busy(class: &dyn Class, cpu: u32, verb: &str) -> Legality {
    need_cpu(class, cpu)?;
    need(class.current(cpu).is_some(), || {
        (
            format!("CPU {cpu} idles: it has no task that could {verb}"),
            format!("wake a task there and 'schedule {cpu}' first"),
        )
    })?;
    need_not_parked(class, cpu)
}

/// A task that parked itself only waits for the schedule.
fn need_not_parked(class: &dyn Class, cpu: u32) -> Legality {
    let parked =
        class.current(cpu).and_then(|task| class.task(task)).is_some_and(|info| info.throttled);
    need(!parked, || {
        (
            format!("the task on CPU {cpu} has just parked itself: its group's quota is used up"),
            format!("the next statement for CPU {cpu} is: schedule {cpu}"),
        )
    })
}

fn check_new(class: &dyn Class, task: TaskName) -> Legality {
    let info = need_task(class, task)?;
    need(info.state == TaskState::New, || {
        (
            format!("task '{}' is not new", class.names().task_text(task)),
            "a sleeping task is woken with wake".to_string(),
        )
    })
}

fn check_wake(class: &dyn Class, task: TaskName, cpu: Option<u32>) -> Legality {
    let info = need_task(class, task)?;
    if let Some(cpu) = cpu {
        need_cpu(class, cpu)?;
    }
    let name = class.names().task_text(task);
    match info.state {
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

fn check_yield_to(class: &dyn Class, cpu: u32, task: TaskName) -> Legality {
    need_busy(class, cpu, "yield")?;
    let info = need_task(class, task)?;
    let name = class.names().task_text(task);
    let what = match info.state {
        _ if info.cpu != cpu => format!("task '{name}' is on CPU {}", info.cpu),
        TaskState::Runnable if info.running => format!("task '{name}' is the one that runs"),
        TaskState::Runnable if info.throttled => format!("task '{name}' is throttled"),
        TaskState::Runnable => return Ok(()),
        _ => format!("task '{name}' is not runnable"),
    };
    Err(Refusal::new(what, format!("yield to a task that waits on CPU {cpu}")))
}

fn check_migrate(class: &dyn Class, task: TaskName, cpu: u32) -> Legality {
    need_cpu(class, cpu)?;
    let info = need_task(class, task)?;
    let name = class.names().task_text(task);
    let what = match info.state {
        TaskState::New | TaskState::Blocked => format!("task '{name}' is in no queue"),
        _ if info.throttled => format!("task '{name}' is throttled"),
        _ if info.running => format!("task '{name}' is running"),
        _ if info.cpu == cpu => format!("task '{name}' is on CPU {cpu} already"),
        _ => return Ok(()),
    };
    Err(Refusal::new(what, "migrate a task that waits in a queue of another CPU"))
}

fn check_group(class: &dyn Class, group: GroupName) -> Legality {
    let path = class.names().group_text(group);
    need(!class.has_group(group), || {
        (format!("there is a group '{path}' already"), "a group is made once and stays".to_string())
    })?;
    need(parent_of(class, group).is_some(), || {
        let above = path.rsplit_once('/').map_or("/", |(above, _)| above);
        let what = format!("group '{path}': there is no group '{above}' above it");
        (what, format!("make it first: group {above}"))
    })
}
