// SPDX-License-Identifier: GPL-2.0-only
//! Our class and the kernel's in lockstep: the same operations on both, the states compared after each.

use super::class::OracleClass;
use crate::compare::guard::quietly;
use crate::compare::side::{Side, Watch, Watched};
use crate::error::Result;
use crate::ops::class::{Class, Object, Part, Value, Visitor};
use crate::ops::digest::{Difference, State, first_difference};
use crate::ops::{Header, Names, Op, Program, Statement};
use kernel_oracle::ffi;

/// In what the two sides differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Finding {
    /// In the state after an operation.
    State(Difference),
    /// One side gave up (a BUG, a panic, an endless loop): ours and the kernel's reason, if it did.
    GaveUp(Option<String>, Option<String>),
    /// One side warned (WARN_ON_ONCE) and the other did not: ours and the kernel's warning, if there is one.
    Warned(Option<String>, Option<String>),
}

impl Finding {
    /// Whether `other` is a finding of the same sort, so that a shrink may go from one to the other.
    pub fn is_like(&self, other: &Finding) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

/// What became of a run.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// All statements that were carried out; the last one shows the finding, if there is one.
    pub ops: Vec<Op>,
    /// Operations among them (`at` is not counted).
    pub count: u64,
    /// The first difference; it ended the run.
    pub finding: Option<Finding>,
    /// A warning that both sides gave: the kernel's own, as the oracle words it.
    pub warning: Option<String>,
}

/// Takes `next` operations until it has no more or the two sides differ. Each must be legal in the state of the class
/// that it is shown, which is ours.
///
/// # Errors
/// The header asks for what one of the two does not have.
pub fn run(
    side: Side,
    oracle: &mut OracleClass,
    header: &Header,
    names: &Names,
    next: &mut dyn FnMut(&dyn Class) -> Option<Op>,
) -> Result<Log> {
    oracle.reset(header, names)?;
    let mut log = Log::default();
    let done = quietly(|| {
        side.with(header, names, Watch::default(), |ours| {
            while let Some(op) = next(ours) {
                log.ops.push(op);
                oracle.run(&op);
                ours.run(&op);
                log.count += u64::from(op.is_operation());
                log.finding = compare(ours, oracle);
                if log.finding.is_some() {
                    break;
                }
            }
        })
    });
    match done {
        Ok(result) => result?,
        Err(panic) => {
            let theirs = oracle.gave_up().map(ToString::to_string);
            // Both give up at the same operation: they agree.
            log.finding = theirs.is_none().then(|| Finding::GaveUp(Some(panic.clone()), None));
            log.warning = theirs.map(|theirs| format!("{theirs} (here: {panic})"));
        }
    }
    if log.finding.is_none() && log.warning.is_none() {
        log.warning = oracle.oracle().complaint().map(|complaint| complaint.to_string());
    }
    Ok(log)
}

/// Runs what is legal of `program`.
///
/// # Errors
/// As [`run`].
pub fn replay(side: Side, oracle: &mut OracleClass, program: &Program) -> Result<Log> {
    let mut statements = program.statements.iter();
    run(side, oracle, &program.header, &program.names, &mut |class| {
        statements
            .find(|statement| class.check(&statement.op).is_ok())
            .map(|statement| statement.op)
    })
}

/// `ops` as a program.
pub fn program(header: &Header, names: &Names, ops: &[Op]) -> Program {
    let statements = ops.iter().map(|&op| Statement { op, line: 0 }).collect();
    Program { header: header.clone(), names: names.clone(), statements }
}

fn compare<C: Watched>(ours: &C, oracle: &OracleClass) -> Option<Finding> {
    if let Some(complaint) = oracle.gave_up() {
        return Some(Finding::GaveUp(None, Some(complaint.to_string())));
    }
    if !same_state(ours, oracle)
        && let Some(difference) = first_difference(&State::of(ours), &State::of(oracle))
    {
        return Some(Finding::State(difference));
    }
    let (count, last) = ours.watch().warnings();
    if (count != 0) == oracle.oracle().has_complaint() {
        return None;
    }
    let theirs = oracle.oracle().complaint().map(|complaint| complaint.to_string());
    Some(Finding::Warned(last.map(|warn| warn.to_string()), theirs))
}

/// Whether the two are in the same state: number by number, without a text.
fn same_state(ours: &dyn Class, oracle: &OracleClass) -> bool {
    oracle.with_numbers(|core, pelt| {
        [(Part::Core, core), (Part::Pelt, pelt)].into_iter().all(|(part, numbers)| {
            let mut matcher = Matcher { numbers: numbers.iter(), equal: true };
            ours.visit(part, &mut matcher);
            matcher.equal && matcher.numbers.len() == 0
        })
    })
}

/// Compares fields with the numbers of the other side as they come.
struct Matcher<'a> {
    numbers: std::slice::Iter<'a, u64>,
    equal: bool,
}

impl Visitor for Matcher<'_> {
    #[inline]
    fn object(&mut self, _: Object) {}

    #[inline]
    fn field(&mut self, _: &'static str, value: Value) {
        self.equal &= self.numbers.next() == Some(&number(value));
    }
}

/// A value in the oracle's form.
#[inline]
fn number(value: Value) -> u64 {
    match value {
        Value::U64(number) => number,
        Value::I64(number) => number as u64,
        Value::Bool(flag) => u64::from(flag),
        Value::Task(task) | Value::Current(task) => {
            task.map_or(ffi::NOBODY, |task| u64::from(task.0))
        }
        Value::Group(group) => ffi::GROUP | u64::from(group.0),
        Value::Word("none") => 0,
        Value::Word("lazy") => 1,
        Value::Word(_) => 2,
    }
}
