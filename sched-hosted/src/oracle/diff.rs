// SPDX-License-Identifier: GPL-2.0-only
//! The verb `diff`: our class and the kernel's in lockstep, on random operations or on a file.
//!
//! Episodes run on all CPUs, but the first difference is that of the lowest one, so a seed gives a result.

use super::class::OracleClass;
use super::lockstep::{self, Finding, Log};
use super::recipe::{Recipe, Wanted};
use super::{Kernel, say};
use crate::compare::parse_patches;
use crate::compare::side::Side;
use crate::error::{EXIT_DIFFERENCE, EXIT_FINE, Error, Result};
use crate::ops::generate::Generator;
use crate::ops::text::{self, check_feature, parse_program};
use crate::ops::{Header, Names, Program};
use crate::shrink::shrink;
use rayon::prelude::*;
use sched_core::patches::Patches;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Compare the class here with the kernel's own code, operation by operation.
///
/// Both sides get the same legal operations, random ones or those of FILE, and their whole states are compared after
/// each. The first difference is shrunk to a small file that replays it.
///
/// Exit codes: 0 no difference; 1 a difference (a field, a warning, a crash); 2 bad input; 3 there is no oracle.
#[derive(Debug, clap::Args)]
pub struct DiffArgs {
    /// A file of operations to run instead of random ones.
    file: Option<String>,
    /// How many random operations.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    ops: u64,
    /// The seed of the random operations.
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// With task groups.
    #[arg(long)]
    groups: bool,
    /// With task groups and quotas.
    #[arg(long)]
    quota: bool,
    /// How many CPUs there are.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    cpus: Option<u32>,
    /// So many tasks at most, in every episode.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    tasks: Option<u32>,
    /// Only this HZ; all four in turn if not given.
    #[arg(long, value_name = "HZ", value_parser = ["100", "250", "300", "1000"])]
    hz: Option<String>,
    /// Scheduler features for all episodes, NAME or NO_NAME; varied at random if not given.
    #[arg(long, value_name = "NAME,NO_NAME,...", value_delimiter = ',')]
    features: Vec<String>,
    /// Patch ideas to switch on in the class here: the kernel should be a tree with the same patch.
    #[arg(long, value_name = "PATCH,...")]
    patch: Option<String>,
    /// The kernel source tree; that of $LINUX_SRC, or the one built last, if not given.
    #[arg(long, value_name = "TREE")]
    linux: Option<PathBuf>,
    /// Where the operations that show a difference go.
    #[arg(long, value_name = "FILE", default_value = "fairlab-diff.ops")]
    out: String,
}

/// Operations of a short episode, and of every tenth.
const EPISODE: u64 = 10_000;
const LONG_EPISODE: u64 = 100_000;
/// Episodes that are started together; no more are started once one of them found something.
const BATCH: u64 = 16;
/// Operations that a shrink may carry out, and the bounds of its tries.
const SHRINK_OPS: u64 = 20_000_000;
const SHRINK_TRIES: (u64, u64) = (300, 20_000);

/// Does what `args` ask for. Returns the exit code.
///
/// # Errors
/// There is no oracle, the input is wrong, or the output cannot be written.
pub fn main(args: &DiffArgs, out: &mut dyn Write) -> Result<u8> {
    let patches = args.patch.as_deref().map_or(Ok(Patches::empty()), parse_patches)?;
    let features = features(&args.features)?;
    let kernel = Kernel::find(args.linux.as_deref())?;
    let diff = Diff { args, kernel, side: Side::new(patches), features };
    say(out, &diff.head())?;
    match &args.file {
        Some(file) => diff.file(file, out),
        None => diff.random(out),
    }
}

fn features(words: &[String]) -> Result<Vec<String>> {
    for word in words {
        check_feature(word)
            .map_err(|(what, remedy)| Error::bad_argument(format!("--features: {what}"), remedy))?;
    }
    Ok(words.to_vec())
}

/// A comparison that was asked for.
struct Diff<'a> {
    args: &'a DiffArgs,
    kernel: Kernel,
    side: Side,
    features: Vec<String>,
}

/// What random episodes came to.
#[derive(Default)]
struct Sum {
    ops: u64,
    episodes: u64,
    /// Episodes that both sides ended, and how: a crash of the kernel's own.
    ended: Vec<(u64, String)>,
}

