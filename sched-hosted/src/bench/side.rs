// SPDX-License-Identifier: GPL-2.0-only
//! One of the classes that take turns: batches of single operations, and the state in between.

use crate::ops::Class;
pub use kernel_oracle::ffi::{Bench, BenchItem};

/// A class whose paths can be timed one by one.
pub trait Side {
    /// The class, to be looked at between batches.
    fn class(&self) -> &dyn Class;

    /// The class, to be prepared by ordinary operations.
    fn class_mut(&mut self) -> &mut dyn Class;

    /// Prepares a batch.
    fn prepare(&mut self, items: &[BenchItem]);

    /// Does `bench` with each prepared item, where it can be repeated `repeat` times over. It must be legal.
    fn run(&mut self, bench: Bench, repeat: u32);

    /// The task that the prepared item number `item` has now: a hand-off changes it.
    fn task_of(&self, item: usize) -> u32;

    /// Something to be done before each new task, so that tasks lie apart in memory as the kernel's do.
    fn space_tasks(&mut self) {}
}
