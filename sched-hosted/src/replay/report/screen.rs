// SPDX-License-Identifier: GPL-2.0-only
//! A replay's report for the terminal: at most 100 columns.

use super::{Disagreement, Part, Report, TrialReport};
use crate::replay::score::Tally;
use std::fmt::Write;

/// Disagreements that are shown; all are in the JSON.
const SHOWN: usize = 4;
/// Candidates of each.
const WHO: usize = 6;
/// Columns of the curve along the recording.
const CURVE: usize = 60;

type Done = std::fmt::Result;

/// The report as text.
pub fn screen(report: &Report) -> String {
    let mut out = String::new();
    // Writing to a String does not fail.
    let _ = write_all(&mut out, report);
    out
}

fn write_all(out: &mut String, report: &Report) -> Done {
    head(out, report)?;
    table(out, report)?;
    curve(out, report)?;
    parts(out, "by CPU", &report.by_cpu)?;
    let worst: Vec<&Part> = report.by_task.iter().filter(|part| wrong(part) > 0).take(8).collect();
    if !worst.is_empty() {
        writeln!(
            out,
            "\nTasks with the most disagreements (agreed of decided: pick, wakeup, tick)"
        )?;
        for part in worst {
            part_line(out, part)?;
        }
    }
    if !report.causes.is_empty() {
        writeln!(out, "\nWhy the model differed")?;
        for (cause, count) in &report.causes {
            writeln!(out, "  {count:>7}  {cause}")?;
        }
    }
    for one in report.disagreements.iter().take(SHOWN) {
        disagreement(out, one)?;
    }
    if let Some(trial) = &report.trial {
        self::trial(out, trial)?;
    }
    if !report.notes.is_empty() || !report.problems.is_empty() {
        writeln!(out, "\nNotes")?;
        for note in report.notes.iter().chain(&report.problems) {
            writeln!(out, "  {note}")?;
        }
    }
    if report.interrupted {
        writeln!(out, "\nInterrupted: this is what was replayed until then.")?;
    }
    Ok(())
}

fn wrong(part: &Part) -> u64 {
    part.kinds.iter().map(|kind| kind.of - kind.agreed).sum()
}

fn head(out: &mut String, report: &Report) -> Done {
    let features = match report.features.is_empty() {
        true => "features as released, HRTICK on".to_string(),
        false => format!("HRTICK on, features {}", report.features.join(" ")),
    };
    writeln!(
        out,
        "fairlab {}, class v{}, {features}, no patch, seed {}",
        report.fairlab, report.release, report.seed
    )?;
    writeln!(
        out,
        "  recording  {}: {} events, {:.3} ms, {} CPU{}, {} tasks; base slice {:.2} ms, HZ={}",
        report.recording.escape_debug(),
        report.events,
        report.span_ns as f64 / 1e6,
        report.cpus,
        if report.cpus == 1 { "" } else { "s" },
        report.tasks,
        report.base_slice_ns as f64 / 1e6,
        report.hz,
    )
}

fn percent(tally: &Tally, count: u64) -> String {
    tally.percent(count).map_or("-".to_string(), |percent| format!("{percent:.2} %"))
}

fn table(out: &mut String, report: &Report) -> Done {
    writeln!(
        out,
        "\n{:<26}{:>9}{:>11}{:>13}{:>17}{:>10}{:>12}",
        "decisions", "decided", "the model", "last woken", "longest waiting", "forced", "warm-up"
    )?;
    for row in &report.kinds {
        let (after, warm_up) = (&row.sums.after, &row.sums.warm_up);
        writeln!(
            out,
            "{:<26}{:>9}{:>11}{:>13}{:>17}{:>10}{:>12}",
            row.kind.word(),
            after.of,
            percent(after, after.agreed),
            percent(after, after.last_woken),
            percent(after, after.longest_waiting),
            row.sums.forced,
            format!("{} of {}", warm_up.agreed, warm_up.of),
        )?;
    }
    let total = &report.total;
    writeln!(
        out,
        "{:<26}{:>9}{:>11}{:>13}{:>17}",
        "all",
        total.of,
        percent(total, total.agreed),
        percent(total, total.last_woken),
        percent(total, total.longest_waiting),
    )?;
    writeln!(
        out,
        "Counted: decisions with two or more awake, after the first {}. last woken, longest waiting: what a\nmodel that \
         knows nothing else would have reached. forced: there was no choice.",
        report.warm_up
    )
}

