// SPDX-License-Identifier: GPL-2.0-only
//! Says what came out of an operation that should not have, in the terms of the class.

use super::charge::{LAZY, NOW};
use super::groups::Actual;
use super::model::{Model, Task, Why, World};
use crate::check::Report;
use crate::ops::driver::Driver;
use crate::ops::{Op, TaskName};
use sched_core::sched::{self, Rq, SchedClass, TaskStruct};
use sched_core::sync::Ordering;
use sched_core::trace::Hooks;

/// `ns` in words: in ms from 0.1 ms on.
fn ms(ns: i64) -> String {
    let size = ns.unsigned_abs();
    let sign = if ns < 0 { "-" } else { "" };
    if size < 100_000 {
        return format!("{ns} ns");
    }
    format!("{sign}{}.{:03} ms", size / 1_000_000, size % 1_000_000 / 1000)
}

/// The distance of two virtual times in words.
fn apart(is: u64, due: u64) -> String {
    let distance = is.wrapping_sub(due) as i64;
    let side = if distance < 0 { "before" } else { "after" };
    format!("{} {side}", ms(distance.saturating_abs()))
}

/// The first thing that differs in a runqueue. True if another task runs than should.
pub(super) fn runqueue<'a, H: Hooks>(
    model: &Model,
    rq: &'a Rq<'a, H>,
    report: &mut Report<'_>,
) -> bool {
    let c = model.cpu(rq.cpu);
    let cfs_rq = &rq.cfs;
    let curr = rq.curr();
    let text = |report: &Report<'_>, task: Option<u32>| match task {
        None => "nobody".to_string(),
        Some(task) => report.text(TaskName(task)).to_string(),
    };
    let name = |se: Option<&sched::SchedEntity<'a, H>>| se.map(|se| sched::task_of(se).pid.get());
    let running = (!sched::is_idle_task(curr)).then(|| curr.pid.get());

    if running != c.running || name(cfs_rq.curr.get()) != c.curr {
        let what = format!(
            "{} runs, but of those owed service (buddy and protection considered) it is the turn of {}",
            text(report, running),
            text(report, c.running)
        );
        report.rq("I-PICK", rq.cpu, "curr", what);
        return true;
    }
    let (clock, flags) = (rq.clock.get(), rq.clock_update_flags.get().bits());
    let tif = curr.thread_info_flags.load(Ordering::Relaxed);
    if clock != c.clock || rq.clock_task.get() != c.clock {
        let what =
            format!("clock is {clock}, clock_task {}, {} was due", rq.clock_task.get(), c.clock);
        report.rq("I-CLK", rq.cpu, "clock", what);
    } else if flags != c.clock_flags {
        let what = format!("clock_update_flags are {flags:#x}, {:#x} were due", c.clock_flags);
        report.rq("I-CLK", rq.cpu, "clock_update_flags", what);
    } else if tif != c.tif {
        let what = format!(
            "{} was {}, but {}",
            text(report, running),
            told(tif),
            if c.tif == 0 { "there is no reason to" } else { told_due(c.tif) }
        );
        report.rq("I-RESCHED", rq.cpu, "resched", what);
    } else if (rq.next_class.get() == SchedClass::Fair) != c.fair_next {
        let what = format!("next_class is {:?}", rq.next_class.get());
        report.rq("I-RESCHED", rq.cpu, "next_class", what);
    } else if rq.nr_switches.get() != c.nr_switches {
        let what = format!("nr_switches is {}, {} was due", rq.nr_switches.get(), c.nr_switches);
        report.rq("I-CNT", rq.cpu, "nr_switches", what);
    } else if name(cfs_rq.next.get()) != c.next {
        let what = format!(
            "the buddy is {}, but it is {} by what was woken, picked, charged and dequeued",
            text(report, name(cfs_rq.next.get())),
            text(report, c.next)
        );
        report.cfs("I-BUD", rq.cpu, "next", what);
    } else {
        counts(model, rq, report);
    }
    false
}

fn told(tif: u32) -> &'static str {
    match tif {
        0 => "not told to schedule",
        tif if tif & NOW != 0 => "told to schedule at once",
        _ => "told to schedule (lazily)",
    }
}

fn told_due(tif: u32) -> &'static str {
    match tif {
        tif if tif & NOW != 0 && tif & LAZY != 0 => "it has waited lazily and is due at once",
        tif if tif & NOW != 0 => "it has to at once",
        _ => "it has to, lazily: its turn is over, or who was woken goes first",
    }
}

