// SPDX-License-Identifier: GPL-2.0-only
//! `fairlab check`: random legal operations against all invariants, and what came of it on the screen and as JSON.

use super::print;
use crate::check::known::{KNOWN, Known};
use crate::compare::side::Side;
use crate::compare::{Interrupt, parse_patches};
use crate::error::{EXIT_DIFFERENCE, EXIT_FINE, Error, Result, quote};
use crate::ops::generate::Kind;
use crate::ops::text;
use crate::soak::found::{Found, bug_by_id, bug_id};
use crate::soak::world::{Mix, World};
use crate::soak::{self, Amount, Outcome, Plan, Status, explain::Explanation};
use indicatif::{ProgressBar, ProgressDrawTarget};
use sched_core::patches::Patches;
use serde::Serialize;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

/// The options of `fairlab check`.
#[derive(clap::Args)]
#[command(long_about = LONG_ABOUT, after_long_help = AFTER)]
pub struct CheckArgs {
    /// The patches that are on, with commas between them (`fairlab compare --help` lists them)
    #[arg(long, value_name = "PATCH[,PATCH...]")]
    patch: Option<String>,

    /// How long; 10 s if neither this nor --ops is given
    #[arg(long, value_name = "N", conflicts_with = "ops")]
    seconds: Option<u64>,

    /// How many operations, `at` statements not counted
    #[arg(long, value_name = "N")]
    ops: Option<u64>,

    /// Threads [default: all CPUs]. The result does not depend on it
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,

    /// Seed of everything random: a seed and a number of operations give one result
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,

    /// Three runs of four are pushed to one side: operations left out or stressed, features turned over, values at
    /// their bounds, other steps of the clock
    #[arg(long)]
    swarm: bool,

    /// Leave out the laws (what an operation may change, and by how much): the invariants of each state alone, faster
    #[arg(long)]
    no_laws: bool,

    /// Kinds of machines, in rotation: flat, groups, quota, smp or all
    #[arg(long, value_name = "KIND,...", value_delimiter = ',', default_value = "all")]
    kind: Vec<String>,

    /// So many tasks in each run [default: 1 to 150, few as a rule]
    #[arg(long, value_name = "N")]
    tasks: Option<u32>,

    /// Features of all machines, as debugfs takes them: NO_DELAY_DEQUEUE,NEXT_BUDDY
    #[arg(long, value_name = "NAME,NO_NAME,...", value_delimiter = ',')]
    features: Vec<String>,

    /// Where a file that replays a failure is written [default: regressions/ or sched-hosted/regressions/ if there is
    /// one, else here]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Write the report to this file as JSON, too
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// An operation that takes longer than this hangs
    #[arg(long, value_name = "MS", default_value_t = 5_000, hide = true)]
    hung_after_ms: u64,

    /// A bug of the museum that is put back
    #[arg(long, value_name = "ID", hide = !cfg!(feature = "museum"))]
    bug: Option<String>,
}

const LONG_ABOUT: &str = "\
Drives the class with random legal operations on many machines and looks after each whether anything is as it must not \
be: an invariant or a law that does not hold, a warning of the kernel's own (WARN_ON_ONCE), a panic, an operation that \
does not end.

A failure is made small, told in the terms of the class, and written to a file with the one command that replays it.";

const AFTER: &str = "\
Exit codes: 0 nothing found; 1 a failure; 2 bad input; 3 not possible here. Ctrl-C ends early with what there is.";

/// Tasks in a run at most.
const TASKS_MAX: u32 = 10_000;
/// Threads at most.
const JOBS_MAX: usize = 1_024;

