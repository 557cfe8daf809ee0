// SPDX-License-Identifier: GPL-2.0-only
//! `fairlab bench`: what single fast paths cost, beside the kernel's own code, a patch or another revision.

use super::print;
use crate::bench::baseline::Baseline;
use crate::bench::measure::{Effort, Measured};
use crate::bench::report::{self, Word};
use crate::bench::rows::{Row, select};
use crate::bench::setting::{self, Results, Setting};
use crate::bench::sides::{Which, measure_rows};
use crate::bench::{against, count, plot};
use crate::compare;
use crate::error::{EXIT_DIFFERENCE, EXIT_FINE, EXIT_NOT_POSSIBLE, Error, Result, quote};
use crate::oracle::Kernel;
use clap::Args;
use sched_core::patches::Patches;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

/// The options of `fairlab bench`.
#[derive(Args)]
#[command(long_about = LONG_ABOUT, after_long_help = AFTER)]
pub struct BenchArgs {
    /// The patches of the patched side, with commas between them, against the class without
    #[arg(long, value_name = "PATCH[,PATCH...]")]
    patch: Option<String>,

    /// Another git revision, which is built first, against this program
    #[arg(long, value_name = "REV", conflicts_with = "patch")]
    against: Option<String>,

    /// Only these rows: PATH/TASKS/LEVELS/MIX or parts of it, commas between several
    #[arg(long, value_name = "FILTER")]
    row: Option<String>,

    /// How often the sides take turns
    #[arg(long, value_name = "N", default_value_t = 9)]
    runs: u32,

    /// A kernel tree for the C side [default: LINUX_SRC, or the one built last]
    #[arg(long, value_name = "TREE")]
    linux: Option<PathBuf>,

    /// Leave the kernel's own code out
    #[arg(long)]
    no_kernel: bool,

    /// Count no instructions
    #[arg(long)]
    no_instructions: bool,

    /// Write everything as JSON, to standard output instead of the table if FILE is -
    #[arg(long, value_name = "FILE")]
    json: Option<String>,

    /// Draw ns against tasks
    #[arg(long, value_name = "FILE")]
    svg: Option<String>,

    /// Results of other programs to be drawn as well, as --json writes them
    #[arg(long, value_name = "FILE", requires = "svg")]
    peers: Option<String>,

    /// Draw or print what a file of --json has, and measure nothing
    #[arg(long, value_name = "FILE", conflicts_with_all = ["patch", "against", "row"])]
    from: Option<String>,

    /// Print the table of a README
    #[arg(long)]
    markdown: bool,

    /// Count instructions only, and compare them with this file: growth over 2 % is a difference
    #[arg(long, value_name = "FILE", conflicts_with_all = ["patch", "against", "json", "svg"])]
    baseline: Option<String>,

    /// Count instructions only, and write them to this file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["patch", "against", "json", "svg", "baseline"])]
    save_baseline: Option<String>,

    /// Play rows on one side, to be counted by valgrind
    #[arg(long, value_name = "SIDE", hide = true)]
    count_on: Option<String>,
}

const LONG_ABOUT: &str = "\
What single fast paths cost, in ns and instructions, path by path: enqueue, dequeue, pick, tick, ... at 2 to 10000 \
runnable tasks, 0 to 3 levels of groups, equal, mixed and extreme weights.

Without --patch and --against the class here is timed beside the kernel's own fair.c: the same operations, by turns, \
in one process. Both must end in the same state. With --patch the class with the patches is timed beside the class \
without; with --against this program beside another revision of it.";

const AFTER: &str = "\
Paths: enqueue, dequeue, delay, requeue, complete, switch, update_curr, tick, place, pick, insert, erase, handoff \
(Documentation/performance.rst says what each is). Only ratios within one run count: pin it (taskset -c 1) and let \
nothing else run.

Exit codes: 0 fine; 1 the two classes ended in different states, or instructions grew; 2 bad input; 3 not possible here.

Try:
  fairlab bench --row 'enqueue/15,*/2/0/equal'
  fairlab bench --patch skip-dequeue-charge
  fairlab bench --against HEAD~1 --row handoff";

/// Rows of a comparison of two sides of our own, if none are named.
const ROWS_OF_A_PATCH: &str = "*/2/0/equal,*/15/0/equal,*/15/1/mixed";
/// Rows whose instructions are kept in the baseline, if none are named.
const ROWS_OF_THE_BASELINE: &str =
    "*/2/0/equal,*/15/0/equal,*/100/0/equal,*/15/0/adversarial,*/15/1/mixed,*/15/3/mixed";
/// Instructions of more rows than this are not counted unless they are all that is asked for.
const COUNTED_MAX: usize = 60;
/// About how long a side's turn at a row takes.
const TURN: Duration = Duration::from_millis(2);

