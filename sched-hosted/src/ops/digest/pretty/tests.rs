// SPDX-License-Identifier: GPL-2.0-only
//! Pages of v7.3's class and of the toy class.

use super::table::WIDTH;
use super::*;
use crate::compare::side::{Side, Watch};
use crate::ops::mock::Mock;
use crate::ops::text::parse_program;
use sched_core::patches::Patches;

/// The page after the first `operations` of a program.
fn page(text: &str, operations: usize) -> String {
    let program = parse_program("t.ops", text.as_bytes()).expect("the program is good");
    let base = Side::new(Patches::empty());
    base.with(&program.header, &program.names, Watch::default(), |class| {
        let mut done = 0;
        for statement in &program.statements {
            class.apply(&statement.op).unwrap_or_else(|refusal| panic!("{refusal}"));
            done += usize::from(statement.op.is_operation());
            if done == operations {
                break;
            }
        }
        pretty(class)
    })
    .expect("the header is good")
}

const GROUPS: &str = include_str!("../../../../tests/golden/hand-09-groups.ops");
const QUOTA: &str = include_str!("../../../../tests/golden/hand-10-quota.ops");

/// The words of the line that begins with `label`.
fn line<'p>(page: &'p str, label: &str) -> Vec<&'p str> {
    let found = page.lines().find(|line| line.split_whitespace().next() == Some(label));
    found.unwrap_or_else(|| panic!("no line '{label}':\n{page}")).split_whitespace().collect()
}

#[test]
fn the_tree_of_groups_with_shares_and_flat_weights() {
    // a1 runs; a2, c1 and r are queued.
    let page = page(GROUPS, 12);
    let group = line(&page, "/a").join(" ");
    assert!(group.starts_with("/a .se->load.weight 1048576 .load 2097152 .nr_queued 2"), "{page}");
    assert!(group.contains(".h_curr a1"), "{page}");
    assert_eq!(line(&page, "a1")[1..4], ["running", "1048576", "1048576"], "{page}");
    // The share of /a, halved: two of the same weight are in it.
    assert_eq!(line(&page, "a2")[1..4], ["queued", "1048576", "524288"], "{page}");
    assert_eq!(line(&page, "c1")[1..4], ["queued", "1048576", "2097152"], "{page}");
    let indent = |label: &str| {
        let line = page.lines().find(|line| line.trim_start().starts_with(label)).expect("there");
        line.len() - line.trim_start().len()
    };
    assert!(indent("/b") < indent("/c") && indent("/c") < indent("c1 "), "{page}");
    assert_eq!(indent("a1 "), indent("/a") + 2, "{page}");
    assert!(page.contains(".avg_vruntime ") && page.contains(".zero_vruntime -1.048576"), "{page}");
}

#[test]
fn a_throttled_group_says_so() {
    let parked = (5..=24).map(|n| page(QUOTA, n)).find(|page| page.contains(" parked "));
    let parked = parked.expect("the hog parks itself");
    assert!(parked.contains(".throttled 1  .throttle_count 1"), "{parked}");
    assert!(parked.contains(".runtime_remaining -"), "{parked}");
    let gone = (5..=24).map(|n| page(QUOTA, n)).find(|page| page.contains(" throttled "));
    assert_eq!(line(&gone.expect("and leaves the CPU"), "hog")[1], "throttled");
}

#[test]
fn the_lag_is_the_distance_to_v_and_says_who_is_eligible() {
    let page = page(GROUPS, 14);
    let vruntime = |task: &str| line(&page, task)[4].parse::<f64>().expect("ms");
    for task in ["a1", "a2", "c1", "r"] {
        let words = line(&page, task);
        let lag: f64 = words[7].parse().expect("ms");
        assert_eq!(words[5] == "E", lag >= 0.0, "{page}");
        let other: f64 = line(&page, "a1")[7].parse().expect("ms");
        let distance = (lag - other) - (vruntime("a1") - vruntime(task));
        assert!(distance.abs() < 2e-6, "{task} {distance}: {page}");
    }
}

#[test]
fn no_line_is_wider_than_110_columns_however_deep() {
    let mut text = "fairlab-ops 1\ncpus 2\n".to_string();
    let mut path = String::new();
    for level in 0..30 {
        path += &format!("/{:a<31}", format!("level-{level}-"));
        let name = format!("{:b<31}", format!("task-{level}-"));
        text += &format!("group {path} shares 200000\ntask {name} group {path} slice 90000000\n");
        text +=
            &format!("new {name}\nat {}\nschedule 0\n", 1_000_000 + level * 1_000_000_000_000_u64);
    }
    let page = page(&text, usize::MAX);
    assert!(page.lines().all(|line| line.len() <= WIDTH), "{page}");
    assert_eq!(page.matches(".se->load.weight ").count(), 30, "{page}");
    assert!(page.contains("(30 other groups have nothing on this CPU)"), "{page}");
}

#[test]
fn a_class_without_these_fields_is_shown_all_the_same() {
    let program = parse_program("t.ops", b"fairlab-ops 1\ntask a\nnew a\nschedule 0\ntask b\n");
    let program = program.expect("it is good");
    let mut class = Mock::new(&program.names);
    for statement in &program.statements {
        class.apply(&statement.op).expect("legal");
    }
    let page = pretty(&class);
    assert_eq!(line(&page, "a")[1..3], ["running", "-"], "{page}");
    assert_eq!(line(&page, "b")[1], "new", "{page}");
}

#[test]
fn times_are_in_ms() {
    assert_eq!([ms(0), ms(-1), ms(1_048_576)], ["0.000000", "-0.000001", "1.048576"]);
    assert_eq!(ms(i64::MIN), "-9223372036854.775808");
}
