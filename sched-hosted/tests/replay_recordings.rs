// SPDX-License-Identifier: GPL-2.0-only
//! Recordings of real kernels, replayed: how often the class of v7.3 decides as the recorded kernel did.
//!
//! The limits are below what is reached today; none may be lowered without a reason in Documentation/replay.rst.

use sched_core::patches::Patches;
use sched_hosted::compare::Interrupt;
use sched_hosted::ops::Header;
use sched_hosted::replay::run::{Plan, Replayed, run};
use sched_hosted::replay::score::Tally;
use sched_hosted::replay::setup::Setup;

fn path(name: &str) -> String {
    format!("{}/tests/traces/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn plan(name: &str, setup: Option<&str>) -> Plan {
    Plan {
        path: path(name),
        machine: Header { hz: 250, ..Header::default() },
        setup: setup.map(|file| Setup::load(&path(file)).unwrap()).unwrap_or_default(),
        state: None,
        trial: None,
        cases: 5,
    }
}

fn replay(name: &str, setup: Option<&str>) -> Replayed {
    run(&plan(name, setup), &Interrupt::default(), &|_| {}).unwrap()
}

fn percent(tally: &Tally) -> f64 {
    tally.percent(tally.agreed).unwrap()
}

/// Better than both models that know nothing but who was woken last, or waited longest.
fn beats_the_nulls(tally: &Tally) -> bool {
    tally.agreed > tally.last_woken && tally.agreed > tally.longest_waiting
}

#[test]
fn the_ring_of_15_is_decided_as_the_kernel_did() {
    let replayed = replay("ring15-ns-7.3.txt.xz", None);
    let [pick, wakeup, _] = replayed.score.kinds.map(|kind| kind.after);
    assert!(pick.of > 1800 && wakeup.of > 1800, "{pick:?} {wakeup:?}");
    assert!(percent(&pick) >= 99.0, "{pick:?}");
    assert!(percent(&wakeup) >= 98.0 && beats_the_nulls(&wakeup), "{wakeup:?}");
    assert_eq!(replayed.warnings.0, 0);
}

#[test]
fn hogs_and_a_player_groups_and_schbench() {
    for (name, setup, least) in [
        ("player-nice0-7.3.txt.xz", None, 95.0),
        ("player-slice3.2-7.3.txt.xz", Some("player-slice3.2.toml"), 93.0),
        ("cg-A100x3-B300x1-7.3.txt.xz", Some("cg-A100-B300.toml"), 93.0),
        ("schb8-7.3.txt.xz", None, 90.0),
    ] {
        let replayed = replay(name, setup);
        let pick = replayed.score.kinds[0].after;
        let total = replayed.score.total();
        assert!(pick.of > 1000, "{name}: {pick:?}");
        assert!(percent(&pick) >= least, "{name}: {pick:?}");
        assert!(beats_the_nulls(&pick) && beats_the_nulls(&total), "{name}: {pick:?} {total:?}");
        assert_eq!(replayed.warnings, (0, None), "{name}");
    }
}

#[test]
fn what_is_not_said_of_groups_shows() {
    let without = replay("cg-A100x3-B300x1-7.3.txt.xz", None).score.kinds[0].after;
    let with =
        replay("cg-A100x3-B300x1-7.3.txt.xz", Some("cg-A100-B300.toml")).score.kinds[0].after;
    assert!(with.agreed > without.agreed, "{with:?} {without:?}");
}

#[test]
fn another_scheduler_is_told_apart() {
    let cfs = replay("player-nice0-6.1.txt.xz", None).score.kinds[0].after;
    let eevdf = replay("player-nice0-7.3.txt.xz", None).score.kinds[0].after;
    assert!(percent(&cfs) + 10.0 < percent(&eevdf), "{cfs:?} {eevdf:?}");
}

#[test]
fn a_patch_shows_which_decisions_it_would_change() {
    let mut plan = plan("ring15-ns-7.3.txt.xz", None);
    plan.trial = Some((Patches::empty(), vec!["NO_WAKEUP_PREEMPTION".to_string()]));
    let replayed = run(&plan, &Interrupt::default(), &|_| {}).unwrap();
    let [_, wakeup, _] = replayed.trial.unwrap().kinds;
    // Without it no wakeup asks for anything; with it every second one does.
    assert_eq!(wakeup.trial_asks, 0);
    assert!(wakeup.fewer * 10 > wakeup.of * 4 && wakeup.more == 0, "{wakeup:?}");
    // A side that differs in nothing changes nothing.
    plan.trial = Some((Patches::empty(), Vec::new()));
    let replayed = run(&plan, &Interrupt::default(), &|_| {}).unwrap();
    assert!(replayed.trial.unwrap().kinds.iter().all(|kind| kind.changed == 0));
}

#[test]
fn an_interrupt_ends_it_with_what_there_is() {
    let interrupt = Interrupt::default();
    let plan = plan("ring15-ns-7.3.txt.xz", None);
    let stop = |read: u64| {
        if read > 0 {
            interrupt.set();
        }
    };
    let replayed = run(&plan, &interrupt, &stop).unwrap();
    assert!(replayed.interrupted && replayed.summary.events < 11_000);
}
