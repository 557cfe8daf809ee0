// SPDX-License-Identifier: GPL-2.0-only
//! `fairlab ops gen`.

use super::{checked_features, print, remark, setting};
use crate::compare::guard::quietly;
use crate::compare::side::{Side, Watch};
use crate::error::{EXIT_DIFFERENCE, EXIT_FINE, Error, Result};
use crate::ops::generate::{Generator, Profile};
use crate::ops::text::{self, shown};
use crate::ops::{Class, Header, Program};
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
    /// Changes to the scheduler features for the header: NAME or NO_NAME, as in debugfs.
    #[arg(long, value_name = "NAME,NO_NAME,...", value_delimiter = ',')]
    features: Vec<String>,
    /// The file to write; standard output if none is named.
    #[arg(long, value_name = "FILE")]
    out: Option<String>,
}

pub(super) fn generate(args: &GenArgs, out: &mut dyn Write) -> Result<u8> {
    let header = Header { features: checked_features(&args.features)?, ..Header::default() };
    remark(&setting(&header.features, None, Some(args.seed)));
    match &args.out {
        None => stream(args, header, "standard output", out),
        Some(path) => {
            let file = File::create(path).map_err(|source| Error::write(path, source))?;
            stream(args, header, path, &mut BufWriter::new(file))
        }
    }
}

/// Writes each statement before it is run, so that what brings the class down is in the file.
fn stream(args: &GenArgs, header: Header, path: &str, out: &mut dyn Write) -> Result<u8> {
    let profile = match Profile::flat(args.tasks) {
        flat if args.swarm => flat.swarm(args.seed),
        flat => flat,
    };
    let program = Program { header, names: profile.names(), statements: Vec::new() };
    let mut generator = Generator::new(args.seed, profile);
    let mut line = first_lines(args, &program);
    let mut done = 0;
    let base = Side { patches: Patches::empty() };
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
            }
            Ok(())
        })
    });
    print(out, &line)?;
    out.flush().map_err(|source| Error::write(path, source))?;
    match finished {
        Ok(result) => result?.map(|()| EXIT_FINE),
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
    let swarm = if args.swarm { " --swarm" } else { "" };
    let made = format!("--ops {} --seed {} --tasks {}{swarm}", args.ops, args.seed, args.tasks);
    let version = crate::REVISION;
    format!("{first}\n# fairlab {version}: ops gen {made}\n{rest}").into_bytes()
}
