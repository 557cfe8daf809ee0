// SPDX-License-Identifier: GPL-2.0-only
//! `fairlab compare`: its options, and the way from them to a [`Plan`].

use super::print;
use crate::compare::side::Side;
use crate::compare::{self, Interrupt, Plan};
use crate::error::{Error, Result, quote};
use crate::ops::{Header, text};
use crate::report;
use crate::workload::costs::Costs;
use crate::workload::kind::{Choice, Kind, Source};
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sched_core::patches::{Patches, TABLE};
use std::io::{IsTerminal, Write};
use std::path::PathBuf;

/// The options of `fairlab compare`.
#[derive(Args)]
#[command(long_about = LONG_ABOUT, after_long_help = after_help())]
pub struct CompareArgs {
    /// The patches of the patched side, with commas between them; listed below
    #[arg(value_name = "PATCH[,PATCH...]")]
    patches: String,

    /// pipe-handoff, pipe-ring, an .ops file, or a recording in ftrace text
    #[arg(long, value_name = "WORKLOAD", default_value = "pipe-handoff")]
    workload: String,

    /// pipe-handoff: CPUs, each with a pair of tasks; pipe-ring: tasks on the one CPU [default: 15]
    #[arg(long, value_name = "N")]
    workers: Option<u32>,

    /// pipe-ring: tokens that go round, which is how many tasks are runnable at once [default: 1]
    #[arg(long, value_name = "N")]
    tokens: Option<u32>,

    /// Random operations after each of which the states are compared (part 1)
    #[arg(long, value_name = "N", default_value_t = DEFAULT_OPS)]
    ops: u64,

    /// Runs of base, patch, base (part 3), and seeds of the simulations (parts 2 and 4)
    #[arg(long, value_name = "N", default_value_t = 9)]
    runs: u32,

    /// Seed of everything random: the same seed gives the same answer, part 3 aside
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,

    /// Features of both sides, as debugfs takes them: NO_DELAY_DEQUEUE,NEXT_BUDDY
    #[arg(long, value_name = "NAME,NO_NAME,...", value_delimiter = ',')]
    features: Vec<String>,

    /// HZ of the simulated machine: 100, 250, 300 or 1000
    #[arg(long, value_name = "HZ", default_value_t = 250)]
    hz: u32,

    /// Base slice with its unit, like 2.8ms [default: as the kernel scales it with the CPUs]
    #[arg(long, value_name = "TIME", value_parser = duration_ns)]
    base_slice: Option<u64>,

    /// Another cost than the default, with its unit: wakeup=1200ns (names below; may be repeated)
    #[arg(long = "cost", value_name = "NAME=TIME")]
    costs: Vec<String>,

    /// Where files that replay a finding are written
    #[arg(long, value_name = "DIR", default_value = ".")]
    out_dir: PathBuf,

    /// Print everything as JSON instead of the screen
    #[arg(long)]
    json: bool,
}

const DEFAULT_OPS: u64 = 5_000_000;

const LONG_ABOUT: &str = "\
Compares the fair class with and without a patch, in five parts:

  1. Same or not: both sides do the same legal operations, random ones and the workload's, and their states are \
compared after each. The first difference is shown field by field, with a file that replays it. On the patched side \
invariants, warnings (WARN_ON_ONCE), panics (BUG) and endless loops are looked for: any of them is unsafe.
  2. How often: what the touched paths do per hand-off, each side driven by the workload's own closed loop.
  3. What it costs: ns of real time per hand-off for the scheduler's own work: base, patch, base again. Included: the \
class, the part of core.c around it, and a match on the operation. Not included: the simulation and the counters.
  4. What it does to time: hand-offs per virtual second, wakeup latency.
  5. A verdict in words.";

