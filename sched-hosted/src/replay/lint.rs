// SPDX-License-Identifier: GPL-2.0-only
//! What a recording lacks to be replayed well, and how to record it.

use super::scan::Scan;
use crate::trace::problems::Wrong;
use crate::trace::reader::Summary;
use std::fmt::Write;

/// One thing that was looked at.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Nothing is missing.
    pub fine: bool,
    /// What was found.
    pub what: String,
    /// What it costs, and what to do; empty if nothing is missing.
    pub remedy: &'static str,
}

/// Looks at what was seen of a whole recording.
pub fn findings(scan: &Scan, summary: &Summary) -> Vec<Finding> {
    let kinds = &scan.kinds;
    let mut all = Vec::new();
    let mut look = |fine: bool, what: String, remedy: &'static str| {
        all.push(Finding { fine, what, remedy: if fine { "" } else { remedy } });
    };
    look(
        kinds.waking + kinds.wakeup > 0,
        format!("wakeups: {} sched_waking, {} sched_wakeup", kinds.waking, kinds.wakeup),
        "who is awake is not known before it runs; record both events",
    );
    look(
        kinds.wakeup > 0,
        format!("the moment of the enqueue: {} sched_wakeup", kinds.wakeup),
        "what a wakeup decided cannot be compared; record sched_wakeup",
    );
    look(
        kinds.stat_runtime > 0,
        format!("charges: {} sched_stat_runtime", kinds.stat_runtime),
        "the clock of a runqueue is guessed from timestamps; record sched_stat_runtime",
    );
    look(
        scan.with_flags > 0,
        format!("need-resched: latency flags in {} events", scan.with_flags),
        "need-resched and ticks cannot be told; record with ftrace and print the latency flags (option irq-info; \
         trace-cmd report -l)",
    );
    look(
        kinds.fork >= kinds.wakeup_new,
        format!(
            "new tasks: {} sched_process_fork, {} sched_wakeup_new",
            kinds.fork, kinds.wakeup_new
        ),
        "groups and slices of new tasks are not inherited; record sched_process_fork",
    );
    look(
        scan.nr_cpus <= 1 || kinds.migrate > 0,
        format!("migrations: {} sched_migrate_task on {} CPUs", kinds.migrate, scan.nr_cpus),
        "tasks that are balanced away show only when they run; record sched_migrate_task",
    );
    look(
        scan.below_us > 0 || kinds.stat_runtime > 0,
        format!(
            "resolution of the clock: {}",
            if scan.below_us > 0 { "below 1 us" } else { "1 us" }
        ),
        "idle times and charges are rounded; trace_clock mono_raw or x86-tsc, and charges",
    );
    for (wrong, what, remedy) in [
        (Wrong::LostEvents, "lost events", "a larger buffer (buffer_size_kb), or fewer events"),
        (Wrong::BrokenChain, "switches that are missing", "a larger buffer, and all CPUs"),
        (Wrong::TimeBack, "timestamps that go back", "one clock for all CPUs (trace_clock mono)"),
        (Wrong::NoTraceLine, "lines that are no events", "the text of the trace and nothing else"),
        (Wrong::OtherClock, "lines of another clock", "recordings of two clocks as two files"),
        (Wrong::CutLine, "a cut last line", "copy the file again"),
    ] {
        let count = summary.problems.count(wrong);
        look(count == 0, format!("{what}: {count}"), remedy);
    }
    if let Some(percent) = charged_percent(scan) {
        look(
            (90..=110).contains(&percent),
            format!("charges cover {percent} % of the time that CPUs were busy"),
            "irq time, or charges are missing: the model's clocks drift from the kernel's",
        );
    }
    all
}

/// How much of the busy time was charged, percent.
fn charged_percent(scan: &Scan) -> Option<u64> {
    let fine = scan.kinds.stat_runtime > 0 && scan.busy_ns > 1_000_000;
    fine.then(|| (u128::from(scan.charged_ns) * 100 / u128::from(scan.busy_ns)) as u64)
}

/// The findings as text, and whether something is missing.
pub fn text(path: &str, scan: &Scan, summary: &Summary) -> (String, bool) {
    let findings = findings(scan, summary);
    let mut out = format!(
        "fairlab {}, lint of {}, features as released, no patch, seed 0\n  {} lines, {} bytes, {} events, {} CPUs, {} tasks\n",
        crate::REVISION,
        path.escape_debug(),
        summary.lines,
        summary.bytes,
        summary.events,
        scan.nr_cpus,
        scan.tasks.len()
    );
    for finding in &findings {
        let mark = if finding.fine { "ok  " } else { "lack" };
        let _ = write!(out, "  {mark}  {}", finding.what);
        if !finding.fine {
            let _ = write!(out, ": {}", finding.remedy);
        }
        out.push('\n');
    }
    for line in summary.problems.report(path) {
        let _ = writeln!(out, "  {line}");
    }
    let lacks = findings.iter().filter(|finding| !finding.fine).count();
    let _ = match lacks {
        0 => writeln!(out, "Nothing is missing: it can be replayed as it is."),
        _ => {
            writeln!(out, "{lacks} things are missing; Documentation/record.rst has the commands.")
        }
    };
    (out, lacks > 0)
}
