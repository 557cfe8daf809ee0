// SPDX-License-Identifier: GPL-2.0-only
//! Every committed input is replayed on its target, and the targets can fail.

use fairlab_fuzz::{CANARY, TARGETS, canary, corpus_of, ops, tree};
use std::fs;
use std::path::Path;

#[test]
fn the_corpus_uncovers_nothing() {
    // The canary's class is wrong on purpose: what it makes of an input says nothing.
    for (name, target) in TARGETS.into_iter().filter(|(name, _)| *name != CANARY) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(corpus_of(name));
        let entries = fs::read_dir(&folder).expect("each target has a corpus");
        let mut files: Vec<_> =
            entries.map(|entry| entry.expect("it can be read").path()).collect();
        files.sort();
        assert!(files.len() >= 4, "the corpus of {name} is too thin: {files:?}");
        for file in files {
            println!("{}", file.display());
            target(&fs::read(&file).expect("it can be read"));
        }
    }
}

/// Each seed of `ops` but the nonsense is a program that runs, else it would exercise nothing.
#[test]
fn the_seeds_are_good_programs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/ops");
    for name in ["handoff.ops", "one-of-each.ops", "two-cpus.ops", "yield.ops"] {
        let bytes = fs::read(folder.join(name)).expect("the seed is there");
        if let Err(error) = sched_hosted::ops::text::parse_program(name, &bytes) {
            panic!("{error}");
        }
    }
}

/// The program that shows the canary's fault is harmless on the class as it is: what fails there is the fault.
#[test]
fn the_canary_is_found() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("canary/stale-augment-copy.ops");
    let bytes = fs::read(path).expect("it is committed");
    ops(&bytes);
    let found = std::panic::catch_unwind(|| canary(&bytes)).expect_err("the fault is found");
    let what = found.downcast_ref::<String>().expect("a panic with a text");
    assert!(what.contains("I-AUG"), "{what}");
    assert!(TARGETS.iter().any(|(name, _)| *name == CANARY));
}

/// A random walk over all entries: all cases of insertion and removal, some hundred times.
#[test]
fn the_tree_takes_any_bytes() {
    let mut seed = 1u64;
    let bytes: Vec<u8> = std::iter::repeat_with(|| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 56) as u8
    })
    .take(3 * 1_024)
    .collect();
    tree(&bytes);
}
