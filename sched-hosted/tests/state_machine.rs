// SPDX-License-Identifier: GPL-2.0-only
//! Random operations, legal and not, on the class and on a model of what can be seen of it from the outside: who is
//! there, who sleeps, who waits and who runs, on which CPU, in which group, with what nice value and slice. The model
//! knows the rules of the operation language (Documentation/ops.rst) and nothing of virtual time. After each step the
//! two agree, every invariant holds and nothing warned; a step that the model calls illegal is refused and changes
//! nothing. A failure is shrunk by proptest to few steps.
//!
//! Which task runs, and whether a sleeper stays queued for a while, is the class's own choice: there the model says
//! what is allowed, looks, and goes on from what it saw.

#[path = "state_machine/model.rs"]
mod model;
#[path = "state_machine/steps.rs"]
mod steps;

use model::{Model, Seen};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngSeed, TestError, TestRunner};
use sched_core::patches::Patches;
use sched_core::trace::Counters;
use sched_hosted::ops::arena::Arena;
use sched_hosted::ops::class::{Class, Depth, TaskState};
use sched_hosted::ops::digest::State;
use sched_hosted::ops::driver::{Driver, Options};
use sched_hosted::ops::text::{print, shown};
use sched_hosted::ops::{Header, Op, Program, Statement};

/// The budget: so many cases, always the same ones.
fn budget(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(7),
        max_shrink_iters: 20_000,
        ..ProptestConfig::default()
    }
}

/// What a step came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Done,
    Refused,
}

/// The class and its model, side by side.
struct Pair<'a> {
    driver: Driver<'a, Counters>,
    model: Model,
}

impl<'a> Pair<'a> {
    fn new(arena: &'a Arena<'a, Counters>, header: &Header) -> Self {
        Pair::with(arena, header, Patches::empty())
    }

    fn with(arena: &'a Arena<'a, Counters>, header: &Header, patches: Patches) -> Self {
        let names = steps::names();
        let options = Options { patches, laws: true, ..Options::default() };
        let driver = Driver::new(arena, header, &names, &options, Counters::default())
            .expect("the header is good");
        Pair { driver, model: Model::new(header.cpus, names) }
    }

    /// Takes one step; says what is wrong after it.
    fn step(&mut self, op: &Op) -> Result<Step, String> {
        let (allowed, given) = (self.model.allows(op), self.driver.check(op));
        if allowed != given.is_ok() {
            return Err(format!("legal says the model: {allowed}; the class: {given:?}"));
        }
        if !allowed {
            let (state, hash) = (State::of(&self.driver), self.driver.fingerprint());
            let _ = self.driver.apply(op).expect_err("it was refused a moment ago");
            let same = state == State::of(&self.driver) && hash == self.driver.fingerprint();
            return same.then_some(Step::Refused).ok_or_else(|| "it changed something".into());
        }
        self.driver.run(op);
        let (warnings, first) = self.driver.hooks().warnings();
        if warnings != 0 {
            return Err(format!("it warned: {first:?}"));
        }
        if let Some(violation) = self.driver.violations(Depth::Full).first() {
            return Err(format!("{violation:?}"));
        }
        self.model.apply(op, &Seen::of(&self.driver))?;
        self.model.compare(&self.driver)?;
        Ok(Step::Done)
    }
}

/// Runs `ops`; says at which step the class and its model differ, and as which program. Returns how many were legal.
fn run(header: &Header, ops: &[Op], patches: Patches) -> Result<usize, String> {
    let arena = Arena::new();
    let mut pair = Pair::with(&arena, header, patches);
    let mut done = 0;
    for (at, op) in ops.iter().enumerate() {
        match pair.step(op) {
            Ok(Step::Done) => done += 1,
            Ok(Step::Refused) => {}
            Err(what) => {
                let names = steps::names();
                let statements = ops[..=at].iter().map(|&op| Statement { op, line: 0 }).collect();
                let op = shown(op, &names).to_string();
                let program = Program { header: header.clone(), names, statements };
                return Err(format!("after '{op}': {what}\n{}", print(&program)));
            }
        }
    }
    Ok(done)
}

