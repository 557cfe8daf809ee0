// SPDX-License-Identifier: GPL-2.0-only
//! The verb `map`: each function here beside the C function that it mirrors, in a given tree.

use crate::error::{EXIT_DIFFERENCE, EXIT_FINE, Error, Result};
use crate::oracle::find_path;
use kernel_oracle::baseline::{self, Change};
use kernel_oracle::extract::functions;
use kernel_oracle::tree::Tree;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;
use std::path::PathBuf;

/// The map as the documentation has it; a test keeps it in step with the sources.
const PAGE: &str = include_str!("../../Documentation/fair-map.rst");

/// Where the files that the map names by their last part stand in a tree.
const FILES: [(&str, &str); 5] = [
    ("fair.c", "kernel/sched/fair.c"),
    ("pelt.c", "kernel/sched/pelt.c"),
    ("core.c", "kernel/sched/core.c"),
    ("syscalls.c", "kernel/sched/syscalls.c"),
    ("idle.c", "kernel/sched/idle.c"),
];

/// Options of `map`.
#[derive(Debug, clap::Args)]
pub struct MapArgs {
    /// A kernel source tree; that of $LINUX_SRC, or the one the oracle was built from last, if none is named.
    tree: Option<PathBuf>,
    /// Only what is missing, moved or changed.
    #[arg(long)]
    changed: bool,
    /// Write the hashes of the tree's functions instead: the baseline for a sync with its release.
    #[arg(long)]
    hashes: bool,
}

/// A row of the map.
struct Row {
    /// The C function, without parentheses.
    c: String,
    /// The file it is in, as the map names it.
    file: String,
    /// The function here.
    rust: String,
}

/// Shows the map for a tree. Exit code 1 if something is missing, moved or changed.
///
/// # Errors
/// There is no tree, or it cannot be read.
pub fn main(args: &MapArgs, out: &mut dyn Write) -> Result<u8> {
    let bad = |error: kernel_oracle::error::Error| {
        Error::bad_argument(error.to_string(), "name the top folder of a Linux 7.3 source tree")
    };
    let tree = Tree::open(&find_path(args.tree.as_deref())?).map_err(bad)?;
    if args.hashes {
        return print(out, &baseline::text(&tree).map_err(bad)?).map(|()| EXIT_FINE);
    }
    let changes = baseline::changes(&tree).map_err(bad)?;
    let mut here: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (_, path) in FILES {
        let names = functions(&tree.read(path).map_err(bad)?).into_iter().map(|(name, _)| name);
        here.insert(path, names.collect());
    }
    let (text, differing) = table(&rows(PAGE), &here, &changes, args.changed);
    print(out, &format!("# fairlab {}, Linux {}\n{text}", crate::REVISION, tree.release()))?;
    Ok(if differing == 0 { EXIT_FINE } else { EXIT_DIFFERENCE })
}

fn print(out: &mut dyn Write, text: &str) -> Result<()> {
    let wrote = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    wrote.map_err(|source| Error::write("standard output", source))
}

/// The rows of the page's tables.
fn rows(page: &str) -> Vec<Row> {
    let row = |line: &str| {
        let rest = line.strip_prefix("``")?;
        let (c, rest) = rest.split_once("()``")?;
        let mut words = rest.split_whitespace();
        let (file, rust) = (words.next()?, words.next()?);
        Some(Row {
            c: c.to_string(),
            file: file.to_string(),
            rust: rust.trim_matches('`').to_string(),
        })
    };
    page.lines().filter_map(row).collect()
}

/// The table, and how many rows are not as in the mirrored release.
fn table(
    rows: &[Row],
    here: &BTreeMap<&str, Vec<String>>,
    changes: &[(String, String, Change)],
    only_changed: bool,
) -> (String, usize) {
    let mut text = String::new();
    let mut differing = 0;
    for row in rows {
        let known = FILES.iter().find(|(short, _)| *short == row.file);
        let state = known.map_or("", |(_, path)| state(row, path, here, changes));
        let elsewhere = match state {
            "MOVED" => {
                here.iter().find(|(_, names)| names.contains(&row.c)).map_or("", |(path, _)| path)
            }
            _ => "",
        };
        differing += usize::from(!state.is_empty());
        if !only_changed || !state.is_empty() {
            // Writing to a String does not fail.
            let line =
                format!("{:<36} {:<10} {:<36} {state} {elsewhere}", row.c, row.file, row.rust);
            let _ = writeln!(text, "{}", line.trim_end());
        }
    }
    let _ = writeln!(
        text,
        "{} functions; {differing} missing, moved or changed since {}",
        rows.len(),
        baseline::RELEASE
    );
    (text, differing)
}

fn state(
    row: &Row,
    path: &str,
    here: &BTreeMap<&str, Vec<String>>,
    changes: &[(String, String, Change)],
) -> &'static str {
    let in_file = here.get(path).is_some_and(|names| names.contains(&row.c));
    if !in_file {
        let gone = changes
            .iter()
            .any(|(file, name, how)| file == path && *name == row.c && *how == Change::Gone);
        let elsewhere = here.values().any(|names| names.contains(&row.c));
        // What never was in that file as a function (a macro, an inline of a header) cannot go missing from it.
        return match (elsewhere, gone) {
            (true, true) => "MOVED",
            (false, true) => "MISSING",
            _ => "",
        };
    }
    let changed = changes
        .iter()
        .any(|(file, name, how)| file == path && *name == row.c && *how == Change::Changed);
    if changed { "CHANGED" } else { "" }
}

#[cfg(test)]
mod tests {
    use super::{PAGE, rows};

    #[test]
    fn the_page_has_rows() {
        let rows = rows(PAGE);
        assert!(rows.len() > 100, "{}", rows.len());
        assert!(rows.iter().any(|row| row.c == "place_entity"
            && row.file == "fair.c"
            && row.rust == "place_entity"));
    }
}
