// SPDX-License-Identifier: GPL-2.0-only
//! The museum: real bugs of the class, put back one at a time, to see whether the checks find them.
//!
//! An [`Exhibit`] tells a bug; where it was, a `museum!` block has the faulty logic. Without the feature `museum` the
//! blocks are not compiled and a machine has no bug: the code is that of the release alone.
//!
//! To add one: a constant and a row in the file of its tier, and a `museum!` block where the code was wrong.

mod groups;
mod one_queue;

pub use groups::*;
pub use one_queue::*;

/// A bug, by its number in the [tables](exhibits).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bug(pub(crate) u16);

/// What is known of a bug.
#[derive(Clone, Copy, Debug)]
pub struct Exhibit {
    /// What switches it on.
    pub bug: Bug,
    /// A letter and two digits, and a name: `A01-avg-floor`.
    pub id: &'static str,
    /// The commit that fixed it (and, where known, the one that it fixed), or the report.
    pub origin: &'static str,
    /// The faulty logic, in one sentence.
    pub what: &'static str,
    /// The invariants that may find it, the likeliest first (Documentation/invariants.rst).
    pub expected: &'static [&'static str],
    /// It changes nothing that can be seen in this model: why. Empty for a bug that must be found.
    pub equivalent: &'static str,
}

/// A bug that is listed and not put back.
#[derive(Clone, Copy, Debug)]
pub struct Absent {
    /// A letter and two digits, and a name.
    pub id: &'static str,
    /// Why it cannot exist in this model, in one sentence.
    pub why: &'static str,
}

/// All bugs that are put back, by tier.
pub fn exhibits() -> impl Iterator<Item = &'static Exhibit> {
    ONE_QUEUE.iter().chain(GROUPS)
}

/// No bug of the past: a delayed task's wakeup that never ends, to see that hangs are caught.
pub const ENDLESS: Bug = Bug(u16::MAX);

/// What is there to test those who show the museum, and is not shown.
pub const TRIAL: &[Exhibit] = &[Exhibit {
    bug: ENDLESS,
    id: "Z00-endless",
    origin: "made up",
    what: "the requeue of a delayed task never ends",
    expected: &["hang"],
    equivalent: "",
}];

/// All bugs that are not.
pub fn absent() -> impl Iterator<Item = &'static Absent> {
    ONE_QUEUE_ABSENT.iter().chain(GROUPS_ABSENT)
}

/// `museum!(machine, NAME => { faulty logic })`: a statement that runs the block if the bug NAME of
/// [`museum`](mod@crate::museum) is on in `machine`; nothing at all without the feature.
#[macro_export]
macro_rules! museum {
    ($machine:expr, $bug:ident => $wrong:block) => {
        #[cfg(feature = "museum")]
        if $machine.bug($crate::museum::$bug) $wrong
    };
}
