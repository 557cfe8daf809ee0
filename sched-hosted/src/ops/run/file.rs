// SPDX-License-Identifier: GPL-2.0-only
//! `fairlab ops run`.

use super::judge::Failure;
use super::{Changes, flush, print, read, remark, setting};
use crate::compare::guard::quietly;
use crate::compare::side::{Side, Watch, Watched};
use crate::error::{EXIT_DIFFERENCE, EXIT_FINE, Error, Result};
use crate::ops::class::{Depth, Part};
use crate::ops::digest::{Digester, pretty, write_text};
use crate::ops::text::{Source, parse_prefix};
use crate::ops::{Program, Statement};
use crate::soak::explain::{Place, table};
use crate::soak::watchdog::Watchdog;
use std::io::Write;
use std::time::Duration;

#[derive(Debug, clap::Args)]
pub struct RunArgs {
    /// The file; - is standard input.
    file: String,
    /// Print the digest of each K-th operation only; 0 prints none.
    #[arg(long, value_name = "K", default_value_t = 1)]
    digest_every: u64,
    /// Print both texts after each K-th operation instead of digests.
    #[arg(long, value_name = "K", group = "dumps")]
    dump_every: Option<u64>,
    /// Print both texts after operation N, counted from 1, instead of digests.
    #[arg(long, value_name = "N", group = "dumps")]
    dump: Option<u64>,
    /// Dump aligned fields for people instead of the texts; virtual times are shown as signed
    /// numbers.
    #[arg(long, requires = "dumps")]
    pretty: bool,
    /// Step over statements that are not legal in the state instead of ending there. A file that
    /// was made on another side of a comparison may hold some.
    #[arg(long)]
    skip_illegal: bool,
    /// Check all invariants and laws of the class after each operation; the first that does not hold
    /// ends the run with exit code 1 and an explanation, as does an operation that takes 5 s.
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    changes: Changes,
}

/// What to print after which operations.
#[derive(Clone, Copy)]
enum Wanted {
    Digests { every: u64 },
    Dumps { every: u64 },
    Dump { number: u64 },
}

impl Wanted {
    fn of(args: &RunArgs) -> Self {
        match (args.dump, args.dump_every) {
            (Some(number), _) => Wanted::Dump { number },
            (None, Some(every)) => Wanted::Dumps { every },
            (None, None) => Wanted::Digests { every: args.digest_every },
        }
    }

    fn after(self, number: u64) -> bool {
        match self {
            Wanted::Digests { every } | Wanted::Dumps { every } => {
                every != 0 && number.is_multiple_of(every)
            }
            Wanted::Dump { number: wanted } => number == wanted,
        }
    }
}

pub(super) fn run(args: &RunArgs, out: &mut dyn Write) -> Result<u8> {
    let side = Side { laws: args.check, ..args.changes.side()? };
    let features = args.changes.features()?;
    let bytes = read(&args.file)?;
    let (mut program, bad) = parse_prefix(&args.file, &bytes);
    program.header.features.extend(features);
    remark(&setting(&program.header.features, args.changes.patch.as_deref(), None));

    let source = matches!(Wanted::of(args), Wanted::Dump { .. } | Wanted::Dumps { .. });
    let mut run = Run {
        args,
        wanted: Wanted::of(args),
        program: &program,
        source: source.then(|| Source::new(&bytes)),
        out,
        buffer: Vec::with_capacity(BUFFER),
        digester: Digester::new(),
        done: 0,
        at: 0,
        skipped: 0,
        warned: false,
        violated: None,
        watchdog: args.check.then(|| watchdog(&args.file, &program)),
    };
    let finished = quietly(|| {
        side.with(&program.header, &program.names, Watch::default(), |class| run.statements(class))
    });
    run.end(finished, bad)
}

/// Bytes of output that are kept back before they are written.
const BUFFER: usize = 1 << 16;

/// A run under way.
struct Run<'a> {
    args: &'a RunArgs,
    wanted: Wanted,
    program: &'a Program,
    source: Option<Source<'a>>,
    out: &'a mut dyn Write,
    buffer: Vec<u8>,
    digester: Digester,
    /// Operations that were begun.
    done: u64,
    /// The index of the statement under way.
    at: usize,
    /// Statements that were not legal.
    skipped: u64,
    warned: bool,
    /// The invariant that did not hold, and the tasks concerned.
    violated: Option<(Failure, Vec<String>)>,
    /// With --check: for a class that hangs.
    watchdog: Option<Watchdog>,
}

/// An operation that takes longer hangs.
const HUNG_AFTER: Duration = Duration::from_secs(5);

