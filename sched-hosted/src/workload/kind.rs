// SPDX-License-Identifier: GPL-2.0-only
//! The workloads by the names that the command line has for them, read and ready to be played any number of times.

use super::costs::Costs;
use super::ring::Ring;
use super::trace::Played;
use super::{Workload, file, pipe};
use crate::error::{Error, Result, quote};
use crate::ops::{Header, Names, Op, Program, text};
use crate::sim::prng::{Purpose, Stream};
use crate::sim::{Drive, End, Limits, Sim, Stats};
use crate::trace::{
    self,
    script::{Assume, Recording},
};
use std::fmt;

/// What kind of workload.
pub enum Kind {
    /// `pipe-handoff`: so many workers, a pair of tasks on a CPU of its own each.
    PipeHandoff {
        /// How many.
        workers: u32,
    },
    /// `pipe-ring`: so many tasks on one CPU pass so many tokens.
    PipeRing {
        /// How many tasks.
        tasks: u32,
        /// How many tokens.
        tokens: u32,
    },
    /// The statements of an `.ops` file.
    File {
        /// Its name.
        path: String,
        /// What it says.
        program: Program,
    },
    /// A recording of a real kernel: each CPU a closed loop of its own.
    Trace(Box<Recording>),
}

/// A workload and all that decides how it goes.
pub struct Source {
    /// What is played.
    pub kind: Kind,
    /// What the machine is like; its `cpus` and a base slice that is not given are chosen by the workload.
    pub machine: Header,
    /// What the steps cost.
    pub costs: Costs,
    /// The seed of jitter and tick phases.
    pub seed: u64,
}

/// What `--workload` and its companions say.
pub struct Choice<'a> {
    /// A name, or a file.
    pub name: &'a str,
    /// `--workers`.
    pub workers: Option<u32>,
    /// `--tokens`.
    pub tokens: Option<u32>,
}

/// Workers of `pipe-handoff` and tasks of `pipe-ring`, if none are asked for.
pub const WORKERS: u32 = 15;

impl Kind {
    /// The workload that `choice` names; files are read.
    ///
    /// Errors: a file that cannot be read or is not what it should be; options that the workload does not have.
    pub fn open(choice: &Choice) -> Result<Kind> {
        match choice.name {
            "pipe-handoff" => {
                refuse("--tokens", choice.tokens, choice.name)?;
                Ok(Kind::PipeHandoff {
                    workers: within("--workers", choice.workers, WORKERS, 1, 512)?,
                })
            }
            "pipe-ring" => {
                let tasks = within("--workers", choice.workers, WORKERS, 2, 10_000)?;
                Ok(Kind::PipeRing {
                    tasks,
                    tokens: within("--tokens", choice.tokens, 1, 1, tasks)?,
                })
            }
            path => {
                refuse("--workers", choice.workers, "a file")?;
                refuse("--tokens", choice.tokens, "a file")?;
                Kind::open_file(path)
            }
        }
    }

    fn open_file(path: &str) -> Result<Kind> {
        if path == "-" {
            return Kind::open_trace(path);
        }
        let bytes = std::fs::read(path).map_err(|source| {
            if source.kind() == std::io::ErrorKind::NotFound {
                Error::bad_argument(
                    format!(
                        "--workload {}: there is no such workload and no such file",
                        quote(path)
                    ),
                    "use pipe-handoff, pipe-ring, an .ops file or an ftrace text file",
                )
            } else {
                Error::read(path, source)
            }
        })?;
        if path.ends_with(".ops") || bytes.starts_with(b"fairlab-ops") {
            let program = text::parse_program(path, &bytes)?;
            return Ok(Kind::File { path: path.to_string(), program });
        }
        Kind::open_trace(path)
    }

    fn open_trace(path: &str) -> Result<Kind> {
        let recording = trace::load(path, &Assume::default())?;
        if recording.cpus.is_empty() {
            return Err(Error::bad_argument(
                format!("{}: no task of the fair class runs in it", path.escape_debug()),
                "record sched_switch and sched_wakeup while the workload runs",
            ));
        }
        Ok(Kind::Trace(Box::new(recording)))
    }

    /// What is to be said about what was read: of a recording, what is lost and what was wrong with it.
    pub fn notes(&self) -> Vec<String> {
        let Kind::Trace(recording) = self else { return Vec::new() };
        let mut notes = recording.describe();
        notes.extend(recording.summary.problems.report(&recording.name));
        notes
    }

    /// What one of the things that are counted is called.
    pub fn unit(&self) -> &'static str {
        match self {
            Kind::PipeHandoff { .. } | Kind::PipeRing { .. } => "hand-off",
            Kind::File { .. } => "operation",
            Kind::Trace(_) => "wakeup",
        }
    }

    /// Whether it is a closed loop, in which the tasks' speed is a result.
    pub fn is_closed_loop(&self) -> bool {
        !matches!(self, Kind::File { .. })
    }
}

