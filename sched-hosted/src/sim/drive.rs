// SPDX-License-Identifier: GPL-2.0-only
//! How the operations of a simulated CPU are carried out: on one class, and recorded if wanted.

use crate::ops::{Class, Op};
use std::ops::ControlFlow;

/// Carries out operations, and shows the class that decides what the simulation sees.
pub trait Drive {
    /// The class whose decisions the simulation follows.
    type Class: Class;

    /// That class.
    fn class(&self) -> &Self::Class;

    /// Carries out `op`, which is legal; `Break` ends the simulation.
    fn run(&mut self, op: &Op) -> ControlFlow<()>;
}

/// Runs operations on one class, nothing else.
pub struct Plain<'c, C>(pub &'c mut C);

impl<C: Class> Drive for Plain<'_, C> {
    type Class = C;

    fn class(&self) -> &C {
        self.0
    }

    fn run(&mut self, op: &Op) -> ControlFlow<()> {
        self.0.run(op);
        ControlFlow::Continue(())
    }
}

/// Runs operations on one class and remembers them.
pub struct Recorder<'c, C> {
    /// The class.
    pub class: &'c mut C,
    /// What was run, `at` statements among it.
    pub ops: Vec<Op>,
}

impl<C: Class> Drive for Recorder<'_, C> {
    type Class = C;

    fn class(&self) -> &C {
        self.class
    }

    fn run(&mut self, op: &Op) -> ControlFlow<()> {
        self.ops.push(*op);
        self.class.run(op);
        ControlFlow::Continue(())
    }
}
