// SPDX-License-Identifier: GPL-2.0-only
//! What single fast paths of the class cost: the same rows for the class here and for the kernel's own code.
//!
//! [`rows`] names them: a path at a number of tasks, a depth of groups and a mix of weights. [`station`] prepares a
//! machine for a row, [`cycle`] brings it again and again into the state in which the path is to be timed and back,
//! [`here`] and [`kernel`] are the two classes that can be timed ([`sides`] makes them), and [`measure`] lets them take
//! turns. [`count`] has the instructions counted, [`baseline`] keeps the counts, [`against`] takes another revision as
//! the other side, and [`report`], [`plot`] and [`setting`] are what is shown.

pub mod against;
pub mod baseline;
pub mod count;
pub mod cycle;
pub mod here;
pub mod kernel;
pub mod measure;
pub mod plot;
pub mod report;
pub mod rows;
pub mod setting;
pub mod side;
pub mod sides;
pub mod station;
