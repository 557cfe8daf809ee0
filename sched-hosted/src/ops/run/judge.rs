// SPDX-License-Identifier: GPL-2.0-only
//! Whether a program fails, and how.

use crate::compare::guard::quietly;
use crate::compare::side::{Side, Watch, Watched};
use crate::error::Result;
use crate::ops::class::{Depth, Object, Part, Violation};
use crate::ops::digest::{State, first_difference, object_text};
use crate::ops::{Class, Names, Program, Statement};
use crate::shrink::run_skipping_illegal;
use sched_core::patches::Patches;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The ways in which a program can fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FailureKind {
    /// Base and patch come to different states.
    Difference,
    /// An invariant of the class does not hold (on the patched side, if there is one).
    Invariant,
    /// A WARN_ON_ONCE() came true (likewise).
    Warning,
    /// The class panicked: a BUG, or a NULL that the kernel would follow.
    Panic,
    /// An operation does not end.
    Hang,
}

impl FailureKind {
    /// All of them.
    pub const ALL: [FailureKind; 5] = [
        FailureKind::Difference,
        FailureKind::Invariant,
        FailureKind::Warning,
        FailureKind::Panic,
        FailureKind::Hang,
    ];

    /// All that one class alone can show.
    pub const ALONE: [FailureKind; 4] =
        [FailureKind::Invariant, FailureKind::Warning, FailureKind::Panic, FailureKind::Hang];
}

/// How a program failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// In which way.
    pub kind: FailureKind,
    /// In words: the object and fields, the condition, or the panic's text.
    pub what: String,
    /// What the same failure has in common in other programs: the condition, the invariant.
    pub key: String,
    /// Where an invariant does not hold.
    pub object: Option<Object>,
}

impl Failure {
    fn new(kind: FailureKind, what: String, key: String) -> Self {
        Failure { kind, what, key, object: None }
    }

    fn warning(what: String) -> Self {
        Failure::new(FailureKind::Warning, what.clone(), what)
    }

    /// A panic's text. Numbers in it may differ from program to program. That of the loop guard is a hang.
    pub fn panic(what: String) -> Self {
        if what.starts_with("endless loop") {
            return Failure::hang(what);
        }
        let key = what.replace(|c: char| c.is_ascii_digit(), "");
        Failure::new(FailureKind::Panic, what, key)
    }

    /// An operation that does not end; all of them are alike.
    pub fn hang(what: String) -> Self {
        Failure::new(FailureKind::Hang, what, String::new())
    }

    fn invariant(violation: &Violation, names: &Names) -> Self {
        let Violation { invariant, object, field, what } = violation;
        let shown = object_text(Part::Core, *object, names);
        let gap = if field.is_empty() { "" } else { " " };
        let what = format!("{shown}{gap}{field}: {what}");
        let failure = Failure::new(FailureKind::Invariant, what, invariant.to_string());
        Failure { object: Some(*object), ..failure }
    }

    /// Where two sides come apart may be anywhere.
    fn difference(what: String) -> Self {
        Failure::new(FailureKind::Difference, what, String::new())
    }

    /// What a class shows right now: a warning, or an invariant that does not hold. None as a rule.
    #[inline]
    pub fn seen<C: Watched + ?Sized>(class: &C, depth: Depth) -> Option<Self> {
        if class.watch().warnings().0 != 0 {
            return class.watch().warnings().1.map(|warn| Failure::warning(warn.to_string()));
        }
        Failure::violated(class, depth)
    }

    /// The first invariant that does not hold right now. None as a rule.
    #[inline]
    pub fn violated<C: Class + ?Sized>(class: &C, depth: Depth) -> Option<Self> {
        let violations = class.violations(depth);
        violations.first().map(|violation| Failure::invariant(violation, class.names()))
    }

    /// In short: the invariant, or the kind.
    pub fn label(&self) -> &str {
        match self.kind {
            FailureKind::Invariant => &self.key,
            FailureKind::Difference => "difference",
            FailureKind::Warning => "WARN",
            FailureKind::Panic => "panic",
            FailureKind::Hang => "hang",
        }
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
            FailureKind::Invariant => write!(f, "invariant violated: {}: {}", self.key, self.what),
            FailureKind::Warning => write!(f, "warning: {}", self.what),
            FailureKind::Panic => write!(f, "the class panicked: {}", self.what),
            FailureKind::Hang => write!(f, "the class hangs: {}", self.what),
        }
    }
}

/// The first failure of a `wanted` kind when `program` runs on `side` (a difference: to the
/// same class without its patches). Statements that are not legal are stepped over. None if there is no
/// such failure.
///
/// # Errors
/// The header does not describe a machine that the class can be.
pub fn judge(program: &Program, side: Side, wanted: &[FailureKind]) -> Result<Option<Failure>> {
    let run = quietly(|| {
        on(side, program, |class| {
            if side.patches.is_empty() || !wanted.contains(&FailureKind::Difference) {
                return Ok(alone(class, program, wanted));
            }
            on(Side::new(Patches::empty()), program, |base| {
                Ok(lockstep(base, class, program, wanted))
            })
        })
    });
    match run {
        Ok(failure) => failure,
        Err(what) => {
            let failure = Failure::panic(what);
            Ok(wanted.contains(&failure.kind).then_some(failure))
        }
    }
}

/// Hands a fresh machine to `f`.
fn on<R>(
    side: Side,
    program: &Program,
    f: impl FnOnce(&mut dyn Watched) -> Result<R>,
) -> Result<R> {
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

/// A failure, and where it stands in the program that shows it.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// What went wrong.
    pub failure: Failure,
    /// The statements that were carried out, those that are not legal left out; the last one failed.
    pub statements: Vec<Statement>,
}

/// The first failure of a class alone when `program` runs on `side`, looked for at `depth` after each operation.
/// Statements that are not legal are stepped over. `begins` is told the index of each statement before it runs, for
/// whom it takes too long.
///
/// # Errors
/// The header does not describe a machine that the class can be.
pub fn find(
    program: &Program,
    side: Side,
    depth: Depth,
    begins: &mut dyn FnMut(usize),
) -> Result<Option<Finding>> {
    let mut statements = Vec::new();
    let run = quietly(|| {
        side.with(&program.header, &program.names, Watch::default(), |class| {
            for (at, statement) in program.statements.iter().enumerate() {
                if class.check(&statement.op).is_err() {
                    continue;
                }
                begins(at);
                statements.push(*statement);
                class.run(&statement.op);
                if !statement.op.is_operation() {
                    continue;
                }
                if let Some(failure) = Failure::seen(class, depth) {
                    return Some(failure);
                }
            }
            None
        })
    });
    let failure = match run {
        Ok(failure) => failure?,
        Err(what) => Some(Failure::panic(what)),
    };
    Ok(failure.map(|failure| Finding { failure, statements }))
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
