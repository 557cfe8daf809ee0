// SPDX-License-Identifier: GPL-2.0-only
//! I-LAG: stored lag stays within its limit.

use super::{Limits, Report, Task};
use sched_core::fair::load::NICE_0_LOAD;
use sched_core::trace::Hooks;

/// `|vlag| <= L * NICE_0_LOAD / h_load`, rounded down, with L the longest slice there can be plus a tick.
///
/// entity_lag() limits to the longest slice among those that compete, plus a tick, at the time: that may be over, so
/// the bound here is the largest that this can have been. A change of weight scales lag and limit alike, and rounds
/// towards 0, so the bound holds after it to the last bit: with `|l| <= floor(X / w)`,
/// `floor(|l| * w / w') <= floor(X / w')`.
#[inline(always)]
pub(super) fn is_limited<'a, H: Hooks>(
    task: &Task<'a, H>,
    limits: &Limits,
    report: &mut Report<'_>,
) {
    let vlag = task.p.se.vlag.get();
    let weight = task.p.se.h_load.weight.get();
    // floor(X / w) >= l is X >= l * w, without a division. A task that was never queued has weight and lag 0.
    let scaled = u128::from(vlag.unsigned_abs()) * u128::from(weight);
    if scaled <= u128::from(limits.lag) * u128::from(NICE_0_LOAD) && (weight != 0 || vlag == 0) {
        return;
    }
    let what = match (u128::from(limits.lag) * u128::from(NICE_0_LOAD)).checked_div(weight.into()) {
        None => format!("vlag is {vlag}, but the task was never queued"),
        Some(limit) => format!("vlag is {vlag}, beyond the limit of {limit} for weight {weight}"),
    };
    report.task("I-LAG", task.name, "vlag", what);
}
