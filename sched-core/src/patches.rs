// SPDX-License-Identifier: GPL-2.0-only
//! Patch ideas under trial: a named run-time bit each.
//!
//! To add one, give it a bit and a row in [`TABLE`], and a branch on
//! [`Machine::patch`](crate::sched::Machine::patch) where it changes the code. Every verb of the program then knows
//! it by its name. (Documentation/patch-idea.rst walks through it.)

use bitflags::bitflags;

bitflags! {
    /// A set of patch ideas that are switched on.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct Patches: u32 {
        /// The pick's second charge of curr is left out.
        const SKIP_DEQUEUE_CHARGE = 1 << 0;
        /// A delayed task is requeued without charging curr first.
        const NO_CHARGE_BEFORE_REQUEUE = 1 << 1;
        /// Rotations and removals carry min_vruntime only. Wrong on purpose.
        const STALE_AUGMENT_COPY = 1 << 2;
    }
}

/// A row of [`TABLE`].
#[derive(Clone, Copy, Debug)]
pub struct PatchInfo {
    /// The bit.
    pub bit: Patches,
    /// The name on the command line.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub what: &'static str,
    /// Where the idea comes from.
    pub origin: &'static str,
}

/// All patch ideas, in the order of their bits.
pub const TABLE: &[PatchInfo] = &[
    PatchInfo {
        bit: Patches::SKIP_DEQUEUE_CHARGE,
        name: "skip-dequeue-charge",
        what: "leaves out the leading update_curr_eevdf() of __dequeue_task() when pick_task_fair() has just charged \
               curr and neither curr nor the clock has changed since",
        origin: "Chengfeng Lin, re: sched/eevdf: Move to a single runqueue (tried on v7.3, c03c1a14507d)",
    },
    PatchInfo {
        bit: Patches::NO_CHARGE_BEFORE_REQUEUE,
        name: "no-charge-before-requeue",
        what: "requeues a delayed task without charging curr first",
        origin: "undoes 333238da9a19 (sched: Update time before requeueing delayed entities, v7.2-rc8) on v7.3",
    },
    PatchInfo {
        bit: Patches::STALE_AUGMENT_COPY,
        name: "stale-augment-copy",
        what: "rotations and removals in the tree carry min_vruntime only, not min_slice and max_slice: wrong on \
               purpose, to see it found",
        origin: "the bug that 51b0e68cfa0a fixed in v7.3-rc",
    },
];

impl Patches {
    /// The patch called `name`; none if there is no such patch.
    pub fn by_name(name: &str) -> Option<Patches> {
        TABLE.iter().find(|row| row.name == name).map(|row| row.bit)
    }
}
