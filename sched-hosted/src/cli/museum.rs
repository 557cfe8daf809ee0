// SPDX-License-Identifier: GPL-2.0-only
//! `fairlab museum`: puts real bugs of the past back, one at a time, and tells whether `fairlab check` finds them.
//!
//! Each runs in a process of its own, since a bug may hang or break down.

use super::print;
use crate::compare::Interrupt;
use crate::error::{EXIT_DIFFERENCE, EXIT_FINE, Error, Result, quote};
use crate::soak::found::bug_by_id;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sched_core::museum::{Absent, Exhibit, absent, exhibits};
use serde::Serialize;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The options of `fairlab museum`.
#[derive(clap::Args)]
#[command(long_about = LONG_ABOUT, after_long_help = AFTER)]
pub struct MuseumArgs {
    /// The bugs, like A01 or A01-avg-floor [default: all]
    #[arg(value_name = "ID")]
    ids: Vec<String>,

    /// How long a bug is looked for at most
    #[arg(long, value_name = "N", default_value_t = 60)]
    seconds: u64,

    /// Threads [default: all CPUs]
    #[arg(long, value_name = "N")]
    jobs: Option<u32>,

    /// Seed of the random operations
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,

    /// Keep the files that replay the findings in this directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Write the table to this file as JSON, too
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

const LONG_ABOUT: &str = "\
Puts real bugs of the class's past back, one at a time, and runs 'fairlab check --swarm' on each: is it found, by which \
invariant, how soon, and in how few statements can it be told? Bugs that change nothing which could be seen in this model \
are listed with the reason.";

const AFTER: &str = "\
Exit codes: 0 each bug that shows at all was found; 1 one was not; 2 bad input; 3 built without the feature 'museum'.";

/// A bug, and what came of it.
#[derive(Debug, Serialize)]
struct Row {
    id: &'static str,
    origin: &'static str,
    what: &'static str,
    expected: &'static [&'static str],
    /// Why it cannot be found; empty for one that must be.
    equivalent: &'static str,
    finding: Option<Finding>,
    /// It was looked for.
    tried: bool,
}

/// How a bug was found.
#[derive(Debug, Serialize)]
struct Finding {
    /// The invariant, `WARN`, `panic`, `hang`; `crash` if the process broke down.
    label: String,
    sentence: String,
    /// Until it was found, s.
    seconds: f64,
    /// Operations until it was found.
    operations: u64,
    /// Statements after shrinking beyond group, task and new.
    beyond: Option<u64>,
    /// What replays it, if the file was kept.
    command: Option<String>,
}

#[derive(Debug, Serialize)]
struct Report {
    fairlab: &'static str,
    seed: u64,
    seconds_each: u64,
    rows: Vec<Row>,
    absent: Vec<(&'static str, &'static str)>,
    found: usize,
    missed: usize,
    median_seconds: Option<f64>,
    interrupted: bool,
}

/// Runs the verb; its exit code.
///
/// # Errors
/// Bad arguments; a program without the museum; a process or file that cannot be had.
pub fn main(args: &MuseumArgs, out: &mut dyn Write) -> Result<u8> {
    if !cfg!(feature = "museum") {
        return Err(Error::not_possible(
            "this program was built without the museum",
            "build it with: cargo run --release --features museum -- museum",
        ));
    }
    if args.seconds == 0 || args.jobs == Some(0) {
        return Err(Error::bad_argument("--seconds and --jobs cannot be 0", "use 1 at least"));
    }
    let chosen = chosen(&args.ids)?;
    let (dir, keep) = match &args.out {
        Some(dir) if dir.is_dir() => (dir.clone(), true),
        Some(dir) => {
            let what = format!("--out {}: no such directory", quote(dir.display().to_string()));
            return Err(Error::bad_argument(what, "make it first"));
        }
        None => (scratch()?, false),
    };
    let report = visit(args, &chosen, &dir, keep);
    if !keep {
        // What is left of it does no harm.
        let _ = std::fs::remove_dir_all(&dir);
    }
    let report = report?;
    if let Some(path) = &args.json {
        let text = serde_json::to_string_pretty(&report).unwrap_or_default() + "\n";
        let file = path.display().to_string();
        std::fs::write(path, text).map_err(|source| Error::write(&file, source))?;
    }
    print(out, &report.screen())?;
    Ok(if report.missed == 0 { EXIT_FINE } else { EXIT_DIFFERENCE })
}

