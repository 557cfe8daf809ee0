// SPDX-License-Identifier: GPL-2.0-only
//! The verb `oracle info`.

use super::{find_path, from_oracle, say};
use crate::error::{EXIT_FINE, Result};
use kernel_oracle::baseline::{self, Change};
use kernel_oracle::{build, tree::Tree};
use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

/// Describes the tree, and what was built.
///
/// # Errors
/// There is no tree, or it cannot be used.
pub fn main(named: Option<&Path>, out: &mut dyn Write) -> Result<u8> {
    let tree = Tree::open(&find_path(named)?).map_err(from_oracle)?;
    let hash = tree.sha256("kernel/sched/fair.c").map_err(from_oracle)?;
    let changes = baseline::changes(&tree).map_err(from_oracle)?;
    let mut text = format!(
        "tree      {}\nrelease   {}\nfair.c    sha256 {hash}\nmirrored  {} (the release of the class here)\n",
        tree.root().display(),
        tree.release(),
        baseline::RELEASE,
    );
    // Writing to a String does not fail.
    if changes.is_empty() {
        let _ = writeln!(text, "functions all as in {}", baseline::RELEASE);
    }
    for (file, name, change) in &changes {
        let what = match change {
            Change::Changed => "changed",
            Change::Gone => "gone",
            Change::New => "new",
        };
        let _ = writeln!(text, "{what:<9} {name}() in {file}");
    }
    let cache = build::default_cache();
    for name in build::list(&cache) {
        let _ = writeln!(text, "built     {}", cache.join(name).join("oracle.so").display());
    }
    say(out, &text)?;
    Ok(EXIT_FINE)
}
