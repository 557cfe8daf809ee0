// SPDX-License-Identifier: GPL-2.0-only
//! `fairlab replay`: its options, and the way from them to a [`Plan`].

use super::{duration_ns, print};
use crate::compare::{Interrupt, parse_patches};
use crate::error::{EXIT_DIFFERENCE, EXIT_FINE, Error, Result, quote};
use crate::ops::{Header, text};
use crate::replay::lint;
use crate::replay::report::{html::html, json, report, screen::screen};
use crate::replay::run::{self, Plan};
use crate::replay::setup::Setup;
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sched_core::patches::Patches;
use std::io::{IsTerminal, Write};

/// The options of `fairlab replay`.
#[derive(Args)]
#[command(long_about = LONG_ABOUT, after_long_help = AFTER)]
pub struct ReplayArgs {
    /// A recording: ftrace text, trace-cmd report, perf script; plain, .gz, .xz or .zst; - is standard input
    #[arg(value_name = "TRACE")]
    path: String,

    /// Which decisions these patches, with commas between them, would have changed
    #[arg(long, value_name = "PATCH[,PATCH...]")]
    patch: Option<String>,

    /// Which decisions other features would have changed: NO_DELAY_DEQUEUE,NEXT_BUDDY
    #[arg(long, value_name = "NAME,NO_NAME,...", value_delimiter = ',')]
    features: Vec<String>,

    /// Features that the recorded kernel had changed
    #[arg(long, value_name = "NAME,NO_NAME,...", value_delimiter = ',')]
    recorded_features: Vec<String>,

    /// The release whose class follows: 7.3
    #[arg(long, value_name = "RELEASE", default_value = "7.3")]
    kernel: String,

    /// HZ of the recorded kernel: 100, 250, 300 or 1000
    #[arg(long, value_name = "HZ", default_value_t = 250)]
    hz: u32,

    /// Its base slice with the unit, like 2.8ms [default: as the kernel scales it with the CPUs]
    #[arg(long, value_name = "TIME", value_parser = duration_ns)]
    base_slice: Option<u64>,

    /// Groups, shares, quotas, custom slices and policies: a TOML file
    #[arg(long, value_name = "FILE.toml")]
    tasks: Option<String>,

    /// Where tasks are at the start: a dump of /sys/kernel/debug/sched/debug taken right before
    #[arg(long, value_name = "FILE")]
    state: Option<String>,

    /// Says what the recording lacks, and replays nothing
    #[arg(long)]
    lint: bool,

    /// Disagreements that are kept with all candidates
    #[arg(long, value_name = "N", default_value_t = 100)]
    cases: usize,

    /// Also write the report as one HTML page
    #[arg(long, value_name = "FILE")]
    html: Option<String>,

    /// Print everything as JSON instead of the screen
    #[arg(long)]
    json: bool,
}

const LONG_ABOUT: &str = "\
Replays a recording of a real kernel: does the model decide as that kernel decided?

The recording supplies what happened to the scheduler: wakeups, blocks, exits, new tasks, ticks, charged runtimes, \
priorities, migrations. The class takes the decisions: which task runs, whether a wakeup or a tick tells the running \
task to reschedule. Each is compared with the recorded one; where they differ the model is put where the kernel was, \
and goes on. With --patch or --features a second machine follows beside it, and what it would have decided otherwise \
is counted.";

const AFTER: &str = "\
Exit codes: 0 replayed, whatever the agreement; 1 --lint found something missing; 2 bad input; 3 not possible here. \
Ctrl-C ends early with what there is. Documentation/record.rst says how to make a good recording.";

/// Runs the verb; its exit code.
///
/// Errors: bad arguments, bad files.
pub fn main(args: &ReplayArgs, out: &mut dyn Write) -> Result<u8> {
    let interrupt = Interrupt::default();
    let on_interrupt = interrupt.clone();
    // Without a handler Ctrl-C just ends the program, which is no reason not to start.
    let _ = ctrlc::set_handler(move || on_interrupt.set());
    let bar = progress_bar(&args.path);
    let progress = |read: u64| bar.set_position(read);
    if args.lint {
        let (scan, summary) = run::lint(&args.path, &interrupt, &progress)?;
        bar.finish_and_clear();
        let (text, lacks) = lint::text(&args.path, &scan, &summary);
        print(out, &text)?;
        return Ok(if lacks { EXIT_DIFFERENCE } else { EXIT_FINE });
    }
    let plan = plan(args)?;
    let replayed = run::run(&plan, &interrupt, &progress)?;
    bar.finish_and_clear();
    let report = report(&plan, &replayed);
    if let Some(path) = &args.html {
        std::fs::write(path, html(&report)).map_err(|error| Error::write(path, error))?;
    }
    let text = if args.json { json(&report) } else { screen(&report) };
    print(out, &text)?;
    Ok(EXIT_FINE)
}

fn plan(args: &ReplayArgs) -> Result<Plan> {
    if args.kernel != "7.3" {
        return Err(Error::not_possible(
            format!("there is no class of release {}", quote(&args.kernel)),
            "use --kernel 7.3; a recording of another release can be replayed on it all the same",
        ));
    }
    for word in args.features.iter().chain(&args.recorded_features) {
        text::check_feature(word).map_err(|(what, remedy)| Error::bad_argument(what, remedy))?;
    }
    if !text::HZ.contains(&args.hz) {
        return Err(Error::bad_argument(
            format!("--hz {} is not to be had", args.hz),
            "use 100, 250, 300 or 1000",
        ));
    }
    let base_slice_ns = match args.base_slice {
        None => None,
        Some(ns @ 100_000..=1_000_000_000) => Some(ns as u32),
        Some(ns) => {
            return Err(Error::bad_argument(
                format!("--base-slice of {ns} ns is out of range"),
                "use 100us to 1s, as debugfs does",
            ));
        }
    };
    let patches = args.patch.as_deref().map(parse_patches).transpose()?;
    let trial = (patches.is_some() || !args.features.is_empty())
        .then(|| (patches.unwrap_or(Patches::empty()), args.features.clone()));
    Ok(Plan {
        path: args.path.clone(),
        machine: Header {
            hz: args.hz,
            base_slice_ns,
            features: args.recorded_features.clone(),
            ..Header::default()
        },
        setup: args.tasks.as_deref().map(Setup::load).transpose()?.unwrap_or_default(),
        state: args.state.as_deref().map(crate::replay::state::load).transpose()?,
        trial,
        cases: args.cases.min(100_000),
    })
}

/// How far it is: of how much is known for plain text only.
fn progress_bar(path: &str) -> ProgressBar {
    let plain = ![".xz", ".gz", ".zst"].iter().any(|end| path.ends_with(end));
    let size = std::fs::metadata(path).map_or(0, |known| known.len());
    let bar = if plain && size > 0 { ProgressBar::new(size) } else { ProgressBar::new_spinner() };
    // Only for eyes: a log gets nothing.
    if !std::io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    let form = if plain && size > 0 {
        "replaying {wide_bar} {bytes} of {total_bytes}, {bytes_per_sec}"
    } else {
        "replaying {spinner} {bytes}, {bytes_per_sec}"
    };
    if let Ok(style) = ProgressStyle::with_template(form) {
        bar.set_style(style);
    }
    bar
}
