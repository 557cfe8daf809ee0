// SPDX-License-Identifier: GPL-2.0-only
//! Does the model decide as the recorded kernel decided?
//!
//! In the order in which a recording meets them: [`scan`] has a first look at its beginning, [`decode`] makes of its
//! events what happened to the scheduler, [`setup`] adds what a recording does not say; [`follow`] gives that to a
//! machine with the class and compares its decisions with those of the kernel ([`hooks`] is where a pick is compared and
//! overruled), and [`score`] adds up.

pub mod belief;
pub mod decode;
pub mod follow;
pub mod hooks;
pub mod lint;
pub mod pids;
pub mod report;
pub mod run;
pub mod scan;
pub mod score;
pub mod setup;
pub mod state;
pub mod trial;
