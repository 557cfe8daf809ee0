// SPDX-License-Identifier: GPL-2.0-only
//! Says what came out of an operation that should not have, in the terms of the class.

use super::charge::{LAZY, NOW};
use super::groups::Actual;
use super::model::{Model, N0, Task, Why, World};
use crate::check::Report;
use crate::ops::driver::Driver;
use crate::ops::{Op, TaskName};
use sched_core::sched::{self, Rq, SchedClass, SchedEntity, TaskStruct};
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

/// Two values in words that tell them apart.
fn in_words(is: i64, due: i64) -> (String, String) {
    match (ms(is), ms(due)) {
        (a, b) if a == b => (format!("{is} ns"), format!("{due} ns")),
        both => both,
    }
}

/// The distance of two virtual times in words.
fn apart(is: u64, due: u64) -> String {
    let distance = is.wrapping_sub(due) as i64;
    let side = if distance < 0 { "before" } else { "after" };
    format!("{} {side}", ms(distance.saturating_abs()))
}

/// The name of a task by its number.
fn text(report: &Report<'_>, task: Option<u32>) -> String {
    task.map_or("nobody".to_string(), |task| report.text(TaskName(task)).to_string())
}

fn number<H: Hooks>(se: Option<&SchedEntity<'_, H>>) -> Option<u32> {
    se.map(|se| sched::task_of(se).pid.get())
}

fn running<H: Hooks>(rq: &Rq<'_, H>) -> Option<u32> {
    let curr = rq.curr();
    (!sched::is_idle_task(curr)).then(|| curr.pid.get())
}

/// Who runs, and what time it is there.
pub(super) fn who_runs<'a, H: Hooks>(model: &Model, rq: &'a Rq<'a, H>, report: &mut Report<'_>) {
    let c = model.cpu(rq.cpu);
    let (clock, flags) = (rq.clock.get(), rq.clock_update_flags.get().bits());
    if running(rq) != c.running || number(rq.cfs.curr.get()) != c.curr {
        let what = format!(
            "{} runs, but it is the turn of {}: of the buddy or a protected curr if they are owed service, else of \
             the earliest deadline among those who are",
            text(report, running(rq)),
            text(report, c.running)
        );
        report.rq("I-PICK", rq.cpu, "curr", what);
    } else if clock != c.clock || rq.clock_task.get() != c.clock {
        let what =
            format!("clock is {clock} and clock_task {}, {} was due", rq.clock_task.get(), c.clock);
        report.rq("I-CLK", rq.cpu, "clock", what);
    } else if flags != c.clock_flags {
        let what = format!("clock_update_flags are {flags:#x}, {:#x} were due", c.clock_flags);
        report.rq("I-CLK", rq.cpu, "clock_update_flags", what);
    }
}

/// The first thing that differs in a runqueue beside that.
pub(super) fn runqueue<'a, H: Hooks>(model: &Model, rq: &'a Rq<'a, H>, report: &mut Report<'_>) {
    let c = model.cpu(rq.cpu);
    let tif = rq.curr().thread_info_flags.load(Ordering::Relaxed);
    let next = number(rq.cfs.next.get());
    if tif != c.tif {
        let due = if c.tif == 0 { "there is no reason to" } else { told_due(c.tif) };
        let what = format!("{} was {}, but {due}", text(report, running(rq)), told(tif));
        report.rq("I-RESCHED", rq.cpu, "resched", what);
    } else if (rq.next_class.get() == SchedClass::Fair) != c.fair_next {
        let what =
            format!("next_class is {:?}, which is not what was woken or runs", rq.next_class.get());
        report.rq("I-RESCHED", rq.cpu, "next_class", what);
    } else if rq.nr_switches.get() != c.nr_switches {
        let what = format!("nr_switches is {}, {} was due", rq.nr_switches.get(), c.nr_switches);
        report.rq("I-CNT", rq.cpu, "nr_switches", what);
    } else if next != c.next {
        let what = format!(
            "the buddy is {}, but by what was woken, picked, charged and dequeued it is {}",
            text(report, next),
            text(report, c.next)
        );
        report.cfs("I-BUD", rq.cpu, "next", what);
    } else {
        counts(model, rq, report);
    }
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
        ("se.on_rq", i128::from(se.on_rq.get()), i128::from(t.queued)),
        ("on_rq", i128::from(on_rq), i128::from(t.on_rq)),
        ("__state", i128::from(state), i128::from(t.state)),
        ("throttled", i128::from(p.throttled.get()), i128::from(t.parked)),
        ("cpu", i128::from(sched::task_cpu(p)), i128::from(t.cpu)),
        ("group", i128::from(group), i128::from(t.group)),
        ("nr_migrations", se.nr_migrations.get() as i128, t.migrations as i128),
        ("rel_deadline", i128::from(se.rel_deadline.get()), i128::from(t.relative)),
    ];
    first_of(&pairs, "I-STATE", name, report)
}

fn first_of(
    pairs: &[(&'static str, i128, i128)],
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
        ("policy", p.policy.get() as i128, t.policy as i128),
        ("static_prio", i128::from(p.static_prio.get()), i128::from(t.static_prio)),
        ("prio", i128::from(p.prio.get()), i128::from(t.static_prio)),
        ("custom_slice", i128::from(se.custom_slice.get()), i128::from(t.custom)),
        ("slice", se.slice.get() as i128, t.slice as i128),
    ];
    let invariant = if matches!(op, Op::Param { .. } | Op::Task { .. } | Op::Nice { .. }) {
        "I-PARAM"
    } else {
        "I-SLICE"
    };
    let weights = [
        ("load", se.load.weight.get() as i128, t.load as i128),
        ("h_load", se.h_load.weight.get() as i128, t.weight as i128),
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
        let bound = u128::from(most) * u128::from(N0) / u128::from(t.weight.max(1));
        if u128::from(vlag.unsigned_abs()) > bound && u128::from(t.vlag.unsigned_abs()) == bound {
            let what = format!(
                "lag of {} is {}, bound {} (longest slice + tick, at weight {})",
                report.text(name),
                ms(vlag),
                ms(t.vlag.saturating_abs()),
                t.weight
            );
            report.task("I-LAG", name, "vlag", what);
            return true;
        }
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
        let (is, due) = in_words(vlag, t.vlag);
        let what = format!(
            "lag of {} is stored as {}, {} was due: {why} (longest slice and a tick now: {}, at weight {})",
            report.text(name),
            is,
            due,
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