fn counts<'a, H: Hooks>(model: &Model, rq: &'a Rq<'a, H>, report: &mut Report<'_>) {
    let c = model.cpu(rq.cpu);
    let cfs_rq = &rq.cfs;
    let pairs = [
        ("nr_running", rq.nr_running.get(), c.nr_running),
        ("h_nr_queued", cfs_rq.h_nr_queued.get(), c.nr_queued),
        ("h_nr_runnable", cfs_rq.h_nr_runnable.get(), c.nr_runnable),
    ];
    for (field, is, due) in pairs {
        if is != due {
            let what = format!("{field} is {is}, {due} was due after one task came or went");
            return report.cfs("I-CNT", rq.cpu, field, what);
        }
    }
    if cfs_rq.zero_vruntime.get() != c.zero {
        let what = format!(
            "zero_vruntime is {} where V was when it was last to be looked at",
            apart(cfs_rq.zero_vruntime.get(), c.zero)
        );
        report.cfs("I-KEY", rq.cpu, "zero_vruntime", what);
    } else if cfs_rq.sum_shift.get() != c.shift {
        let what = format!("sum_shift is {}, {} was due", cfs_rq.sum_shift.get(), c.shift);
        report.cfs("I-WIDE", rq.cpu, "sum_shift", what);
    }
}

/// The first thing that differs in a task.
pub(super) fn task<'a, H: Hooks>(
    model: &Model,
    t: &Task,
    name: TaskName,
    p: &'a TaskStruct<'a, H>,
    op: &Op,
    report: &mut Report<'_>,
) {
    let told = state(t, name, p, report)
        || parameters(t, name, p, op, report)
        || service(t, name, p, report)
        || times(model, t, name, p, report);
    if !told {
        report.task(
            "I-ONLY",
            name,
            "",
            "changed, though the operation does not concern it".to_string(),
        );
    }
}

fn state<'a, H: Hooks>(
    t: &Task,
    name: TaskName,
    p: &'a TaskStruct<'a, H>,
    report: &mut Report<'_>,
) -> bool {
    let se = &p.se;
    if se.sched_delayed.get() != t.delayed {
        let what = if t.delayed {
            "was owed nothing when it fell asleep, so it has to stay queued, delayed"
        } else {
            "is delayed, but was owed service, was woken, or is asleep for good"
        };
        report.task("I-DLY", name, "sched_delayed", what.to_string());
        return true;
    }
    let state = p.__state.load(Ordering::Relaxed);
    let on_rq = p.on_rq.load(Ordering::Relaxed);
    let group = p.sched_task_group.get().map_or(0, |tg| tg.id.get());
    let pairs = [
        ("se.on_rq", i64::from(se.on_rq.get()), i64::from(t.queued)),
        ("on_rq", i64::from(on_rq), i64::from(t.on_rq)),
        ("__state", i64::from(state), i64::from(t.state)),
        ("throttled", i64::from(p.throttled.get()), i64::from(t.parked)),
        ("cpu", i64::from(sched::task_cpu(p)), i64::from(t.cpu)),
        ("group", i64::from(group), i64::from(t.group)),
        ("nr_migrations", se.nr_migrations.get() as i64, t.migrations as i64),
        ("rel_deadline", i64::from(se.rel_deadline.get()), i64::from(t.relative)),
    ];
    first_of(&pairs, "I-STATE", name, report)
}

fn first_of(
    pairs: &[(&'static str, i64, i64)],
    invariant: &'static str,
    name: TaskName,
    report: &mut Report<'_>,
) -> bool {
    let Some(&(field, is, due)) = pairs.iter().find(|(_, is, due)| is != due) else { return false };
    report.task(invariant, name, field, format!("{field} is {is}, {due} was due"));
    true
}

fn parameters<'a, H: Hooks>(
    t: &Task,
    name: TaskName,
    p: &'a TaskStruct<'a, H>,
    op: &Op,
    report: &mut Report<'_>,
) -> bool {
    let se = &p.se;
    let pairs = [
        ("policy", p.policy.get() as i64, t.policy as i64),
        ("static_prio", i64::from(p.static_prio.get()), i64::from(t.static_prio)),
        ("prio", i64::from(p.prio.get()), i64::from(t.static_prio)),
        ("custom_slice", i64::from(se.custom_slice.get()), i64::from(t.custom)),
        ("slice", se.slice.get() as i64, t.slice as i64),
    ];
    let invariant = if matches!(op, Op::Param { .. } | Op::Task { .. } | Op::Nice { .. }) {
        "I-PARAM"
    } else {
        "I-SLICE"
    };
    let weights = [
        ("load", se.load.weight.get() as i64, t.load as i64),
        ("h_load", se.h_load.weight.get() as i64, t.weight as i64),
    ];
    first_of(&pairs, invariant, name, report) || first_of(&weights, "I-WGT", name, report)
}

/// What it ran.
fn service<'a, H: Hooks>(
    t: &Task,
    name: TaskName,
    p: &'a TaskStruct<'a, H>,
    report: &mut Report<'_>,
) -> bool {
    let se = &p.se;
    let pairs = [
        ("sum_exec_runtime", se.sum_exec_runtime.get() as i64, t.sum_exec as i64),
        ("exec_start", se.exec_start.get() as i64, t.exec_start as i64),
        ("prev_sum_exec_runtime", se.prev_sum_exec_runtime.get() as i64, t.prev_sum_exec as i64),
    ];
    let Some(&(field, is, due)) = pairs.iter().find(|(_, is, due)| is != due) else { return false };
    let what = format!(
        "{field} is {} off: the time since it was last charged is charged once, to who ran",
        ms(is.wrapping_sub(due))
    );
    report.task("I-CLK", name, field, what);
    true
}