fn chosen(ids: &[String]) -> Result<Vec<&'static Exhibit>> {
    if ids.is_empty() {
        return Ok(exhibits().collect());
    }
    let bugs = ids.iter().map(|id| bug_by_id(id)).collect::<Result<Vec<_>>>()?;
    Ok(exhibits().filter(|exhibit| bugs.contains(&exhibit.bug)).collect())
}

fn scratch() -> Result<PathBuf> {
    let dir = std::env::temp_dir().join(format!("fairlab-museum-{}", std::process::id()));
    let made = std::fs::create_dir_all(&dir);
    made.map_err(|source| Error::write(&dir.display().to_string(), source))?;
    Ok(dir)
}

fn visit(args: &MuseumArgs, chosen: &[&'static Exhibit], dir: &Path, keep: bool) -> Result<Report> {
    let interrupt = Interrupt::default();
    let on_interrupt = interrupt.clone();
    // The process that is looking gets it, too.
    let _ = ctrlc::set_handler(move || on_interrupt.set());
    let bar = progress_bar(chosen.len() as u64);
    let mut rows = Vec::new();
    for exhibit in chosen {
        bar.set_message(exhibit.id);
        let tried = exhibit.equivalent.is_empty() && !interrupt.is_set();
        let finding = if tried { look(args, exhibit, dir, keep)? } else { None };
        // One that was cut short was not missed.
        let tried = tried && (finding.is_some() || !interrupt.is_set());
        let Exhibit { id, origin, what, expected, equivalent, .. } = **exhibit;
        rows.push(Row { id, origin, what, expected, equivalent, finding, tried });
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(Report::of(args, rows, interrupt.is_set()))
}

fn progress_bar(of: u64) -> ProgressBar {
    let bar = ProgressBar::new(of);
    if !std::io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    if let Ok(style) = ProgressStyle::with_template("{msg:<28} {wide_bar} {pos} of {len}") {
        bar.set_style(style);
    }
    bar
}

/// Looks for a bug in another process.
fn look(args: &MuseumArgs, exhibit: &Exhibit, dir: &Path, keep: bool) -> Result<Option<Finding>> {
    let not_possible = |source: std::io::Error| {
        Error::not_possible(format!("no process can be had ({source})"), "free some memory")
    };
    let json = dir.join(format!("{}.json", exhibit.id));
    let mut command = Command::new(std::env::current_exe().map_err(not_possible)?);
    command.args(["check", "--swarm", "--bug", exhibit.id]);
    command.args(["--seconds", &args.seconds.to_string(), "--seed", &args.seed.to_string()]);
    // An operation takes microseconds, so two seconds are long enough to tell that one hangs.
    command.args(["--hung-after-ms", "2000"]);
    if let Some(jobs) = args.jobs {
        command.args(["--jobs", &jobs.to_string()]);
    }
    command.arg("--out").arg(dir).arg("--json").arg(&json);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let output = command.output().map_err(not_possible)?;
    let text = std::fs::read(&json).unwrap_or_default();
    // The files that replay the findings are what is wanted.
    let _ = std::fs::remove_file(&json);
    let Ok(report) = serde_json::from_slice::<serde_json::Value>(&text) else {
        return match output.status.code() {
            Some(code) => {
                let said = String::from_utf8_lossy(&output.stderr);
                let said = said.lines().next().unwrap_or("nothing").to_string();
                let what = format!("the check of {} ended with code {code}: {said}", exhibit.id);
                Err(Error::not_possible(what, "run it alone: fairlab check --bug ID"))
            }
            None => Ok(Some(crashed(&output.status.to_string()))),
        };
    };
    let found = &report["found"];
    if found.is_null() {
        return Ok(None);
    }
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_string();
    Ok(Some(Finding {
        label: text(&found["label"]),
        sentence: text(&found["explanation"]["sentence"]),
        seconds: found["seconds"].as_f64().unwrap_or(0.0),
        operations: report["operations"].as_u64().unwrap_or(0),
        beyond: found["beyond"].as_u64(),
        command: keep.then(|| text(&found["command"])),
    }))
}

fn crashed(status: &str) -> Finding {
    Finding {
        label: "crash".to_string(),
        sentence: format!("the process broke down: {status}"),
        seconds: 0.0,
        operations: 0,
        beyond: None,
        command: None,
    }
}

impl Report {
    fn of(args: &MuseumArgs, rows: Vec<Row>, interrupted: bool) -> Self {
        let mut seconds: Vec<f64> =
            rows.iter().filter_map(|row| row.finding.as_ref()).map(|found| found.seconds).collect();
        seconds.sort_by(f64::total_cmp);
        let absent: Vec<&Absent> =
            if args.ids.is_empty() { absent().collect() } else { Vec::new() };
        Report {
            fairlab: crate::REVISION,
            seed: args.seed,
            seconds_each: args.seconds,
            absent: absent.into_iter().map(|absent| (absent.id, absent.why)).collect(),
            found: seconds.len(),
            missed: rows.iter().filter(|row| row.tried && row.finding.is_none()).count(),
            median_seconds: seconds.get(seconds.len() / 2).copied(),
            interrupted,
            rows,
        }
    }

    fn screen(&self) -> String {
        let mut text = format!(
            "fairlab {}, class v7.3, features: defaults, patches: none, seed: {}\n\n",
            self.fairlab, self.seed
        );
        let mut table = comfy_table::Table::new();
        table.load_preset(comfy_table::presets::NOTHING);
        table.set_header(["bug", "found", "by", "seconds", "operations", "statements"]);
        for row in self.rows.iter().filter(|row| row.equivalent.is_empty()) {
            table.add_row(row.cells());
        }
        for column in [3, 4, 5] {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(comfy_table::CellAlignment::Right);
            }
        }
        for line in table.lines() {
            text.push_str(line.trim_end());
            text.push('\n');
        }
        let equivalent: Vec<(&str, &str)> = self
            .rows
            .iter()
            .filter(|row| !row.equivalent.is_empty())
            .map(|row| (row.id, row.equivalent))
            .collect();
        push_list(&mut text, "Put back, but nothing can be seen of it here:", &equivalent);
        push_list(&mut text, "Not put back:", &self.absent);
        let median = self.median_seconds.map_or_else(String::new, |s| format!(", median {s:.2} s"));
        let ended = if self.interrupted { " (ended by Ctrl-C)" } else { "" };
        text.push_str(&format!(
            "\n{} of {} found{median}; {} equivalent, {} not put back{ended}\n",
            self.found,
            self.found + self.missed,
            equivalent.len(),
            self.absent.len(),
        ));
        text
    }
}

fn push_list(text: &mut String, head: &str, rows: &[(&str, &str)]) {
    if rows.is_empty() {
        return;
    }
    text.push_str(&format!("\n{head}\n"));
    for (id, why) in rows {
        let options = textwrap::Options::new(100).initial_indent("  ").subsequent_indent("      ");
        text.push_str(&textwrap::fill(&format!("{id}: {why}"), options));
        text.push('\n');
    }
}

impl Row {
    fn cells(&self) -> Vec<String> {
        let none = || "-".to_string();
        let Some(found) = &self.finding else {
            let found = if self.tried { "NO" } else { "not tried" };
            return vec![self.id.to_string(), found.to_string(), none(), none(), none(), none()];
        };
        vec![
            self.id.to_string(),
            "yes".to_string(),
            found.label.clone(),
            format!("{:.2}", found.seconds),
            super::check::grouped(found.operations),
            found.beyond.map_or_else(none, |beyond| beyond.to_string()),
        ]
    }
}
