// SPDX-License-Identifier: GPL-2.0-only
//! `fairlab ops gen`.

use super::{checked_features, print, remark, setting};
use crate::cli::duration_ns;
use crate::compare::guard::quietly;
use crate::compare::side::{Side, Watch, Watched};
use crate::error::{EXIT_DIFFERENCE, EXIT_FINE, Error, Result};
use crate::ops::generate::{Generator, Profile};
use crate::ops::text::{self, HZ, shown};
use crate::ops::{CgroupMode, Class, Header, Program};
use sched_core::patches::Patches;
use std::fs::File;
use std::io::{BufWriter, Write};

#[derive(Debug, clap::Args)]
pub struct GenArgs {
    /// How many operations (statements but `at`).
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    ops: u64,
    /// The seed: the same one makes the same file.
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// The most tasks that live at once.
    #[arg(long, value_name = "N", default_value_t = 24)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    tasks: u32,
    /// Let the seed also leave out or stress some statements and values.
    #[arg(long)]
    swarm: bool,
    /// How many CPUs: with several, tasks migrate and are woken elsewhere.
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=512))]
    cpus: u32,
    /// So many task groups, in a tree that the seed chooses, with moves, shares and idle groups.
    #[arg(long, value_name = "N", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=1_000))]
    groups: u32,
    /// Quotas (cpu.max) that come and go, their timers, and returns to user mode; needs --groups.
    #[arg(long)]
    quota: bool,
    /// HZ for the header: 100, 250, 300 or 1000.
    #[arg(long, value_name = "HZ", default_value_t = 1000, value_parser = hz)]
    hz: u32,
    /// Base slice for the header, with its unit, like 2.8ms [default: as the kernel scales it].
    #[arg(long, value_name = "TIME", value_parser = base_slice)]
    base_slice: Option<u32>,
    /// How shares follow tasks and CPUs, for the header: up, smp, concur, max or tasks.
    #[arg(long, value_name = "MODE", default_value = "concur", value_parser = cgroup_mode)]
    cgroup_mode: CgroupMode,
    /// Changes to the scheduler features for the header: NAME or NO_NAME, as in debugfs.
    #[arg(long, value_name = "NAME,NO_NAME,...", value_delimiter = ',')]
    features: Vec<String>,
    /// The file to write; standard output if none is named.
    #[arg(long, value_name = "FILE")]
    out: Option<String>,
}

fn hz(text: &str) -> std::result::Result<u32, String> {
    let known = text.parse().ok().filter(|hz| HZ.contains(hz));
    known.ok_or_else(|| "use 100, 250, 300 or 1000".to_string())
}

fn base_slice(text: &str) -> std::result::Result<u32, String> {
    let ns = duration_ns(text)?;
    let fits = u32::try_from(ns).ok().filter(|ns| (100_000..=1_000_000_000).contains(ns));
    fits.ok_or_else(|| "a base slice is 0.1ms to 1s, as in debugfs".to_string())
}

fn cgroup_mode(text: &str) -> std::result::Result<CgroupMode, String> {
    let known = CgroupMode::ALL.into_iter().find(|mode| mode.word() == text);
    known.ok_or_else(|| "use up, smp, concur, max or tasks".to_string())
}

pub(super) fn generate(args: &GenArgs, out: &mut dyn Write) -> Result<u8> {
    if args.quota && args.groups == 0 {
        let what = "--quota: there is no group that could have one";
        return Err(Error::bad_argument(what, "add --groups N"));
    }
    let header = Header {
        cpus: args.cpus,
        hz: args.hz,
        base_slice_ns: args.base_slice,
        features: checked_features(&args.features)?,
        cgroup_mode: args.cgroup_mode,
    };
    remark(&setting(&header.features, None, Some(args.seed)));
    match &args.out {
        None => stream(args, header, "standard output", out),
        Some(path) => {
            let file = File::create(path).map_err(|source| Error::write(path, source))?;
            stream(args, header, path, &mut BufWriter::new(file))
        }
    }
}

fn profile(args: &GenArgs) -> Profile {
    let mut profile = Profile::flat(args.tasks);
    if args.cpus > 1 {
        profile = profile.with_migration();
    }
    if args.groups != 0 {
        profile = profile.with_groups(args.groups).with_group_tree(args.seed);
    }
    if args.quota {
        profile = profile.with_quota();
    }
    if args.swarm { profile.swarm(args.seed) } else { profile }
}

/// Writes each statement before it is run, so that what brings the class down is in the file.
fn stream(args: &GenArgs, header: Header, path: &str, out: &mut dyn Write) -> Result<u8> {
    let profile = profile(args);
    let program = Program { header, names: profile.names(), statements: Vec::new() };
    let mut generator = Generator::new(args.seed, profile);
    let mut line = first_lines(args, &program);
    let (mut done, mut warned) = (0, false);
    let base = Side::new(Patches::empty());
    let finished = quietly(|| {
        base.with(&program.header, &program.names, Watch::default(), |class| -> Result<()> {
            while done < args.ops {
                let op = generator.next(class);
                // Writing to a Vec does not fail.
                let _ = writeln!(line, "{}", shown(&op, &program.names));
                done += u64::from(op.is_operation());
                if line.len() >= 1 << 15 {
                    print(out, &line)?;
                    line.clear();
                }
                class.run(&op);
                if let (false, (_, Some(warn))) = (warned, class.watch().warnings()) {
                    warned = true;
                    remark(&format!("operation {done}: {warn}; more of them are not shown"));
                }
            }
            Ok(())
        })
    });
    print(out, &line)?;
    out.flush().map_err(|source| Error::write(path, source))?;
    match finished {
        Ok(result) => result?.map(|()| if warned { EXIT_DIFFERENCE } else { EXIT_FINE }),
        Err(panic) => {
            remark(&format!(
                "the class panicked in operation {done}, the last one written: {panic}"
            ));
            Ok(EXIT_DIFFERENCE)
        }
    }
}

/// The header, with a comment that says how the file was made.
fn first_lines(args: &GenArgs, program: &Program) -> Vec<u8> {
    let header = text::print(program);
    let (first, rest) = header.split_once('\n').unwrap_or((&header, ""));
    let made = arguments(args);
    let version = env!("CARGO_PKG_VERSION");
    format!("{first}\n# fairlab {version}: ops gen {made}\n{rest}").into_bytes()
}

/// What was asked for; the header's lines say the rest.
fn arguments(args: &GenArgs) -> String {
    let mut words = format!("--ops {} --seed {} --tasks {}", args.ops, args.seed, args.tasks);
    if args.groups != 0 {
        words += &format!(" --groups {}", args.groups);
    }
    if args.quota {
        words += " --quota";
    }
    if args.swarm {
        words += " --swarm";
    }
    words
}
