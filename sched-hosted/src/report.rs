// SPDX-License-Identifier: GPL-2.0-only
//! What a comparison found, as text that fits one screen ([`screen`]) or as JSON ([`json`]).

mod screen;

use crate::compare::Report;
pub use screen::screen;

/// The whole report as JSON, with a newline at its end.
pub fn json(report: &Report) -> String {
    // All keys are strings and all values numbers, strings, lists and maps of them: nothing of this can fail.
    let mut text = serde_json::to_string_pretty(report).unwrap_or_default();
    text.push('\n');
    text
}
