// SPDX-License-Identifier: GPL-2.0-only
//! Tests of the generator over the toy class, and over v7.3's.

use super::*;
use crate::compare::side::{Side, Watch, Watched};
use crate::ops::CgroupMode;
use crate::ops::class::Depth;
use crate::ops::mock::Mock;
use crate::ops::text::{parse_program, print};
use sched_core::patches::Patches;
use std::collections::BTreeMap;

fn program(seed: u64, profile: Profile, operations: u64) -> Program {
    let mut class = Mock::new(&profile.names());
    let mut generator = Generator::new(seed, profile);
    let mut done = 0;
    let mut statements = Vec::new();
    while done < operations {
        let op = generator.next(&class);
        class.apply(&op).unwrap_or_else(|refusal| panic!("{op:?}: {refusal}"));
        done += u64::from(op.is_operation());
        statements.push(Statement { op, line: 0 });
    }
    Program { header: Header::default(), names: class.names().clone(), statements }
}

#[test]
fn every_operation_is_legal() {
    for seed in 0..40 {
        program(seed, Profile::flat(1 + seed as u32 * 3).swarm(seed), 1_000);
    }
}

/// Runs a stream on v7.3's class, looking for warnings and violated invariants. Returns how often
/// each kind of statement came up.
fn on_v7_3(seed: u64, profile: Profile, operations: u64) -> BTreeMap<String, u32> {
    let names = profile.names();
    let mut generator = Generator::new(seed, profile);
    let base = Side::new(Patches::empty());
    let mut kinds = BTreeMap::new();
    base.with(&Header::default(), &names, Watch::default(), |class| {
        for _ in 0..operations {
            let op = generator.next(class);
            class.apply(&op).unwrap_or_else(|refusal| panic!("{op:?}: {refusal}"));
            *kinds.entry(kind_of(&op)).or_default() += 1;
            assert_eq!(class.watch().warnings(), (0, None), "seed {seed}: {op:?}");
            assert_eq!(class.violations(Depth::Cheap), [], "seed {seed}: {op:?}");
        }
    })
    .expect("the header is the default one");
    kinds
}

fn kind_of(op: &Op) -> String {
    format!("{op:?}").split([' ', '{']).next().unwrap_or("").to_string()
}

#[test]
fn every_operation_is_legal_on_v7_3_and_nothing_is_wrong_with_it() {
    for seed in 0..30 {
        on_v7_3(seed, Profile::flat(1 + seed as u32 * 3).swarm(seed), 3_000);
    }
}

#[test]
fn all_flat_statements_come_up_on_v7_3() {
    let kinds = on_v7_3(1, Profile::default(), 20_000);
    assert_eq!(kinds.len(), 15, "{kinds:?}");
}

/// Groups, quotas and several CPUs, and everything that a header can say.
#[test]
fn wild_streams_are_legal_on_v7_3_and_nothing_warns() {
    let modes = CgroupMode::ALL.into_iter().cycle();
    let mut kinds: BTreeMap<String, u32> = BTreeMap::new();
    let mut throttled = 0;
    for (seed, cgroup_mode) in (0..40).zip(modes) {
        let header = Header {
            cpus: 1 + seed as u32 % 8,
            hz: [100, 250, 300, 1000][seed as usize % 4],
            cgroup_mode,
            ..Header::default()
        };
        let profile = Profile::flat(4 + seed as u32)
            .with_migration()
            .with_groups(1 + seed as u32 % 25)
            .with_group_tree(seed)
            .with_quota()
            .swarm(seed);
        let mut generator = Generator::new(seed, profile.clone());
        let base = Side::new(Patches::empty());
        base.with(&header, &profile.names(), Watch::default(), |class| {
            for _ in 0..5_000 {
                let op = generator.next(class);
                class.apply(&op).unwrap_or_else(|refusal| panic!("{op:?}: {refusal}"));
                *kinds.entry(kind_of(&op)).or_default() += 1;
                assert_eq!(class.watch().warnings(), (0, None), "seed {seed}: {op:?}");
                assert_eq!(class.violations(Depth::Cheap), [], "seed {seed}: {op:?}");
            }
            let infos = class.tasks().into_iter().filter_map(|task| class.task(task));
            throttled += infos.filter(|task| task.throttled).count();
        })
        .expect("the header is good");
    }
    assert_eq!(kinds.len(), Kind::NR, "{kinds:?}");
    assert!(throttled > 20, "hardly anything is throttled: {throttled}");
}