impl Diff<'_> {
    fn head(&self) -> String {
        let features = match self.features.as_slice() {
            [] if self.args.file.is_some() => "the file's".to_string(),
            [] => "varied".to_string(),
            words => words.join(" "),
        };
        let (revision, kernel) = (crate::REVISION, self.kernel.shown());
        let patches = self.side;
        let seed = match self.args.file {
            Some(_) => "none".to_string(),
            None => self.args.seed.to_string(),
        };
        format!(
            "# fairlab {revision}, {kernel}, features: {features}, patches: {patches}, seed: {seed}\n"
        )
    }

    fn oracle(&self) -> Result<OracleClass> {
        OracleClass::new(self.kernel.load()?, &Header::default(), &Names::default())
    }

    fn file(&self, file: &str, out: &mut dyn Write) -> Result<u8> {
        let bytes = std::fs::read(file).map_err(|source| Error::read(file, source))?;
        let mut program = parse_program(file, &bytes)?;
        program.header.features.extend(self.features.iter().cloned());
        let mut oracle = self.oracle()?;
        let log = lockstep::replay(self.side, &mut oracle, &program)?;
        if log.finding.is_some() {
            return self.found(&mut oracle, &program.header, &program.names, &log, out);
        }
        let skipped = match program.statements.len() - log.ops.len() {
            0 => String::new(),
            n => format!(", {n} statements not carried out"),
        };
        say(
            out,
            &format!(
                "{}: {} operations, no difference{skipped}\n",
                crate::error::quote(file),
                log.count
            ),
        )?;
        if let Some(warning) = &log.warning {
            say(out, &format!("Both sides complain: {warning}\n"))?;
        }
        Ok(EXIT_FINE)
    }

    fn wanted(&self) -> Wanted {
        Wanted {
            groups: self.args.groups,
            quota: self.args.quota,
            cpus: self.args.cpus,
            tasks: self.args.tasks,
            hz: self.args.hz.as_ref().and_then(|hz| hz.parse().ok()),
            features: self.features.clone(),
        }
    }

    fn episode(
        &self,
        wanted: &Wanted,
        oracle: &mut OracleClass,
        index: u64,
    ) -> Result<(Recipe, Log)> {
        let recipe = Recipe::new(wanted, self.args.seed, index);
        let names = recipe.profile.names();
        let mut generator = Generator::new(recipe.seed, recipe.profile.clone());
        let mut left = if index % 10 == 9 { LONG_EPISODE } else { EPISODE }.min(self.args.ops);
        let log = lockstep::run(self.side, oracle, &recipe.header, &names, &mut |class| {
            let op = (left != 0).then(|| generator.next(class))?;
            left -= u64::from(op.is_operation());
            Some(op)
        })?;
        Ok((recipe, log))
    }

    fn random(&self, out: &mut dyn Write) -> Result<u8> {
        let wanted = self.wanted();
        let start = now();
        let mut sum = Sum::default();
        while sum.ops < self.args.ops {
            let first = sum.episodes;
            let logs: Result<Vec<(Recipe, Log)>> = (first..first + BATCH)
                .into_par_iter()
                .map_init(
                    || self.oracle(),
                    |oracle, index| match oracle {
                        Ok(oracle) => self.episode(&wanted, oracle, index),
                        Err(error) => {
                            Err(Error::not_possible(error.to_string(), "build the oracle again"))
                        }
                    },
                )
                .collect();
            for (recipe, log) in logs? {
                sum.episodes += 1;
                sum.ops += log.count;
                if log.finding.is_some() {
                    let (operations, episode) = (log.count, sum.episodes);
                    let when = format!(
                        "Episode {episode} of seed {}, after {operations} operations:\n",
                        self.args.seed
                    );
                    say(out, &when)?;
                    let mut oracle = self.oracle()?;
                    return self.found(
                        &mut oracle,
                        &recipe.header,
                        &recipe.profile.names(),
                        &log,
                        out,
                    );
                }
                if let Some(warning) = log.warning {
                    sum.ended.push((sum.episodes, warning));
                }
            }
        }
        self.report(&sum, start.elapsed(), out)
    }

    fn report(&self, sum: &Sum, time: Duration, out: &mut dyn Write) -> Result<u8> {
        let rate = u128::from(sum.ops) * 1_000 / time.as_millis().max(1);
        let mut text = format!(
            "{} operations in {} episodes, no difference ({rate} operations/s)\n",
            sum.ops, sum.episodes
        );
        if let Some((episode, warning)) = sum.ended.first() {
            text.push_str(&format!(
                "In {} episodes both sides complained, as one; first in episode {episode}: {warning}\n",
                sum.ended.len()
            ));
        }
        say(out, &text)?;
        Ok(EXIT_FINE)
    }

    /// Shows a difference, made small.
    fn found(
        &self,
        oracle: &mut OracleClass,
        header: &Header,
        names: &Names,
        log: &Log,
        out: &mut dyn Write,
    ) -> Result<u8> {
        let whole = lockstep::program(header, names, &log.ops);
        let (small, finding) = self.shrunk(oracle, &whole, log)?;
        let text = text::print(&small);
        let path = &self.args.out;
        std::fs::write(path, &text).map_err(|source| Error::write(path, source))?;
        let what = match &finding {
            Finding::State(difference) => difference.shown(names, "here", "kernel").to_string(),
            Finding::GaveUp(ours, theirs) => sides("gave up", ours.as_deref(), theirs.as_deref()),
            Finding::Warned(ours, theirs) => sides("warned", ours.as_deref(), theirs.as_deref()),
        };
        let last = small.statements.last().map(|last| text::shown(&last.op, names).to_string());
        let (from, to) = (whole.statements.len(), small.statements.len());
        say(
            out,
            &format!(
                "A difference, shrunk from {from} statements to {to}, in {path}:\n\n{text}\nafter '{}':\n{}\n",
                last.unwrap_or_default(),
                what.trim_end()
            ),
        )?;
        Ok(EXIT_DIFFERENCE)
    }

    fn shrunk(
        &self,
        oracle: &mut OracleClass,
        whole: &Program,
        log: &Log,
    ) -> Result<(Program, Finding)> {
        let finding = log
            .finding
            .clone()
            .ok_or_else(|| Error::not_possible("no difference", "report this"))?;
        let tries = (SHRINK_OPS / whole.statements.len().max(1) as u64)
            .clamp(SHRINK_TRIES.0, SHRINK_TRIES.1);
        let mut replay = |program: &Program| lockstep::replay(self.side, oracle, program);
        let mut fails = |program: &Program| {
            let found = replay(program).ok().and_then(|log| log.finding);
            found.is_some_and(|found| found.is_like(&finding))
        };
        let result = shrink(whole, tries, &mut fails, &mut |_| {});
        let plain = plainer(result.program, &mut fails);
        let small = replay(&plain)?;
        // What was carried out is what was legal, up to the finding.
        let program = lockstep::program(&plain.header, &whole.names, &small.ops);
        Ok(match small.finding {
            Some(finding) => (program, finding),
            None => (whole.clone(), finding),
        })
    }
}

/// `program` with as few changes to the default machine as it still fails with.
fn plainer(mut program: Program, fails: &mut dyn FnMut(&Program) -> bool) -> Program {
    let mut try_header = |program: &mut Program, change: &dyn Fn(&mut Header)| {
        let mut candidate = program.clone();
        change(&mut candidate.header);
        if candidate.header != program.header && fails(&candidate) {
            *program = candidate;
        }
    };
    let default = Header::default();
    try_header(&mut program, &|header| header.hz = default.hz);
    try_header(&mut program, &|header| header.base_slice_ns = None);
    try_header(&mut program, &|header| header.cgroup_mode = default.cgroup_mode);
    for at in (0..program.header.features.len()).rev() {
        try_header(&mut program, &|header| {
            header.features.remove(at);
        });
    }
    program
}

#[allow(clippy::disallowed_methods)] // only to tell the user how fast it went
fn now() -> Instant {
    Instant::now()
}

fn sides(did: &str, ours: Option<&str>, theirs: Option<&str>) -> String {
    let side = |name: &str, what: Option<&str>| match what {
        Some(what) => format!("    {name} {did}: {what}\n"),
        None => format!("    {name} did not\n"),
    };
    side("here", ours) + &side("kernel", theirs)
}