/// Runs the verb; its exit code.
///
/// # Errors
/// Bad arguments, files that cannot be written, and what [`crate::bench`] cannot do here.
pub fn main(args: &BenchArgs, out: &mut dyn Write) -> Result<u8> {
    if args.runs == 0 {
        return Err(Error::bad_argument("--runs cannot be 0", "use 9 at least for an interval"));
    }
    if let Some(file) = &args.from {
        let results = Results::read(file)?;
        show(args, &results, out)?;
        return Ok(exit_code(&results));
    }
    if let Some(side) = &args.count_on {
        return play(args, side, out);
    }
    if args.baseline.is_some() || args.save_baseline.is_some() {
        return baseline(args, out);
    }
    let results = measure(args, out)?;
    show(args, &results, out)?;
    Ok(exit_code(&results))
}

fn rows(args: &BenchArgs, default: &str) -> Result<Vec<Row>> {
    select(args.row.as_deref().unwrap_or(default)).map_err(|word| {
        Error::bad_argument(
            format!("--row {}: there is no such row", quote(&word)),
            "use PATH/TASKS/LEVELS/MIX or parts of it, like enqueue/15/0/equal or */2/0",
        )
    })
}

fn patches(args: &BenchArgs) -> Result<Option<Patches>> {
    args.patch.as_deref().map(compare::parse_patches).transpose()
}

/// The kernel, or why there is none.
fn kernel(args: &BenchArgs) -> Result<std::result::Result<Kernel, String>> {
    if args.no_kernel {
        return Ok(Err("it is left out".to_string()));
    }
    match Kernel::find(args.linux.as_deref()) {
        Ok(kernel) => Ok(Ok(kernel)),
        Err(why) if args.linux.is_none() => Ok(Err(why.to_string())),
        Err(why) => Err(why),
    }
}

fn setting(args: &BenchArgs, sides: &[&str]) -> Setting {
    Setting {
        fairlab: crate::REVISION.to_string(),
        machine: setting::machine(),
        compiler: setting::compiler(),
        kernel: None,
        sides: sides.iter().map(|side| (*side).to_string()).collect(),
        alternations: args.runs,
        notes: Vec::new(),
    }
}

fn measure(args: &BenchArgs, out: &mut dyn Write) -> Result<Results> {
    if let Some(revision) = &args.against {
        return measure_against(args, revision, out);
    }
    if let Some(patches) = patches(args)? {
        let setting = setting(args, &["patch", "base", "again"]);
        let base = Which::Here(Patches::empty());
        let which = [Which::Here(patches), base, base];
        return measure_sides(args, setting, &which, &rows(args, ROWS_OF_A_PATCH)?, out);
    }
    let rows = rows(args, "")?;
    match kernel(args)? {
        Ok(kernel) => {
            let mut setting = setting(args, &["Rust", "C"]);
            let compiler = kernel.load()?.compiler().to_string();
            let shown = kernel.shown();
            let name = shown.strip_prefix("kernel: ").unwrap_or(&shown);
            setting.kernel = Some(format!("{name}, ARCH=um and the tree's own flags, {compiler}"));
            let which = [Which::Here(Patches::empty()), Which::Kernel(&kernel)];
            measure_sides(args, setting, &which, &rows, out)
        }
        Err(why) => {
            let mut setting = setting(args, &["Rust"]);
            setting.notes.push(format!("C is not timed: {why}"));
            measure_sides(args, setting, &[Which::Here(Patches::empty())], &rows, out)
        }
    }
}