fn times<'a, H: Hooks>(
    model: &Model,
    t: &Task,
    name: TaskName,
    p: &'a TaskStruct<'a, H>,
    report: &mut Report<'_>,
) -> bool {
    let se = &p.se;
    let (vlag, vruntime) = (se.vlag.get(), se.vruntime.get());
    if vlag != t.vlag {
        let most = model.longest(t.cpu).wrapping_add(model.set.tick);
        let (invariant, why) = match t.why.vlag {
            Why::Kept => ("I-ONLY", "nothing happened to it"),
            Why::Reweighted => ("I-RW", "weight times lag is kept when the weight changes"),
            Why::Requeued => {
                ("I-DLY", "woken while delayed it owes what it owes now, and no more than before")
            }
            _ if t.delayed => {
                ("I-DLY", "while delayed it never owes more than before, nor is owed anything")
            }
            _ => ("I-LAG", "V - vruntime, with curr charged up to now, and within the limit"),
        };
        let what = format!(
            "lag of {} is stored as {}, {} was due: {why} (longest slice and a tick now: {}, at weight {})",
            report.text(name),
            ms(vlag),
            ms(t.vlag),
            ms(most as i64),
            t.weight
        );
        report.task(invariant, name, "vlag", what);
        return true;
    }
    if vruntime != t.vruntime {
        let (invariant, why) = match t.why.vruntime {
            Why::Kept => ("I-ONLY", "nothing happened to it"),
            Why::Placed => ("I-PLACE", "V less its lag, the pull of its own weight on V made good"),
            Why::Reweighted => ("I-RW", "where weight times lag is what it was"),
            Why::Yielded => ("I-YIELD", "the end of its request, which it gave up"),
            _ => ("I-CLK", "the time that it ran, by its weight"),
        };
        let what = format!(
            "{} stands {} where it has to: {why} (lag {}, weight {})",
            report.text(name),
            apart(vruntime, t.vruntime),
            ms(t.vlag),
            t.weight
        );
        report.task(invariant, name, "vruntime", what);
        return true;
    }
    ends(t, name, p, report)
}

/// Deadline and protection.
fn ends<'a, H: Hooks>(
    t: &Task,
    name: TaskName,
    p: &'a TaskStruct<'a, H>,
    report: &mut Report<'_>,
) -> bool {
    let se = &p.se;
    if se.deadline.get() != t.deadline {
        let (invariant, why) = match t.why.deadline {
            Why::Kept => ("I-ONLY", "nothing happened to it"),
            Why::Renewed => ("I-REQ", "one request from where it is, since the last was used up"),
            Why::Placed => (
                "I-PLACE",
                "one request from its place; half of one if new; as far as before if moved",
            ),
            Why::Taken => ("I-PLACE", "the distance from its vruntime, for when it comes back"),
            _ => ("I-RW", "weight times the distance from V is kept when the weight changes"),
        };
        let what = format!(
            "deadline of {} is {} the one due: {why} (slice {}, weight {})",
            report.text(name),
            apart(se.deadline.get(), t.deadline),
            ms(t.slice as i64),
            t.weight
        );
        report.task(invariant, name, "deadline", what);
        return true;
    }
    if se.vprot.get() != t.vprot {
        let (invariant, why) = match t.why.vprot {
            Why::Kept => ("I-PROT", "it was neither picked nor is anything shorter there"),
            Why::Picked => {
                ("I-PROT", "set by the pick: its deadline, or less if a shorter request is queued")
            }
            Why::Shortened => ("I-PROT", "a shorter request was queued"),
            Why::Preempted => ("I-PROT", "who was woken preempts it"),
            _ => ("I-RW", "weight times the distance from V is kept when the weight changes"),
        };
        let what = format!(
            "protection of {} ends {} where it has to: {why}",
            report.text(name),
            apart(se.vprot.get(), t.vprot)
        );
        report.task(invariant, name, "vprot", what);
        return true;
    }
    false
}

/// A flat weight that was just made is the product of the shares on its path.
pub(super) fn weight<H: Hooks>(
    driver: &Driver<'_, H>,
    t: &Task,
    name: TaskName,
    report: &mut Report<'_>,
) {
    let Some(due) = Actual(driver).product_of_shares(name.0) else { return };
    if due != t.weight {
        let what = format!(
            "flat weight of {} is {}, but the shares on its path make {due}",
            report.text(name),
            t.weight
        );
        report.task("I-WGT", name, "h_load", what);
    }
}
