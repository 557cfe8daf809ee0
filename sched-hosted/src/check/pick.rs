// SPDX-License-Identifier: GPL-2.0-only
//! I-PICK: pick_eevdf() finds what a scan over all tasks finds: of those that are owed service in exact arithmetic, the
//! one with the earliest deadline; before that the buddy and the protected curr.

use super::Report;
use super::sums::sum_fits;
use super::totals::{Totals, key};
use crate::ops::driver::Driver;
use sched_core::fair::pick::pick_eevdf;
use sched_core::features::SchedFeat;
use sched_core::sched::{self, Rq, SchedEntity};
use sched_core::trace::Hooks;

/// The pick with and without protection. Where the sums no longer fit 64 bits (I-WIDE) it means nothing.
pub(super) fn is_the_best<'a, H: Hooks>(
    driver: &Driver<'a, H>,
    rq: &'a Rq<'a, H>,
    totals: &Totals,
    report: &mut Report<'_>,
) {
    // The pick asks the class's own count whether curr is alone; if that is wrong, I-CNT says so.
    if totals.queued == 0 || rq.cfs.h_nr_queued.get() != totals.queued || !sum_fits(totals) {
        return;
    }
    let candidates = Candidates::of(driver, rq, totals);
    for protect in [true, false] {
        let picked = pick_eevdf(&rq.cfs, protect);
        let wanted = candidates.best(rq, totals, protect);
        let same = match wanted {
            Wanted::Exactly(se, _) => sched::is(picked, se),
            Wanted::Deadline(deadline) => picked.is_some_and(|picked| {
                candidates.owed.iter().any(|se| core::ptr::eq(*se, picked))
                    && picked.deadline.get() == deadline
                    && !sched::is(rq.cfs.curr.get(), picked)
                    && is_first_of_its_equals(rq, totals, picked)
            }),
            Wanted::Nobody => picked.is_none(),
        };
        if same {
            continue;
        }
        let ought = match wanted {
            Wanted::Exactly(se, why) => format!("{} ({why})", report.of(Some(se))),
            Wanted::Deadline(deadline) => format!("the first one with deadline {deadline}"),
            Wanted::Nobody => "none, which cannot be: V is an average".to_string(),
        };
        let protected = if protect { "with" } else { "without" };
        let what = format!(
            "pick_eevdf() {protected} protection gives {}, a scan over {} queued tasks gives {ought}",
            report.of(picked),
            totals.queued
        );
        report.cfs("I-PICK", rq.cpu, "", what);
    }
}

/// What the scan wants to see picked.
enum Wanted<'a, H: Hooks + 'a> {
    /// This one, for that reason.
    Exactly(&'a SchedEntity<'a, H>, &'static str),
    /// Several in the tree share the earliest deadline: the one that stands first in it.
    Deadline(u64),
    /// Nobody is owed service.
    Nobody,
}

/// All that are queued, and those of them that are owed service.
struct Candidates<'a, H: Hooks + 'a> {
    queued: Vec<&'a SchedEntity<'a, H>>,
    owed: Vec<&'a SchedEntity<'a, H>>,
}

impl<'a, H: Hooks + 'a> Candidates<'a, H> {
    fn of(driver: &Driver<'a, H>, rq: &'a Rq<'a, H>, totals: &Totals) -> Self {
        let queued: Vec<_> = driver
            .task_structs()
            .map(|(_, p)| p)
            .filter(|p| sched::task_cpu(p) == rq.cpu && p.se.on_rq.get())
            .map(|p| &p.se)
            .collect();
        let owed = |se: &&SchedEntity<'a, H>| is_owed(rq, totals, se);
        Candidates { owed: queued.iter().copied().filter(owed).collect(), queued }
    }

    fn best(&self, rq: &'a Rq<'a, H>, totals: &Totals, protect: bool) -> Wanted<'a, H> {
        let cfs_rq = &rq.cfs;
        if let [alone] = self.queued[..] {
            return Wanted::Exactly(alone, "alone, it need not be owed service");
        }
        if protect
            && rq.machine.sched_feat(SchedFeat::PICK_BUDDY)
            && let Some(next) = cfs_rq.next.get()
            && is_owed(rq, totals, next)
        {
            return Wanted::Exactly(next, "the buddy, and owed service");
        }
        let owed_curr = self.owed.iter().copied().find(|se| sched::is(cfs_rq.curr.get(), se));
        if protect
            && let Some(curr) = owed_curr
            && sched::vruntime_before(curr.vruntime.get(), curr.vprot.get())
        {
            return Wanted::Exactly(curr, "curr, owed service and protected");
        }

        let deadline = |se: &SchedEntity<'a, H>| key(cfs_rq, se.deadline.get());
        let Some(earliest) = self.owed.iter().map(|se| deadline(se)).min() else {
            return Wanted::Nobody;
        };
        // Among equals the tree goes before curr, and in the tree who came first.
        let mut waiting = self
            .owed
            .iter()
            .copied()
            .filter(|se| deadline(se) == earliest && !sched::is(cfs_rq.curr.get(), se));
        match (waiting.next(), waiting.next(), owed_curr) {
            (Some(_), Some(_), _) => {
                Wanted::Deadline((earliest as u64).wrapping_add(cfs_rq.zero_vruntime.get()))
            }
            (Some(se), None, _) => Wanted::Exactly(se, "owed service, with the earliest deadline"),
            (None, _, Some(curr)) => {
                Wanted::Exactly(curr, "curr, owed service, with the earliest deadline")
            }
            (None, _, None) => Wanted::Nobody,
        }
    }
}

/// Whether `se` is at or before V, in exact arithmetic.
fn is_owed<'a, H: Hooks>(rq: &Rq<'a, H>, totals: &Totals, se: &SchedEntity<'a, H>) -> bool {
    totals.is_eligible(key(&rq.cfs, se.vruntime.get()))
}

/// Whether everybody owed service with the same deadline stands behind `se` in the tree. (That the tree is in order is
/// I-AUG's affair; there is no other record of who came first.)
fn is_first_of_its_equals<'a, H: Hooks>(
    rq: &Rq<'a, H>,
    totals: &Totals,
    se: &'a SchedEntity<'a, H>,
) -> bool {
    let mut first = rq.cfs.tasks_timeline.first();
    for _ in 0..totals.in_tree {
        match first {
            Some(entity)
                if entity.deadline.get() != se.deadline.get() || !is_owed(rq, totals, entity) =>
            {
                first = sched_core::rbtree::rb_next(entity);
            }
            _ => break,
        }
    }
    sched::is(first, se)
}
