// SPDX-License-Identifier: GPL-2.0-only
//! Replays inputs of a fuzz target without a fuzzer:
//! `cargo run --manifest-path fuzz/Cargo.toml --no-default-features --bin replay -- TARGET FILE...`

use fairlab_fuzz::TARGETS;
use std::process::ExitCode;

const BAD_INPUT: u8 = 2;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let named = args.next();
    let files: Vec<String> = args.collect();
    let target = TARGETS.iter().find(|(name, _)| Some(*name) == named.as_deref());
    let (Some((name, target)), false) = (target, files.is_empty()) else {
        let known = TARGETS.map(|(name, _)| name).join(", ");
        eprintln!("usage: replay TARGET FILE...; the targets are {known}");
        return ExitCode::from(BAD_INPUT);
    };
    for file in files {
        match std::fs::read(&file) {
            // A fault is a panic, which says what and where, and ends the program.
            Ok(bytes) => target(&bytes),
            Err(error) => {
                eprintln!("{file}: cannot read it ({error}); check the path and its permissions");
                return ExitCode::from(BAD_INPUT);
            }
        }
        println!("{name}: {file}: nothing wrong");
    }
    ExitCode::SUCCESS
}
