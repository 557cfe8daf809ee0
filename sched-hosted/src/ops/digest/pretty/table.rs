// SPDX-License-Identifier: GPL-2.0-only
//! Aligned text of bounded width: rows under headings, with whatever does not fit on further lines.

use std::fmt::Write;
use std::ops::Range;

/// Columns that a line may fill.
pub(super) const WIDTH: usize = 110;
/// A longer label stands on a line of its own.
const LABEL: usize = 40;

enum Line {
    /// Indentation, label, `.name value` pairs.
    Heading(usize, String, Vec<(String, String)>),
    /// Indentation, label, cells.
    Row(usize, String, Vec<String>),
}

/// Headings and rows; the rows' cells are aligned over all of them.
pub(super) struct Table {
    columns: &'static [&'static str],
    words: &'static [&'static str],
    lines: Vec<Line>,
}

impl Table {
    /// A table of `columns`, of which `words` are aligned to the left.
    pub fn new(columns: &'static [&'static str], words: &'static [&'static str]) -> Self {
        Table { columns, words, lines: Vec::new() }
    }

    pub fn heading(&mut self, indent: usize, label: String, pairs: Vec<(String, String)>) {
        self.lines.push(Line::Heading(indent, label, pairs));
    }

    /// More pairs of the heading before, on a line of their own.
    pub fn more(&mut self, indent: usize, pairs: Vec<(String, String)>) {
        if !pairs.is_empty() {
            self.lines.push(Line::Heading(indent, String::new(), pairs));
        }
    }

    pub fn row(&mut self, indent: usize, label: &str, cells: Vec<String>) {
        self.lines.push(Line::Row(indent, label.to_string(), cells));
    }

    pub fn write(&self, out: &mut String) {
        let names = self.columns.iter().map(|name| name.to_string()).collect();
        let head = Line::Row(2, "task".to_string(), names);
        let has_rows = self.lines.iter().any(|line| matches!(line, Line::Row(..)));
        let lines: Vec<&Line> =
            has_rows.then_some(&head).into_iter().chain(self.lines.iter()).collect();
        let grid = Grid::of(&lines, self);
        for line in lines {
            match line {
                Line::Heading(indent, label, shown) if label.is_empty() => {
                    pairs(out, *indent, shown);
                }
                Line::Heading(indent, label, shown) => heading(out, *indent, label, shown),
                Line::Row(indent, label, cells) => grid.row(out, *indent, label, cells),
            }
        }
    }
}

/// The widths of label and columns, and which columns share a line.
struct Grid {
    label: usize,
    widths: Vec<usize>,
    left: Vec<bool>,
    chunks: Vec<Range<usize>>,
}

impl Grid {
    fn of(lines: &[&Line], table: &Table) -> Self {
        let mut widths = vec![0; table.columns.len()];
        let mut label = 0;
        for line in lines {
            if let Line::Row(indent, text, cells) = line {
                let length = indent + text.len();
                label = label.max(if length <= LABEL { length } else { 0 });
                for (width, cell) in widths.iter_mut().zip(cells) {
                    *width = (*width).max(cell.len());
                }
            }
        }
        let left = table.columns.iter().map(|name| table.words.contains(name)).collect();
        let mut chunks = Vec::new();
        let (mut start, mut used) = (0, label);
        for (at, width) in widths.iter().enumerate() {
            if used + 1 + width > WIDTH && at > start {
                chunks.push(start..at);
                (start, used) = (at, label);
            }
            used += 1 + width;
        }
        chunks.push(start..widths.len());
        Grid { label, widths, left, chunks }
    }

    fn row(&self, out: &mut String, indent: usize, label: &str, cells: &[String]) {
        let mut first = format!("{:indent$}{label}", "");
        if first.len() > self.label {
            let _ = writeln!(out, "{first}");
            first.clear();
        }
        for chunk in &self.chunks {
            let width = self.label;
            let mut line = format!("{first:width$}");
            first.clear();
            for at in chunk.clone() {
                let width = self.widths[at];
                // Writing to a String does not fail.
                let _ = match self.left[at] {
                    true => write!(line, " {:<width$}", cells[at]),
                    false => write!(line, " {:>width$}", cells[at]),
                };
            }
            let _ = writeln!(out, "{}", line.trim_end());
        }
    }
}

/// A label, then pairs as far as they fit, then more lines of pairs.
fn heading(out: &mut String, indent: usize, label: &str, shown: &[(String, String)]) {
    let mut line = format!("{:indent$}{label}", "");
    for (name, value) in shown {
        push(out, &mut line, indent + 4, &format!(".{name} {value}"));
    }
    let _ = writeln!(out, "{line}");
}

/// Pairs on lines of their own.
pub(super) fn pairs(out: &mut String, indent: usize, shown: &[(String, String)]) {
    let mut line = String::new();
    for (name, value) in shown {
        push(out, &mut line, indent, &format!(".{name} {value}"));
    }
    if !line.is_empty() {
        let _ = writeln!(out, "{line}");
    }
}

/// Appends `text` to the line, or begins a new one, `indent` deep.
fn push(out: &mut String, line: &mut String, indent: usize, text: &str) {
    if !line.trim_start().is_empty() && line.len() + 2 + text.len() > WIDTH {
        let _ = writeln!(out, "{line}");
        line.clear();
    }
    let gap = if line.is_empty() { indent } else { 2 };
    let _ = write!(line, "{:gap$}{text}", "");
}
