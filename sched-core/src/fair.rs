// SPDX-License-Identifier: GPL-2.0-only
//! fair.c: the fair class. EEVDF, with all tasks of all groups in one deadline-ordered tree at the root.
//!
//! The files stand in the order in which a task meets them: it wakes ([`enqueue`]), is given a place ([`place`],
//! [`reweight`]) relative to the average ([`avg_vruntime`]), goes into the tree ([`timeline`]), may preempt
//! ([`preempt`]), is picked ([`pick`], [`set_next`]), runs and is charged ([`update_curr`]), and leaves
//! ([`dequeue`]). [`class`] has what remains of the class's methods, [`load`] the arithmetic of weights.
//!
//! fair_sched_class, method by method:
//!
//! | method | function |
//! | --- | --- |
//! | enqueue_task | [`enqueue::enqueue_task_fair`] |
//! | dequeue_task | [`dequeue::dequeue_task_fair`] |
//! | yield_task, yield_to_task | [`preempt::yield_task_fair`], [`preempt::yield_to_task_fair`] |
//! | wakeup_preempt | [`preempt::wakeup_preempt_fair`] |
//! | pick_task | [`pick::pick_task_fair`] |
//! | put_prev_task, set_next_task | [`set_next::put_prev_task_fair`], [`set_next::set_next_task_fair`] |
//! | task_tick | [`update_curr::task_tick_fair`] |
//! | update_curr | [`update_curr::update_curr_fair`] |
//! | reweight_task | [`reweight::reweight_task_fair`] |
//! | prio_changed | [`class::prio_changed_fair`] |

pub mod avg_vruntime;
pub mod bandwidth;
pub mod class;
pub mod dequeue;
pub mod enqueue;
pub mod group;
pub mod load;
pub mod load_avg;
pub mod pick;
pub mod place;
pub mod preempt;
pub mod reweight;
pub mod set_next;
pub mod timeline;
pub mod update_curr;

pub use class::init_cfs_rq;
