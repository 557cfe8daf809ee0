// SPDX-License-Identifier: GPL-2.0-only
//! The five parts of a comparison on one screen: at most 100 columns, about 50 lines.

use crate::compare::cost::Cost;
use crate::compare::counted::{Often, Time};
use crate::compare::same::{Difference, Field, Replay, Same, Trial, Violation};
use crate::compare::verdict::thousands;
use crate::compare::{Report, Setting};
use std::fmt::Write;

const COLUMNS: usize = 98;
/// Fields of a difference that are shown; all are in the JSON.
const FIELDS: usize = 6;
/// Base differs from itself by more than this on a machine on which time should not be taken.
const NOISY_PERCENT: f64 = 3.0;

/// The report as text.
pub fn screen(report: &Report) -> String {
    let mut out = String::new();
    // Writing to a String does not fail.
    let _ = head(&mut out, &report.setting);
    let _ = same(&mut out, &report.same);
    if let Some(found) = &report.often {
        let _ = often(&mut out, found);
    }
    if let Some(found) = &report.cost {
        let _ = cost(&mut out, found);
    }
    if let Some(found) = &report.time {
        let _ = time(&mut out, found);
    }
    let _ = verdict(&mut out, report);
    out
}

type Done = std::fmt::Result;

/// A paragraph with a hanging indent of `indent` columns, whose first line begins with `label`.
fn paragraph(out: &mut String, label: &str, indent: usize, text: &str) -> Done {
    let hang = " ".repeat(indent);
    let first = format!("{label:<indent$}");
    // Names of patches and files stay in one piece, to be copied.
    let options = textwrap::Options::new(COLUMNS)
        .initial_indent(&first)
        .subsequent_indent(&hang)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .break_words(false);
    // A number and its % stay together.
    let text = textwrap::fill(&text.replace(" %", "\u{a0}%"), options);
    writeln!(out, "{}", text.replace('\u{a0}', " "))
}

fn head(out: &mut String, setting: &Setting) -> Done {
    let features = match setting.features.is_empty() {
        true => "features as released".to_string(),
        false => format!("features {}", setting.features.join(" ")),
    };
    let names: Vec<&str> = setting.patches.iter().map(|patch| patch.name).collect();
    writeln!(
        out,
        "fairlab {}, class v{}, {features}, patch {}, seed {}",
        setting.fairlab,
        setting.release,
        names.join(","),
        setting.seed
    )?;
    for patch in &setting.patches {
        let text = format!("{}: {}. Origin: {}", patch.name, patch.what, patch.origin);
        paragraph(out, "  patch", 11, &text)?;
    }
    let slice_ms = f64::from(setting.base_slice_ns) / 1e6;
    let machine = format!("{}; base slice {slice_ms:.2} ms, HZ={}", setting.workload, setting.hz);
    paragraph(out, "  workload", 11, &machine)?;
    for note in &setting.notes {
        paragraph(out, "", 11, note)?;
    }
    Ok(())
}

fn heading(out: &mut String, title: &str, answer: &str) -> Done {
    let line = format!("{title:<26} {answer}");
    writeln!(out, "\n{}", line.trim_end())
}

fn same(out: &mut String, same: &Same) -> Done {
    let safe = if same.is_safe() { "safe" } else { "NOT SAFE" };
    let equal = if same.is_same() { "the same" } else { "NOT THE SAME" };
    heading(out, "1. Same or not", &format!("{equal}, {safe}"))?;
    trial(out, "random operations", "episode", &same.random)?;
    trial(out, "the workload's own", "CPU", &same.workload)?;
    let mut replays: Vec<&Replay> = Vec::new();
    if let Some(found) = &same.difference {
        difference(out, found)?;
        replays.extend(&found.replay);
    }
    if let Some(found) = &same.violation {
        violation(out, found)?;
        replays.extend(&found.replay);
    }
    replays.into_iter().try_for_each(|found| replay(out, found))
}

fn trial(out: &mut String, what: &str, episode: &str, trial: &Trial) -> Done {
    let plural = if trial.episodes == 1 { "" } else { "s" };
    let differing = match trial.differing {
        0 => "states equal after each".to_string(),
        differing => format!("{differing} of {} {episode}{plural} differ", trial.episodes),
    };
    let early = if trial.interrupted { " (interrupted)" } else { "" };
    let place = format!("on {} {episode}{plural}", thousands(trial.episodes));
    writeln!(out, "  {what:<20}{:>13} {place:<18} {differing}{early}", thousands(trial.ops))
}

fn difference(out: &mut String, found: &Difference) -> Done {
    writeln!(
        out,
        "  first difference: `{}`, operation {} ({}), in {}:",
        found.statement,
        thousands(found.op),
        found.found_in,
        found.object
    )?;
    for Field { name, base, patch } in found.fields.iter().take(FIELDS) {
        writeln!(out, "    {name:<22} base {base:>22}   patch {patch:>22}")?;
    }
    let hidden = found.fields.len().saturating_sub(FIELDS);
    let and = if hidden > 0 { format!("{hidden} more fields and ") } else { String::new() };
    if hidden + found.other_objects > 0 {
        writeln!(out, "    and {and}{} other objects", found.other_objects)?;
    }
    Ok(())
}

fn violation(out: &mut String, found: &Violation) -> Done {
    let place =
        format!("`{}`, operation {} ({})", found.statement, thousands(found.op), found.found_in);
    paragraph(out, &format!("  {}", found.kind), 13, &format!("{}; after {place}", found.what))
}

