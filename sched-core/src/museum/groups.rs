// SPDX-License-Identifier: GPL-2.0-only
//! Bugs of counters (C), slices and preemption (S), bandwidth (B), the hierarchy (H), clocks and load tracking (K).
//! Numbers from 201.

use super::{Absent, Exhibit};

/// The bugs.
pub const GROUPS: &[Exhibit] = &[];

/// Those that are not put back.
pub const GROUPS_ABSENT: &[Absent] = &[];