/// Runs the verb; its exit code.
///
/// # Errors
/// Bad arguments, and files that cannot be written.
pub fn main(args: &CheckArgs, out: &mut dyn Write) -> Result<u8> {
    let plan = plan(args)?;
    let dir = out_dir(args)?;
    let interrupt = Interrupt::default();
    let on_interrupt = interrupt.clone();
    // Without a handler Ctrl-C just ends the program, which is no reason not to start. The second one ends it at once.
    let _ = ctrlc::set_handler(move || {
        if on_interrupt.is_set() {
            std::process::exit(i32::from(EXIT_DIFFERENCE));
        }
        on_interrupt.set();
    });
    let bar = progress_bar();
    let outcome = soak::run(&plan, &interrupt, &mut |status| show(&bar, &plan, status))?;
    bar.set_message("shrinking");
    let found = outcome.hit.as_ref().map(|hit| Found::of(&plan, hit));
    bar.finish_and_clear();
    let saved = found.as_ref().map(|found| found.save(&plan, &dir)).transpose()?;
    let report = Report::of(&plan, &outcome, found.as_ref(), saved);
    if let Some(path) = &args.json {
        let file = path.display().to_string();
        let text = serde_json::to_string_pretty(&report).unwrap_or_default() + "\n";
        std::fs::write(path, text).map_err(|source| Error::write(&file, source))?;
    }
    print(out, &report.screen())?;
    Ok(if report.found.is_some() { EXIT_DIFFERENCE } else { EXIT_FINE })
}

fn plan(args: &CheckArgs) -> Result<Plan> {
    let patches = args.patch.as_deref().map_or(Ok(Patches::empty()), parse_patches)?;
    let bug = args.bug.as_deref().map(bug_by_id).transpose()?;
    for word in &args.features {
        text::check_feature(word).map_err(|(what, remedy)| Error::bad_argument(what, remedy))?;
    }
    if args.seconds == Some(0) || args.ops == Some(0) {
        return Err(Error::bad_argument("--seconds and --ops cannot be 0", "use 1 at least"));
    }
    let amount = match (args.ops, args.seconds) {
        (Some(operations), _) => Amount::Operations(operations),
        (None, seconds) => Amount::Time(Duration::from_secs(seconds.unwrap_or(10))),
    };
    let all = || std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = within("--jobs", args.jobs.unwrap_or_else(all), JOBS_MAX)?;
    let tasks = args.tasks.map(|tasks| within("--tasks", tasks, TASKS_MAX)).transpose()?;
    Ok(Plan {
        side: Side { patches, bug, laws: !args.no_laws },
        mix: Mix {
            worlds: worlds(&args.kind)?,
            swarm: args.swarm,
            tasks,
            features: args.features.clone(),
            seed: args.seed,
        },
        amount,
        jobs,
        hung_after: Duration::from_millis(args.hung_after_ms),
    })
}

fn within<T: PartialOrd + From<u8> + Copy + std::fmt::Display>(
    what: &str,
    number: T,
    most: T,
) -> Result<T> {
    if number < T::from(1) || number > most {
        return Err(Error::bad_argument(
            format!("{what} {number} is out of range"),
            format!("use 1 to {most}"),
        ));
    }
    Ok(number)
}

fn worlds(words: &[String]) -> Result<Vec<World>> {
    let mut worlds = Vec::new();
    for word in words {
        match World::ALL.into_iter().find(|world| world.word() == word) {
            Some(world) => worlds.push(world),
            None if word == "all" => worlds.extend(World::ALL),
            None => {
                return Err(Error::bad_argument(
                    format!("--kind {}: there is no such kind of machine", quote(word)),
                    "use flat, groups, quota, smp or all",
                ));
            }
        }
    }
    Ok(worlds)
}

/// Where failures go.
fn out_dir(args: &CheckArgs) -> Result<PathBuf> {
    if let Some(dir) = &args.out {
        if !dir.is_dir() {
            let what = format!("--out {}: no such directory", quote(dir.display().to_string()));
            return Err(Error::bad_argument(what, "make it first"));
        }
        return Ok(dir.clone());
    }
    let usual = ["regressions", "sched-hosted/regressions"].map(PathBuf::from);
    Ok(usual.into_iter().find(|dir| dir.is_dir()).unwrap_or_else(|| PathBuf::from(".")))
}

fn progress_bar() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    // Only for eyes: a log gets nothing.
    if !std::io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    bar
}

