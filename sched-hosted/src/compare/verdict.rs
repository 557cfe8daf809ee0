// SPDX-License-Identifier: GPL-2.0-only
//! Part 5: the verdict, in words.

use super::Plan;
use super::cost::Cost;
use super::counted::{FOUND_AWAKE, Often, Row, Time};
use super::same::Same;
use crate::workload::kind::Kind;
use sched_core::patches::Patches;
use serde::Serialize;

/// Is it worth it?
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Worth {
    /// It is not safe, so the question does not arise.
    Unsafe,
    /// Nothing is gained or lost beyond the noise.
    BelowNoise,
    /// Something is gained.
    Gain,
    /// Something is lost.
    Loss,
    /// It was not measured.
    Unknown,
}

/// The verdict.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// Nothing went wrong.
    pub safe: bool,
    /// No state differed.
    pub same: bool,
    /// Whether it is worth it.
    pub worth: Worth,
    /// The same in sentences.
    pub words: Vec<String>,
}

/// What was measured on hardware, where somebody did.
const REPORTED: &[(Patches, &str)] = &[
    (
        Patches::SKIP_DEQUEUE_CHARGE,
        "measured on hardware: -0.22 % with 15 workers, +1.27 % with 2; the skipped charge was met about 1.4 times \
         per million hand-offs there",
    ),
    (
        Patches::NO_CHARGE_BEFORE_REQUEUE,
        "measured on hardware (undone on v7.2): +13.65 % with 15 workers, -0.48 % with 2",
    ),
];

/// Changes of virtual throughput below this (percent) are not called a gain or a loss, however steady they are.
const WORTH_PERCENT: f64 = 0.1;

/// Judges what was found.
pub fn verdict(
    plan: &Plan,
    same: &Same,
    often: Option<&Often>,
    cost: Option<&Cost>,
    time: Option<&Time>,
) -> Verdict {
    let mut words = vec![format!("{} {}", safe_words(same), same_words(same))];
    let worth = if !same.is_safe() {
        words.push(
            "Not worth anything as it is: the figures above are those of a broken class.".into(),
        );
        Worth::Unsafe
    } else {
        if let (false, Some(often)) = (same.is_same(), often) {
            words.push(mechanism(often));
        }
        let (worth, text) = worth(same, cost, time);
        words.push(text);
        words.push(limits(plan));
        worth
    };
    Verdict { safe: same.is_safe(), same: same.is_same(), worth, words }
}

fn tried(same: &Same) -> u64 {
    same.random.ops + same.workload.ops
}

fn safe_words(same: &Same) -> String {
    match &same.violation {
        None => format!(
            "Safe: in {} operations no invariant was broken, and nothing warned, panicked or looped.",
            thousands(tried(same))
        ),
        Some(violation) if violation.base_too => format!(
            "NOT SAFE, but the base is not either: {}. It is a defect of the release itself.",
            violation.what
        ),
        Some(violation) => format!("NOT SAFE: {}.", violation.what),
    }
}

fn same_words(same: &Same) -> String {
    match &same.difference {
        None => "The same: both sides were in the same state after each of them.".to_string(),
        Some(difference) => {
            let unmet = match (same.workload.differing, same.workload.ops) {
                (0, 1..) => "; the workload's own operations do not show it",
                _ => "",
            };
            let (object, statement) = (&difference.object, &difference.statement);
            format!("Not the same: first seen in {object} after `{statement}`{unmet}.")
        }
    }
}

/// What changes, in the order in which a developer would look at it.
const TELLING: &[&str] = &[
    "delayed requeues",
    "preemptions",
    FOUND_AWAKE,
    "context switches",
    "full enqueues",
    "delayed picks",
    "set_delayed",
    "place_entity",
    "tree insertions",
];
/// A change per hand-off below this is not named.
const TELLING_CHANGE: f64 = 0.005;

/// What changes, which is the mechanism by which time changes.
fn mechanism(often: &Often) -> String {
    let change = |what: &str| -> Option<&Row> { often.rows.iter().find(|row| row.what == what) };
    let moved = |row: &&Row| (row.per_hand_off[1] - row.per_hand_off[0]).abs() >= TELLING_CHANGE;
    let rows = TELLING.iter().filter_map(|what| change(what)).filter(moved);
    let changes: Vec<String> = rows
        .take(3)
        .map(|row| format!("{} {:.3} -> {:.3}", row.what, row.per_hand_off[0], row.per_hand_off[1]))
        .collect();
    if changes.is_empty() {
        return format!(
            "Nothing in part 2 changes by more than {TELLING_CHANGE} per {}.",
            often.unit
        );
    }
    let mut text = format!("The mechanism, per {}: {}.", often.unit, changes.join(", "));
    let by = |what| change(what).map_or(0.0, |row| row.per_hand_off[1] - row.per_hand_off[0]);
    if by("preemptions") > 0.1 && by(FOUND_AWAKE) > 0.1 {
        text.push_str(
            " The wakee preempts its waker on the way back to user mode and finds it awake: that hand-off needs no \
             wakeup.",
        );
    }
    text
}

fn worth(same: &Same, cost: Option<&Cost>, time: Option<&Time>) -> (Worth, String) {
    let Some(cost) = cost else {
        return (Worth::Unknown, "Interrupted before its cost was measured.".to_string());
    };
    let work = cost_words(cost);
    let of_cost = match (cost.exceeds_spread, cost.change_percent.median < 0.0) {
        (false, _) => Worth::BelowNoise,
        (true, true) => Worth::Gain,
        (true, false) => Worth::Loss,
    };
    if same.is_same() {
        let text = match of_cost {
            Worth::BelowNoise => format!("Nothing gained: {work}, which is below the noise."),
            Worth::Gain => format!("Gains scheduler time, and nothing else: {work}."),
            _ => format!("Costs scheduler time, and changes nothing else: {work}."),
        };
        return (of_cost, text);
    }
    let change = time.map(|time| time.change_percent).unwrap_or_default();
    let unit = time.map_or("hand-off", |time| time.unit);
    let throughput =
        format!("{:+.2} % (+-{:.2}) {unit}s per virtual second", change.mean, change.deviation);
    if change.mean.abs() < WORTH_PERCENT.max(2.0 * change.deviation) {
        let text = format!("Below the noise: {throughput}; {work}.");
        return (Worth::BelowNoise, text);
    }
    if change.mean > 0.0 {
        (Worth::Gain, format!("Worth a run on hardware: {throughput}; {work}."))
    } else {
        (Worth::Loss, format!("Not worth it: {throughput}; {work}."))
    }
}

fn cost_words(cost: &Cost) -> String {
    let change = cost.change_percent.median;
    let noise = cost.noise_percent;
    let unit = cost.unit;
    format!("{change:+.2} % scheduler time per {unit} (base against itself: {noise:.2} %)")
}

/// What this comparison cannot show.
fn limits(plan: &Plan) -> String {
    let mut text = match plan.source.kind {
        Kind::PipeHandoff { .. } => {
            "Independent CPUs cannot show what workers do to each other; their number sets the base slice only"
        }
        _ => "Independent CPUs cannot show what CPUs do to each other",
    }
    .to_string();
    for (patch, reported) in REPORTED {
        if plan.patch.patches == *patch {
            text.push_str("; ");
            text.push_str(reported);
        }
    }
    text.push('.');
    text
}

/// `number` with commas between its thousands.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::thousands;

    #[test]
    fn commas() {
        assert_eq!([0, 999, 1000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
    }
}