proptest! {
    #![proptest_config(budget(192))]

    /// One CPU without groups: the flat queue.
    #[test]
    fn one_queue(header in steps::header(1..=1), ops in steps::flat(160)) {
        run(&header, &ops, Patches::empty()).map_err(TestCaseError::fail)?;
    }

    /// Everything there is: CPUs, groups, quotas.
    #[test]
    fn groups_quotas_and_cpus(header in steps::header(1..=3), ops in steps::all(160)) {
        run(&header, &ops, Patches::empty()).map_err(TestCaseError::fail)?;
    }
}

/// The steps do reach what they are meant to: most are legal, and each kind of state comes up.
#[test]
fn the_steps_reach_far() {
    let (mut legal, mut total) = (0, 0);
    let mut states = Vec::new();
    let (mut throttled, mut deep) = (0, 0);
    let mut runner = TestRunner::new(budget(1));
    for _ in 0..64 {
        let ops = steps::all(160).new_tree(&mut runner).expect("a value").current();
        let arena = Arena::new();
        let mut pair = Pair::new(&arena, &Header { cpus: 2, ..Header::default() });
        for op in &ops {
            legal += usize::from(pair.step(op).expect("it holds") == Step::Done);
            total += 1;
            for info in pair.driver.tasks().into_iter().filter_map(|name| pair.driver.task(name)) {
                throttled += usize::from(info.throttled);
                deep += usize::from(info.group.0 == 2);
                if !states.contains(&info.state) {
                    states.push(info.state);
                }
            }
        }
    }
    assert!(legal * 2 > total, "{legal} of {total} steps are legal");
    for state in [TaskState::New, TaskState::Runnable, TaskState::Delayed, TaskState::Blocked] {
        assert!(states.contains(&state), "{state:?} never came up");
    }
    assert!(throttled > 0 && deep > 0, "throttled {throttled} times, {deep} times two levels deep");
}

/// A fault of the class is found within the budget, and what proptest makes of it is small.
#[test]
fn the_patch_that_is_wrong_on_purpose_is_found_and_shrunk() {
    let mut runner = TestRunner::new(budget(512));
    let found = runner.run(&steps::flat(160), |ops| {
        let header = Header::default();
        let failed = run(&header, &ops, Patches::STALE_AUGMENT_COPY);
        failed.map(|_| ()).map_err(TestCaseError::fail)
    });
    let Err(TestError::Fail(reason, ops)) = found else { panic!("not found: {found:?}") };
    assert!(reason.message().contains("I-AUG"), "{reason}");
    assert!(ops.len() <= 40, "{} steps are left: {reason}", ops.len());
}

/// The comparison goes red: a model that missed one step does not agree any more.
#[test]
fn a_step_that_the_model_missed_is_seen() {
    let [a, b] = [0, 1].map(sched_hosted::ops::TaskName);
    let begin = [steps::task(a), steps::task(b), Op::New { task: a }, Op::New { task: b }];
    let missed = [
        Op::Block { cpu: 0 },
        Op::Exit { cpu: 0 },
        Op::Nice { task: b, nice: 5 },
        Op::Param { task: b, policy: sched_hosted::ops::Policy::Idle, nice: 0, slice_ns: 0 },
        Op::At { ns: 5_000_000 },
        Op::Group { group: sched_hosted::ops::GroupName(1), shares: None },
    ];
    for op in missed {
        let arena = Arena::new();
        let mut pair = Pair::new(&arena, &Header::default());
        for op in begin.iter().chain([&Op::Schedule { cpu: 0 }]) {
            assert_eq!(pair.step(op), Ok(Step::Done), "{op:?}");
        }
        pair.model.compare(&pair.driver).expect("as yet they agree");
        pair.driver.run(&op);
        let wrong = pair.model.compare(&pair.driver);
        assert!(wrong.is_err(), "{op:?} is not noticed");
    }
}