fn measure_sides(
    args: &BenchArgs,
    mut setting: Setting,
    which: &[Which<'_>],
    rows: &[Row],
    out: &mut dyn Write,
) -> Result<Results> {
    let counts = count_sides(args, &mut setting, which, rows)?;
    let silent = args.json.as_deref() == Some("-") || args.markdown;
    if !silent {
        print(out, &report::head(&setting))?;
    }
    let effort = Effort { alternations: args.runs, turn: TURN };
    let mut measured: Vec<Measured> = Vec::new();
    measure_rows(which, rows, effort, &mut |mut row| {
        for (side, counts) in counts.iter().enumerate() {
            let counted = counts.iter().find(|counted| counted.row == row.row);
            row.instructions[side] = counted.and_then(count::Counted::per_op);
        }
        if !silent {
            print(out, &report::line(&setting, &row))?;
        }
        measured.push(row);
        Ok(())
    })?;
    Ok(Results { setting, rows: measured })
}

/// Counts the instructions of each side, if they are to be had; else a note says why not.
fn count_sides(
    args: &BenchArgs,
    setting: &mut Setting,
    which: &[Which<'_>],
    rows: &[Row],
) -> Result<Vec<Vec<count::Counted>>> {
    if args.no_instructions {
        return Ok(Vec::new());
    }
    if let Err(why) = count::available() {
        setting.notes.push(format!("instructions are not counted: {why}"));
        return Ok(Vec::new());
    }
    let small: Vec<Row> =
        rows.iter().copied().filter(|row| row.situation.tasks <= count::TASKS_MAX).collect();
    if small.len() > COUNTED_MAX {
        let note =
            format!("instructions are not counted of more than {COUNTED_MAX} rows: use --row");
        setting.notes.push(note);
        return Ok(Vec::new());
    }
    if small.is_empty() {
        return Ok(Vec::new());
    }
    eprintln!("fairlab: counting instructions ...");
    // A third side is the second once more.
    let which = which.iter().take(2);
    which.map(|which| count::count(&small, &count_arguments(args, *which))).collect()
}

/// What the program under valgrind is told.
fn count_arguments(args: &BenchArgs, which: Which<'_>) -> Vec<String> {
    let text = |words: &[&str]| words.iter().map(|word| (*word).to_string()).collect::<Vec<_>>();
    match which {
        Which::Here(patches) if patches.is_empty() => text(&["--count-on", "here"]),
        Which::Here(_) => {
            text(&["--count-on", "here", "--patch", args.patch.as_deref().unwrap_or_default()])
        }
        Which::Kernel(kernel) => {
            let tree = kernel.tree.root().display().to_string();
            text(&["--count-on", "kernel", "--linux", &tree])
        }
    }
}

/// The part of the program that runs under valgrind.
fn play(args: &BenchArgs, side: &str, out: &mut dyn Write) -> Result<u8> {
    let rows = rows(args, "")?;
    let ops = if side == "kernel" {
        let kernel = Kernel::find(args.linux.as_deref())?;
        count::play(Which::Kernel(&kernel), &rows)?
    } else {
        count::play(Which::Here(patches(args)?.unwrap_or_default()), &rows)?
    };
    ops.iter().try_for_each(|ops| print(out, &format!("{ops}\n")))?;
    Ok(EXIT_FINE)
}

fn measure_against(args: &BenchArgs, revision: &str, out: &mut dyn Write) -> Result<Results> {
    let rows = rows(args, ROWS_OF_A_PATCH)?;
    let other = against::build(revision)?;
    let mut setting = setting(args, &["this", &other.revision]);
    setting
        .notes
        .push("instructions are not counted between revisions: see --baseline".to_string());
    let silent = args.json.as_deref() == Some("-") || args.markdown;
    if !silent {
        print(out, &report::head(&setting))?;
    }
    let names: Vec<String> = rows.iter().map(Row::to_string).collect();
    let rows = against::measure(&other, &names.join(","), args.runs)?;
    if !silent {
        rows.iter().try_for_each(|row| print(out, &report::line(&setting, row)))?;
    }
    Ok(Results { setting, rows })
}

fn baseline(args: &BenchArgs, out: &mut dyn Write) -> Result<u8> {
    count::available()?;
    let rows = rows(args, ROWS_OF_THE_BASELINE)?;
    let kept = args.baseline.as_deref().map(Baseline::read).transpose()?;
    if let Some(kept) = &kept
        && kept.compiler != setting::compiler()
    {
        let (was, is) = (&kept.compiler, setting::compiler());
        print(out, &format!("NOT CHECKED: the baseline holds for {was}, this is {is}\n"))?;
        return Ok(EXIT_NOT_POSSIBLE);
    }
    let here = ["--count-on".to_string(), "here".to_string()];
    let now = Baseline::new(&count::count(&rows, &here)?);
    if let Some(file) = &args.save_baseline {
        write(file, &now.json())?;
    }
    let Some(kept) = kept else { return Ok(EXIT_FINE) };
    let found = kept.compare(&now);
    print(out, &found.text)?;
    Ok(if found.grown > 0 { EXIT_DIFFERENCE } else { EXIT_FINE })
}

fn write(file: &str, text: &str) -> Result<()> {
    std::fs::write(file, text).map_err(|source| Error::write(file, source))
}

/// Writes what was asked for besides the table.
fn show(args: &BenchArgs, results: &Results, out: &mut dyn Write) -> Result<()> {
    match args.json.as_deref() {
        Some("-") => print(out, &results.json())?,
        Some(file) => write(file, &results.json())?,
        None => {}
    }
    if args.markdown {
        print(out, &report::markdown(results))?;
    } else if args.json.as_deref() != Some("-") {
        if args.from.is_some() {
            print(out, &report::head(&results.setting))?;
            let mut rows = results.rows.iter();
            rows.try_for_each(|row| print(out, &report::line(&results.setting, row)))?;
        }
        print(out, &report::summary(results))?;
    }
    if let Some(file) = &args.svg {
        let mut all = vec![results.clone()];
        all.extend(args.peers.as_deref().map(Results::read).transpose()?);
        write(file, &plot::svg(&all)?)?;
    }
    Ok(())
}

/// A difference is one between the class here and the kernel's: a patch may change what it likes.
fn exit_code(results: &Results) -> u8 {
    let differs = |row: &Measured| report::word(row, 0, report::SLOWER) == Word::Differs;
    let kernel = results.setting.kernel.is_some();
    if kernel && results.rows.iter().any(differs) { EXIT_DIFFERENCE } else { EXIT_FINE }
}