fn after_help() -> String {
    let mut text = String::from("Patches:\n");
    for row in TABLE {
        text.push_str(&format!(
            "  {}\n      {}\n      origin: {}\n",
            row.name, row.what, row.origin
        ));
    }
    text.push_str(
        "\nA new patch idea is one row in the table of sched-core/src/patches.rs and one branch in the code that it \
         changes; this list and every verb then know it (Documentation, \"How to add a patch idea\").\n\n",
    );
    text.push_str("Costs of the simulated steps (ns of CPU time; derived from recordings of v7.3 in an emulator\nthat counts one instruction as one ns):\n");
    for (name, ns) in cost_table(&Costs::default()) {
        text.push_str(&format!("  {name:<22}{ns:>6} ns\n"));
    }
    text.push_str(&format!(
        "  jitter                {:>6} thousandths to either side, even\n\n",
        Costs::default().jitter_permille
    ));
    text.push_str(
        "Limits: CPUs are independent machines here. What they do to each other (shared caches, wakeups across \
         CPUs, balancing) is not modelled. Virtual times follow the costs above; trust directions and ratios, not \
         absolute figures. Only part 3 depends on this machine; let nothing else run meanwhile.\n\n\
         Exit codes: 0 the patch is safe and changes no state; 1 a difference or a violation; 2 bad input; 3 not \
         possible here. Ctrl-C ends early with what there is.",
    );
    text
}

/// The costs by their names on the command line.
fn cost_table(costs: &Costs) -> Vec<(&'static str, u64)> {
    let mut copy = *costs;
    cost_fields(&mut copy).into_iter().map(|(name, ns)| (name, *ns)).collect()
}

