// SPDX-License-Identifier: GPL-2.0-only
//! Tests of the shrinker over the toy class, whose bug needs a sleeper below nice 0 that is woken
//! while others wait.

use super::*;
use crate::ops::Header;
use crate::ops::generate::{Generator, Profile, generate_program};
use crate::ops::mock::Mock;
use crate::ops::text::{parse_program, print};

/// Whether the toy class with its bug and without come apart under `program`.
fn differs(program: &Program) -> bool {
    let mut good = Mock::new(&program.names);
    let mut bad = Mock::new(&program.names);
    bad.bug = true;
    let mut same = true;
    run_skipping_illegal(&mut good, program, &mut |good, statement| {
        same = bad.apply(&statement.op).is_ok() && bad.fingerprint() == good.fingerprint();
        same
    });
    !same
}

fn failing() -> Program {
    let profile = Profile::default();
    let mut class = Mock::new(&profile.names());
    let mut generator = Generator::new(1, profile);
    let program = generate_program(&mut class, &Header::default(), &mut generator, 3_000);
    assert!(differs(&program), "the test needs another seed");
    program
}

fn shrunk(program: &Program, budget: u64) -> Shrunk {
    shrink(program, budget, &mut differs, &mut |_| {})
}

#[test]
fn to_the_few_statements_that_matter() {
    let result = shrunk(&failing(), 100_000);
    assert!(result.failed && result.complete && differs(&result.program));
    let text = print(&result.program);
    let ops = &result.program.statements;
    // Two tasks, the one with a nice value of its own asleep, the other queued, and a wakeup.
    assert!(ops.len() <= 12, "{text}");
    assert!(!ops.iter().any(|s| matches!(s.op, Op::At { .. } | Op::Tick { .. })), "{text}");
    for (index, _) in ops.iter().enumerate() {
        let mut fewer = result.program.clone();
        fewer.statements.remove(index);
        assert!(!differs(&fewer), "line {index} can go:\n{text}");
    }
    let nice = |op: &Op| match *op {
        Op::Task { nice, slice_ns, .. } => Some((nice, slice_ns)),
        Op::Nice { nice, .. } => Some((nice, 0)),
        _ => None,
    };
    assert!(ops.iter().filter_map(|s| nice(&s.op)).all(|v| v == (0, 0) || v == (-1, 0)), "{text}");
}

#[test]
fn the_same_twice() {
    let program = failing();
    assert_eq!(shrunk(&program, 2_000), shrunk(&program, 2_000));
}

#[test]
fn a_budget_is_kept_and_what_was_reached_still_fails() {
    let program = failing();
    for budget in [0, 1, 2, 10, 100] {
        let mut calls = 0;
        let mut fails = |program: &Program| {
            calls += 1;
            differs(program)
        };
        let result = shrink(&program, budget, &mut fails, &mut |_| {});
        assert_eq!(calls, result.calls);
        assert!(calls <= budget.max(1) && !result.complete && differs(&result.program));
    }
}

#[test]
fn what_does_not_fail_is_left_alone() {
    let program = failing();
    let result = shrink(&program, 100, &mut |_| false, &mut |_| panic!("there is no progress"));
    assert_eq!((result.failed, result.complete, result.calls), (false, false, 1));
    assert_eq!(result.program, program);
}

#[test]
fn progress_only_goes_down() {
    let mut seen = vec![usize::MAX];
    shrink(&failing(), 5_000, &mut differs, &mut |progress| seen.push(progress.statements));
    assert!(seen.len() > 5 && seen.is_sorted_by(|a, b| a >= b), "{seen:?}");
}

#[test]
fn times_become_short_and_round() {
    // Fails if the first task was current for at least 1.5 ms.
    let ran = |program: &Program| {
        let mut class = Mock::new(&program.names);
        let mut since = None;
        let mut enough = false;
        run_skipping_illegal(&mut class, program, &mut |class, _| {
            since = class.current(0).map(|_| since.unwrap_or(class.now()));
            enough |= since.is_some_and(|since| class.now() - since >= 1_500_000);
            true
        });
        enough
    };
    let result = shrink(&failing(), 100_000, &mut { ran }, &mut |_| {});
    let text = print(&result.program);
    assert!(result.complete, "{text}");
    let times: Vec<u64> = result
        .program
        .statements
        .iter()
        .filter_map(|s| if let Op::At { ns } = s.op { Some(ns) } else { None })
        .collect();
    assert_eq!(times.len(), 1, "{text}");
    assert!((2_500_000..6_000_000).contains(&times[0]), "{text}");
    assert_eq!(result.program.statements.len(), 4, "{text}");
}

#[test]
fn what_was_skipped_can_be_dropped() {
    let text = "fairlab-ops 1\ntask a\nwake a\nnew a\nnew a\nschedule 0\n";
    let program = parse_program("t.ops", text.as_bytes()).expect("it is good");
    let skipped = run_skipping_illegal(&mut Mock::new(&program.names), &program, &mut |_, _| true);
    assert_eq!(skipped, 2);
    let legal = drop_illegal(&mut Mock::new(&program.names), &program);
    assert_eq!(legal.statements.len(), 3);
    assert_eq!(legal.statements[1].op, Op::New { task: TaskName(0) });
}

/// Fails if an odd number of yields is left: none of them can go alone.
#[test]
fn what_only_goes_together_goes_and_the_header_gets_simple() {
    let yields = |program: &Program| {
        program.statements.iter().filter(|s| matches!(s.op, Op::Yield { .. })).count()
    };
    let text = "fairlab-ops 1\ncpus 4\nhz 250\nbase_slice_ns 100000\nfeatures NO_PLACE_LAG NEXT_BUDDY\n\
                group /g\ntask t cpu 3 nice 5 group /g\nnew t\nat 2000000\nyield 3\nnice t 7\nat 3000000\n\
                yield 3\nschedule 1\nyield 2\n";
    let program = parse_program("t.ops", text.as_bytes()).expect("it is good");
    let mut judge =
        |candidate: &Program| (yields(candidate) % 2 == 1).then(|| candidate.statements.clone());
    let effort = Effort { calls: 10_000, statements: u64::MAX };
    let result = reduce(&program, effort, &mut judge, &mut |_| {});
    assert!(result.failed && result.complete);
    assert_eq!(print(&result.program), "fairlab-ops 1\ncpus 1\nhz 1000\nyield 0\n");
}

#[test]
fn a_change_is_folded_into_the_line_that_makes_the_task() {
    let text =
        "fairlab-ops 1\ntask t\nnew t\nschedule 0\nparam t policy batch nice 3 slice 0\nyield 0\n";
    let program = parse_program("t.ops", text.as_bytes()).expect("it is good");
    // Fails if the last nice value of the task is 3 once it yields.
    let mut judge = |candidate: &Program| {
        let mut last = 0;
        for statement in &candidate.statements {
            match statement.op {
                Op::Task { nice, .. } | Op::Param { nice, .. } | Op::Nice { nice, .. } => {
                    last = nice
                }
                _ => {}
            }
        }
        let yields = candidate.statements.iter().any(|s| matches!(s.op, Op::Yield { .. }));
        (last == 3 && yields).then(|| candidate.statements.clone())
    };
    let effort = Effort { calls: 10_000, statements: u64::MAX };
    let small = reduce(&program, effort, &mut judge, &mut |_| {}).program;
    assert_eq!(small.statements.len(), 2, "{}", print(&small));
}
