// SPDX-License-Identifier: GPL-2.0-only
//! A state for people: one block of aligned fields an object.

use super::state::{ObjectState, State, object_text, value_text};
use crate::ops::class::{Object, Value};
use crate::ops::{Class, Names};
use std::fmt::Write;

/// Columns that a block may fill.
const WIDTH: usize = 100;

/// The present state of `class` as blocks of aligned fields. Unlike in the texts that are hashed,
/// an unsigned number in the upper half of 64 bits is shown as the negative number that it stands
/// for: virtual times wrap.
pub fn pretty(class: &dyn Class) -> String {
    let mut out = String::new();
    for object in State::of(class).objects() {
        block(&mut out, object, class.names());
    }
    out
}

fn block(out: &mut String, object: &ObjectState, names: &Names) {
    let indent = if matches!(object.object, Object::Rq(_)) { "" } else { "  " };
    let cells: Vec<(&str, String)> =
        object.fields.iter().map(|&(name, value)| (name, signed_text(value, names))).collect();
    let name_width = cells.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let value_width = cells.iter().map(|(_, value)| value.len()).max().unwrap_or(0);
    let columns = ((WIDTH - indent.len()) / (name_width + value_width + 4)).max(1);
    // Writing to a String does not fail.
    let _ = writeln!(out, "{indent}{}", object_text(object.part, object.object, names));
    for row in cells.chunks(columns) {
        let mut line = indent.to_string();
        for (name, value) in row {
            let _ = write!(line, "   {name:name_width$} {value:>value_width$}");
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
}

fn signed_text(value: Value, names: &Names) -> String {
    match value {
        Value::U64(number) => (number as i64).to_string(),
        other => value_text(other, names),
    }
}
