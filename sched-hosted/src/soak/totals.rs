// SPDX-License-Identifier: GPL-2.0-only
//! What was done: sums over runs.

use super::world::World;
use crate::ops::generate::Kind;

/// How much was done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Totals {
    /// Runs, the last ones perhaps not to their end.
    pub runs: u64,
    /// Operations: statements but `at`.
    pub operations: u64,
    /// Statements of each kind, by `Kind as usize`.
    pub kinds: [u64; Kind::NR],
    /// Runs of each kind of machine, by `World as usize`.
    pub worlds: [u64; World::ALL.len()],
    /// Times that all invariants were checked by brute force; the others were after cheap ones.
    pub full_checks: u64,
    /// Virtual time that went by, ns, on all machines together.
    pub virtual_ns: u128,
    /// Defects of the release that were met: a bit each, by their place in the table.
    pub known: u32,
}

impl Default for Totals {
    fn default() -> Self {
        Totals {
            runs: 0,
            operations: 0,
            kinds: [0; Kind::NR],
            worlds: [0; World::ALL.len()],
            full_checks: 0,
            virtual_ns: 0,
            known: 0,
        }
    }
}

impl Totals {
    /// Adds other runs.
    pub fn add(&mut self, other: &Totals) {
        self.runs += other.runs;
        self.operations += other.operations;
        self.full_checks += other.full_checks;
        self.virtual_ns += other.virtual_ns;
        self.known |= other.known;
        for (mine, theirs) in self.kinds.iter_mut().zip(other.kinds) {
            *mine += theirs;
        }
        for (mine, theirs) in self.worlds.iter_mut().zip(other.worlds) {
            *mine += theirs;
        }
    }
}
