// SPDX-License-Identifier: GPL-2.0-only
//! One side of a comparison: a class with certain patches on, and the hooks that watch or count it.

use crate::error::Result;
use crate::ops::arena::Arena;
use crate::ops::driver::{Driver, Options};
use crate::ops::{Class, Header, Names};
use sched_core::bug::Warn;
use sched_core::features::SchedFeat;
use sched_core::museum::Bug;
use sched_core::patches::{Patches, TABLE};
use sched_core::trace::{Counter, Counters, Hooks, LOOP_LIMIT, Site};
use std::cell::Cell;
use std::fmt;

/// Base or patch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Side {
    /// The patches that are on; none for the base.
    pub patches: Patches,
    /// The bug of the museum that is put back.
    pub bug: Option<Bug>,
    /// What changes from one state to the next is checked, too: [`crate::check::laws`].
    pub laws: bool,
}

impl Side {
    /// The side with these patches; without laws.
    pub const fn new(patches: Patches) -> Self {
        Side { patches, bug: None, laws: false }
    }

    /// Makes a fresh machine and hands its driver to `f`.
    ///
    /// Errors: those of the driver, when it cannot be the machine that `header` describes.
    pub fn with<H: Hooks, R>(
        &self,
        header: &Header,
        names: &Names,
        hooks: H,
        f: impl FnOnce(&mut Driver<'_, H>) -> R,
    ) -> Result<R> {
        let Side { patches, bug, laws } = *self;
        let options = Options { features: SchedFeat::DEFAULT, patches, bug, laws };
        let arena = Arena::new();
        let mut driver = Driver::new(&arena, header, names, &options, hooks)?;
        Ok(f(&mut driver))
    }
}

/// The names of its patches, with commas between them; `none` for the base.
impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let on = TABLE.iter().filter(|row| self.patches.contains(row.bit));
        let names: Vec<&str> = on.map(|row| row.name).collect();
        f.write_str(if names.is_empty() { "none" } else { "" })?;
        f.write_str(&names.join(","))
    }
}

/// Hooks that look for what must not happen, and count nothing: warnings and endless loops.
#[derive(Default)]
pub struct Watch {
    warns: Cell<u64>,
    last: Cell<Option<Warn>>,
    turns: Cell<u32>,
}

impl Watch {
    /// How many warnings there were, and the last.
    pub fn warnings(&self) -> (u64, Option<Warn>) {
        (self.warns.get(), self.last.get())
    }
}

impl Hooks for Watch {
    fn warn(&self, warn: &Warn) {
        self.warns.set(self.warns.get() + 1);
        self.last.set(Some(*warn));
    }

    #[inline]
    fn loop_guard(&self) {
        self.turns.set(self.turns.get() + 1);
        assert!(self.turns.get() < LOOP_LIMIT, "endless loop: {LOOP_LIMIT} turns in one operation");
    }

    #[inline]
    fn operation(&self) {
        self.turns.set(0);
    }
}

/// A class that is watched.
pub trait Watched: Class {
    /// What was seen.
    fn watch(&self) -> &Watch;
}

impl Watched for Driver<'_, Watch> {
    fn watch(&self) -> &Watch {
        self.hooks()
    }
}

/// What [`Counters`] counted, to be added up over machines.
#[derive(Clone, Debug)]
pub struct Tally {
    counts: Vec<u64>,
    update_curr: Vec<u64>,
    update_curr_nothing: Vec<u64>,
}

impl Default for Tally {
    fn default() -> Self {
        Tally {
            counts: vec![0; Counter::NR],
            update_curr: vec![0; Site::NR],
            update_curr_nothing: vec![0; Site::NR],
        }
    }
}

impl Tally {
    /// How often `counter` happened.
    pub fn get(&self, counter: Counter) -> u64 {
        self.counts[counter as usize]
    }

    /// Calls of update_curr() from `site`.
    pub fn calls(&self, site: Site) -> u64 {
        self.update_curr[site as usize]
    }

    /// How many of those had nothing to charge.
    pub fn nothing(&self, site: Site) -> u64 {
        self.update_curr_nothing[site as usize]
    }

    /// What `counters` has of the counters that are `wanted`.
    pub fn of(counters: &Counters, wanted: impl Iterator<Item = Counter>) -> Self {
        let mut tally = Tally::default();
        for counter in wanted {
            tally.counts[counter as usize] = counters.get(counter);
        }
        for site in Site::ALL {
            tally.update_curr[site as usize] = counters.update_curr_calls(site);
            tally.update_curr_nothing[site as usize] = counters.update_curr_nothing(site);
        }
        tally
    }

    /// Adds another machine's.
    pub fn add(&mut self, other: &Tally) {
        self.combine(other, |mine, theirs| mine + theirs);
    }

    /// What came after `before`, which is of the same machine.
    pub fn less(mut self, before: &Tally) -> Self {
        self.combine(before, |mine, theirs| mine - theirs);
        self
    }

    fn combine(&mut self, other: &Tally, f: impl Fn(u64, u64) -> u64) {
        let pairs = [
            (&mut self.counts, &other.counts),
            (&mut self.update_curr, &other.update_curr),
            (&mut self.update_curr_nothing, &other.update_curr_nothing),
        ];
        for (mine, theirs) in pairs {
            for (mine, theirs) in mine.iter_mut().zip(theirs) {
                *mine = f(*mine, *theirs);
            }
        }
    }
}