/// In a few words, for a headline.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::PipeHandoff { workers } => {
                let plural = if *workers == 1 { "" } else { "s" };
                write!(f, "pipe-handoff, {workers} worker{plural}: a CPU with a pair of tasks each")
            }
            Kind::PipeRing { tasks, tokens } => {
                let plural = if *tokens == 1 { "" } else { "s" };
                write!(f, "pipe-ring, {tasks} tasks on one CPU pass {tokens} token{plural}")
            }
            Kind::File { path, program } => {
                write!(f, "{}, {} statements", path.escape_debug(), program.statements.len())
            }
            Kind::Trace(recording) => {
                let (name, cpus) = (recording.name.escape_debug(), recording.cpus.len());
                let plural = if cpus == 1 { "" } else { "s, a machine each" };
                write!(f, "recording {name}, {cpus} CPU{plural}")
            }
        }
    }
}

fn refuse(option: &str, value: Option<u32>, workload: &str) -> Result<()> {
    match value {
        None => Ok(()),
        Some(_) => Err(Error::bad_argument(
            format!("{option} means nothing to the workload {workload}"),
            "leave it out, or choose another --workload",
        )),
    }
}

fn within(option: &str, value: Option<u32>, default: u32, min: u32, max: u32) -> Result<u32> {
    let value = value.unwrap_or(default.min(max));
    if (min..=max).contains(&value) {
        return Ok(value);
    }
    Err(Error::bad_argument(
        format!("{option} {value} is out of range"),
        format!("use a number from {min} to {max}"),
    ))
}

impl Source {
    /// How many CPUs there are, each to be played on a machine of its own.
    pub fn cpus(&self) -> u64 {
        match &self.kind {
            Kind::PipeHandoff { workers } => u64::from(*workers),
            Kind::PipeRing { .. } | Kind::File { .. } => 1,
            Kind::Trace(recording) => recording.cpus.len() as u64,
        }
    }

    /// The script of CPU `cpu` in run `run`: the same arguments give the same script.
    pub fn script(&self, cpu: u64, run: u64) -> Script<'_> {
        let index = run * self.cpus() + cpu;
        let tick_phase_ns = Stream::new(self.seed, Purpose::TickPhase, index).next_u64();
        let workload: Box<dyn Workload + '_> = match &self.kind {
            Kind::File { program, .. } => return Script::File(program, self.file_header(program)),
            Kind::PipeHandoff { workers } => {
                Box::new(pipe::pair(&self.machine, *workers, self.costs, self.seed, index))
            }
            Kind::PipeRing { tasks, tokens } => {
                let machine = self.machine.clone();
                Box::new(Ring::new(machine, *tasks, *tokens, self.costs, self.seed, index))
            }
            Kind::Trace(recording) => Box::new(Played::new(recording, cpu as usize, &self.machine)),
        };
        let counts_wakeups = matches!(self.kind, Kind::Trace(_));
        Script::Loop { workload, tick_phase_ns, counts_wakeups }
    }

    /// The machine that the file describes, with the features of the command line after its own.
    fn file_header(&self, program: &Program) -> Header {
        let mut header = program.header.clone();
        header.features.extend(self.machine.features.iter().cloned());
        header
    }
}

/// What one CPU is to do in one run.
pub enum Script<'a> {
    /// A closed loop.
    Loop {
        /// What its tasks do.
        workload: Box<dyn Workload + 'a>,
        /// When its first tick comes, ns, relative; taken modulo the tick.
        tick_phase_ns: u64,
        /// What counts as a hand-off is any wakeup, also one from outside.
        counts_wakeups: bool,
    },
    /// A file, and the machine to run it on.
    File(&'a Program, Header),
}

impl Script<'_> {
    /// The machine to play it on.
    pub fn header(&self) -> Header {
        match self {
            Script::Loop { workload, .. } => workload.header(),
            Script::File(_, header) => header.clone(),
        }
    }

    /// The names that its operations use.
    pub fn names(&self) -> Names {
        match self {
            Script::Loop { workload, .. } => workload.names(),
            Script::File(program, _) => program.names.clone(),
        }
    }

    /// Plays it on the fresh machine behind `drive` until one of `limits` is reached or it is over.
    pub fn play<D: Drive>(self, drive: &mut D, limits: Limits) -> (Stats, End) {
        self.play_after_setup(drive, limits, |_| ())
    }

    /// The same; calls `ready` when the tasks are there and what is measured begins. (A file has no such point: all of
    /// it counts.)
    pub fn play_after_setup<D: Drive>(
        self,
        drive: &mut D,
        limits: Limits,
        ready: impl FnOnce(&D::Class),
    ) -> (Stats, End) {
        match self {
            Script::File(program, _) => {
                ready(drive.class());
                file::play(program, drive, limits)
            }
            Script::Loop { mut workload, tick_phase_ns, counts_wakeups } => {
                let mut sim = Sim::new(drive, &mut *workload, tick_phase_ns);
                sim.set_up();
                ready(sim.class());
                let end = sim.run(limits);
                let mut stats = sim.into_stats();
                if counts_wakeups {
                    stats.hand_offs = stats.wakes + stats.wakes_awake;
                }
                (stats, end)
            }
        }
    }
}

/// A recorded list of operations as a program that can be printed.
pub fn program(header: Header, names: Names, ops: &[Op]) -> Program {
    use crate::ops::Statement;
    let statements = ops.iter().map(|&op| Statement { op, line: 0 }).collect();
    Program { header, names, statements }
}
