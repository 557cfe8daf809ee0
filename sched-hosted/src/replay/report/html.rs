// SPDX-License-Identifier: GPL-2.0-only
//! A replay's report as one HTML page that needs nothing else: the timeline of agreement, and the disagreements.

use super::Report;
use crate::replay::follow::Kind;
use std::fmt::Write;

/// Width and height of the timeline, px.
const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 120.0;

const STYLE: &str = "body{font:14px sans-serif;margin:2em;max-width:70em}table{border-collapse:collapse;margin:.5em 0}\
td,th{padding:.15em .7em;text-align:right;border-bottom:1px solid #ddd}td:first-child,th:first-child{text-align:left}\
details{margin:.3em 0}svg{background:#f7f7f7}.note{color:#555}";

/// The page.
pub fn html(report: &Report) -> String {
    let mut out = String::new();
    // Writing to a String does not fail.
    let _ = page(&mut out, report);
    out
}

fn page(out: &mut String, report: &Report) -> std::fmt::Result {
    let name = escape(&report.recording);
    writeln!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>replay of {name}</title>"
    )?;
    writeln!(out, "<style>{STYLE}</style></head><body><h1>Replay of {name}</h1>")?;
    writeln!(
        out,
        "<p>fairlab {}, class v{}, features {}, no patch, seed {}. {} events, {:.3} ms, {} CPUs, {} tasks.</p>",
        escape(report.fairlab),
        report.release,
        escape(&if report.features.is_empty() {
            "as released, HRTICK on".into()
        } else {
            report.features.join(" ")
        }),
        report.seed,
        report.events,
        report.span_ns as f64 / 1e6,
        report.cpus,
        report.tasks
    )?;
    table(out, report)?;
    for kind in Kind::ALL {
        timeline(out, report, kind)?;
    }
    if !report.causes.is_empty() {
        writeln!(out, "<h2>Why the model differed</h2><table>")?;
        for (cause, count) in &report.causes {
            writeln!(out, "<tr><td>{}</td><td>{count}</td></tr>", escape(cause))?;
        }
        writeln!(out, "</table>")?;
    }
    disagreements(out, report)?;
    for note in report.notes.iter().chain(&report.problems) {
        writeln!(out, "<p class=\"note\">{}</p>", escape(note))?;
    }
    writeln!(out, "</body></html>")
}

fn table(out: &mut String, report: &Report) -> std::fmt::Result {
    writeln!(
        out,
        "<table><tr><th>decisions</th><th>decided</th><th>the model</th><th>last woken</th><th>longest waiting</th>\
         <th>forced</th></tr>"
    )?;
    for row in &report.kinds {
        let after = &row.sums.after;
        let percent =
            |count| after.percent(count).map_or("-".into(), |percent| format!("{percent:.2} %"));
        writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            row.kind.word(),
            after.of,
            percent(after.agreed),
            percent(after.last_woken),
            percent(after.longest_waiting),
            row.sums.forced
        )?;
    }
    writeln!(out, "</table>")
}

/// One bar an interval: its height is the share of agreement.
fn timeline(out: &mut String, report: &Report, kind: Kind) -> std::fmt::Result {
    let bars = report.intervals.len().max(1);
    let width = WIDTH / bars as f64;
    writeln!(out, "<h2>{} along the recording</h2>", kind.word())?;
    writeln!(out, "<svg width=\"{WIDTH}\" height=\"{HEIGHT}\" role=\"img\">")?;
    for (at, interval) in report.intervals.iter().enumerate() {
        let (of, agreed) = interval.kinds[kind as usize];
        if of == 0 {
            continue;
        }
        let share = agreed as f64 / of as f64;
        let (x, high) = (at as f64 * width, HEIGHT * share);
        let color = if agreed == of { "#4a8" } else { "#c63" };
        writeln!(
            out,
            "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{high:.1}\" fill=\"{color}\"><title>{:.3} ms: \
             {agreed} of {of}</title></rect>",
            HEIGHT - high,
            (width - 0.5).max(0.5),
            interval.from_ns as f64 / 1e6
        )?;
    }
    writeln!(out, "</svg>")
}

fn disagreements(out: &mut String, report: &Report) -> std::fmt::Result {
    if report.disagreements.is_empty() {
        return Ok(());
    }
    writeln!(out, "<h2>The first disagreements</h2>")?;
    for one in &report.disagreements {
        writeln!(
            out,
            "<details><summary>{:.6} ms, line {}, CPU {}: {} ({}): kernel {}; model {} &ndash; {}</summary><table>\
             <tr><th>candidate</th><th>lag, us</th><th>deadline - V, us</th><th>eligible</th><th>protected, us</th>\
             <th>slice, us</th><th>weight</th></tr>",
            one.at_ns as f64 / 1e6,
            one.line,
            one.cpu,
            one.kind.word(),
            escape(&one.task),
            escape(&one.kernel),
            escape(&one.model),
            escape(&one.cause)
        )?;
        for who in &one.candidates {
            let state = &who.state;
            writeln!(
                out,
                "<tr><td>{}{}</td><td>{:.3}</td><td>{:.3}</td><td>{}</td><td>{}</td><td>{:.1}</td><td>{}</td></tr>",
                escape(&who.name),
                if state.current { " (running)" } else { "" },
                state.lag_ns as f64 / 1e3,
                state.deadline_ns as f64 / 1e3,
                if state.eligible { "yes" } else { "no" },
                state.protected_ns.map_or("-".into(), |ns| format!("{:.3}", ns as f64 / 1e3)),
                state.slice_ns as f64 / 1e3,
                state.weight
            )?;
        }
        writeln!(out, "</table></details>")?;
    }
    Ok(())
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
