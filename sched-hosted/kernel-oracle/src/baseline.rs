// SPDX-License-Identifier: GPL-2.0-only
//! Which functions of a tree differ from those of the release that the class of this project mirrors. Of that release
//! only hashes are kept.

use crate::error::Error;
use crate::extract::functions;
use crate::tree::Tree;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The release that is mirrored.
pub const RELEASE: &str = "7.3.4";

/// Its functions: a file, a name and a hash on each line.
const HASHES: &str = include_str!("../baseline-7.3.4.txt");

/// The files whose functions are known.
pub const FILES: [&str; 6] = [
    "kernel/sched/fair.c",
    "kernel/sched/pelt.c",
    "kernel/sched/core.c",
    "kernel/sched/syscalls.c",
    "kernel/sched/idle.c",
    "lib/rbtree.c",
];

/// How a function differs from that release.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// Its text is another.
    Changed,
    /// It is not there.
    Gone,
    /// It was not there.
    New,
}

/// 64-bit FNV-1a of all that is not white space.
fn hash(text: &str) -> u64 {
    let bytes = text.bytes().filter(|byte| !byte.is_ascii_whitespace());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

type Hashes = BTreeMap<(String, String), u64>;

fn of_tree(tree: &Tree) -> Result<Hashes, Error> {
    let mut hashes = Hashes::new();
    for file in FILES {
        for (name, text) in functions(&tree.read(file)?) {
            // Conditions may choose between several of one name.
            let entry = hashes.entry((file.to_string(), name)).or_default();
            *entry = entry.wrapping_mul(3).wrapping_add(hash(&text));
        }
    }
    Ok(hashes)
}

fn of_release() -> Hashes {
    let lines = HASHES.lines().filter(|line| !line.starts_with('#'));
    let parse = |line: &str| {
        let mut words = line.split(' ');
        let (file, name, hash) = (words.next()?, words.next()?, words.next()?);
        Some(((file.to_string(), name.to_string()), u64::from_str_radix(hash, 16).ok()?))
    };
    lines.filter_map(parse).collect()
}

/// The functions of `tree` that differ: file, name and how; in the order of the files' names.
///
/// # Errors
/// A file cannot be read.
pub fn changes(tree: &Tree) -> Result<Vec<(String, String, Change)>, Error> {
    let (now, then) = (of_tree(tree)?, of_release());
    let mut changes = Vec::new();
    for ((file, name), hash) in &now {
        match then.get(&(file.clone(), name.clone())) {
            Some(before) if before == hash => {}
            Some(_) => changes.push((file.clone(), name.clone(), Change::Changed)),
            None => changes.push((file.clone(), name.clone(), Change::New)),
        }
    }
    for (file, name) in then.keys().filter(|key| !now.contains_key(*key)) {
        changes.push((file.clone(), name.clone(), Change::Gone));
    }
    Ok(changes)
}

/// The hashes of the functions of `tree`, in the form of the baseline file: what a sync with a new release writes.
///
/// # Errors
/// A file cannot be read.
pub fn text(tree: &Tree) -> Result<String, Error> {
    let mut text = format!(
        "# The functions of Linux {}, a hash of each; made by: fairlab map --hashes\n",
        tree.release()
    );
    for ((file, name), hash) in of_tree(tree)? {
        // Writing to a String does not fail.
        let _ = writeln!(text, "{file} {name} {hash:016x}");
    }
    Ok(text)
}