fn show(bar: &ProgressBar, plan: &Plan, status: Status) {
    let seconds = status.elapsed.as_secs_f64().max(0.001);
    let goal = match plan.amount {
        Amount::Operations(operations) => format!(" of {}", grouped(operations)),
        Amount::Time(time) => format!(" in {seconds:.0} of {} s", time.as_secs()),
    };
    let found = if status.found { "; found something, finishing earlier runs" } else { "" };
    bar.set_message(format!(
        "{} runs, {} operations{goal}, {:.2} million a second{found}",
        grouped(status.runs),
        grouped(status.operations),
        status.operations as f64 / seconds / 1e6,
    ));
    bar.tick();
}

/// What is reported.
#[derive(Debug, Serialize)]
pub struct Report {
    /// fairlab's own version.
    pub fairlab: &'static str,
    /// The kernel release of the class.
    pub release: &'static str,
    /// Changes to the features of all machines.
    pub features: Vec<String>,
    /// The patches that are on.
    pub patches: String,
    /// The bug of the museum that was put back.
    pub bug: Option<&'static str>,
    /// The seed.
    pub seed: u64,
    /// Runs were pushed to one side.
    pub swarm: bool,
    /// The laws were checked, too.
    pub laws: bool,
    /// The kinds of machines, and how many runs each had.
    pub worlds: Vec<(&'static str, u64)>,
    /// Runs.
    pub runs: u64,
    /// Operations.
    pub operations: u64,
    /// Statements by their words, `at` among them.
    pub statements: Vec<(&'static str, u64)>,
    /// Virtual time that went by, ns.
    pub virtual_ns: u128,
    /// Checks of the cheap invariants, and of the laws: one after each operation.
    pub cheap_checks: u64,
    /// Those of them that were by brute force.
    pub full_checks: u64,
    /// Defects of the release that were met and fail nothing, as far as they can be told cheaply.
    pub known: Vec<&'static str>,
    /// Ctrl-C.
    pub interrupted: bool,
    /// How long it took, s.
    pub seconds: f64,
    /// Operations a second.
    pub operations_per_second: f64,
    /// What was found.
    pub found: Option<FoundReport>,
}

/// What was found.
#[derive(Debug, Serialize)]
pub struct FoundReport {
    /// The number of the run.
    pub run: u64,
    /// The invariant, `WARN`, `panic` or `hang`.
    pub label: String,
    /// In words.
    pub explanation: Explanation,
    /// Time from the start to the finding, s.
    pub seconds: f64,
    /// Statements up to the failure.
    pub shrunk_from: usize,
    /// Statements that are left.
    pub statements: usize,
    /// Of those, the ones beyond group, task and new.
    pub beyond: usize,
    /// Candidates that were tried.
    pub tries: u64,
    /// Nothing more could go.
    pub complete: bool,
    /// The file.
    pub file: String,
    /// What replays it.
    pub command: String,
}

/// The names of the known defects whose bits are set.
fn known(met: u32) -> Vec<&'static str> {
    let met = |&(at, _): &(usize, &Known)| met & (1 << at) != 0;
    KNOWN.iter().enumerate().filter(met).map(|(_, known)| known.id).collect()
}

impl Report {
    fn of(
        plan: &Plan,
        outcome: &Outcome,
        found: Option<&Found>,
        saved: Option<(String, String)>,
    ) -> Self {
        let totals = &outcome.totals;
        let statements =
            Kind::ALL.into_iter().map(|kind| (kind.word(), totals.kinds[kind as usize]));
        let worlds =
            World::ALL.into_iter().map(|world| (world.word(), totals.worlds[world as usize]));
        let seconds = outcome.took.as_secs_f64();
        Report {
            fairlab: crate::REVISION,
            release: "7.3",
            features: plan.mix.features.clone(),
            patches: plan.side.to_string(),
            bug: plan.side.bug.map(bug_id),
            seed: plan.mix.seed,
            swarm: plan.mix.swarm,
            laws: plan.side.laws,
            worlds: worlds.filter(|&(_, runs)| runs != 0).collect(),
            runs: totals.runs,
            operations: totals.operations,
            statements: statements.filter(|&(_, times)| times != 0).collect(),
            virtual_ns: totals.virtual_ns,
            cheap_checks: totals.operations,
            full_checks: totals.full_checks,
            known: known(totals.known),
            interrupted: outcome.interrupted,
            seconds,
            operations_per_second: totals.operations as f64 / seconds.max(1e-9),
            found: found.zip(saved).map(|(found, saved)| FoundReport::of(found, saved)),
        }
    }