#[test]
fn groups_nest() {
    let depth = |seed: u64| {
        let names = Profile::flat(1).with_groups(12).with_group_tree(seed).names();
        let paths = (0..names.nr_groups() as u32).map(|group| names.group_text(GroupName(group)));
        let paths: Vec<&str> = paths.collect();
        for path in &paths[1..] {
            let (above, _) = path.rsplit_once('/').expect("a path");
            assert!(above.is_empty() || paths.contains(&above), "nothing above {path}");
        }
        paths.iter().map(|path| path.matches('/').count()).max().expect("there are some")
    };
    let depths: Vec<usize> = (0..50).map(depth).collect();
    assert!(depths.iter().filter(|&&depth| depth >= 5).count() > 10, "{depths:?}");
    assert!(depths.iter().any(|&depth| depth <= 3), "{depths:?}");
}

#[test]
fn a_seed_gives_a_run() {
    let text = |seed| print(&program(seed, Profile::default(), 2_000));
    assert_eq!(text(1), text(1));
    assert_ne!(text(1), text(2));
}

#[test]
fn the_stream_of_a_seed_does_not_change() {
    // If this changes on purpose, CHANGELOG.md says that saved seeds break.
    let text = print(&program(7, Profile::flat(3), 12));
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    assert_eq!(hash, 5_414_525_982_235_383_916, "\n{text}");
}

#[test]
fn what_it_did_reads_back() {
    let profile = Profile::default();
    let mut class = Mock::new(&profile.names());
    let header = Header::default();
    let done = generate_program(&mut class, &header, &mut Generator::new(3, profile), 3_000);
    assert_eq!(done.statements.iter().filter(|s| s.op.is_operation()).count(), 3_000);
    let read = parse_program("t.ops", print(&done).as_bytes()).expect("it is good");
    let mut again = Mock::new(&read.names);
    for statement in &read.statements {
        again.apply(&statement.op).expect("it was legal");
    }
    assert_eq!(again.now(), class.now());
    assert_eq!(again.fingerprint(), class.fingerprint());
}

#[test]
fn all_flat_statements_come_up_and_the_queue_grows_and_shrinks() {
    let profile = Profile::flat(16);
    let mut class = Mock::new(&profile.names());
    let mut generator = Generator::new(11, profile);
    let mut kinds: BTreeMap<String, u32> = BTreeMap::new();
    let (mut idle, mut busy) = (0, 0);
    for _ in 0..40_000 {
        let op = generator.next(&class);
        class.run(&op);
        *kinds
            .entry(format!("{op:?}").split([' ', '{']).next().unwrap_or("").into())
            .or_default() += 1;
        let runnable = |&name: &TaskName| {
            class.task(name).is_some_and(|task| task.state == TaskState::Runnable)
        };
        let runnable = class.tasks().iter().filter(|name| runnable(name)).count();
        idle += u32::from(runnable == 0);
        busy += u32::from(runnable >= 12);
    }
    // The toy class never delays a dequeue, so finish-delayed cannot come.
    assert_eq!(kinds.len(), 14, "{kinds:?}");
    assert!(kinds["At"] > 10_000 && kinds["Exit"] > 20, "{kinds:?}");
    assert!(idle > 100 && busy > 1_000, "idle {idle}, busy {busy}");
}

#[test]
fn log_uniform_stays_within() {
    let mut generator = Generator::new(5, Profile::default());
    for (low, high) in [(0, 0), (0, 1), (5, 5), (1, u64::MAX), (0, u64::MAX), (1_000, 10_000)] {
        for _ in 0..1_000 {
            let number = generator.log_uniform(low, high);
            assert!((low..=high).contains(&number), "{low} {number} {high}");
        }
    }
}

#[test]
fn the_clock_stops_at_its_end_rather_than_wrap() {
    let profile = Profile::flat(2);
    let mut class = Mock::new(&profile.names());
    class.run(&Op::At { ns: u64::MAX });
    let mut generator = Generator::new(1, profile);
    for _ in 0..200 {
        let op = generator.next(&class);
        class.apply(&op).expect("legal");
    }
}
