// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's own class: the batches are loops in C, in the oracle.

use super::side::{Bench, BenchItem, Side};
use crate::ops::Class;
use crate::oracle::class::OracleClass;

/// The kernel's own class.
pub struct Kernel {
    class: OracleClass,
}

impl Kernel {
    /// A side of a machine that was just made.
    pub fn new(class: OracleClass) -> Self {
        Kernel { class }
    }
}

impl Side for Kernel {
    fn class(&self) -> &dyn Class {
        &self.class
    }

    fn class_mut(&mut self) -> &mut dyn Class {
        &mut self.class
    }

    fn prepare(&mut self, items: &[BenchItem]) {
        self.class.oracle_mut().bench_prepare(items);
    }

    fn run(&mut self, bench: Bench, repeat: u32) {
        let result = self.class.oracle_mut().bench_run(bench, repeat);
        result.unwrap_or_else(|why| panic!("the kernel's code gave up in a batch: {why}"));
    }

    fn task_of(&self, item: usize) -> u32 {
        self.class.oracle().bench_task(item)
    }
}
