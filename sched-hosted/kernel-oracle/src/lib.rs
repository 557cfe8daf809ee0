// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's own `fair.c`, built from a kernel source tree and driven in user space, operation by operation.
//!
//! [`tree`] looks at a tree and says whether it can be used; [`build`] makes a shared object of its
//! `kernel/sched/fair.c`, unchanged, with a driver of our own around it (folder `c`); [`pieces`] names what else is
//! taken from the tree, and [`extract`] takes it; [`ffi`] loads the object and is the one file with unsafe code.
//! Nothing is taken from a kernel before it is built here: without a tree all of this compiles and does nothing.

pub mod baseline;
pub mod build;
pub mod error;
pub mod extract;
pub mod ffi;
pub mod pieces;
pub mod tree;
