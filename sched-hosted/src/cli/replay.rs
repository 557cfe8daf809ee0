// SPDX-License-Identifier: GPL-2.0-only
//! `fairlab replay`: its options, and the way from them to a [`Plan`].

use super::{duration_ns, print};
use crate::compare::Interrupt;
use crate::error::{EXIT_FINE, Error, Result};
use crate::ops::{Header, text};
use crate::replay::run::{self, Plan};
use crate::replay::setup::Setup;
use clap::Args;
use std::io::Write;

/// The options of `fairlab replay`.
#[derive(Args)]
pub struct ReplayArgs {
    /// A recording: ftrace text, trace-cmd report, perf script; plain, .gz, .xz or .zst; - is standard input
    #[arg(value_name = "TRACE")]
    path: String,

    /// HZ of the recorded kernel: 100, 250, 300 or 1000
    #[arg(long, value_name = "HZ", default_value_t = 250)]
    hz: u32,

    /// Its base slice with the unit, like 2.8ms [default: as the kernel scales it with the CPUs]
    #[arg(long, value_name = "TIME", value_parser = duration_ns)]
    base_slice: Option<u64>,

    /// Groups, shares, quotas, custom slices and policies: a TOML file (Documentation/replay.rst)
    #[arg(long, value_name = "FILE.toml")]
    tasks: Option<String>,
}

/// Runs the verb; its exit code.
///
/// Errors: bad arguments, bad files.
pub fn main(args: &ReplayArgs, out: &mut dyn Write) -> Result<u8> {
    let setup = args.tasks.as_deref().map(Setup::load).transpose()?.unwrap_or_default();
    if !text::HZ.contains(&args.hz) {
        return Err(Error::bad_argument(
            format!("--hz {} is not to be had", args.hz),
            "use 100, 250, 300 or 1000",
        ));
    }
    let machine = Header {
        hz: args.hz,
        base_slice_ns: args.base_slice.map(|ns| ns as u32),
        ..Header::default()
    };
    let plan = Plan { path: args.path.clone(), machine, setup, trial: None, cases: 12 };
    let interrupt = Interrupt::default();
    let replayed = run::run(&plan, &interrupt, &|_| {})?;
    let mut text = String::new();
    for (kind, name) in replayed.score.kinds.iter().zip(["pick", "wakeup", "tick"]) {
        text += &format!("{name}: {kind:?} {:?}\n", kind.after.percent(kind.after.agreed));
    }
    text += &format!("{:?}\n{:?}\nmoved {} warn {:?}\n{:?}\n", replayed.lacks, replayed.repairs, replayed.moved, replayed.warnings, replayed.score.causes);
    text += &format!("{:?}\n", replayed.counts);
    for case in &replayed.score.cases {
        text += &format!("#{} line {} {:?} {:?} {:?} task {:?}\n", case.number, case.at.line, case.decision.kind, case.decision.recorded, case.decision.model, case.decision.task.map(|t| String::from_utf8_lossy(&replayed.tasks[t as usize].1).into_owned()));
        for who in case.decision.details.iter().flat_map(|(_, who)| who) {
            text += &format!("     {} {:?}\n", String::from_utf8_lossy(&replayed.tasks[who.task as usize].1), who);
        }
    }
    print(out, &text)?;
    Ok(EXIT_FINE)
}