/// Agreement along the recording, a digit for each part: 9 is 90 to 99 %, # is all.
fn curve(out: &mut String, report: &Report) -> Done {
    let intervals = &report.intervals;
    if intervals.len() < 2 {
        return Ok(());
    }
    let each = intervals.len().div_ceil(CURVE);
    let mut text = String::new();
    for part in intervals.chunks(each) {
        let sums =
            part.iter().flat_map(|one| one.kinds).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        text.push(match sums {
            (0, _) => ' ',
            (of, agreed) if of == agreed => '#',
            (of, agreed) => char::from(b'0' + (agreed * 10 / of).min(9) as u8),
        });
    }
    writeln!(out, "\nAlong the recording (# all, 9: 90 % and more, ...)\n  [{text}]")
}

fn parts(out: &mut String, what: &str, parts: &[Part]) -> Done {
    if parts.len() < 2 {
        return Ok(());
    }
    writeln!(out, "\nAgreement {what} (agreed of decided: pick, wakeup, tick)")?;
    parts.iter().try_for_each(|part| part_line(out, part))
}

fn part_line(out: &mut String, part: &Part) -> Done {
    write!(out, "  {:<24}", part.what)?;
    for kind in &part.kinds {
        write!(out, "{:>18}", format!("{} of {}", kind.agreed, kind.of))?;
    }
    writeln!(out)
}

fn disagreement(out: &mut String, one: &Disagreement) -> Done {
    writeln!(
        out,
        "\nDisagreement {} at line {}, {:.6} ms, CPU {}: {} ({})",
        one.number,
        one.line,
        one.at_ns as f64 / 1e6,
        one.cpu,
        one.kind.word(),
        one.task
    )?;
    writeln!(out, "  kernel {}; model {}: {}", one.kernel, one.model, one.cause)?;
    if let Some(v) = one.avg_vruntime {
        writeln!(out, "  V = {v}; virtual us:")?;
        writeln!(
            out,
            "    {:<22}{:>12}{:>14}{:>10}{:>12}",
            "candidate", "lag", "deadline - V", "eligible", "protected"
        )?;
    }
    for who in one.candidates.iter().take(WHO) {
        let state = &who.state;
        writeln!(
            out,
            "    {:<22}{:>12.3}{:>14.3}{:>10}{:>12}{}{}",
            who.name,
            state.lag_ns as f64 / 1e3,
            state.deadline_ns as f64 / 1e3,
            if state.eligible { "yes" } else { "no" },
            state.protected_ns.map_or("-".to_string(), |ns| format!("{:.3}", ns as f64 / 1e3)),
            if state.current { "  running" } else { "" },
            if state.unsettled { "  start assumed" } else { "" },
        )?;
    }
    Ok(())
}

fn trial(out: &mut String, trial: &TrialReport) -> Done {
    writeln!(
        out,
        "\nWith {} on this recording (both sides follow the recorded kernel)",
        trial.what
    )?;
    let rate = |count: u64| if trial.seconds > 0.0 { count as f64 / trial.seconds } else { 0.0 };
    for (kind, sums) in crate::replay::follow::Kind::ALL.into_iter().zip(&trial.kinds) {
        writeln!(
            out,
            "  {:<26}{:>8} of {:>8} decided otherwise, {:>10.1} a second",
            kind.word(),
            sums.changed,
            sums.of,
            rate(sums.changed)
        )?;
        if kind != crate::replay::follow::Kind::Pick && sums.of > 0 {
            writeln!(
                out,
                "  {:<26}asks for a reschedule in {:.1} %, without it in {:.1} %",
                "",
                sums.trial_asks as f64 * 100.0 / sums.of as f64,
                sums.base_asks as f64 * 100.0 / sums.of as f64,
            )?;
        }
    }
    for (what, base, with) in &trial.counters {
        writeln!(out, "  {what:<38}{base:>10} -> {with:>10}")?;
    }
    if !trial.waits.is_empty() {
        writeln!(out, "  wakeups that would have waited shorter, longer")?;
    }
    for (name, waits) in trial.waits.iter().take(10) {
        let saved = waits.shorter_ns.checked_div(waits.shorter).unwrap_or_default();
        writeln!(
            out,
            "    {name:<22}{:>8} shorter{:>8} longer of {:>8}; the shorter ones waited {:.1} us on average",
            waits.shorter,
            waits.longer,
            waits.wakeups,
            saved as f64 / 1e3
        )?;
    }
    for (line, kind, task, base, with) in trial.first.iter().take(5) {
        writeln!(out, "  line {line}: {} ({task}): {base} -> {with}", kind.word())?;
    }
    Ok(())
}