fn cost_fields(costs: &mut Costs) -> [(&'static str, &mut u64); 12] {
    [
        ("switch_after_block", &mut costs.switch_after_block_ns),
        ("switch_after_preempt", &mut costs.switch_after_preempt_ns),
        ("read_return", &mut costs.read_return_ns),
        ("resume", &mut costs.resume_ns),
        ("loop", &mut costs.loop_ns),
        ("write_to_wakeup", &mut costs.write_to_wakeup_ns),
        ("wakeup", &mut costs.wakeup_ns),
        ("set_resched", &mut costs.set_resched_ns),
        ("write_return", &mut costs.write_return_ns),
        ("write_awake", &mut costs.write_awake_ns),
        ("read_to_block", &mut costs.read_to_block_ns),
        ("read_finds", &mut costs.read_finds_ns),
    ]
}

/// Runs the verb; its exit code.
///
/// Errors: bad arguments, bad files, and those of the comparison.
pub fn main(args: &CompareArgs, out: &mut dyn Write) -> Result<u8> {
    let plan = plan(args)?;
    let interrupt = Interrupt::default();
    let on_interrupt = interrupt.clone();
    // Without a handler Ctrl-C just ends the program, which is no reason not to start.
    let _ = ctrlc::set_handler(move || on_interrupt.set());
    let bar = progress_bar();
    let report = compare::run(&plan, &interrupt, &|part, done, of| show(&bar, part, done, of))?;
    bar.finish_and_clear();
    let text = if args.json { report::json(&report) } else { report::screen(&report) };
    print(out, &text)?;
    Ok(report.exit_code())
}

fn plan(args: &CompareArgs) -> Result<Plan> {
    let patches = compare::parse_patches(&args.patches)?;
    for word in &args.features {
        text::check_feature(word).map_err(|(what, remedy)| Error::bad_argument(what, remedy))?;
    }
    if !text::HZ.contains(&args.hz) {
        return Err(Error::bad_argument(
            format!("--hz {} is not to be had", args.hz),
            "use 100, 250, 300 or 1000",
        ));
    }
    if args.runs == 0 || args.ops == 0 {
        return Err(Error::bad_argument("--runs and --ops cannot be 0", "use 1 at least"));
    }
    if !args.out_dir.is_dir() {
        let what =
            format!("--out-dir {}: no such directory", quote(args.out_dir.display().to_string()));
        return Err(Error::bad_argument(what, "make it first"));
    }
    let base_slice_ns = args.base_slice.map(slice_in_range).transpose()?;
    let machine =
        Header { hz: args.hz, features: args.features.clone(), base_slice_ns, ..Header::default() };
    let choice = Choice { name: &args.workload, workers: args.workers, tokens: args.tokens };
    let source =
        Source { kind: Kind::open(&choice)?, machine, costs: costs(&args.costs)?, seed: args.seed };
    Ok(Plan {
        base: Side::new(Patches::empty()),
        patch: Side::new(patches),
        source,
        ops: args.ops,
        runs: args.runs,
        out_dir: args.out_dir.clone(),
    })
}

fn slice_in_range(ns: u64) -> Result<u32> {
    match u32::try_from(ns) {
        Ok(ns @ 100_000..=1_000_000_000) => Ok(ns),
        _ => Err(Error::bad_argument(
            format!("--base-slice of {ns} ns is out of range"),
            "use 100us to 1s, as debugfs does",
        )),
    }
}

fn costs(changes: &[String]) -> Result<Costs> {
    let mut costs = Costs::default();
    for change in changes {
        let wrong = |what: &str| {
            let names: Vec<&str> =
                cost_table(&Costs::default()).into_iter().map(|(name, _)| name).collect();
            Error::bad_argument(
                format!("--cost {}: {what}", quote(change)),
                format!("use NAME=TIME, like wakeup=1200ns; the names are {}", names.join(", ")),
            )
        };
        let (name, time) = change.split_once('=').ok_or_else(|| wrong("there is no '='"))?;
        let ns = duration_ns(time).map_err(|what| wrong(&what))?;
        if ns > 1_000_000_000 {
            return Err(wrong("more than a second"));
        }
        let mut fields = cost_fields(&mut costs).into_iter();
        let (_, field) =
            fields.find(|(known, _)| *known == name).ok_or_else(|| wrong("no such cost"))?;
        *field = ns;
    }
    Ok(costs)
}

/// A time with its unit (ns, us, ms, s), in ns.
pub(crate) fn duration_ns(text: &str) -> std::result::Result<u64, String> {
    let digits = text.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale = match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "" => return Err("a time needs its unit: ns, us, ms or s".to_string()),
        _ => return Err(format!("unknown unit {}: use ns, us, ms or s", quote(unit))),
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let not_a_time = || format!("{} is not a time: use something like 2.8ms", quote(text));
    if whole.is_empty() || part.len() > 9 {
        return Err(not_a_time());
    }
    let padded = format!("{part:0<9}");
    let whole: u64 = whole.parse().map_err(|_| not_a_time())?;
    let billionths: u64 = padded.parse().map_err(|_| not_a_time())?;
    let ns = u128::from(whole) * u128::from(scale as u64)
        + u128::from(billionths) * u128::from(scale as u64) / 1_000_000_000;
    u64::try_from(ns).map_err(|_| not_a_time())
}

fn progress_bar() -> ProgressBar {
    let bar = ProgressBar::new(1);
    // Only for eyes: a log gets nothing.
    if !std::io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    if let Ok(style) = ProgressStyle::with_template("{msg:<28} {wide_bar} {percent:>3}%") {
        bar.set_style(style);
    }
    bar
}

fn show(bar: &ProgressBar, part: u8, done: u64, of: u64) {
    let what = match part {
        1 => "1. same or not",
        2 => "2. and 4. simulating",
        _ => "3. taking time",
    };
    bar.set_message(what);
    bar.set_length(of.max(1));
    bar.set_position(done);
}

#[cfg(test)]
mod tests {
    use super::{costs, duration_ns};

    #[test]
    fn times_need_a_unit() {
        assert_eq!(duration_ns("2.8ms"), Ok(2_800_000));
        assert_eq!(duration_ns("15ns"), Ok(15));
        assert_eq!(duration_ns("1.5s"), Ok(1_500_000_000));
        for wrong in
            ["", "5", "ms", "1.2.3ms", "5 ms", "-1ms", "5min", "99999999999999999999s", "1e3ns"]
        {
            assert!(duration_ns(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn costs_are_changed_by_name() {
        let changed = costs(&["wakeup=1.2us".to_string()]).unwrap();
        assert_eq!(changed.wakeup_ns, 1200);
        for wrong in ["wakeup", "wake=1us", "wakeup=1", "wakeup=2s", "=", ""] {
            let error = costs(&[wrong.to_string()]).unwrap_err().to_string();
            assert!(error.contains("switch_after_block") && error.lines().count() == 1, "{error}");
        }
    }
}
