// SPDX-License-Identifier: GPL-2.0-only
//! Every failure that was found once stays found: each file of regressions/ runs without a refusal, a warning of the
//! kernel's own, a panic or a broken invariant. A comment in the file says what it once broke.

use sched_core::trace::Counters;
use sched_hosted::ops::arena::Arena;
use sched_hosted::ops::class::{Class, Depth};
use sched_hosted::ops::driver::{Driver, Options};
use sched_hosted::ops::text::parse_program;
use std::path::Path;

/// Runs one file; what is wrong with it, and where.
fn run(path: &Path) -> Result<(), String> {
    let file = path.display().to_string();
    let bytes = std::fs::read(path).map_err(|error| format!("{file}: {error}"))?;
    let program = parse_program(&file, &bytes).map_err(|error| error.to_string())?;
    let arena = Arena::new();
    let hooks = Counters::default();
    let mut driver =
        Driver::new(&arena, &program.header, &program.names, &Options::default(), hooks)
            .map_err(|error| error.to_string())?;

    for statement in &program.statements {
        let line = statement.line;
        driver.apply(&statement.op).map_err(|refusal| format!("{file}:{line}: {refusal}"))?;
        if let (_, Some(warn)) = driver.hooks().warnings() {
            return Err(format!("{file}:{line}: {warn}"));
        }
        if let Some(violation) = driver.violations(Depth::Full).first() {
            return Err(format!("{file}:{line}: {}: {}", violation.invariant, violation.what));
        }
    }
    Ok(())
}

#[test]
fn what_was_found_stays_found() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions");
    let mut files = 0;
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(folder).expect("regressions/ is there") {
        let path = entry.expect("regressions/ can be read").path();
        if path.extension().is_some_and(|suffix| suffix == "ops") {
            files += 1;
            wrong.extend(run(&path).err());
        }
    }
    assert!(files > 0, "regressions/ has no .ops file");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