fn replay(out: &mut String, replay: &Replay) -> Done {
    paragraph(out, "  replay", 13, &replay.command)
}

fn often(out: &mut String, often: &Often) -> Done {
    let unit = often.unit;
    let per = format!("per {unit}");
    let million = format!("per million {unit}s");
    writeln!(out, "\n{:<32}{per:>22}{million:>29}", "2. How often")?;
    let [base, patch] = often.hand_offs.map(thousands);
    let simulated = if base == patch { base } else { format!("{base}; {patch}") };
    writeln!(
        out,
        "  {:<30}{:>11}{:>11}{:>16}{:>13}{:>13}",
        format!("of {simulated} {unit}s"),
        "base",
        "patch",
        "base",
        "patch",
        "change"
    )?;
    for row in &often.rows {
        let [base, patch] = row.per_hand_off;
        let [base_million, patch_million] = row.per_million;
        writeln!(
            out,
            "  {:<30}{base:>11.4}{patch:>11.4}{:>16}{:>13}{:>13}",
            row.what,
            rate(base_million),
            rate(patch_million),
            change(base, patch)
        )?;
    }
    writeln!(out, "  {:<30}{:>22}{:>29}", "update_curr() from", "nothing to charge", "calls")?;
    for call in &often.update_curr {
        let [base, patch] = call.nothing_share.map(|share| share * 100.0);
        let [base_million, patch_million] = call.per_million;
        writeln!(
            out,
            "    {:<28}{base:>9.1} %{patch:>9.1} %{:>16}{:>13}{:>13}",
            call.site,
            rate(base_million),
            rate(patch_million),
            change(base_million, patch_million)
        )?;
    }
    if often.skipped != [0, 0] {
        let [base, patch] = often.skipped.map(thousands);
        let first = often.first_skipped.iter().flatten().next();
        let first = first.map_or(String::new(), |first| format!("; the first in {first}"));
        let text = format!("left out as not legal: base {base}, patch {patch}{first}");
        paragraph(out, "  statements", 13, &text)?;
    }
    Ok(())
}

/// Patch against base in percent, or `=`.
fn change(base: f64, patch: f64) -> String {
    if base == patch {
        "=".to_string()
    } else if base == 0.0 {
        "new".to_string()
    } else if patch >= 10.0 * base {
        format!("x {:.0}", patch / base)
    } else {
        format!("{:+.1} %", (patch / base - 1.0) * 100.0)
    }
}

/// A number per million: rare events with a decimal.
fn rate(per_million: f64) -> String {
    if per_million == 0.0 {
        "0".to_string()
    } else if per_million < 1000.0 {
        format!("{per_million:.1}")
    } else {
        thousands(per_million.round() as u64)
    }
}

fn cost(out: &mut String, cost: &Cost) -> Done {
    let what =
        format!("ns of real time per {}: median +- half IQR of {} runs", cost.unit, cost.runs);
    heading(out, "3. What it costs", &what)?;
    let [base, patch, again] = cost.ns;
    writeln!(
        out,
        "  base {:.1} +-{:.1}, patch {:.1} +-{:.1}, base again {:.1} +-{:.1}",
        base.median, base.half_iqr, patch.median, patch.half_iqr, again.median, again.half_iqr
    )?;
    let exceeds = if cost.exceeds_spread { "EXCEEDS the spread" } else { "within the spread" };
    writeln!(
        out,
        "  patch against mean of bases {:+.2} % +-{:.2}; base against itself {:.2} %: {exceeds}",
        cost.change_percent.median, cost.change_percent.half_iqr, cost.noise_percent
    )?;
    if cost.noise_percent > NOISY_PERCENT {
        writeln!(out, "  warning: this machine is busy; stop what else runs, or raise --runs")?;
    }
    Ok(())
}

fn time(out: &mut String, time: &Time) -> Done {
    let what = format!("{} simulated runs; mean +- standard deviation", time.runs);
    heading(out, "4. What it does to time", &what)?;
    let [base, patch] = time.per_second;
    let whole = |value: f64| match value < 100.0 {
        true => format!("{value:.1}"),
        false => thousands(value.round() as u64),
    };
    writeln!(
        out,
        "  {}s per virtual second: base {} +-{}, patch {} +-{}: {:+.2} % +-{:.2}",
        time.unit,
        whole(base.mean),
        whole(base.deviation),
        whole(patch.mean),
        whole(patch.deviation),
        time.change_percent.mean,
        time.change_percent.deviation
    )?;
    let us = |ns: u64| format!("{:.2}", ns as f64 / 1000.0);
    let row = |side: usize| -> String {
        time.latency.iter().map(|latency| format!("{:>11}", us(latency.ns[side]))).collect()
    };
    let header: String =
        time.latency.iter().map(|latency| format!("{:>11}", latency.what)).collect();
    writeln!(out, "  wakeup latency, us {header}")?;
    writeln!(out, "    {:<15} {}", "base", row(0))?;
    writeln!(out, "    {:<15} {}", "patch", row(1))
}

fn verdict(out: &mut String, report: &Report) -> Done {
    heading(
        out,
        "5. Verdict",
        if report.interrupted { "(interrupted: of what there is)" } else { "" },
    )?;
    for sentence in &report.verdict.words {
        paragraph(out, "  ", 2, sentence)?;
    }
    Ok(())
}
