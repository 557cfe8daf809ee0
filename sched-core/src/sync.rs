// SPDX-License-Identifier: GPL-2.0-only
//! Locks and atomics, and why the structures may be shared between threads.
//!
//! Every lock and atomic of this crate comes from here, so that a model checker can take their place.

#![expect(unsafe_code, reason = "the Sync impls stand here")]

use crate::sched::{CfsRq, Machine, Rq, SchedEntity, TaskGroup, TaskStruct};
use crate::trace::Hooks;

pub use core::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU32, AtomicU64, Ordering};

/// raw_spinlock_t.
#[derive(Default)]
pub struct RawSpinlock(spin::Mutex<()>);

/// A spin lock that is held; dropped, it is free again.
pub type RawSpinlockGuard<'l> = spin::MutexGuard<'l, ()>;

impl RawSpinlock {
    /// A lock that nobody holds.
    pub const fn new() -> Self {
        RawSpinlock(spin::Mutex::new(()))
    }

    /// raw_spin_lock().
    #[inline(always)]
    pub fn lock(&self) -> RawSpinlockGuard<'_> {
        self.0.lock()
    }
}

// The kernel's rule for all that follows: what is read without rq->__lock is an atomic; every other field is a Cell
// that is touched only under the lock of the runqueue it belongs to. The functions of core.rs take that lock; the
// functions of fair.rs are called with it held, as in C. Whoever reads fields from outside while other threads run
// takes it as well.

// SAFETY: the Cells of a runqueue are touched under its own __lock only, its atomics by anyone.
unsafe impl<H: Hooks + Sync> Sync for Rq<'_, H> {}
// SAFETY: the Cells of a cfs_rq are touched under the __lock of the rq that it belongs to, which never changes.
unsafe impl<H: Hooks + Sync> Sync for CfsRq<'_, H> {}
// SAFETY: the Cells of a task, its entity among them, are touched under the __lock of task_rq(p); cpu, on_rq, on_cpu
// and __state, which decide whose lock that is, are atomics ordered as in try_to_wake_up() and __block_task().
unsafe impl<H: Hooks + Sync> Sync for TaskStruct<'_, H> {}
// SAFETY: as for a task, for the entities that stand for a group on one CPU.
unsafe impl<H: Hooks + Sync> Sync for SchedEntity<'_, H> {}
// SAFETY: a group's links and arrays are set before it is used; shares and idle change under the host's group lock;
// load sums are atomics.
unsafe impl<H: Hooks + Sync> Sync for TaskGroup<'_, H> {}
// SAFETY: features, patches and tunables are set before the first runqueue is used; the clock is an atomic.
unsafe impl<H: Hooks + Sync> Sync for Machine<'_, H> {}