    /// For the screen.
    fn screen(&self) -> String {
        let features = match &self.features[..] {
            [] => "defaults".to_string(),
            changed => changed.join(" "),
        };
        let bug = self.bug.map_or_else(String::new, |bug| format!(", bug: {bug}"));
        let mut text = format!(
            "fairlab {}, class v{}, features: {features}, patches: {}{bug}, seed: {}\n\n",
            self.fairlab, self.release, self.patches, self.seed
        );
        let ended = if self.interrupted { " (ended by Ctrl-C)" } else { "" };
        let worlds: Vec<String> =
            self.worlds.iter().map(|(world, runs)| format!("{} {world}", grouped(*runs))).collect();
        let hours = self.virtual_ns as f64 / 3.6e12;
        text.push_str(&format!(
            "{} runs ({}), {} operations, {hours:.1} hours of virtual time{ended}\n",
            grouped(self.runs),
            worlds.join(", "),
            grouped(self.operations),
        ));
        let kinds: Vec<String> = self
            .statements
            .iter()
            .map(|(word, times)| format!("{word} {}", grouped(*times)))
            .collect();
        text.push_str(&wrapped("statements: ", &kinds.join(", ")));
        let laws = if self.laws { " and laws" } else { "" };
        text.push_str(&format!(
            "checks: cheap ones{laws} after each operation; all by brute force after each {}th and at the end of a \
             run: {}\n",
            soak::full_every(self.laws),
            grouped(self.full_checks),
        ));
        if !self.known.is_empty() {
            text.push_str(&wrapped(
                &format!("known defects of v{} met, which fail nothing: ", self.release),
                &self.known.join(", "),
            ));
        }
        text.push_str(&format!(
            "{:.1} s, {:.2} million operations a second\n\n",
            self.seconds,
            self.operations_per_second / 1e6
        ));
        match &self.found {
            None => text.push_str("Nothing found.\n"),
            Some(found) => text.push_str(&found.screen()),
        }
        if self.found.is_some() && self.laws && self.patches != "none" {
            text.push_str(
                "The laws are those of the release: where the patch is meant to differ, add --no-laws.\n",
            );
        }
        text
    }
}

impl FoundReport {
    fn of(found: &Found, (file, command): (String, String)) -> Self {
        FoundReport {
            run: found.run,
            label: found.failure.label().to_string(),
            explanation: found.explanation.clone(),
            seconds: found.after.as_secs_f64(),
            shrunk_from: found.shrunk_from,
            statements: found.program.statements.len(),
            beyond: found.beyond(),
            tries: found.tries,
            complete: found.complete,
            file,
            command,
        }
    }

    fn screen(&self) -> String {
        let mut text = format!("FOUND in run {}: {}\n", self.run, self.explanation.sentence);
        for line in &self.explanation.table {
            text.push_str(&format!("    {line}\n"));
        }
        let more = if self.complete { "" } else { " (the budget was used up: more may go)" };
        text.push_str(&format!(
            "{} statements shrunk to {}, {} of them beyond group, task and new{more}\n\
             written to {}; replay it with:\n    {}\n",
            self.shrunk_from, self.statements, self.beyond, self.file, self.command
        ));
        text
    }
}

/// With blanks between thousands.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at != 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

fn wrapped(head: &str, text: &str) -> String {
    let options = textwrap::Options::new(100).subsequent_indent("    ").break_words(false);
    textwrap::fill(&format!("{head}{text}"), options) + "\n"
}
