// SPDX-License-Identifier: GPL-2.0-only
//! The fair class of Linux v7.3 (`kernel/sched/fair.c`: EEVDF, all tasks in one flat tree per CPU) in Rust, exactly as
//! the kernel structures it: the same names, the same order, the same arithmetic to the last bit.
//!
//! It needs neither std nor an allocator: the host owns tasks and runqueues, in an arena that lives for `'a`, and
//! drives the functions of [`core`] as system calls and interrupts would.
//!
//! # The tour
//!
//! In the order in which a task meets them:
//!
//! 1. [`sched`]: the structures. [`features`] and [`patches`]: the switches.
//! 2. [`core`]: a task is made ([`core::sched_fork`]), woken ([`core::try_to_wake_up`]), and the CPU switches
//!    ([`core::__schedule`]).
//! 3. [`fair`]: the class, file by file: enqueue, place, reweight, the average, the tree, pick, set_next, update_curr,
//!    dequeue, preempt.
//! 4. [`pelt`]: load tracking. Below it all: [`rbtree`], [`list`], [`sync`]. To look at it from outside: [`trace`],
//!    [`bug`].
//!
//! ```
//! use sched_core::core::{__schedule, sched_fork, sched_init, wake_up_new_task};
//! use sched_core::fair::class::SchedAttr;
//! use sched_core::sched::{Machine, Policy, Rq, TaskStruct};
//!
//! let machine = Machine::new(());
//! let runqueues = [Rq::new(&machine, 0)];
//! let task = TaskStruct::new();
//! sched_init(&machine, &runqueues);
//! machine.set_sched_clock(1_000_000);
//!
//! let attr = SchedAttr { sched_policy: Policy::SCHED_NORMAL, sched_nice: 0, sched_runtime: 0 };
//! sched_fork(&machine, &task, &attr, &machine.root_task_group, 0);
//! wake_up_new_task(&machine, &task);
//! assert!(std::ptr::eq(__schedule(machine.cpu_rq(0)), &task));
//! ```
//!
//! # What is not modelled
//!
//! Other classes than fair and idle, balancing and the choice of a CPU, core scheduling, proxy execution, NUMA
//! and cache-aware scheduling, irq and steal time, schedstats, uclamp, PSI, groups that go away, bursts.
//! Documentation/limits.rst has the list and what follows from it.

#![no_std]

pub mod bug;
pub mod core;
pub mod fair;
pub mod features;
pub mod list;
pub mod museum;
pub mod patches;
pub mod pelt;
pub mod rbtree;
pub mod sched;
pub mod sync;
pub mod trace;
