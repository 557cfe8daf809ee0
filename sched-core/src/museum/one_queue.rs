// SPDX-License-Identifier: GPL-2.0-only
//! Bugs of one queue: arithmetic (A), tree and pick (T), lag, placement and weight (L), delayed dequeue (D). Numbers
//! from 1.

use super::{Absent, Exhibit};

/// The bugs.
pub const ONE_QUEUE: &[Exhibit] = &[];

/// Those that are not put back.
pub const ONE_QUEUE_ABSENT: &[Absent] = &[];