/// Ends the process once an operation hangs.
fn watchdog(file: &str, program: &Program) -> Watchdog {
    let (file, program) = (file.to_string(), program.clone());
    Watchdog::new(HUNG_AFTER, move |at| {
        let begun = &program.statements[..=at];
        let failure = Failure::hang(format!("it has not ended after {} s", HUNG_AFTER.as_secs()));
        let line = begun.last().map_or(0, |statement| statement.line);
        let told = Place::of(begun, &program.names).tell(&failure);
        remark(&format!("{}:{line}: {told}", super::shown(&file)));
        std::process::exit(i32::from(EXIT_DIFFERENCE));
    })
}

impl Run<'_> {
    fn statements<C: Watched>(&mut self, class: &mut C) -> Result<()> {
        for (at, statement) in self.program.statements.iter().enumerate() {
            if let Err(refusal) = class.check(&statement.op) {
                if self.args.skip_illegal {
                    self.skipped += 1;
                    continue;
                }
                let (what, remedy) = (refusal.what, refusal.remedy);
                return Err(Error::bad_input(&self.args.file, statement.line, 1, what, remedy));
            }
            self.at = at;
            if let Some(watchdog) = &self.watchdog {
                watchdog.begin(at);
            }
            self.done += u64::from(statement.op.is_operation());
            class.run(&statement.op);
            if !self.warned && class.watch().warnings().0 != 0 {
                self.warn(class);
            }
            if statement.op.is_operation() && self.wanted.after(self.done) {
                self.show(class, statement)?;
            }
            if self.args.check && self.violates(class) {
                break;
            }
        }
        Ok(())
    }

    fn violates<C: Watched>(&mut self, class: &C) -> bool {
        let found = Failure::violated(class, Depth::Full);
        self.violated = found.map(|failure| {
            let table = table(class, failure.object, false);
            (failure, table)
        });
        self.violated.is_some()
    }

    fn show<C: Watched>(&mut self, class: &C, statement: &Statement) -> Result<()> {
        if let Wanted::Digests { .. } = self.wanted {
            let digest = self.digester.digest(class);
            self.buffer.extend_from_slice(itoa::Buffer::new().format(self.done).as_bytes());
            // Writing to a Vec does not fail.
            let _ = writeln!(self.buffer, " {digest}");
        } else {
            self.dump(class, statement);
        }
        if self.buffer.len() >= BUFFER { self.write() } else { Ok(()) }
    }

    fn dump<C: Watched>(&mut self, class: &C, statement: &Statement) {
        let written = self.source.as_ref().and_then(|source| source.line(statement.line));
        let _ = write!(self.buffer, "@{} ", self.done);
        self.buffer.extend_from_slice(written.unwrap_or_default());
        self.buffer.push(b'\n');
        if self.args.pretty {
            self.buffer.extend_from_slice(pretty(class).as_bytes());
            return;
        }
        write_text(class, Part::Core, &mut self.buffer);
        if class.has_pelt() {
            write_text(class, Part::Pelt, &mut self.buffer);
        }
    }

    fn write(&mut self) -> Result<()> {
        print(self.out, &self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// `FILE:LINE: operation N`, the statement under way.
    fn place(&self) -> String {
        let line = self.program.statements.get(self.at).map_or(0, |statement| statement.line);
        format!("{}:{line}: operation {}", super::shown(&self.args.file), self.done)
    }

    fn warn<C: Watched>(&mut self, class: &C) {
        self.warned = true;
        if let (_, Some(warn)) = class.watch().warnings() {
            remark(&format!("{}: {warn}; more of them are not shown", self.place()));
        }
    }

    /// Writes what is left, and says how it ended.
    fn end(
        &mut self,
        finished: std::result::Result<Result<Result<()>>, String>,
        bad: Option<Error>,
    ) -> Result<u8> {
        self.write()?;
        flush(self.out)?;
        match finished {
            Err(panic) => {
                remark(&format!("{}: the class panicked: {panic}", self.place()));
                return Ok(EXIT_DIFFERENCE);
            }
            Ok(result) => result??,
        }
        if self.skipped != 0 {
            remark(&format!("# {} statements were not legal and left out", self.skipped));
        }
        if let Some((failure, table)) = &self.violated {
            let statements = &self.program.statements[..=self.at];
            let line = statements.last().map_or(0, |statement| statement.line);
            let told = Place::of(statements, &self.program.names).tell(failure);
            remark(&format!("{}:{line}: {told}", super::shown(&self.args.file)));
            for line in table {
                remark(&format!("    {line}"));
            }
            return Ok(EXIT_DIFFERENCE);
        }
        if let Some(bad) = bad {
            return Err(bad);
        }
        if let Wanted::Dump { number } = self.wanted
            && (number == 0 || number > self.done)
        {
            let what = format!("--dump {number}: there is no such operation");
            return Err(Error::bad_argument(what, format!("use 1 to {}", self.done)));
        }
        Ok(if self.warned { EXIT_DIFFERENCE } else { EXIT_FINE })
    }
}
