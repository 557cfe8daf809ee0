// SPDX-License-Identifier: GPL-2.0-only
//! fairlab: is a patch to the kernel's fair class safe, does it change anything, what does it cost?
//!
//! The library behind the program. [`ops`] is the language in which every scheduler class is driven; [`check`] says
//! what must hold after each operation, [`soak`] looks for what does not, and [`shrink`] makes a failing program small.
//! [`sim`] plays a [`workload`] on a class in virtual time; [`trace`] reads recordings of real kernels. [`compare`]
//! puts base and patch side by side, [`report`] shows what came of it, and [`cli`] is the command line.

pub mod bench;
pub mod check;
pub mod cli;
pub mod compare;
pub mod error;
pub mod map;
pub mod ops;
pub mod oracle;
pub mod report;
pub mod shrink;
pub mod sim;
pub mod soak;
pub mod trace;
pub mod workload;

/// What the program was built from: its version and, in a git checkout, the revision, with `-dirty` if the sources had
/// changes. The head of everything that is printed.
pub const REVISION: &str = env!("FAIRLAB_REVISION");
