// SPDX-License-Identifier: GPL-2.0-only
//! Every committed input is replayed on its target, and the targets can fail.

use fairlab_fuzz::TARGETS;
use std::fs;
use std::path::Path;

#[test]
fn the_corpus_uncovers_nothing() {
    for (name, target) in TARGETS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
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
