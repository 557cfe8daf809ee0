// SPDX-License-Identifier: GPL-2.0-only
//! Whether a program fails, and how.

use crate::compare::guard::quietly;
use crate::compare::side::{Side, Watch, Watched};
use crate::error::Result;
use crate::ops::class::{Depth, Part, Violation};
use crate::ops::digest::{State, first_difference, object_text};
use crate::ops::{Class, Names, Program};
use crate::shrink::run_skipping_illegal;
use sched_core::patches::Patches;
use std::fmt;

/// The ways in which a program can fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum FailureKind {
    /// Base and patch come to different states.
    Difference,
    /// An invariant of the class does not hold (on the patched side, if there is one).
    Invariant,
    /// A WARN_ON_ONCE() came true (likewise).
    Warning,
    /// The class panicked or looped for ever.
    Panic,
}

impl FailureKind {
    /// All of them.
    pub const ALL: [FailureKind; 4] =
        [FailureKind::Difference, FailureKind::Invariant, FailureKind::Warning, FailureKind::Panic];
}

/// How a program failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// In which way.
    pub kind: FailureKind,
    /// In words: the object and fields, the condition, or the panic's text.
    pub what: String,
    /// What the same failure has in common in other programs: the condition, the invariant.
    key: String,
}

impl Failure {
    fn warning(what: String) -> Self {
        Failure { kind: FailureKind::Warning, key: what.clone(), what }
    }

    /// Numbers in a panic's text may differ from program to program.
    fn panic(what: String) -> Self {
        let key = what.replace(|c: char| c.is_ascii_digit(), "");
        Failure { kind: FailureKind::Panic, key, what }
    }

    fn invariant(violation: &Violation, names: &Names) -> Self {
        let Violation { invariant, object, field, what } = violation;
        let object = object_text(Part::Core, *object, names);
        let what = format!("{invariant}: {object} {field}: {what}");
        Failure { kind: FailureKind::Invariant, what, key: format!("{invariant} {field}") }
    }

    /// Where two sides come apart may be anywhere.
    fn difference(what: String) -> Self {
        Failure { kind: FailureKind::Difference, what, key: String::new() }
    }

    /// Whether it is the same failure in another program.
    pub fn is_like(&self, other: &Failure) -> bool {
        self.kind == other.kind && self.key == other.key
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            FailureKind::Difference => write!(f, "base and patch differ: {}", self.what),
            FailureKind::Invariant => write!(f, "invariant violated: {}", self.what),
            FailureKind::Warning => write!(f, "warning: {}", self.what),
            FailureKind::Panic => write!(f, "the class panicked: {}", self.what),
        }
    }
}

/// The first failure of a `wanted` kind when `program` runs with `patches` on (a difference: to the
/// same class without them). Statements that are not legal are stepped over. None if there is no
/// such failure.
///
/// # Errors
/// The header does not describe a machine that the class can be.
pub fn judge(
    program: &Program,
    patches: Patches,
    wanted: &[FailureKind],
) -> Result<Option<Failure>> {
    let run = quietly(|| {
        on(patches, program, |class| {
            if patches.is_empty() || !wanted.contains(&FailureKind::Difference) {
                return Ok(alone(class, program, wanted));
            }
            on(Patches::empty(), program, |base| Ok(lockstep(base, class, program, wanted)))
        })
    });
    match run {
        Ok(failure) => failure,
        Err(what) => Ok(wanted.contains(&FailureKind::Panic).then(|| Failure::panic(what))),
    }
}

/// Hands a fresh machine to `f`.
fn on<R>(
    patches: Patches,
    program: &Program,
    f: impl FnOnce(&mut dyn Watched) -> Result<R>,
) -> Result<R> {
    let side = Side::new(patches);
    side.with(&program.header, &program.names, Watch::default(), |class| f(class))?
}

/// What went wrong on one side, apart from differences and panics.
fn wrong(class: &dyn Watched, wanted: &[FailureKind]) -> Option<Failure> {
    if wanted.contains(&FailureKind::Warning)
        && let (_, Some(warn)) = class.watch().warnings()
    {
        return Some(Failure::warning(warn.to_string()));
    }
    if wanted.contains(&FailureKind::Invariant) {
        let violations = class.violations(Depth::Full);
        return violations.first().map(|violation| Failure::invariant(violation, class.names()));
    }
    None
}

fn alone(class: &mut dyn Watched, program: &Program, wanted: &[FailureKind]) -> Option<Failure> {
    for statement in &program.statements {
        if class.apply(&statement.op).is_ok()
            && let Some(failure) = wrong(class, wanted)
        {
            return Some(failure);
        }
    }
    None
}

/// Both sides are in the same state up to the difference that is looked for.
fn lockstep(
    base: &mut dyn Watched,
    patch: &mut dyn Watched,
    program: &Program,
    wanted: &[FailureKind],
) -> Option<Failure> {
    let mut failure = None;
    run_skipping_illegal(base, program, &mut |base, statement| {
        patch.run(&statement.op);
        failure = wrong(patch, wanted).or_else(|| {
            (base.fingerprint() != patch.fingerprint()).then(|| difference(base, patch))
        });
        failure.is_none()
    });
    failure
}

fn difference(base: &dyn Class, patch: &dyn Class) -> Failure {
    let what = match first_difference(&State::of(base), &State::of(patch)) {
        None => "in a field that the texts do not show".to_string(),
        Some(difference) => {
            let fields: Vec<&str> = difference.fields.iter().map(|field| field.name).collect();
            format!("{}, {}", difference.object_text(base.names()), fields.join(" "))
        }
    };
    Failure::difference(what)
}
